# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh of a character in another pose, as a scan: its pose is found from features, the armature takes it, and the rest becomes a rig."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..logic import features
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.native import core
from ..logic.picking import Picker
from ..logic.spaces import mirrors, transform
from ..saved.units import length
from ..scene import mesh, posing
from ..scene.reading import armature_of
from . import posed_character, sculpting
from .posed_character import PosedCharacter
from .sculpting import RestingFlesh

#: Distance of the middles of both skins, in sizes of the character, beyond which the mesh is too far: four stand beside each other.
MAX_DISTANCE = 4.0
#: Mean distance of the features in the found pose, in sizes, beyond which they are not of this character: a hand's length of a person.
MAX_MISS = 0.1
#: Distance of bones' ends from the found pose, in sizes, beyond which something else holds the armature.
MAX_POSE_MISS = 2e-3
#: Largest number of fits of the pose, and the change of what flesh adds to the skin, in sizes, below which they end: a tenth of a
#: millimetre a metre. What flesh adds is small beside the skin's way, so that each fit leaves a tenth of the last one's change.
POSE_FITS, POSE_TOLERANCE = 8, 1e-4

#: Largest number of rounds of nearest points on a surface, and the weight of a clicked feature beside one of these points: clicks are off by
#: a centimetre.
REFINEMENTS, FEATURE_WEIGHT = 16, 0.3
#: Cost of a turn by 1 rad from the start, and from the pose of the last round. With a tenth of these, 11 features that are off by 6 mm turn a
#: bone by 40°; the true turns are met to 6° on the mean by both.
FIRST_COST, FURTHER_COST = 1e-2, 1e-3
#: Weight of distances along the surface, beside those across it.
SLIDE = 0.02
#: Cosine between normals from which two skins face alike.
MIN_FACING = 0.5
#: Distance beyond which a point is left out, as where the surface has a hole: over the median, and at first in sizes, so that limbs on
#: which no feature was clicked are found too; it shrinks by a factor from round to round.
FAR_POINTS, FIRST_REACH, NARROWER = 3.0, 0.08, 0.8


@dataclass(frozen=True)
class PosedMesh:
    """A mesh in another pose, as it is shown."""

    obj: bpy.types.Object
    surface: Picker  # Blender's world
    same: bool  # its vertices are those of the character, in their order


def read(obj: bpy.types.Object, other: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> PosedMesh:
    """Returns the mesh `other` as it is shown. Raises a `Refusal` where it cannot be a pose of `obj`."""
    shown = other.evaluated_get(view_layer.depsgraph)
    matrix = np.array(shown.matrix_world, dtype=np.float64)
    places, triangles = (
        transform(matrix, mesh.mesh_positions(shown.data).astype(np.float64)),
        mesh.triangles_of(shown.data),
    )
    if not len(triangles):
        raise Refusal(f"{describe(other)} has no faces: select the posed mesh of {describe(obj)}")
    if not np.isfinite(places).all():
        raise Refusal(f"{describe(other)} has vertices that are not numbers: make it again")
    if mirrors(matrix):
        triangles = triangles[:, ::-1]
    return PosedMesh(other, Picker(places, triangles), have_same_faces(obj.data, shown.data))


def have_same_faces(one: bpy.types.Mesh, other: bpy.types.Mesh) -> bool:
    """Returns whether two meshes join the same vertices."""
    if len(one.vertices) != len(other.vertices) or len(one.loops) != len(other.loops):
        return False
    return np.array_equal(*(mesh.numbers(each.loops, "vertex_index", dtype=np.int32) for each in (one, other)))


def check_distance(stand: PosedCharacter, posed: PosedMesh) -> None:
    """Refuses a mesh that is far from the character."""
    middles = [
        0.5 * (each.vertices.min(axis=0) + each.vertices.max(axis=0)) for each in (stand.displayed, posed.surface)
    ]
    away = float(np.linalg.norm(middles[1] - middles[0]))
    if away * stand.place.metres_per_unit > MAX_DISTANCE * stand.size:
        raise Refusal(
            f"{describe(posed.obj)} is {length(away)} away from {describe(stand.obj)}: move it beside the character, at its size"
        )


def same_features(stand: PosedCharacter, posed: PosedMesh, select: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns vertices [f] of a mesh with the character's own vertices that tell of every bone, and their places [f, 3]."""
    chosen = None if select is None else select > 0.5
    vertices = features.choose_features(stand.rest.vertices, np.asarray(stand.flesh.character.weights), chosen)
    return vertices, posed.surface.vertices[vertices]


# pose -----------------------------------------------------------------------------------------------------------------


class PoseEdit:
    """The pose of an armature that is being found: it is taken back if anything fails within the context."""

    def __init__(self, stand: PosedCharacter, view_layer: bpy.types.ViewLayer):
        self.stand, self.view_layer = stand, view_layer
        self.armature = armature_of(stand.obj)
        self.before: dict[str, Any] = {}

    def __enter__(self) -> PoseEdit:
        return self

    def __exit__(self, kind, _error, _trace) -> None:
        if kind is not None:
            posing.restore(self.armature, self.before)
            self.view_layer.update()

    def find(self, vertices: np.ndarray, places: np.ndarray) -> float:
        """Poses the armature so that vertices [f] of the resting flesh are shown at places [f, 3] of Blender's world.

        Returns the root mean square of what is left, metres.
        """
        stand, targets = self.stand, self.stand.place.points(places)
        rest, weights = stand.rest.vertices[vertices], np.asarray(stand.flesh.character.weights)[vertices]
        former = np.full((len(vertices), 3), np.inf)
        for _ in range(POSE_FITS):
            added = self.added(vertices)  # frozen, then taken anew from the flesh in the pose that was found
            if np.linalg.norm(added - former, axis=1).max() < POSE_TOLERANCE * stand.size:
                break
            former = added
            self.show(np.asarray(stand.flesh.skeleton.fit_pose(rest + added, weights, targets, start=self.stand.pose)))
        return self.miss(vertices, targets)

    def find_on(self, vertices: np.ndarray, places: np.ndarray, posed: PosedMesh) -> float:
        """Poses the armature so that the skin lies on a surface, led by vertices [f] and their places [f, 3] there.

        Few clicked features leave turns of bones open, and are a little off. So turns cost, and after the features nearest points of the
        surface are met, across it. The best pose on the way stays. Returns the root mean square of what is left, metres.
        """
        stand, place = self.stand, self.stand.place
        rest, weights, targets = stand.rest.vertices, np.asarray(stand.flesh.character.weights), place.points(places)
        surface = Picker(place.points(posed.surface.vertices), place.faces(posed.surface.triangles))
        native = core().Surface(surface.vertices, surface.triangles.astype(np.int32))
        chosen, clicked = features.choose_features(rest, weights), np.tile(np.eye(3), (len(vertices), 1, 1))
        self.turn(vertices, targets, clicked, FIRST_COST)
        best, pose = np.inf, self.stand.pose
        for turn in range(REFINEMENTS):
            shown = self.shown()
            nearest, away, faces = (np.asarray(each) for each in native.closest_point(shown[chosen]))
            normals, skin = surface.normals()[faces], Picker(shown, stand.rest.triangles)
            facing = (skin.vertex_normals()[chosen] * normals).sum(axis=1) > MIN_FACING
            if not facing.any() or away[facing].mean() >= best:
                break
            best, pose = away[facing].mean(), self.stand.pose
            reach = max(FAR_POINTS * np.median(away[facing]), FIRST_REACH * NARROWER**turn * stand.size)
            kept = facing & (away <= reach)
            across = normals[kept][:, :, None] * normals[kept][:, None] + SLIDE * np.eye(3)
            self.turn(
                np.concatenate([vertices, chosen[kept]]), np.concatenate([targets, nearest[kept]]),
                np.concatenate([FEATURE_WEIGHT * clicked, across]), FURTHER_COST,
            )  # fmt: skip
        if pose is not self.stand.pose:
            self.show(pose)
        return self.miss(vertices, targets)

    def turn(self, vertices: np.ndarray, targets: np.ndarray, metrics: np.ndarray, cost: float) -> None:
        """Poses the armature once so that vertices [f] come near targets [f, 3], metres, by metrics [f, 3, 3]; turns cost."""
        stand, skeleton = self.stand, self.stand.flesh.skeleton
        rest, weights = stand.rest.vertices[vertices], np.asarray(stand.flesh.character.weights)[vertices]
        pose = skeleton.fit_pose(
            rest + self.added(vertices), weights, targets, start=stand.pose, turn_cost=cost, metrics=metrics
        )
        self.show(np.asarray(pose))

    def added(self, vertices: np.ndarray) -> np.ndarray:
        """Returns what flesh adds to the skin at vertices [f] in the present pose, in the axes of their bones, [f, 3], metres."""
        stand, skeleton = self.stand, self.stand.flesh.skeleton
        rest, weights = stand.rest.vertices[vertices], np.asarray(stand.flesh.character.weights)[vertices]
        missing = self.shown()[vertices] - np.asarray(skeleton.skin(rest, weights, stand.pose))
        return np.einsum("fji,fj->fi", stand.pose[weights.argmax(axis=1), :3, :3], missing)

    def shown(self) -> np.ndarray:
        """Returns the skin as it is shown with resting flesh in the present pose, [n, 3], metres."""
        return displayed_at_rest(self.stand, sculpting.resting_flesh(self.stand, self.view_layer))

    def miss(self, vertices: np.ndarray, targets: np.ndarray) -> float:
        """Returns the root mean square distance of vertices [f] from targets [f, 3], metres. Refuses features of something else."""
        left = float(np.sqrt(((self.shown()[vertices] - targets) ** 2).sum(axis=1).mean()))
        if left > MAX_MISS * self.stand.size:
            raise Refusal(
                f"The features of {describe(self.stand.obj)} stay {length(left / self.stand.place.metres_per_unit)} away from "
                "theirs in the best pose: compare the pairs, and the size of both meshes"
            )
        return left

    def show(self, pose: np.ndarray) -> None:
        """Sets the maps T_b [b, 4, 4] in metres on the armature, and reads the character again."""
        stand, armature = self.stand, self.armature
        names = stand.flesh.character.bones
        maps = stand.place.world_maps(pose, stand.flesh.place)
        rests = np.array([armature.data.bones[name].matrix_local for name in names], dtype=np.float64)
        world = np.array(armature.matrix_world, dtype=np.float64)
        wanted = posing.bone_poses(maps, world, stand.mesh, stand.flesh.bind_pose.mesh_matrix, rests)
        changed = posing.set_pose(armature, dict(zip(names, wanted, strict=True)))
        self.before = {**changed, **self.before}
        self.view_layer.update()
        self.stand = posed_character.read(stand.obj, bpy.context.scene, self.view_layer)
        self.check(maps)

    def check(self, maps: np.ndarray) -> None:
        """Refuses an armature that did not take the pose."""
        skeleton = self.stand.flesh.skeleton
        ends = self.stand.flesh.place.world(np.stack([skeleton.heads, skeleton.tails], axis=1))
        moved = maps - self.stand.maps
        miss = np.linalg.norm(np.einsum("bij,bej->bei", moved[:, :3, :3], ends) + moved[:, None, :3, 3], axis=2).max(
            axis=1
        )
        off = miss * self.stand.place.metres_per_unit > MAX_POSE_MISS * self.stand.size
        if off.any():
            parents = np.asarray(skeleton.parents)
            first = int(np.flatnonzero(off & ~np.where(parents >= 0, off[parents], False))[0])  # bones below it follow
            raise Refusal(
                f"Something else poses the bone “{skeleton.names[first]}” of {describe(self.armature)}, such as a constraint or a "
                "driver, so that it does not take the pose: mute that first"
            )


def displayed_at_rest(stand: PosedCharacter, resting: RestingFlesh) -> np.ndarray:
    """Returns the skin as it is shown with resting flesh, [n, 3], metres."""
    return stand.skin + stand.flesh.rest_offsets(resting.positions, stand.maps, stand.mesh)


# shape ----------------------------------------------------------------------------------------------------------------


def fit(stand: PosedCharacter, posed: PosedMesh, steps: int, select: np.ndarray | None, view_layer) -> Any:
    """Returns the native rig that brings the resting flesh, as it is shown at the present pose, to a posed mesh."""
    resting = sculpting.resting_flesh(stand, view_layer)
    place = stand.place
    shown, wanted = displayed_at_rest(stand, resting), place.points(posed.surface.vertices)
    beside = shown - resting.positions
    if posed.same:
        return sculpting.fit_target(stand, resting, wanted - beside, posed.obj.name, steps, select)
    # The other mesh moves as the nearest displayed skin has to, to where the balance should be.
    triangles = stand.displayed.triangles
    _, _, faces = core().Surface(shown, triangles.astype(np.int32)).closest_point(wanted)
    moved = wanted - beside[triangles[faces]].mean(axis=1)
    target = core().Surface(moved, place.faces(posed.surface.triangles.astype(np.int32)))
    return sculpting.fit_target(stand, resting, target, posed.obj.name, steps, select)

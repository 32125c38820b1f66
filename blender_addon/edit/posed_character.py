# SPDX-License-Identifier: GPL-3.0-or-later
"""The character in its present pose, for mouse tools: its displayed skin, and the rest position of every point of it."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..live import jobs, session
from ..live.flesh import Flesh
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.picking import Hit, Picker
from ..logic.spaces import MetricSpace, transform
from ..saved.units import length
from ..scene import poses, reading
from ..scene.mesh import evaluated_positions, modifiers_on

#: Distance from the skin beyond which a point is not on the body, as a part of its size. About half a metre of a
#: person: anyone who means the body points nearer.
MAX_SKIN_DISTANCE = 0.25


@dataclass
class PosedCharacter:
    """One mesh with flesh, at rest in metres and as it is displayed."""

    obj: bpy.types.Object
    flesh: Flesh
    maps: np.ndarray  # [b, 4, 4] T_b, Blender's world
    mesh: np.ndarray  # [4, 4] the mesh's world matrix
    controls: np.ndarray  # [r] controls of all rigs
    displayed: Picker  # displayed skin, Blender's world
    skin: np.ndarray  # [n, 3] posed skin without flesh, metres
    rest: Picker  # skin at rest, metres

    @property
    def place(self) -> MetricSpace:
        """The place of the body's metres in its present pose, with the scale and mirror of the mesh."""
        return self.flesh.place_at(self.mesh)

    @property
    def pose(self) -> np.ndarray:
        """The maps T_b in metres [b, 4, 4]."""
        return self.place.maps(self.maps, self.flesh.place)

    @property
    def space(self) -> np.ndarray:
        """The map from metres to the mesh's object space, [4, 4]."""
        return self.place.to_object(self.mesh)

    @property
    def size(self) -> float:
        """The body's size, metres."""
        return float(self.flesh.surface.size)

    def rest_point(self, hit: Hit) -> np.ndarray:
        """Returns the rest position of the flesh at a hit, metres."""
        return hit.point_on(self.rest.vertices, self.rest.triangles)

    def skin_at(self, location) -> Hit:
        """Returns the displayed skin point nearest to a world point. Raises a `Refusal` if that is far from the body."""
        point = np.array(location, dtype=np.float64)
        if not np.isfinite(point).all():
            raise Refusal(f"The location for {describe(self.obj)} is not a number: give three coordinates of the world")
        hit = self.displayed.nearest(point)
        if hit.distance * self.place.metres_per_unit > MAX_SKIN_DISTANCE * self.size:
            raise Refusal(
                f"The location lies {length(hit.distance)} away from the skin of {describe(self.obj)}: drop it on the "
                "body"
            )
        return hit

    def weights(self, point: np.ndarray) -> np.ndarray:
        """Returns the bone weights of the flesh at a rest point in metres, [b]."""
        return region_weights(self.flesh, point)

    def skin_weights(self, hit: Hit) -> np.ndarray:
        """Returns the painted bone weights of a point of the skin, [b]."""
        painted = self.flesh.character.weights[self.displayed.triangles[hit.face]]
        return hit.barycentric @ painted

    def heaviest_bone(self, hit: Hit) -> str:
        """Returns the bone with the largest weight at a point of the skin."""
        painted = self.skin_weights(hit)
        if painted.sum() <= 0.0:
            painted = self.weights(self.rest_point(hit))
        return self.flesh.character.bones[int(np.argmax(painted))]

    def bone_ends(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns head and tail of a bone of the skeleton at rest, metres."""
        return np.asarray(self.flesh.skeleton.heads)[index], np.asarray(self.flesh.skeleton.tails)[index]

    def world(self, metres: np.ndarray) -> np.ndarray:
        """Converts posed points in metres [..., 3] to Blender's world."""
        return self.place.world(metres)

    def show(self, offsets: np.ndarray) -> None:
        """Displays the skin with offsets in metres [n, 3], along their axes."""
        shown = (offsets @ self.space[:3, :3].T).astype(np.float32)
        session.write(self.obj, self.flesh, shown, bpy.context.scene)


def read(obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> PosedCharacter:
    """Returns the character of `obj` in its present pose. Builds its body if necessary."""
    jobs.check_flesh(obj)
    subject = reading.subject(obj, view_layer)
    flesh = jobs.with_body(obj, scene, view_layer)
    view_layer.update()
    pose = flesh.pose(subject, view_layer.depsgraph, scene.frame_current)
    mesh = pose.mesh
    triangles, seen = np.asarray(flesh.surface.triangles), displayed_positions(obj, flesh, view_layer)
    added = session.visible_offsets(obj, scene)
    skin = seen if added is None else seen - added
    return PosedCharacter(
        obj, flesh, pose.maps, mesh, pose.controls,
        Picker(transform(mesh, seen), triangles),
        flesh.place_at(mesh).points(transform(mesh, skin)),
        Picker(np.asarray(flesh.surface.vertices), triangles),
    )  # fmt: skip


def current_pose(obj, flesh: Flesh, depsgraph) -> poses.Pose:
    """Returns the present pose, without checking whether the character has changed otherwise."""
    modifier_ = reading.armature_modifier(obj)
    if modifier_ is None or modifier_.object is None:
        raise Refusal(f"The Armature modifier that the flesh of {describe(obj)} followed is gone")
    found = reading.Subject.of(obj, modifier_)
    try:
        return flesh.pose(found, depsgraph, bpy.context.scene.frame_current)
    except poses.LostBone:
        raise Refusal(f"The bones of {describe(found.armature)} have changed: press Simulate") from None


def region_weights(flesh: Flesh, point: np.ndarray) -> np.ndarray:
    """Returns the bone weights of the flesh at a rest point in metres, [b]."""
    indices, shares = flesh.lattice.embed(np.asarray(point, dtype=np.float64)[None])
    used = indices[0] >= 0
    return np.asarray(flesh.body.region_weights)[indices[0][used]].T @ shares[0][used]


def displayed_positions(obj, flesh: Flesh, view_layer: bpy.types.ViewLayer) -> np.ndarray:
    """Returns the displayed vertices, object space [n, 3], without modifiers behind the flesh that change their number."""
    shown, count = evaluated_positions(obj, view_layer.depsgraph), len(flesh.character.rest)
    if len(shown) != count:
        shown = positions_after_modifier(obj, view_layer)
    if len(shown) != count:
        raise Refusal(f"The mesh of {describe(obj)} has changed since its flesh was made: press Simulate")
    return shown.astype(np.float64)


def positions_after_modifier(obj, view_layer: bpy.types.ViewLayer) -> np.ndarray:
    """Returns the vertices after Thew's modifier, object space [n, 3]. Empty for an object that cannot be seen."""
    mine = obj.thew.made.modifier
    upto = [m.persistent_uid for m in obj.modifiers]
    upto = set(upto[: upto.index(mine) + 1])
    with poses.silence_handlers():
        with modifiers_on(obj, upto, basis=False):
            view_layer.update()
            shown = evaluated_positions(obj, view_layer.depsgraph)
        view_layer.update()
    return shown

# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders: objects with Blender's own Collision physics, read pose by pose while frames are played."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy
import numpy as np

from ..logic.colliders import Collider, Colliders
from ..logic.errors import sentence
from ..logic.extents import MAX_COORDINATE
from ..logic.names import describe
from . import groups, reading
from .mesh import mesh_positions, numbers, triangles_of

#: Coulomb's coefficient per unit of Blender's Friction, which goes from 0 to 80.
FRICTION_UNIT = 0.01


@dataclass(frozen=True)
class ColliderRequest:
    """An object to collide with, and its contact settings."""

    key: tuple[str, str]  # its name, and the file that it is linked from or ""
    live: bool  # has live flesh or rides on some, so it changes while frames are played
    thickness: float  # scene units
    friction: float  # Coulomb's coefficient

    @property
    def reading_key(self) -> tuple:
        """Returns the properties whose change requires reading it again."""
        return self.key, self.live

    @property
    def object(self) -> bpy.types.Object | None:
        """Returns the object; None if it is gone."""
        name, library = self.key
        return bpy.data.objects.get((name, library or None))


def requested_colliders(
    obj: bpy.types.Object, scene: bpy.types.Scene, others: list[bpy.types.Object] | None = None
) -> tuple[ColliderRequest, ...]:
    """Returns the colliders of the flesh of `obj` in `scene`, by name; cheap enough for every frame.

    `others`: the objects simulated with it (None: looked up).
    """
    if not obj.thew.use_colliders:
        return ()
    found = [other for other in candidates(obj, scene) if other != obj and collides(other)]
    if not found:
        return ()
    layer, together = reading.view_layer(scene), [obj, *(groups.others(obj, scene) if others is None else others)]
    shown = reading.shown_collections(layer.layer_collection)
    found = [other for other in found if reading.is_enabled(other, layer, shown) and other not in together]
    armatures = [(member, reading.armature_of(member)) for member in together]
    found = [other for other in found if not any(belongs_to_character(other, *each) for each in armatures)]
    each = [
        ColliderRequest(
            (other.name, other.library.filepath if other.library else ""),
            (other.thew.made.flesh or other.thew.made.rides) and not other.thew.made.shows_bake,
            float(other.collision.thickness_outer),
            FRICTION_UNIT * float(other.collision.cloth_friction),
        )
        for other in found
    ]
    return tuple(sorted(each, key=lambda one: one.key))


def candidates(obj: bpy.types.Object, scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Returns all objects among which the flesh of `obj` looks for colliders."""
    chosen = obj.thew.collider_collection
    return list(scene.objects if chosen is None else chosen.all_objects)


def idle_reasons(obj: bpy.types.Object, scene: bpy.types.Scene) -> list[str]:
    """Returns why each other object with Collision physics is not a collider of `obj`, by name, as the end of a sentence."""
    layer, armature = reading.view_layer(scene), reading.armature_of(obj)
    shown, taken, found = reading.shown_collections(layer.layer_collection), requested_colliders(obj, scene), []
    known = {each.key[0] for each in taken}
    for other in sorted(candidates(obj, scene), key=lambda each: each.name):
        has = any(modifier.type == "COLLISION" for modifier in other.modifiers)
        if other == obj or other.name in known or not has or other.type != "MESH":
            continue
        if not collides(other):
            found.append(f"the Collision of {describe(other)} is switched off")
        elif not reading.is_enabled(other, layer, shown):
            found.append(f"{describe(other)} is disabled in viewports, or its collection is")
        elif belongs_to_character(other, obj, armature):
            found.append(f"{describe(other)} is a part of the character")
    return found


def collides(other: bpy.types.Object) -> bool:
    """Returns whether Collision physics are switched on for an object."""
    physics = other.collision
    if physics is None or not physics.use or other.type != "MESH":
        return False
    return any(modifier.type == "COLLISION" and modifier.show_viewport for modifier in other.modifiers)


def belongs_to_character(other: bpy.types.Object, obj: bpy.types.Object, armature: bpy.types.Object | None) -> bool:
    """Returns whether an object belongs to the character of `obj`: it rides on it, or is a skin on the same armature."""
    if other.thew.made.rides and other.thew.body == obj:
        return True
    return armature is not None and reading.armature_of(other) == armature


# reading --------------------------------------------------------------------------------------------------------------


@dataclass
class ColliderPoses:
    """The poses read of one object."""

    request: ColliderRequest
    corners: np.ndarray | None = None  # int32[c + p], see `corners_of`, at the first pose
    triangles: np.ndarray | None = None
    matrices: list[np.ndarray] = field(default_factory=list)
    shapes: list[np.ndarray] = field(default_factory=list)
    problem: str = ""

    def read_pose(self, depsgraph: bpy.types.Depsgraph, frame: int) -> None:
        """Reads the object at the pose that `depsgraph` has evaluated; `frame` is for sentences."""
        if self.problem:
            return
        obj = self.request.object
        self.problem = self.fault(obj)
        if self.problem:
            return
        evaluated = obj.evaluated_get(depsgraph)
        mesh, matrix = evaluated.data, np.array(evaluated.matrix_world, dtype=np.float64)
        shape, corners, name = mesh_positions(mesh), corners_of(mesh), describe(obj)
        if self.corners is None:
            self.corners, self.triangles = corners, triangles_of(mesh)
            if not len(self.triangles):
                self.problem = f"{name} has no faces, so nothing collides with it: give it some"
                return
        elif not np.array_equal(corners, self.corners) or len(shape) != len(self.shapes[0]):
            self.problem = (
                f"{name} changes its vertices at frame {frame}, so nothing collides with it: apply or switch off the "
                "modifier that makes them, or collide with a simpler object in its place"
            )
            return
        if not all(np.isfinite(each).all() and np.abs(each).max() < MAX_COORDINATE for each in (matrix, shape)):
            self.problem = (
                f"{name} has a place or a scale that is not a number, or far too large, at frame {frame}, so nothing collides "
                "with it: repair its mesh or its animation"
            )
            return
        same = len(self.shapes) and np.array_equal(shape, self.shapes[-1])
        self.shapes.append(self.shapes[-1] if same else shape)
        self.matrices.append(matrix)

    def fault(self, obj: bpy.types.Object | None) -> str:
        """Returns why an object cannot be read at all, or ""."""
        if obj is None:
            return f"“{self.request.key[0]}” is gone, so nothing collides with it: press Simulate"
        if self.request.live:
            return (
                f"{describe(obj)} has live flesh, or rides on some, and does not collide as things do: switch Other Flesh on in the "
                "Contact of both, or bake it"
            )
        if obj.mode == "EDIT":
            return f"{describe(obj)} is in edit mode, so nothing collides with it: press Tab to leave it, then Simulate"
        return ""

    def result(self) -> Collider | None:
        """Returns the collider that was read; None where it has a problem."""
        if self.problem:
            return None
        found = Collider(self.request.key, self.triangles, np.stack(self.matrices), tuple(self.shapes))
        if found.first_solid_pose < 0:
            self.problem = f"{found.name} is flat to a line or a point, so nothing collides with it: give it a size"
            return None
        return found


def unread_keys(read: Colliders, requests: tuple[ColliderRequest, ...]) -> set[tuple[str, str]]:
    """Returns the keys of colliders in `requests` that could not be read."""
    missing = {key for key, _ in read.reading_keys} - {each.key for each in read.each}
    return missing & {each.key for each in requests}


class ColliderReader:
    """Reads colliders at each pose that it is shown."""

    def __init__(self, requests: tuple[ColliderRequest, ...]):
        self.looks = {each: ColliderPoses(each) for each in requests}

    def look(self, depsgraph: bpy.types.Depsgraph, frame: int) -> None:
        """Reads all colliders at the pose that `depsgraph` has evaluated; `frame` is for sentences."""
        for each in self.looks.values():
            each.read_pose(depsgraph, frame)

    def result(self, requests: tuple[ColliderRequest, ...]) -> Colliders:
        """Returns the colliders of `requests`, as read."""
        looks = [self.looks[each] for each in requests]
        found = [each.result() for each in looks]
        problems = [sentence(each.problem) for each in looks if each.problem]
        return Colliders(reading_keys(requests), tuple(each for each in found if each), tuple(problems))


def reading_keys(each) -> tuple:
    """Returns the properties of colliders whose change requires reading them again."""
    return tuple(one.reading_key for one in each)


def current_colliders(requests: tuple[ColliderRequest, ...], depsgraph: bpy.types.Depsgraph, frame: int) -> Colliders:
    """Returns the colliders as `depsgraph` has evaluated them; `frame` is for sentences."""
    reader = ColliderReader(requests)
    reader.look(depsgraph, frame)
    return reader.result(requests)


def corners_of(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns the vertex of every corner of every face, then the first corner of each face, int32[c + p]."""
    corners, starts = (mesh.loops, "vertex_index"), (mesh.polygons, "loop_start")
    return np.concatenate([numbers(*each, dtype=np.int32) for each in (corners, starts)])


def moved_collider(read: Colliders, index: int, depsgraph: bpy.types.Depsgraph) -> str:
    """Returns the name, in quotes, of a collider that has left its place at pose `index`; "" where all are in place."""
    for collider in read.each:
        name, library = collider.key
        obj = bpy.data.objects.get((name, library or None))
        if obj is None or obj.mode == "EDIT":
            continue
        evaluated = obj.evaluated_get(depsgraph)
        if not evaluated.is_evaluated:  # hidden from this render
            continue
        if not are_close(np.array(evaluated.matrix_world, dtype=np.float64), collider.matrices[index]):
            return describe(obj)
        if depsgraph.mode == "RENDER":  # which may have finer meshes than the view
            continue
        then, shape = collider.shapes[index], mesh_positions(evaluated.data)
        if shape.shape != then.shape or not (np.array_equal(shape, then) or are_close(shape, then)):
            return describe(obj)
    return ""


def are_close(a: np.ndarray, b: np.ndarray) -> bool:
    """Returns whether numbers agree except for rounding."""
    return bool((np.abs(a - b) <= 1e-6 + 1e-5 * np.abs(b)).all())

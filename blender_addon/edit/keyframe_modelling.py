# SPDX-License-Identifier: GPL-3.0-or-later
"""Modelling a keyframe by dragging points of the shown mesh, within what the motion can show, under any pose of bones."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import keyframed
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.picking import Hit, Picker
from ..logic.spaces import inverse
from ..logic.tasks import finish
from ..saved.timing import curve_time
from ..scene.own_skin import read_groups

#: (vertex, target in the world).
DraggedPoint = tuple[int, np.ndarray]


class KeyframeModel:
    """One mesh with keyframed flesh at the scene's frame, and its modelled shape."""

    def __init__(self, obj: bpy.types.Object, scene: bpy.types.Scene):
        finish(keyframed.bring_up_to_date(obj, scene))
        self.obj, self.scene = obj, scene
        self.known = keyframed.register.state_of(obj)
        self.motion = self.known.motion
        self.triangles = self.known.shapes.triangles
        self.basis = self.motion.surface.basis
        self.frame = curve_time(scene)
        self.shape = self.basis + self.motion.offsets(self.frame)
        self.maps = world_maps(obj)

    def world(self) -> np.ndarray:
        """Returns the displayed vertices, Blender's world, [n, 3]."""
        shape = self.shape.astype(np.float64)
        return np.einsum("nij,nj->ni", self.maps[:, :3, :3], shape) + self.maps[:, :3, 3]

    def first_hit(self, origin: np.ndarray, direction: np.ndarray) -> Hit | None:
        """Returns the first hit of a ray with the displayed mesh."""
        return Picker(self.world(), self.triangles).ray(origin, direction)

    def local_targets(self, points: list[DraggedPoint]) -> tuple[list[int], np.ndarray]:
        """Returns the vertices, and their targets before the armature acts, object space [p, 3]."""
        vertices = [vertex for vertex, _ in points]
        maps = self.maps[vertices]
        wanted = np.array([place for _, place in points]) - maps[:, :3, 3]
        back = inverse(maps[:, :3, :3], f"{describe(self.obj)}, or a bone that moves it,")
        return vertices, np.einsum("pij,pj->pi", back, wanted)

    def drag(self, points: list[DraggedPoint]) -> None:
        """Models the shape with points at other places of the world, and displays it."""
        self.take(self.motion.model_shape(self.frame, *self.local_targets(points)))

    def take(self, shape: np.ndarray) -> None:
        """Sets the shape to `shape` float32[n, 3], object space, and displays it."""
        self.shape = shape
        keyframed.show(self.obj, self.known, self.scene, self.shape - self.basis)

    def restore(self) -> None:
        """Displays the motion again."""
        keyframed.write(self.obj, self.known, self.scene)


def world_maps(obj: bpy.types.Object) -> np.ndarray:
    """Returns the linearly blended maps of vertices before the armature to the world, affine [n, 4, 4]."""
    count, mine = len(obj.data.vertices), np.array(obj.matrix_world, dtype=np.float64)
    found = next((m for m in obj.modifiers if m.type == "ARMATURE" and m.object is not None and m.show_viewport), None)
    if found is None or not found.use_vertex_groups:
        return np.broadcast_to(mine, (count, 4, 4)).copy()
    armature = found.object
    there = np.array(armature.matrix_world, dtype=np.float64)
    group, vertex, weight = read_groups(obj)
    total, maps = np.zeros(count), np.zeros((count, 4, 4))
    for each in obj.vertex_groups:
        bone = armature.pose.bones.get(each.name)
        if bone is None or not bone.bone.use_deform:
            continue
        rest = np.array(bone.bone.matrix_local, dtype=np.float64)
        moved = there @ np.array(bone.matrix, dtype=np.float64) @ np.linalg.inv(rest) @ np.linalg.inv(there) @ mine
        chosen = group == each.index
        np.add.at(maps, vertex[chosen], weight[chosen, None, None].astype(np.float64) * moved)
        np.add.at(total, vertex[chosen], weight[chosen])
    held = total > 1e-9
    maps[held] /= total[held, None, None]
    maps[~held] = mine
    if (np.abs(np.linalg.det(maps[:, :3, :3])) < 1e-12).any():
        raise Refusal(f"The armature flattens {describe(obj)} at this frame: go to another one to model it")
    return maps

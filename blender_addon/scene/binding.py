# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh bound to an armature: Blender's automatic weights, and weights by distance where these fail."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.skeleton_clicks import distance_weights
from . import libraries
from .mesh import basis_positions
from .own_skin import own_bones


def bind(context: bpy.types.Context, obj: bpy.types.Object, armature: bpy.types.Object) -> int:
    """Parents a mesh to an armature with automatic weights, and returns the number of vertices weighted by distance instead.

    The mesh becomes the active object. Blender gives no weights where faces are doubled or lie inside others.
    """
    libraries.check_own_mesh(obj, "it takes no weights", "bind it in that file")
    for other in context.view_layer.objects:
        other.select_set(other in (obj, armature))
    context.view_layer.objects.active = armature
    try:
        bpy.ops.object.parent_set(type="ARMATURE_AUTO", keep_transform=True)
    except RuntimeError:  # it reports a failure of its weights as an error
        bpy.ops.object.parent_set(type="ARMATURE_NAME", keep_transform=True)
    armature.select_set(False)
    context.view_layer.objects.active = obj
    return weigh_bare(obj, armature)


#: Least share of the ends of bones that lie within the box of a mesh that they could move.
MIN_SHARE_INSIDE = 0.5


def likely_armature(obj: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Object | None:
    """Returns the armature that a mesh without bones is most likely meant for; None without one.

    A selected one comes first, else the one with most of its bones within the mesh's box.
    """
    known = [other for other in scene.objects if other.type == "ARMATURE" and len(other.data.bones)]
    chosen = [other for other in known if other.select_get()]
    if len(chosen) == 1:
        return chosen[0]
    return max(
        (other for other in known if share_inside(obj, other) >= MIN_SHARE_INSIDE),
        key=lambda other: share_inside(obj, other),
        default=None,
    )


def likely_mesh(armature: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Object | None:
    """Returns the mesh without an Armature modifier or parent that an armature is most likely meant to move; None without one."""
    known = [
        obj
        for obj in scene.objects
        if obj.type == "MESH" and obj.parent is None and not any(each.type == "ARMATURE" for each in obj.modifiers)
    ]
    chosen = [obj for obj in known if obj.select_get()]
    if len(chosen) == 1:
        return chosen[0]
    fitting = [obj for obj in known if share_inside(obj, armature) >= MIN_SHARE_INSIDE]
    return max(fitting, key=lambda obj: (share_inside(obj, armature), len(obj.data.vertices)), default=None)


def share_inside(obj: bpy.types.Object, armature: bpy.types.Object) -> float:
    """Returns the share of the ends of an armature's bones, at rest, that lie within the box of a mesh."""
    into = obj.matrix_world.inverted_safe() @ armature.matrix_world
    ends = np.array([getattr(bone, end)[:] for bone in armature.data.bones for end in ("head_local", "tail_local")])
    if not len(ends):
        return 0.0
    matrix, box = np.array(into), np.array([corner[:] for corner in obj.bound_box])
    places = ends @ matrix[:3, :3].T + matrix[:3, 3]
    room = 0.05 * np.ptp(box, axis=0).max()
    return float(((places >= box.min(axis=0) - room) & (places <= box.max(axis=0) + room)).all(axis=1).mean())


def weigh_bare(obj: bpy.types.Object, armature: bpy.types.Object) -> int:
    """Gives weights by distance to the vertices that have none for a bone; returns their number."""
    bones = own_bones(armature)
    groups = [obj.vertex_groups.get(bone.name) or obj.vertex_groups.new(name=bone.name) for bone in bones]
    own = {group.index for group in groups}
    bare = [
        vertex.index
        for vertex in obj.data.vertices
        if not any(each.group in own and each.weight > 0.0 for each in vertex.groups)
    ]
    if not bare:
        return 0
    into = np.array(obj.matrix_world.inverted() @ armature.matrix_world)
    heads, tails = (
        np.array([getattr(bone, end)[:] for bone in bones]) @ into[:3, :3].T + into[:3, 3]
        for end in ("head_local", "tail_local")
    )
    weights = distance_weights(basis_positions(obj.data).astype(np.float64)[bare], heads, tails)
    for vertex, row in zip(bare, weights, strict=True):
        for group, weight in zip(groups, row.tolist(), strict=True):
            if weight > 0.0:
                group.add([vertex], weight, "REPLACE")
    return len(bare)

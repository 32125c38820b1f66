# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh bound to an armature: Blender's automatic weights, and weights by distance where these fail."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.skeleton_clicks import distance_weights
from ..logic.spaces import transform
from . import libraries
from .mesh import basis_positions, numbers
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
    shares = [share_inside(obj, bone_ends(other)) for other in known]
    best = max(range(len(known)), key=shares.__getitem__, default=None)
    return None if best is None or shares[best] < MIN_SHARE_INSIDE else known[best]


def likely_mesh(armature: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Object | None:
    """Returns the mesh without an Armature modifier or parent that an armature is most likely meant to move; None without one.

    A selected one comes first, else of those that hold its bones the smallest: a room holds them too.
    """
    known = [
        obj
        for obj in scene.objects
        if obj.type == "MESH"
        and obj.parent is None
        and len(obj.data.vertices)
        and not any(each.type == "ARMATURE" for each in obj.modifiers)
    ]
    chosen = [obj for obj in known if obj.select_get()]
    if len(chosen) == 1:
        return chosen[0]
    ends = bone_ends(armature)
    shares = [(share_inside(obj, ends), obj) for obj in known]
    fitting = [(round(share, 1), -max(obj.dimensions), obj) for share, obj in shares if share >= MIN_SHARE_INSIDE]
    return max(fitting, key=lambda each: each[:2])[2] if fitting else None


def bone_ends(armature: bpy.types.Object) -> np.ndarray:
    """Returns both ends of all bones of an armature, at rest, in the world, [2 b, 3]."""
    ends = [numbers(armature.data.bones, name, 3) for name in ("head_local", "tail_local")]
    return transform(np.array(armature.matrix_world), np.concatenate(ends).astype(np.float64))


def share_inside(obj: bpy.types.Object, ends: np.ndarray) -> float:
    """Returns the share of places of the world [n, 3] that lie within the box of a mesh."""
    if not len(ends):
        return 0.0
    places = transform(np.array(obj.matrix_world.inverted_safe()), ends)
    box = np.array([corner[:] for corner in obj.bound_box])  # four times as fast as of the whole
    low, high = box.min(axis=0), box.max(axis=0)
    room = 0.05 * (high - low).max()
    return float(((places >= low - room) & (places <= high + room)).all(axis=1).mean())


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

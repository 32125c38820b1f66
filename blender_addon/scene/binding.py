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

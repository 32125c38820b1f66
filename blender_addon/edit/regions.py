# SPDX-License-Identifier: GPL-3.0-or-later
"""A region of the skin, selected in edit mode and kept as a vertex group."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..scene import flesh_map, mesh
from ..scene.libraries import check_own_mesh
from ..scene.reading import armature_of, check_editable

#: Name of the vertex group that a selection becomes.
REGION = "Rig Region"


def check(obj: bpy.types.Object | None, name: str) -> None:
    """Refuses what has no skin, and a name that a bone or a map has."""
    if obj is None or obj.type != "MESH":
        raise Refusal("Nothing is active that has skin: select the character's mesh")
    if not name:
        raise Refusal(f"The region of {describe(obj)} needs a name: give the name of a vertex group")
    if flesh_map.is_bone(armature_of(obj), name) or name in flesh_map.MAPS:
        raise Refusal(f"The vertex group “{name}” of {describe(obj)} holds other weights: give the region another name")


def begin(context, obj: bpy.types.Object, name: str) -> None:
    """Opens edit mode with the vertices of a region selected, none where it is new."""
    check_editable(obj)
    check_own_mesh(obj, "its vertex groups cannot be changed", "draw the region in that file")
    group = obj.vertex_groups.get(name)
    inside = np.zeros(len(obj.data.vertices), bool)
    if group is not None:
        inside = flesh_map.mesh_weights(obj.data, group.index, 0.0) > 0.0
    if context.view_layer.objects.active != obj:
        context.view_layer.objects.active = obj
    if obj.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.mode_set(mode="EDIT")
    edited = bmesh.from_edit_mesh(obj.data)
    edited.select_mode = {"VERT"}
    for items in (edited.faces, edited.edges, edited.verts):
        for item in items:
            item.select = False
    for vertex, chosen in zip(edited.verts, inside.tolist(), strict=True):
        vertex.select = chosen
    edited.select_flush_mode()
    bmesh.update_edit_mesh(obj.data, loop_triangles=False, destructive=False)


def keep(obj: bpy.types.Object, name: str) -> int:
    """Leaves edit mode and makes the selected vertices a group; returns their number. Edit mode stays if none is selected."""
    bpy.ops.object.mode_set(mode="OBJECT")
    chosen = np.flatnonzero(mesh.numbers(obj.data.vertices, "select", dtype=bool))
    if not len(chosen):
        bpy.ops.object.mode_set(mode="EDIT")
        raise Refusal(f"No vertex of {describe(obj)} is selected: draw a lasso around the region first")
    group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
    group.remove(range(len(obj.data.vertices)))
    group.add(chosen.tolist(), 1.0, "REPLACE")
    obj.vertex_groups.active = group
    return len(chosen)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins: a point of the skin on an Empty, a painted group on an object or a bone, and their removal."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
from bpy.props import IntProperty, StringProperty

from ..live import updates
from ..logic.errors import Refusal
from ..logic.names import describe, free_name
from ..logic.sentences import plural
from ..saved import pins as saved
from ..saved.edit_callbacks import call_on_change, on_change
from ..scene import pins as scene_pins
from ..scene.libraries import check_own_entry
from .operator_bases import QuickJob, fresh_property

#: Size of a new Empty as a part of the longest side of the mesh.
EMPTY_SIZE = 0.05
#: Distance of the 3D cursor from the skin as a part of the longest side of the mesh, beyond which it was not put there: half a hand.
MAX_CURSOR_DISTANCE = 0.05


class THEW_OT_pin_point(QuickJob, bpy.types.Operator):
    bl_label = "Pin to Empty"
    bl_description = (
        "Hold a point of the skin by a new Empty, to be moved and keyed: the active vertex in edit mode, otherwise the vertex "
        "nearest to the 3D cursor (Shift and right mouse button)"
    )

    vertex: fresh_property(
        IntProperty,
        "Vertex",
        "Vertex to pin; -1: the active one, or the one nearest to the 3D cursor",
        default=-1,
        min=-1,
    )

    def edit(self, context, obj):
        check(obj)
        updates.stop_update()
        vertex = active_vertex(obj) if self.vertex < 0 else self.vertex
        leave_edit_mode(context, obj)
        depsgraph = context.evaluated_depsgraph_get()
        shown = scene_pins.shown_places(obj, depsgraph)
        if vertex < 0:
            vertex = vertex_at_cursor(context, obj, shown)
        if vertex >= len(shown):
            raise Refusal(f"{describe(obj)} has no vertex {vertex}: it has {plural(len(shown), 'vertex', 'vertices')}")
        name = free_name("Pin", [pin.name for pin in obj.thew.pins])
        empty = bpy.data.objects.new(f"{name} of {obj.name}", None)
        empty.empty_display_type, empty.empty_display_size = "SPHERE", EMPTY_SIZE * max(obj.dimensions)
        empty.location = shown[vertex]
        context.scene.collection.objects.link(empty)
        matrix = np.eye(4)
        matrix[:3, 3] = np.array(empty.location)
        points = scene_pins.points_on(obj, np.array([vertex]), matrix, depsgraph)
        pin = add(obj, name, points, empty)
        pin.made = True
        if context.mode == "OBJECT":
            choose(context, empty)
        return f"Vertex {vertex} of {describe(obj)} is held by {describe(empty)}: move and key it."


class THEW_OT_pin_group(QuickJob, bpy.types.Operator):
    bl_label = "Pin Group"
    bl_description = (
        "Hold the painted vertex group by another selected object, or by the active bone of the selected armature: a belt, a strap, a "
        "hand that holds a belly. Its points stay on that object as they lie now"
    )

    group: fresh_property(StringProperty, "Group", "Vertex group to hold; empty: the active one")
    target: fresh_property(StringProperty, "Target", "Object that holds it; empty: the other selected object")
    bone: fresh_property(
        StringProperty, "Bone", "Bone of the target; empty: the active bone of an armature in pose mode"
    )

    def edit(self, context, obj):
        check(obj)
        updates.stop_update()
        active = obj.vertex_groups.active
        name = self.group or (active.name if active is not None else "")
        if not name:
            raise Refusal(f"{describe(obj)} has no vertex group: paint one where the flesh is to be held, and pin it")
        target = chosen_target(context, obj, self.target)
        bone = self.bone or active_bone(target)
        leave_edit_mode(context, obj)
        vertices = scene_pins.group_vertices(obj, name)
        pin = add(obj, free_name(name, [each.name for each in obj.thew.pins]), None, target, bone)
        try:
            depsgraph = context.evaluated_depsgraph_get()
            matrix = scene_pins.target_matrix(pin, depsgraph)
            if matrix is None:
                raise Refusal(f"{describe(target)} has no bone “{bone}”: choose one of its bones")
            pin.points = scene_pins.points_on(obj, vertices, matrix, depsgraph).text()
        except Exception:
            remove(obj, len(obj.thew.pins) - 1)
            raise
        call_on_change(pin, context)
        held = f"the bone “{bone}” of {describe(target)}" if bone else describe(target)
        return f"“{name}” of {describe(obj)} is held by {held}."


class THEW_OT_pin_remove(QuickJob, bpy.types.Operator):
    bl_label = "Remove Pin"
    bl_description = (
        "Let the flesh go. An Empty that was made for the pin goes too, unless something else uses it or moves it"
    )

    def edit(self, context, obj):
        pin = saved.active_pin(obj)
        if pin is None:
            raise Refusal(f"{describe(obj)} has no pin: nothing to remove")
        updates.stop_update()
        name, target = pin.name, pin.target if pin.made else None
        remove(obj, obj.thew.active_pin)
        if target is not None and is_spare(target):
            was_active = context.view_layer.objects.active == target
            bpy.data.objects.remove(target)
            if was_active and context.mode == "OBJECT":
                choose(context, obj)  # without an active object the panel would be gone
        for call in on_change:
            call(obj)
        return f"Removed the pin “{name}”."


def check(obj: bpy.types.Object) -> None:
    """Refuses objects without flesh."""
    if obj.type != "MESH" or not obj.thew.made.flesh:
        raise Refusal(f"{describe(obj)} has no flesh to pin: press Add Flesh first")


def add(obj, name: str, points, target: bpy.types.Object, bone: str = "") -> saved.ThewPin:
    """Adds a pin and chooses it."""
    pin = obj.thew.pins.add()
    pin.name = name
    pin.bone = bone
    obj.thew.active_pin = len(obj.thew.pins) - 1
    pin.target = target
    if points is not None:  # last: a target that is chosen later takes the points over as they lie
        pin.points = points.text()
    return pin


def choose(context, obj: bpy.types.Object) -> None:
    """Makes an object the active and only selected one, to be moved at once."""
    for other in context.view_layer.objects:
        other.select_set(other == obj)
    context.view_layer.objects.active = obj


def remove(obj, index: int) -> None:
    """Removes a pin with the keys of its influence; those of later pins move up."""
    check_own_entry(obj, "pins", index, "pin")
    scene_pins.drop_curves(obj, index)
    obj.thew.pins.remove(index)
    obj.thew.active_pin = max(0, min(obj.thew.active_pin, len(obj.thew.pins) - 1))


def is_spare(empty: bpy.types.Object) -> bool:
    """Returns whether nothing but the pin uses an Empty that was made for it."""
    moved = empty.animation_data is not None or empty.parent is not None or len(empty.constraints) or empty.children
    held = any(pin.target == empty for other in bpy.data.objects for pin in other.thew.pins)
    return empty.type == "EMPTY" and not moved and not held


def active_vertex(obj: bpy.types.Object) -> int:
    """Returns the active vertex in edit mode, else -1."""
    if obj.mode != "EDIT":
        return -1
    mesh = bmesh.from_edit_mesh(obj.data)
    active = mesh.select_history.active
    if isinstance(active, bmesh.types.BMVert):
        return active.index
    chosen = [vertex.index for vertex in mesh.verts if vertex.select]
    if len(chosen) != 1:
        raise Refusal(f"Select one vertex of {describe(obj)} to pin, or leave edit mode and use the 3D cursor")
    return chosen[0]


def vertex_at_cursor(context, obj: bpy.types.Object, shown: np.ndarray) -> int:
    """Returns the vertex, of those at `shown` [n, 3] in the world, that is nearest to the 3D cursor; refuses a cursor that is not on the skin."""
    away = np.linalg.norm(shown - np.array(context.scene.cursor.location), axis=1)
    nearest = int(np.argmin(away))
    if away[nearest] > MAX_CURSOR_DISTANCE * np.ptp(shown, axis=0).max():
        raise Refusal(
            f"The 3D cursor is not on the skin of {describe(obj)}: Shift and right mouse button put it there, or choose a vertex in edit mode"
        )
    return nearest


def leave_edit_mode(context, obj: bpy.types.Object) -> None:
    """Leaves edit mode, in which the flesh is not shown."""
    if obj.mode == "EDIT" and context.view_layer.objects.active == obj:
        bpy.ops.object.mode_set(mode="OBJECT")


def chosen_target(context, obj: bpy.types.Object, name: str) -> bpy.types.Object:
    """Returns the object to hold a group: the named one, or the other selected one."""
    if name:
        target = context.scene.objects.get(name)
        if target is None:
            raise Refusal(f"There is no object “{name}” in the scene: choose one that holds the flesh")
        return target
    others = [each for each in context.selected_objects if each != obj]
    if len(others) != 1:
        raise Refusal(
            f"Select the object or armature that is to hold the flesh, and {describe(obj)} last: that is two objects"
        )
    return others[0]


def active_bone(target: bpy.types.Object) -> str:
    """Returns the active bone of an armature in pose mode; "" for other objects."""
    if target.type != "ARMATURE" or target.mode != "POSE":
        return ""
    active = target.data.bones.active
    return "" if active is None else active.name

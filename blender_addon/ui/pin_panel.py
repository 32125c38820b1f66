# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Pin: points of the skin held by objects and bones."""

from __future__ import annotations

import bpy

from ..live.session import register as fleshes
from ..logic import pins as logic_pins
from ..logic.pins import PinPoints
from ..logic.sentences import plural
from ..saved import pins as saved
from ..saved.units import length
from ..scene import pins as scene_pins
from .layouts import draw_text
from .panel_places import panels


class THEW_UL_pins(bpy.types.UIList):
    """A row of the list of pins: name, a warning sign where it stops short, and what holds it."""

    def draw_item(self, _context, layout, _data, pin, _icon, _active, _property, _index=0, _filter=0):
        row = layout.row(align=True)
        flesh = fleshes.known_state(pin.id_data)
        short = flesh is not None and flesh.pin_gaps.worst(pin.name)[0] > 0.0
        held = "PINNED" if pin.influence > 0.0 else "UNPINNED"
        row.prop(pin, "name", text="", emboss=False, icon="ERROR" if short else held)
        row.label(text=pin.bone or (pin.target.name if pin.target is not None else "–"))


def draw_pins(layout, context, obj, width: int) -> None:
    """Draws the list of pins and the settings of the chosen one. Messages stand below: no row moves under the mouse."""
    row = layout.row()
    row.template_list("THEW_UL_pins", "", obj.thew, "pins", obj.thew, "active_pin", rows=2)
    column = row.column(align=True)
    column.operator("thew.pin_remove", text="", icon="REMOVE")
    row = layout.row(align=True)
    row.operator("thew.pin_point", icon="EMPTY_AXIS")
    row.operator("thew.pin_group", icon="GROUP_VERTEX")
    layout.operator("thew.pin_belt", icon="MESH_TORUS")
    pin = saved.active_pin(obj)
    if pin is not None:
        draw_pin(layout.column(), pin)
    told = layout.column(align=True)
    if pin is not None:
        count = len(PinPoints.from_text(pin.points))
        draw_text(told, f"Holds {plural(count, 'point')}", width)
        gap = gap_text(context, obj, pin)
        if gap:
            draw_text(told, gap, width, icon="ERROR")
    else:
        draw_text(
            told,
            "Choose a vertex in edit mode, or place the 3D cursor on the skin, and press Pin to Empty",
            width,
            icon="INFO",
        )
    if obj.thew.method == logic_pins.NO_PINS_METHOD and len(obj.thew.pins):
        draw_text(told, logic_pins.NO_PINS_NOTE, width, icon="INFO")
    for text in scene_pins.problems(obj):
        draw_text(told, text, width, icon="ERROR")


def gap_text(context, obj, pin) -> str:
    """Returns how far a pin stops short of its target, and what to do; "" where it reaches it."""
    flesh = fleshes.known_state(obj)
    if flesh is None:
        return ""
    index = context.scene.frame_current - flesh.clip_start
    return flesh.pin_gaps.description(pin.name, index, flesh.clip_start, length)


def draw_pin(column, pin) -> None:
    """Draws the settings of one pin."""
    column.prop(pin, "target")
    if pin.target is not None and pin.target.type == "ARMATURE":
        column.prop_search(pin, "bone", pin.target.data, "bones")
    keyable = column.column()
    keyable.use_property_decorate = True
    keyable.prop(pin, "influence", slider=True)
    if any(pin.belt_axis):
        keyable.prop(pin, "girth", slider=True)


CLASSES = (THEW_UL_pins, *panels("Pin", draw_pins, 6))

register, unregister = bpy.utils.register_classes_factory(CLASSES)

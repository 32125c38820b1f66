# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved pins of a mesh: `Object.thew.pins`, each with points of the skin and the object or bone that holds them."""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..logic.names import free_name
from .edit_callbacks import call_on_change, record, setting

#: Called with the object and a pin after another target or bone was chosen for it; set by `handlers`.
on_attach: list[Callable[[bpy.types.Object, bpy.types.PropertyGroup], None]] = []


def _bone_chosen(self, context):
    for call in on_attach:
        call(self.id_data, self)
    call_on_change(self, context)


def _target_chosen(self, context):
    _bone_chosen(self, context)
    self.made = False  # an object that the artist chose stays when the pin goes


def _name_edited(self, _context):
    others = [pin.name for pin in self.id_data.thew.pins if pin != self]
    if self.name in others or not self.name:
        self.name = free_name(self.name or "Pin", others)


def _can_hold(self, obj):
    return obj != self.id_data


class ThewPin(bpy.types.PropertyGroup):
    """Points of the skin that an object or a bone holds."""

    name: StringProperty(name="Name", description="Name of the pin", update=_name_edited)
    target: setting(
        PointerProperty,
        "Target",
        "Object that holds the points: they follow it as if they were its children, from where they lie as it is chosen",
        type=bpy.types.Object,
        poll=_can_hold,
        update=_target_chosen,
    )
    bone: setting(
        StringProperty,
        "Bone",
        "Bone of the target that holds the points, from where they lie as it is chosen; empty: the object",
        default="",
        update=_bone_chosen,
    )
    influence: FloatProperty(
        name="Influence",
        description="1 holds the points, 0 lets them go. In between they are pulled: at rest this part of the way from where "
        "the flesh would be. Can be keyed",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=call_on_change,
    )
    girth: FloatProperty(
        name="Girth",
        description="Share of the girth that the skin had when the belt was put on, at which it is held; less is tighter. Flesh gives "
        "way by no more than six tenths of its thickness. Can be keyed",
        default=1.0,
        min=0.5,
        max=1.5,
        step=1,
        subtype="FACTOR",
        update=call_on_change,
    )
    belt_axis: record(
        FloatVectorProperty, "Axis of a belt in the space of its target; zero: not a belt", name="Belt Axis", size=3
    )
    points: record(
        StringProperty, "Points: of each its vertex, its place at rest and its place on the target", name="Points"
    )
    made: record(BoolProperty, "The target was made for this pin", name="Made")


class PinProperties:
    """Mix-in for the pins of a mesh."""

    pins: CollectionProperty(type=ThewPin, description="Points of the skin held by objects or bones")
    active_pin: IntProperty(name="Pin", description="Pin chosen in the list", default=0, min=0, options=set())


def active_pin(obj: bpy.types.Object | None) -> ThewPin | None:
    """Returns the pin chosen in the list."""
    if obj is None or not 0 <= obj.thew.active_pin < len(obj.thew.pins):
        return None
    return obj.thew.pins[obj.thew.active_pin]


CLASSES = (ThewPin,)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of single bones, saved with the armature at `Bone.thew`: they follow a bone that is renamed, copied or mirrored."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, FloatProperty, PointerProperty

from .edit_callbacks import on_change, setting


def moved_flesh(armature: bpy.types.Armature) -> list[bpy.types.Object]:
    """Returns the objects with flesh that armatures of these bones move."""
    return [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH"
        and obj.thew.made.flesh
        and any(m.type == "ARMATURE" and m.object is not None and m.object.data == armature for m in obj.modifiers)
    ]


def _call_on_change(self, _context) -> None:
    for obj in moved_flesh(self.id_data):
        for call in on_change:
            call(obj)


class ThewBone(bpy.types.PropertyGroup):
    """The artist's settings for one bone."""

    use_twist: setting(
        BoolProperty,
        "Own Twist",
        "Turn the flesh around this bone by a twist of its own instead of the automatic one",
        default=False,
        update=_call_on_change,
    )
    twist_radius: setting(
        FloatProperty,
        "Radius",
        "Distance from the bone within which flesh turns with it",
        default=0.05,
        min=0.0,
        max=1e6,
        soft_max=10.0,
        step=0.1,
        precision=4,
        subtype="DISTANCE",
        update=_call_on_change,
    )
    twist_strength: setting(
        FloatProperty,
        "Strength",
        "How firmly flesh within the radius turns with this bone: 0 is off, 1 as firm as the flesh itself, 5 shows, 20 is much. "
        "Flesh outside the radius follows by its own elasticity",
        default=1.0,
        min=0.0,
        max=1000.0,
        soft_max=20.0,
        update=_call_on_change,
    )


CLASSES = (ThewBone,)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Bone.thew = PointerProperty(type=ThewBone, name="Thew", description="Flesh around this bone")


def unregister() -> None:
    del bpy.types.Bone.thew
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches between the live flesh and its bake, and switches on what flesh needs."""

import bpy

from ..bake import showing
from ..logic.errors import Refusal
from ..logic.names import describe
from ..scene import reading
from .operator_bases import QuickJob


class BakeSwitch(QuickJob):
    """Base of both switches. `baked`: the bake plays, not the live flesh."""

    baked = False

    def edit(self, context, obj):
        showing.show(obj, context.scene, self.baked)


class THEW_OT_show_live(BakeSwitch, bpy.types.Operator):
    bl_label = "Show Live"
    bl_description = "Mute the bake and show the live flesh"


class THEW_OT_show_bake(BakeSwitch, bpy.types.Operator):
    bl_label = "Show Bake"
    bl_description = "Let the bake play instead of the live flesh"
    baked = True


class THEW_OT_switch_on_armature(QuickJob, bpy.types.Operator):
    bl_label = "Switch On Armature"
    bl_description = "Switch on the Armature modifier of the mesh, which flesh needs"

    def edit(self, _context, obj):
        reading.check_editable(obj)
        idle = reading.idle_armature_modifier(obj)
        if idle is None:
            raise Refusal(
                f"{describe(obj)} has no Armature modifier that is switched off: its panel says what it needs"
            )
        if idle.object is None:
            raise Refusal(reading.idle_armature_text(obj, idle))
        idle.show_viewport = idle.show_render = True
        return f"The Armature modifier “{idle.name}” of {describe(obj)} is on: press Add Flesh"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Switch between the live flesh and its bake."""

import bpy

from .. import handlers, jobs, writing
from ..logic.errors import Refusal
from .shell import Job


class Switch(Job):
    baked = False

    def invoke(self, context, _event):
        return self.execute(context)

    def execute(self, context):
        obj = context.view_layer.objects.active
        try:
            jobs.check_flesh(obj)
            if self.baked and not writing.baked_keys(obj):
                raise Refusal(f"“{obj.name}” has no baked shape keys: press Bake first")
            handlers.stop_update()
            obj.thew.made.shows_bake = self.baked
            obj.thew.enabled = True
            jobs.apply_state(obj)
            if not self.baked:
                handlers.before_frame(context.scene)
        except Exception as error:
            return self.refuse(obj, error)
        return {"FINISHED"}


class THEW_OT_show_live(Switch, bpy.types.Operator):
    bl_idname = "thew.show_live"
    bl_label = "Show Live"
    bl_description = "Mute the baked shape keys and show the live flesh"
    bl_options = {"REGISTER", "UNDO"}


class THEW_OT_show_bake(Switch, bpy.types.Operator):
    bl_idname = "thew.show_bake"
    bl_label = "Show Bake"
    bl_description = "Let the baked shape keys play instead of the live flesh"
    bl_options = {"REGISTER", "UNDO"}
    baked = True

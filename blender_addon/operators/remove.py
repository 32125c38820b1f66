# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes what Thew made."""

import bpy
from bpy.props import BoolProperty

from ..live import jobs, target, updates
from .shell import Job


class THEW_OT_remove(Job, bpy.types.Operator):
    bl_idname = "thew.remove"
    bl_label = "Remove"
    bl_description = "Take away the flesh and let the Armature modifier move the mesh again"
    bl_options = {"REGISTER", "UNDO"}

    remove_baked_keys: BoolProperty(
        name="Baked Keys Too", description="Also delete the shape keys that were baked", default=False
    )

    remove_rigs: BoolProperty(
        name="Rigs Too", description="Also delete the rigs, which are kept otherwise", default=False
    )

    def invoke(self, context, _event):
        return self.execute(context)

    def execute(self, context):
        obj = target.of(context)
        try:
            updates.stop_update()
            notes = jobs.remove(obj, self.remove_baked_keys, self.remove_rigs)
        except Exception as error:
            return self.refuse(obj, error)
        for text in notes:
            self.report({"INFO"}, text + ".")
        return {"FINISHED"}

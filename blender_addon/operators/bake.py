# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake to Shape Keys."""

import bpy
from bpy.props import EnumProperty, IntProperty

from .. import jobs
from ..logic.sentences import plural
from .shell import Job


class THEW_OT_bake(Job, bpy.types.Operator):
    bl_idname = "thew.bake"
    bl_label = "Bake"
    bl_description = "Write the motion into the file, one shape key a frame, so that it plays without this extension"
    bl_options = {"REGISTER", "UNDO"}

    target: EnumProperty(
        name="Target",
        description="What to bake into",
        items=(("SHAPE_KEYS", "Shape Keys", "One additive key a frame, animated"),),
        default="SHAPE_KEYS",
    )
    frame_start: IntProperty(name="Start", description="First frame; left alone, the range in force", default=1)
    frame_end: IntProperty(name="End", description="Last frame; left alone, the range in force", default=250)

    def job(self, context, obj):
        given = self.properties.is_property_set
        return jobs.bake(
            obj,
            context.scene,
            context.view_layer,
            self.frame_start if given("frame_start") else None,
            self.frame_end if given("frame_end") else None,
        )

    def said(self, obj, names):
        return f"“{obj.name}” plays {plural(len(names), 'baked shape key')}."

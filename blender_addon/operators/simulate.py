# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates the motion in the live range, or in a range of its own."""

import bpy
from bpy.props import IntProperty

from ..live import jobs
from ..live.session import register
from .operator_bases import Job, fill, fresh_property


class THEW_OT_simulate(Job, bpy.types.Operator):
    bl_label = "Simulate"
    bl_description = "Read the animation again and compute the motion of the flesh; shows it live instead of a bake"

    frame_start: fresh_property(IntProperty, "Start", "First frame; if unset, that of the current range", default=1)
    frame_end: fresh_property(IntProperty, "End", "Last frame; if unset, that of the current range", default=250)

    def job(self, context, obj):
        if obj is not None and obj.type == "MESH":
            start, end = obj.thew.frames(context.scene)
            fill(self, frame_start=start, frame_end=end)
        return jobs.simulate(obj, context.scene, context.view_layer, self.frame_start, self.frame_end)

    def message(self, obj, _result):
        flesh = register.state_of(obj)
        return f"“{obj.name}” moves from frame {flesh.clip_start} to {flesh.clip_end}."

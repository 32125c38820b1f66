# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates the motion in the live range, or in a range of its own."""

import bpy
from bpy.props import IntProperty

from ..live import jobs
from ..live.session import register
from ..logic.errors import Refusal
from ..logic.names import describe
from .operator_bases import Job, QuickJob, fill, fresh_property, option


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


class THEW_OT_set_end(QuickJob, bpy.types.Operator):
    bl_label = "Set End"
    bl_description = "End the frames of the motion where the bones come to a stand: those of the scene, or of the character where it has its own"

    frame: option(IntProperty, "Frame", "The last frame; if unset, the one from which the bones stand still")

    def edit(self, context, obj):
        jobs.check_flesh(obj)
        scene = context.scene
        frame = self.frame if self.properties.is_property_set("frame") else jobs.still_frame(register.known_state(obj))
        if frame is None:
            raise Refusal(
                f"The bones of {describe(obj)} move to the end, or nothing is simulated yet: there is nothing to set"
            )
        first, _ = obj.thew.frames(scene)
        if frame <= first:
            raise Refusal(f"The motion of {describe(obj)} begins in frame {first}: choose an End after it")
        owner = scene if obj.thew.use_scene_range else obj.thew
        owner.frame_end = frame
        return f"The scene ends at frame {frame}." if owner == scene else f"{describe(obj)} ends at frame {frame}."

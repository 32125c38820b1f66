# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends the frames of a motion where the bones come to a stand."""

import bpy
from bpy.props import IntProperty

from ..live import jobs
from ..live.session import register
from ..logic.errors import Refusal
from ..logic.names import describe
from .operator_bases import QuickJob, option


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

# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts: frames in which the flesh of a character begins anew."""

from __future__ import annotations

import bpy
from bpy.props import IntProperty

from ..live import target, whole_character
from ..live.session import register as fleshes
from ..logic.sentences import frames_text
from ..saved import restarts
from ..saved.edit_callbacks import call_on_change
from ..scene.libraries import check_own_entry
from ..scene.reading import armature_of
from .operator_bases import QuickJob, option


def fleshed_meshes(obj: bpy.types.Object, scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Returns `obj` and the other meshes with flesh on its armature: a cut applies to all of them."""
    armature = armature_of(obj)
    others = [] if armature is None else whole_character.meshes_moved_by(armature, scene)
    return [obj, *(other for other in others if other != obj and other.thew.made.flesh)]


class THEW_OT_restart_here(QuickJob, bpy.types.Operator):
    bl_label = "Restart Here"
    bl_description = (
        "Let the flesh begin anew in this frame, whatever came before: for a cut, in the first frame of the "
        "character's new place"
    )

    frame: option(IntProperty, "Frame", "Frame of the restart; if unset, the current one")

    @classmethod
    def poll(cls, context):
        obj = target.target_mesh(context)
        return obj is not None and obj.thew.made.flesh

    def edit(self, context, obj):
        scene = context.scene
        frame = self.frame if self.properties.is_property_set("frame") else scene.frame_current
        found = fleshed_meshes(obj, scene)
        new = [each for each in found if frame not in restarts.frames(each.thew)]
        for each in new:
            restarts.add(each.thew, {frame})
        return f"The flesh {'begins' if new else 'already begins'} anew in frame {frame}."


class THEW_OT_restart_remove(QuickJob, bpy.types.Operator):
    bl_label = "Remove Restart"
    bl_description = "Remove this restart: the flesh goes on through the frame"

    frame: option(IntProperty, "Frame", "Frame of the restart")

    @classmethod
    def poll(cls, context):
        obj = target.target_mesh(context)
        return obj is not None and len(obj.thew.restarts) > 0

    def edit(self, context, obj):
        found = fleshed_meshes(obj, context.scene)
        for each in found:
            for index, restart in enumerate(each.thew.restarts):
                if restart.frame == self.frame:
                    check_own_entry(each, "restarts", index, "restart")
        known = [each for each in found if restarts.drop(each.thew, self.frame)]
        if not known:
            return f"The flesh does not begin anew in frame {self.frame}."
        for each in known:
            call_on_change(each.thew, context)
        return f"Frame {self.frame} is a restart no more."


class THEW_OT_restart_at_cuts(QuickJob, bpy.types.Operator):
    bl_label = "Restart at All Cuts"
    bl_description = "Let the flesh begin anew in every frame in which Thew noticed that the character, or a bone, is elsewhere at once"

    @classmethod
    def poll(cls, context):
        obj = target.target_mesh(context)
        return obj is not None and obj.thew.made.flesh

    def edit(self, context, obj):
        frames = open_frames(obj, context.scene)
        if not frames:
            return "No cut was noticed that is not a restart already: simulate first, if the animation is new."
        for each in fleshed_meshes(obj, context.scene):
            restarts.add(each.thew, frames)
            call_on_change(each.thew, context)
        return f"The flesh begins anew in {frames_text(sorted(frames))}."


class THEW_OT_restart_pass(QuickJob, bpy.types.Operator):
    bl_label = "No Cut"
    bl_description = "Let the flesh go on through this frame, whatever jumps in it, and mention it no more"

    frame: option(IntProperty, "Frame", "Frame of the jump")

    @classmethod
    def poll(cls, context):
        obj = target.target_mesh(context)
        return obj is not None and obj.thew.made.flesh

    def edit(self, context, obj):
        for each in fleshed_meshes(obj, context.scene):
            restarts.pass_over(each.thew, self.frame)
            call_on_change(each.thew, context)
        return f"The flesh goes on through frame {self.frame}."


def open_frames(obj: bpy.types.Object, scene: bpy.types.Scene) -> set[int]:
    """Returns the frames of cuts that were noticed in the motion of a character and that nobody has judged."""
    known = (fleshes.known_state(each) for each in fleshed_meshes(obj, scene))
    return {cut.frame for flesh in known if flesh is not None for cut in flesh.open_cuts}

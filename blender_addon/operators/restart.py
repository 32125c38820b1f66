# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts: frames in which the flesh of a character begins anew."""

from __future__ import annotations

import bpy
from bpy.props import IntProperty

from ..live import target, whole_character
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
            each.thew.restarts.add().frame = frame
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
        if all(self.frame not in restarts.frames(each.thew) for each in found):
            return f"The flesh does not begin anew in frame {self.frame}."
        for each in found:
            kept = each.thew.restarts
            for index in reversed(range(len(kept))):
                if kept[index].frame == self.frame:
                    check_own_entry(each, "restarts", index, "restart")
                    kept.remove(index)
            call_on_change(each.thew, context)
        return f"The flesh goes on through frame {self.frame}."

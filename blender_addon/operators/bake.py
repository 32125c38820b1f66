# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes to shape keys, and Finish Bake."""

import bpy
from bpy.props import EnumProperty, IntProperty

from ..bake import baking, finishing, targets
from ..live import updates
from ..saved.choices import BAKE_SPACES
from .operator_bases import Job, QuickJob, fill, fresh_property


class Bake(Job):
    """Mix-in of the baking operators: Blender accepts no operator as the base of another one."""

    bl_description = "Write the motion into the file, one shape key per frame, so that it plays without this extension"

    target: fresh_property(
        EnumProperty,
        "Target",
        "Form of the baked motion",
        items=targets.TARGET_ITEMS,
        default=targets.TARGET_ITEMS[0][0],
    )
    space: fresh_property(
        EnumProperty,
        "Space",
        "Space in which the keys act; if unset, as in the object's settings",
        items=BAKE_SPACES,
        default="REST",
    )
    frame_start: fresh_property(IntProperty, "Start", "First frame; if unset, that of the current range", default=1)
    frame_end: fresh_property(IntProperty, "End", "Last frame; if unset, that of the current range", default=250)

    def job(self, context, obj):
        if obj is not None and obj.type == "MESH":
            body = obj.thew.body if obj.thew.made.rides and obj.thew.body is not None else obj
            start, end = body.thew.frames(context.scene)
            space = "REST" if obj.thew.made.keyframed else obj.thew.bake_space
            fill(self, frame_start=start, frame_end=end, space=space)
        scene, layer = context.scene, context.view_layer
        return baking.bake(obj, scene, layer, self.frame_start, self.frame_end, self.space, self.target)

    def report_success(self, obj, result):
        """Reports the bake, as a warning if an export would go wrong."""
        self.report({"WARNING" if result.warnings else "INFO"}, result.message(obj))
        return {"FINISHED"}


class THEW_OT_bake(Bake, bpy.types.Operator):
    bl_label = "Bake"


class THEW_OT_finish_bake(QuickJob, bpy.types.Operator):
    bl_label = "Finish Bake"
    bl_description = (
        "Keep the baked keys and remove the flesh and whatever would deform the mesh a second time, ready for export"
    )

    def edit(self, _context, obj):
        updates.stop_update()
        return reversed(finishing.finish_bake(obj))  # the status bar shows the last one, all stand in the Info editor

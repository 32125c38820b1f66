# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes to shape keys, and Finish Bake."""

import bpy
from bpy.props import EnumProperty, IntProperty

from ..bake import baking, finishing, targets
from ..live import updates
from ..saved.choices import BAKE_SPACES
from .shell import Job, Quick, fill, fresh


class Bake(Job):
    """Mix-in of the baking operators: Blender accepts no operator as the base of another one."""

    bl_description = "Write the motion into the file, one shape key a frame, so that it plays without this extension"

    target: fresh(EnumProperty, "Target", "What to bake into", items=targets.CHOICES, default=targets.CHOICES[0][0])
    space: fresh(
        EnumProperty, "Space", "Where the keys act; left alone, as the object is set", items=BAKE_SPACES, default="REST"
    )
    frame_start: fresh(IntProperty, "Start", "First frame; left alone, the range in force", default=1)
    frame_end: fresh(IntProperty, "End", "Last frame; left alone, the range in force", default=250)

    def job(self, context, obj):
        if obj is not None and obj.type == "MESH":
            body = obj.thew.body if obj.thew.made.rides and obj.thew.body is not None else obj
            start, end = body.thew.frames(context.scene)
            space = "REST" if obj.thew.made.keyframed else obj.thew.bake_space
            fill(self, frame_start=start, frame_end=end, space=space)
        scene, layer = context.scene, context.view_layer
        return baking.bake(obj, scene, layer, self.frame_start, self.frame_end, self.space, self.target)

    def done(self, obj, result):
        """Reports the bake, as a warning if an export would go wrong."""
        self.report({"WARNING" if result.warnings else "INFO"}, result.said(obj))
        return {"FINISHED"}


class THEW_OT_bake(Bake, bpy.types.Operator):
    bl_label = "Bake"


class THEW_OT_finish_bake(Quick, bpy.types.Operator):
    bl_label = "Finish Bake"
    bl_description = (
        "Keep the baked keys and take away the flesh and whatever would deform the mesh a second time, "
        "so that the character is ready to be exported"
    )

    def edit(self, _context, obj):
        updates.stop_update()
        return reversed(finishing.finish_bake(obj))  # the status bar shows the last one, all stand in the Info editor

# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Select Region: skin that takes part in a rig from a shape, by the lasso of edit mode, kept as a vertex group."""

from __future__ import annotations

from contextlib import suppress

import bpy
from bpy.props import StringProperty

from ..edit import regions
from ..logic.names import describe
from ..logic.sentences import plural
from ..scene import windows
from .operator_bases import QuickJob, fresh_property


class THEW_OT_rig_region(QuickJob, bpy.types.Operator):
    bl_label = "Select Region"
    bl_description = (
        "Choose the skin that takes part in a rig from a shape. Edit mode opens with the lasso: draw around the region, with Shift for "
        "more, and press the button again. The selection becomes the vertex group “Rig Region”"
    )

    group: fresh_property(
        StringProperty,
        "Region",
        "Vertex group that is selected to begin with, and that the selection becomes",
        default=regions.REGION,
    )

    def edit(self, context, obj):
        regions.check(obj, self.group)
        if obj.mode == "EDIT":
            count = regions.keep(obj, self.group)
            return f"“{self.group}” of {describe(obj)} has {plural(count, 'vertex', 'vertices')}: Shape Key to Rig takes them."
        regions.begin(context, obj, self.group)
        if not windows.is_headless():  # Blender crashes without a window
            bpy.ops.mesh.select_mode(type="VERT")
            with suppress(RuntimeError):  # called from no 3D view: the tool there stays
                bpy.ops.wm.tool_set_by_id(name="builtin.select_lasso")
        return f"Draw a lasso around the region on {describe(obj)}, then press Keep Region."

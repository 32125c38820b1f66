# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports rigs to files and imports them."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ..languages.translations import report
from ..live import jobs, target
from ..logic.sentences import plural
from ..rigs import files
from ..scene import windows
from .operator_bases import option
from .rig_edit import RigEdit


class THEW_OT_rig_export(RigEdit, bpy.types.Operator):
    bl_label = "Export Rigs"
    bl_description = "Write the rigs into a small text file (TOML), to use on this or another character"
    bl_options = {"REGISTER"}
    needs_flesh = True

    filepath: option(StringProperty, "File", "File to write", subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.toml", options={"HIDDEN"})

    def invoke(self, context, _event):
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        self.filepath = self.filepath or f"{target.target_mesh(context).name} rigs.toml"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def change(self, context, obj):
        written, left = files.export(obj, jobs.with_body(obj, context.scene, context.view_layer), self.filepath)
        for text in left:
            report(self, {"WARNING"}, text)
        return f"{plural(written, 'rig')} written to {self.filepath}."


class THEW_OT_rig_import(RigEdit, bpy.types.Operator):
    bl_label = "Import Rigs"
    bl_description = "Add the rigs of a file to this character; bones are found by name, faces by index"
    needs_flesh = True

    filepath: option(StringProperty, "File", "File to read", subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.toml", options={"HIDDEN"})

    def invoke(self, context, _event):
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def change(self, context, obj):
        added = files.read(obj, jobs.with_body(obj, context.scene, context.view_layer), self.filepath)
        lost = [rig for rig in added if rig.problem]
        for rig in lost:
            report(self, {"WARNING"}, rig.problem)
        kept = f", {len(lost)} of them switched off" if lost else ""
        return f"{plural(len(added), 'rig')} added{kept}."

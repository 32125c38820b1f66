# SPDX-License-Identifier: GPL-3.0-or-later
"""The diagnosis of an object as text: on the clipboard and in a text of the file."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty

from ..edit import explaining
from ..live import diagnosing
from ..ui.bake_panel import played_bake
from .operator_bases import QuickJob, option

#: Name of the text.
TEXT_NAME = "Thew Diagnosis"


class THEW_OT_diagnose(QuickJob, bpy.types.Operator):
    bl_label = "Copy Diagnosis"
    bl_description = (
        "Copy all that a report of a fault needs, to paste it: versions, the object, its settings, what is wrong, and times. It also becomes "
        "the text “Thew Diagnosis”. Names of folders are left out"
    )
    bl_options = {"REGISTER"}

    paths: option(BoolProperty, "Folders", "Keep the folders of files in the text", default=False)

    @classmethod
    def poll(cls, _context):
        return True

    def edit(self, context, obj):
        played = played_bake(obj) if obj is not None and obj.type == "MESH" else None
        stiff = explaining.numbers(obj) if obj is not None else ""
        found = diagnosing.text_of(obj, context, self.paths, played, stiff)
        text = bpy.data.texts.get(TEXT_NAME) or bpy.data.texts.new(TEXT_NAME)
        text.from_string(found)
        context.window_manager.clipboard = found
        return f"The diagnosis is on the clipboard, and in the text “{TEXT_NAME}”."

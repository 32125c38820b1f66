# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes the bodies and motions that are cached between sessions."""

import bpy

from ..languages.translations import report
from ..scene import cache_files


class THEW_OT_clear_cache(bpy.types.Operator):
    bl_idname = "thew.clear_cache"
    bl_label = "Clear Cache"
    bl_description = "Delete the cached bodies and motions of this file; what is shown stays"
    bl_options = {"REGISTER"}

    def execute(self, _context):
        left = cache_files.clear()
        if left:
            report(self, {"ERROR"}, left)
            return {"CANCELLED"}
        report(self, {"INFO"}, "The cache is empty.")
        return {"FINISHED"}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings before exports: beside the settings of every exporter, and in the menu File > Export."""

from __future__ import annotations

import bpy

from ..bake import export_check
from ..logic.errors import sentence
from .layouts import draw_text, letters_per_line

#: Prefixes of the operators that export whole characters.
EXPORTER_PREFIXES = (
    "EXPORT_SCENE_OT_",  # glTF, FBX
    "WM_OT_fbx_export",
    "WM_OT_usd_export",
    "WM_OT_alembic_export",
    "WM_OT_obj_export",
)


#: Characters in a line of the menu. Lines of 45 to 75 are read best.
MENU_WIDTH = 60


def exporter_of(context) -> str:
    """Returns the exporter that the file browser works for, or ""."""
    operator = getattr(context.space_data, "active_operator", None)
    return operator.bl_idname if operator is not None and operator.bl_idname.startswith(EXPORTER_PREFIXES) else ""


class THEW_PT_export(bpy.types.Panel):
    bl_label = "Thew: Before You Export"
    bl_space_type = "FILE_BROWSER"
    bl_region_type = "TOOLS"  # where the settings stand, which are longer than the window
    bl_category = "Bookmarks"

    @classmethod
    def poll(cls, context):
        exporter = exporter_of(context)
        return bool(exporter) and bool(export_check.check_all(context.scene.objects, exporter))

    def draw(self, context):
        column = self.layout.column(align=True)
        for text in export_check.check_all(context.scene.objects, exporter_of(context)):
            draw_text(column, sentence(text), letters_per_line(context), icon="ERROR")


def draw_menu(self, context):
    """Draws the first warning in File > Export. All of them stand beside the exporter's settings."""
    sentences = export_check.check_all(context.scene.objects)
    if sentences:
        self.layout.separator()
        draw_text(self.layout.column(align=True), f"Thew: {sentence(sentences[0])}", MENU_WIDTH, icon="ERROR")


def register() -> None:
    bpy.utils.register_class(THEW_PT_export)
    bpy.types.TOPBAR_MT_file_export.append(draw_menu)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_export.remove(draw_menu)
    bpy.utils.unregister_class(THEW_PT_export)

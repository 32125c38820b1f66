# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings before exports: beside the settings of every exporter, and in the menu File > Export."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..bake import cache_export, export_check
from ..bake.traps import Trap, open_exporter
from ..languages.translations import translate
from ..logic.errors import sentence
from ..logic.health import shorten
from .layouts import HEALTH_ICONS, draw_text, letters_per_line, wrap

#: Characters in a line of the menu. Lines of 45 to 75 are read best.
MENU_WIDTH = 60


#: Lines of a sentence beside an exporter's settings, above its button, whose tooltip has the whole of it.
MAX_LINES = 3


def draw_traps(column, traps: Iterable[Trap], width: int) -> None:
    """Draws traps, each with the button that mends it."""
    for trap in traps:
        draw_text(column, sentence(trap.text), width, icon=HEALTH_ICONS[trap.level])
        draw_remedy(column, trap)


def draw_remedy(column, trap: Trap, exporter: str = "") -> None:
    """Draws the button that mends a trap. `exporter`: the one whose settings it may change."""
    if trap.remedy:
        button = column.operator("thew.mend_export", text=translate(trap.remedy), icon="CHECKMARK")
        button.trap, button.object, button.exporter = trap.key, trap.obj.name, exporter


def draw_short_traps(column, traps: Iterable[Trap], width: int, exporter: str) -> None:
    """Draws traps in few lines, so that all buttons are seen in a small dialog: sentences that have a button are cut."""
    for trap in traps:
        lines = wrap(translate(sentence(trap.text)), width)
        if trap.remedy and len(lines) > MAX_LINES:
            lines = [*lines[: MAX_LINES - 1], shorten(" ".join(lines[MAX_LINES - 1 :]), width)]
        for i, line in enumerate(lines):
            column.label(text=line, icon=HEALTH_ICONS[trap.level] if i == 0 else "BLANK1")
        draw_remedy(column, trap, exporter)


class THEW_PT_export(bpy.types.Panel):
    bl_label = "Thew: Before You Export"
    bl_space_type = "FILE_BROWSER"
    bl_region_type = "TOOLS"  # where the settings stand, which are longer than the window
    bl_category = "Bookmarks"
    bl_options = {"HIDE_HEADER"}  # Blender puts panels without a header above all others, here above the bookmarks

    @classmethod
    def poll(cls, context):
        settings = open_exporter(context)
        return settings is not None and bool(export_check.find_traps(context.scene.objects, settings))

    def draw(self, context):
        settings = open_exporter(context)
        traps = export_check.find_traps(context.scene.objects, settings)
        column = self.layout.column(align=True)
        column.label(text=THEW_PT_export.bl_label)
        draw_short_traps(column, traps, letters_per_line(context), settings.exporter)


def draw_menu(self, context):
    """Draws Export Cache and the first warning in File > Export. All of them stand beside the exporter's settings."""
    meshes = [obj for obj in context.scene.objects if obj.type == "MESH"]
    if any(cache_export.is_ours(obj) for obj in meshes):
        self.layout.operator("thew.export_cache", text="Thew Cache (.usdc, .abc)")
    sentences = export_check.check_all(meshes)
    if sentences:
        self.layout.separator()
        draw_text(self.layout.column(align=True), f"Thew: {sentence(sentences[0])}", MENU_WIDTH, icon="ERROR")


def register() -> None:
    bpy.utils.register_class(THEW_PT_export)
    bpy.types.TOPBAR_MT_file_export.append(draw_menu)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_export.remove(draw_menu)
    bpy.utils.unregister_class(THEW_PT_export)

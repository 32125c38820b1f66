# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Bake: its range and space, showing and finishing a bake, and what an export would do wrong."""

from __future__ import annotations

from .bakes import baking, export_check
from .layouts import draw_text
from .logic.errors import sentence


def draw_bake(layout, obj, width: int) -> None:
    """The range and the space, and shape keys from them."""
    settings, made = obj.thew, obj.thew.made
    column = layout.column()
    column.prop(settings, "use_scene_range")
    pair = column.column(align=True)
    pair.active = not settings.use_scene_range
    pair.prop(settings, "frame_start")
    pair.prop(settings, "frame_end")
    column = layout.column()
    column.prop(settings, "bake_space")
    column = layout.column(align=True)
    column.operator("thew.bake", icon="SHAPEKEY_DATA")
    row = column.row(align=True)
    row.enabled = bool(made.baked_keys)
    if made.shows_bake:
        row.operator("thew.show_live", icon="PHYSICS")
    else:
        row.operator("thew.show_bake", icon="SHAPEKEY_DATA")
    row.operator("thew.remove", text="Remove With Keys", icon="TRASH").remove_baked_keys = True
    row = column.row(align=True)
    row.enabled = bool(made.baked_keys)
    row.operator("thew.finish_bake", icon="EXPORT")
    draw_remarks(layout, obj, width)


def draw_remarks(layout, obj, width: int) -> None:
    """What bake there is, how near it came, and what an export would do wrong now."""
    made = obj.thew.made
    if not made.baked_keys:
        return
    column = layout.column(align=True)
    space = "rest" if made.baked_space == "REST" else "posed"
    draw_text(column, f"Keys of {made.baked_start} to {made.baked_end}, in {space} space", width, icon="INFO")
    if made.baked_miss > baking.VISIBLE:
        draw_text(column, sentence(baking.missed(made.baked_miss)), width)
    for warning in export_check.check(obj):
        draw_text(column, sentence(warning), width, icon="ERROR")

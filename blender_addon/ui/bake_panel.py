# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Bake: its range and space, showing and finishing a bake, and what an export would do wrong."""

from __future__ import annotations

from ..bake import baking, export_check
from ..logic.errors import sentence
from .layouts import draw_text


def draw_bake(layout, context, obj, width: int) -> None:
    """The range, and shape keys from it."""
    settings = obj.thew
    column = layout.column()
    column.prop(settings, "use_scene_range")
    pair = column.column(align=True)
    pair.enabled = not settings.use_scene_range
    owner = context.scene if settings.use_scene_range else settings
    pair.prop(owner, "frame_start", text="Start")
    pair.prop(owner, "frame_end", text="End")
    column = draw_keys(layout, obj)
    row = column.row(align=True)
    row.enabled = bool(obj.thew.made.baked_keys)
    row.operator("thew.remove", text="Remove Flesh and Keys", icon="TRASH").remove_baked_keys = True
    draw_remarks(layout, obj, context.scene, width)


def draw_keys(layout, obj):
    """The space, and the buttons that make a bake, show it and finish it; gives their column."""
    made = obj.thew.made
    layout.column().prop(obj.thew, "bake_space")
    column = layout.column(align=True)
    column.operator("thew.bake", icon="SHAPEKEY_DATA")
    row = column.row(align=True)
    row.enabled = bool(made.baked_keys)
    if made.shows_bake:
        row.operator("thew.show_live", icon="PHYSICS")
    else:
        row.operator("thew.show_bake", icon="SHAPEKEY_DATA")
    row.operator("thew.finish_bake", icon="EXPORT")
    return column


def draw_remarks(layout, obj, scene, width: int) -> None:
    """What bake there is, what of the scene it leaves out, how near it came, and what an export would do wrong now."""
    made = obj.thew.made
    if not made.baked_keys:
        return
    column = layout.column(align=True)
    space = "rest" if made.baked_space == "REST" else "posed"
    draw_text(column, f"Keys of {made.baked_start} to {made.baked_end}, in {space} space", width, icon="INFO")
    for remark in (baking.unbaked(made, scene), baking.missed(made.baked_miss)):
        if remark:
            draw_text(column, sentence(remark), width)
    for warning in export_check.check(obj):
        draw_text(column, sentence(warning), width, icon="ERROR")

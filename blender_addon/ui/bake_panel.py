# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Bake: range and space, buttons to show and finish a bake, and warnings about exports."""

from __future__ import annotations

from ..bake import baking, export_check
from ..logic.errors import sentence
from .layouts import draw_text
from .panel_places import draw_range


def draw_bake(layout, context, obj, width: int) -> None:
    """Draws the frame range, the bake buttons and the remarks."""
    draw_range(layout.column(), context, obj.thew)
    draw_keys(layout, obj, removes="Remove Flesh and Keys")
    draw_remarks(layout, obj, context.scene, width)


def draw_keys(layout, obj, kind: str = "", removes: str = "") -> None:
    """Draws the buttons that make, show, finish and remove a bake, and the space that it can be made in.

    `kind`: "keyframed_" for keyframed flesh, whose keys have one space; `removes`: the label of the last button, "" for none.
    """
    made = obj.thew.made
    if not kind:
        layout.column().prop(obj.thew, "bake_space")
    column = layout.column(align=True)
    column.operator(f"thew.{kind}bake", icon="SHAPEKEY_DATA")
    row = column.row(align=True)
    row.enabled = bool(made.baked_keys)
    if made.shows_bake:
        row.operator("thew.show_live", icon="PHYSICS")
    else:
        row.operator("thew.show_bake", icon="SHAPEKEY_DATA")
    row.operator("thew.finish_bake", icon="EXPORT")
    if removes:
        row = column.row(align=True)
        row.enabled = bool(made.baked_keys)
        row.operator(f"thew.{kind}remove", text=removes, icon="TRASH").remove_baked_keys = True


def draw_remarks(layout, obj, scene, width: int) -> None:
    """Draws the present bake: its frames, what it leaves out, its error, and warnings about an export."""
    made = obj.thew.made
    if not made.baked_keys:
        return
    column = layout.column(align=True)
    space = "rest" if made.baked_space == "REST" else "posed"
    draw_text(column, f"Keys of {made.baked_start} to {made.baked_end}, in {space} space", width, icon="INFO")
    for remark in (baking.unbaked_frames_remark(made, scene), baking.miss_remark(made.baked_miss)):
        if remark:
            draw_text(column, sentence(remark), width)
    for warning in export_check.check(obj):
        draw_text(column, sentence(warning), width, icon="ERROR")

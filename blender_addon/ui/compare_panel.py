# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Compare: skin, settled and moving flesh, and two sets of settings."""

from __future__ import annotations

from typing import Any

import bpy

from ..languages.translations import translate
from ..logic.comparison import SIDES, difference_text, differences, number_texts
from ..logic.errors import Refusal
from ..saved import comparison
from ..saved.units import length
from .layouts import buttons, draw_translated
from .panel_places import panels

#: Largest number of differences that are listed.
MAX_ROWS = 8


def draw_compare(layout, _context, obj, width: int) -> None:
    """Draws what the view shows, and the sides A and B with what differs."""
    settings = obj.thew
    row = buttons(layout)
    row.enabled = not settings.made.shows_bake
    row.prop(settings, "view", expand=True)
    column = layout.column(align=True)
    if not settings.compared_other:
        column.operator("thew.compare_store", text="Store as B", icon="COPYDOWN")
        return
    row = buttons(column)
    for side in SIDES:
        # The side in view is pressed in, not grey: grey reads as out of reach.
        row.operator("thew.compare_swap", text=side, depress=side == settings.compared_side).side = side
    row.operator("thew.compare_end", text="", icon="X")
    row = buttons(column)
    for side in SIDES:
        row.operator("thew.compare_copy", text="Copy A to B" if side == "A" else "Copy B to A").source = side
    for line in difference_lines(settings):
        draw_translated(column, line, width)


def difference_lines(settings) -> list[str]:
    """Returns a line for each setting in which A and B differ, in the artist's language."""
    try:
        other = comparison.other_values(settings)
    except Refusal as error:
        return [translate(str(error))]
    known = comparison.defaults_of(settings)
    found = differences(comparison.values_of(settings), other, known)
    lines = [
        line_of(settings.bl_rna.properties[name], settings.compared_side, *values) for name, *values in found[:MAX_ROWS]
    ]
    if len(found) > MAX_ROWS:
        lines.append(translate(f"and {len(found) - MAX_ROWS} more"))
    return lines or [translate("A and B are alike: change a setting")]


def line_of(prop: bpy.types.Property, side: str, mine: Any, other: Any) -> str:
    """Returns the line of one setting, with its name and its values as the panel shows them."""
    if prop.type == "FLOAT" and prop.unit == "LENGTH":
        texts = number_texts(mine, other, prop.precision, length)
    elif prop.type == "FLOAT":
        texts = number_texts(mine, other, prop.precision)
    else:
        texts = tuple(value_text(prop, value) for value in (mine, other))
    return difference_text(label_text(prop.name, prop.translation_context), side, *texts)


def value_text(prop: bpy.types.Property, value: Any) -> str:
    """Returns a value that is no decimal number as the panel shows it."""
    if prop.type == "BOOLEAN":
        return translate("on" if value else "off")
    if prop.type == "ENUM" and value in prop.enum_items:
        return label_text(prop.enum_items[value].name, prop.translation_context)
    return str(value)


def label_text(name: str, context: str) -> str:
    """Returns a label in the artist's language."""
    return bpy.app.translations.pgettext_iface(name, context)


CLASSES = tuple(panels("Compare", draw_compare, 9))

register, unregister = bpy.utils.register_classes_factory(CLASSES)

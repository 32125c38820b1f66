# SPDX-License-Identifier: GPL-3.0-or-later
"""The main panel where no mesh is meant: the tab stays, and says what to select."""

from __future__ import annotations

from ..logic.errors import sentence
from ..scene import libraries, reading
from .layouts import draw_text


def has_panel(obj) -> bool:
    """Returns whether an object has a panel of its own: a mesh, or an instance of one."""
    return obj is not None and (obj.type == "MESH" or libraries.is_instance(obj))


def draw_selection(layout, obj, width: int) -> None:
    """Draws what to select instead of the active object."""
    column = layout.column(align=True)
    if obj is not None and obj.type == "ARMATURE":
        draw_text(column, sentence(reading.bare_armature_text(obj)), width, icon="INFO")
        return
    draw_text(column, "Select a skinned mesh or its armature", width, icon="INFO")
    if obj is not None and obj.field is not None and obj.field.type != "NONE":
        draw_text(
            column, "How strongly fields push a character: Force Fields in its foldout Look", width, icon="FORCE_WIND"
        )

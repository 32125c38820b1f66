# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters of a library in the panels: the button that makes them editable, and whose the mesh is."""

from __future__ import annotations

from ..logic.errors import sentence
from ..logic.names import describe
from ..scene import libraries
from .layouts import draw_text


def draw_linked(layout, obj, width: int) -> bool:
    """Draws what to do about a linked or instanced character; returns whether the object is one."""
    if libraries.can_override(obj):
        layout.operator("thew.make_override", icon="LIBRARY_DATA_OVERRIDE")
        text = f"Linked from {libraries.describe_library(obj)}: override it to add or change its flesh here"
        draw_text(layout.column(align=True), text, width, icon="INFO")
        return True
    if libraries.is_instance(obj):
        draw_text(layout.column(align=True), sentence(libraries.instance_text(obj)), width, icon="INFO")
        return True
    return False


def draw_mesh_owner(layout, obj, width: int) -> None:
    """Draws whose the mesh of an override is, and the button that gives it one of its own."""
    if libraries.owns_mesh(obj):
        return
    column = layout.column(align=True)
    text = f"The mesh of {describe(obj)} belongs to {libraries.describe_library(obj)}: its maps are used as they are"
    draw_text(column, text, width, icon="LIBRARY_DATA_OVERRIDE")
    column.operator("thew.make_mesh_local", icon="MESH_DATA")

# SPDX-License-Identifier: GPL-3.0-or-later
"""The main panel where no mesh is meant: the tab stays, and says what to select."""

from __future__ import annotations

from ..logic.errors import sentence
from ..scene import binding, libraries, reading
from .layouts import draw_bind, draw_text


def has_panel(obj) -> bool:
    """Returns whether an object has a panel of its own: a mesh, or an instance of one."""
    return obj is not None and (obj.type == "MESH" or libraries.is_instance(obj))


def draw_selection(layout, context, obj, width: int) -> None:
    """Draws what to select instead of the active object, or which mesh its bones could move."""
    column = layout.column(align=True)
    bones = obj is not None and obj.type == "ARMATURE"
    bare = binding.likely_mesh(obj, context.scene) if bones and not reading.lost_mesh_text(obj) else None
    if bare is not None:
        draw_text(
            column, f"These bones move no mesh yet: look them over, then bind “{bare.name}” to them", width, icon="INFO"
        )
        draw_bind(column, obj.name, bare.name)
        return
    if bones:
        draw_text(column, sentence(reading.bare_armature_text(obj)), width, icon="INFO")
        return
    draw_text(column, "Select a skinned mesh or its armature", width, icon="INFO")
    if obj is not None and obj.field is not None and obj.field.type != "NONE":
        draw_text(
            column, "How strongly fields push a character: Force Fields in its foldout Look", width, icon="FORCE_WIND"
        )

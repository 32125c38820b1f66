# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on the target mesh, each in two places: the sidebar of the 3D view and the physics properties."""

from __future__ import annotations

from collections.abc import Callable

import bpy

from ..languages.contexts import AMBIGUOUS, OWN
from ..languages.translations import translate
from ..live import target, work
from ..logic import native
from .layouts import draw_text, letters_per_line


class Sidebar:
    """Mix-in of panels in the sidebar of the 3D view."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Thew"


class Physics:
    """Mix-in of panels among the physics properties."""

    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"


class TargetPanel:
    """Base of the panels, shown on the meshes that meet `condition(obj)`."""

    condition: Callable
    contents: Callable

    @classmethod
    def poll(cls, context):
        obj = target.target_mesh(context)
        return native.thew is not None and obj is not None and obj.type == "MESH" and cls.condition(obj)

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        self.contents(idle_part(layout), context, target.target_mesh(context), letters_per_line(context))


def idle_part(layout: bpy.types.UILayout) -> bpy.types.UILayout:
    """Returns the part of a layout that is greyed out while a job takes every click: only its progress and Esc are of use then."""
    column = layout.column()
    column.enabled = not work.running_steppers
    return column


def has_flesh(obj: bpy.types.Object) -> bool:
    """Returns whether flesh was added to a mesh."""
    return obj.thew.made.flesh


def panels(label: str, contents, order: int | None, condition=has_flesh, header=None, name: str = "") -> list[type]:
    """Returns the classes of a panel whose `contents(layout, context, obj, width)` draws it.

    `order`: its place among the foldouts of the main panel; None: it stands for itself. `header(layout, obj)` draws into its header.
    """
    members = {
        "bl_label": label,
        "bl_translation_context": OWN if label in AMBIGUOUS else "*",
        "bl_options": {"DEFAULT_CLOSED"},
        "contents": staticmethod(contents),
        "condition": staticmethod(condition),
    }
    if header is not None:

        def draw_header(self, context):
            self.layout.enabled = not work.running_steppers
            header(self.layout, target.target_mesh(context))

        members["draw_header"] = draw_header
    made = []
    for place in (Sidebar, Physics):
        where = place.__name__.lower()
        inside = {} if order is None else {"bl_parent_id": f"THEW_PT_{where}", "bl_order": order}
        identifier = f"THEW_PT_{name or label.lower()}_{where}"
        made.append(type(identifier, (TargetPanel, place, bpy.types.Panel), {**members, **inside}))
    return made


def foldout(layout, name: str, label: str, **header):
    """Draws the header of a foldout inside a panel, closed at first; returns the layout of its contents, None while it is closed."""
    top, body = layout.panel(f"THEW_{name}", default_closed=True)
    top.label(text=translate(label), **header)
    return body


def draw_range(layout, context, settings) -> None:
    """Draws the frame range to bake: the scene's, or one of the object's own."""
    layout.prop(settings, "use_scene_range")
    pair = layout.column(align=True)
    pair.enabled = not settings.use_scene_range
    owner = context.scene if settings.use_scene_range else settings
    pair.prop(owner, "frame_start", text="Start")
    pair.prop(owner, "frame_end", text="End")


def draw_notes(column, notes: list[str], width: int) -> None:
    """Draws notes one below the other."""
    for note in notes or ["Nothing yet."]:
        draw_text(column, note, width)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel, once in the sidebar of the 3D view and once among the physics properties."""

from __future__ import annotations

import bpy

from . import handlers, modal, native, writing
from .logic.sentences import modal_lines, modal_notes
from .reading import armature_modifier
from .session import register as fleshes


def draw_start(layout, obj) -> None:
    """What there is to see before flesh was added."""
    settings = obj.thew
    column = layout.column()
    column.prop(settings, "cells_across")
    column.prop(settings, "method")
    if settings.method == modal.METHOD:
        column.prop(settings, "modes")
    if armature_modifier(obj) is None:
        column.label(text="Needs an Armature modifier", icon="INFO")
    column.operator("thew.add", icon="ADD").cells_across = settings.cells_across
    if writing.baked_keys(obj):
        column.operator("thew.remove", text="Delete Baked Keys", icon="X").remove_baked_keys = True


def draw_progress(layout) -> bool:
    """A bar while something is being computed; True when there was something."""
    stepper = handlers.state.stepper
    if stepper is None:
        return False
    layout.progress(factor=stepper.fraction, text=stepper.text or "Working")
    return True


def draw_flesh(layout, obj, width: int) -> None:
    """Everything once there is flesh."""
    settings, made = obj.thew, obj.thew.made
    layout.use_property_split = True
    layout.use_property_decorate = False
    draw_progress(layout)

    row = layout.row(align=True)
    row.prop(settings, "enabled")
    row.prop(settings, "show_lattice", text="", icon="LATTICE_DATA")

    column = layout.column()
    column.prop(settings, "cells_across")
    column.prop(settings, "real_height")
    if settings.real_height == 0.0:
        column.label(text=f"Guessed: {made.guessed_height:.3g} m", icon="BLANK1")

    column = layout.column(align=True)
    column.prop(settings, "young")
    column.prop(settings, "poisson")
    column.prop(settings, "density")
    column.prop(settings, "fit_stiffness")
    column = layout.column(align=True)
    column.prop(settings, "mass_damping")
    column.prop(settings, "stiffness_damping")
    column.prop(settings, "reach")
    column = layout.column()
    column.prop(settings, "use_gravity")
    column.prop(settings, "rest_includes_gravity")
    column.prop(settings, "rate")
    column.prop(settings, "method")
    if settings.method == modal.METHOD:
        draw_modal(layout.box(), obj, width)

    column = layout.column()
    column.prop(settings, "use_scene_range")
    if not settings.use_scene_range:
        pair = column.column(align=True)
        pair.prop(settings, "frame_start")
        pair.prop(settings, "frame_end")

    column = layout.column(align=True)
    column.operator("thew.simulate", icon="PLAY")
    column.operator("thew.bake", icon="SHAPEKEY_DATA")
    if made.baked_keys:
        if made.shows_bake:
            column.label(text=f"Plays the bake of {made.baked_start} to {made.baked_end}", icon="CHECKMARK")
            column.operator("thew.show_live")
        else:
            column.operator("thew.show_bake")
    row = layout.row(align=True)
    row.operator("thew.remove", icon="X").remove_baked_keys = False
    if made.baked_keys:
        row.operator("thew.remove", text="With Keys", icon="X").remove_baked_keys = True
    draw_notes(layout, obj, width)


def draw_modal(box, obj, width: int) -> None:
    """What only the method Modal has: its modes, what deforms the mesh, a mode to look at."""
    settings, flesh = obj.thew, fleshes.known(obj)
    column = box.column()
    column.label(text="Modal", icon="MOD_WAVE")
    column.prop(settings, "modes")
    column.prop(settings, "engine")
    if settings.engine != "CPU":
        column.prop(settings, "device")
    column = box.column(align=True)
    column.prop(settings, "preview_mode")
    if settings.preview_mode:
        column.prop(settings, "preview_size")
    lines = modal_lines(flesh, settings.preview_mode) if flesh is not None else []
    column = box.column(align=True)
    for text in lines:
        draw_text(column, text, width)


def draw_notes(layout, obj, width: int) -> None:
    """What was found while building, wrapped to the panel's width."""
    notes = obj.thew.made.notes.splitlines()
    flesh = fleshes.known(obj)
    if flesh is not None:
        late = [*(modal_notes(flesh, obj.thew.preview_mode) if flesh.modal else ()), flesh.problem]
        notes += [note for note in late if note and note not in notes]
    if not notes:
        return
    column = layout.box().column(align=True)
    for note in notes:
        draw_text(column, note, width)


def draw_text(column, text: str, width: int, icon: str = "DOT") -> None:
    """`text` in as many lines as it needs, the icon before the first."""
    for i, line in enumerate(wrapped(text, width)):
        column.label(text=line, icon=icon if i == 0 else "BLANK1")


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` characters, where words allow."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def letters(context) -> int:
    """How many letters a line of the panel holds."""
    return max(20, int(context.region.width / (7.5 * context.preferences.system.ui_scale) - 8))


class Panel:
    """What both places show."""

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.type == "MESH"

    def draw(self, context):
        layout, obj = self.layout, context.object
        if native.thew is None:
            for line in wrapped("The native part of Thew is missing: install the zip for your system again.", 40):
                layout.label(text=line)
        elif obj.thew.made.flesh:
            draw_flesh(layout, obj, letters(context))
        else:
            draw_start(layout, obj)


class THEW_PT_sidebar(Panel, bpy.types.Panel):
    bl_label = "Thew"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Thew"


class THEW_PT_physics(Panel, bpy.types.Panel):
    bl_label = "Thew Flesh"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"
    bl_options = {"DEFAULT_CLOSED"}


CLASSES = (THEW_PT_sidebar, THEW_PT_physics)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Riding in the panels: what a rider shows, what rides on a body, and the way there."""

from __future__ import annotations

from . import riding
from .bake_panel import draw_keys, draw_remarks
from .layouts import draw_text
from .logic.errors import sentence
from .logic.health import of_bake
from .session import register as fleshes


def draw_offer(layout, context, obj, width: int) -> None:
    """Riding, for a mesh without flesh where the scene has a body to ride on."""
    if not fleshes.objects(context.scene):
        return
    column = layout.column(align=True)
    draw_text(column, "Clothes, eyes and hair need no flesh of their own:", width, icon="INFO")
    column.prop(obj.thew, "body")
    row = column.row(align=True)
    row.enabled = obj.thew.body is not None and obj.thew.body.thew.made.flesh
    row.operator("thew.ride", icon="MOD_CLOTH")


def draw_rider(layout, obj, scene, width: int) -> None:
    """All there is to a rider: its body, on and off, a bake of its own."""
    settings = obj.thew
    row = layout.row(align=True)
    row.use_property_split = False
    row.prop(settings, "enabled", text="Ride", toggle=True, icon="MOD_CLOTH")
    row.operator("thew.remove", text="", icon="TRASH").remove_baked_keys = False
    layout.prop(settings, "body")
    text, icon = health(obj, scene.frame_current)
    draw_text(layout.column(align=True), text, width, icon=icon)
    draw_keys(layout, obj)
    draw_remarks(layout, obj, scene, width)


def health(obj, frame: float) -> tuple[str, str]:
    """One line on how a rider is at the scene's `frame`, and its icon."""
    settings, made = obj.thew, obj.thew.made
    if not settings.enabled:
        return "Off: the plain skin", "HIDE_ON"
    if made.shows_bake:
        found = of_bake(made, frame)
        return found.text, "CHECKMARK" if found.level == "GOOD" else "ERROR"
    body = settings.body
    if made.notes:
        return sentence(made.notes), "ERROR"
    if body is None or not body.thew.made.flesh:
        return "Plain skin: choose a body to ride on", "ERROR"
    if fleshes.known(body) is None:
        return f"Plain skin until the flesh of “{body.name}” is built", "TIME"
    return f"Rides on “{body.name}”", "CHECKMARK"


def draw_riders(layout, context, obj, width: int) -> None:
    """What rides on a body."""
    riders = riding.register.on(obj)
    column = layout.column(align=True)
    for rider in riders:
        row = column.row(align=True)
        row.use_property_split = False
        text, icon = health(rider, context.scene.frame_current)
        row.label(text=rider.name, icon=icon)
        row.prop(rider.thew, "enabled", text="", icon="HIDE_OFF" if rider.thew.enabled else "HIDE_ON", emboss=False)
        if icon == "ERROR":
            draw_text(column, text, width)
    if not riders:
        draw_text(column, "Nothing yet: select clothes or eyes, the body last, and press", width, icon="INFO")
    layout.operator("thew.ride", icon="MOD_CLOTH")

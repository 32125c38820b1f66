# SPDX-License-Identifier: GPL-3.0-or-later
"""Riding in the panels: the panel of a rider, the list of a body's riders, and the offer to ride."""

from __future__ import annotations

from ..languages.translations import translate
from ..live import riding, whole_character
from ..live.session import register as fleshes
from ..logic.errors import sentence
from ..logic.health import Health, PlayedBake, bake_health
from .bake_panel import draw_bakes, draw_export_cache, draw_keys, draw_remarks, played_bake
from .layouts import HEALTH_ICONS, buttons, draw_text


def draw_offer(layout, context, obj, width: int) -> None:
    """Draws the offer to ride, for a mesh without flesh in a scene with a body. A body is proposed until another one is chosen."""
    if not fleshes.objects(context.scene):
        return
    column = layout.column(align=True)
    draw_text(column, "Clothes, eyes and hair need no flesh of their own:", width, icon="INFO")
    column.prop(obj.thew, "body")
    body = obj.thew.body or whole_character.body_for(obj, context.scene)
    row = column.row(align=True)
    row.enabled = able = body is not None and body.thew.made.flesh
    button = row.operator(
        "thew.ride", text=translate(f"Ride on “{body.name}”") if able else "Ride on Body", icon="MOD_CLOTH"
    )
    button.body = body.name if able else ""


def draw_rider(layout, obj, scene, width: int) -> None:
    """Draws the panel of a rider: its body, on and off, and its own bake."""
    settings = obj.thew
    row = buttons(layout)
    row.prop(settings, "enabled", text="Ride", toggle=True, icon="MOD_CLOTH")
    row.operator("thew.remove", text="", icon="TRASH").remove_baked_keys = False
    layout.prop(settings, "body")
    found = health(obj, scene.frame_current)
    draw_text(layout.column(align=True), found.text, width, icon=HEALTH_ICONS[found.level])
    draw_keys(layout, obj)
    draw_bakes(layout, obj, width)
    draw_export_cache(layout)
    draw_remarks(layout, obj, scene, width)


def health(obj, frame: float) -> Health:
    """Returns the state of a rider at the scene's `frame`."""
    settings, made = obj.thew, obj.thew.made
    if not settings.enabled:
        return Health("OFF", "Off: the plain skin")
    if made.shows_bake:
        return bake_health(played_bake(obj) or PlayedBake(), frame)
    body = settings.body
    if made.notes:
        return Health("ERROR", sentence(made.notes))
    if body is None or not body.thew.made.flesh:
        return Health("WARNING", "Plain skin: choose a body to ride on")
    if fleshes.known_state(body) is None:
        return Health("WAITING", f"Plain skin until the flesh of “{body.name}” is built")
    return Health("GOOD", f"Rides on “{body.name}”")


def draw_riders(layout, context, obj, width: int) -> None:
    """Draws the riders of a body, each with a button to remove it, and further candidates. Nothing is drawn where no mesh could ride."""
    column = layout.column(align=True)
    for rider in riding.riders_of(obj):
        row = buttons(column)
        found = health(rider, context.scene.frame_current)
        row.label(text=rider.name, translate=False, icon=HEALTH_ICONS[found.level])
        row.prop(rider.thew, "enabled", text="", icon="HIDE_OFF" if rider.thew.enabled else "HIDE_ON", emboss=False)
        row.operator("thew.ride_off", text="", icon="X", emboss=False).rider = rider.name
    for other in whole_character.possible_riders(obj, context.scene, context.view_layer):
        row = buttons(column)
        row.label(text=other.name, translate=False, icon="MESH_DATA")
        row.operator("thew.ride", text="Ride", icon="MOD_CLOTH").rider = other.name
    if not whole_character.has_other_meshes(obj, context.scene, context.view_layer):
        return
    layout.operator("thew.ride", text="Let Selected Ride", icon="MOD_CLOTH")
    if not riding.riders_of(obj):
        text = "Optional: clothes, eyes and hair ride along when you select them, the body last, and press Let Selected Ride"
        draw_text(layout.column(align=True), text, width, icon="INFO")

# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches an object between its live flesh and its bakes."""

from __future__ import annotations

import bpy

from ..live import jobs, keyframed, keyframed_events, playback, riding, updates
from ..logic.errors import Refusal
from ..logic.names import describe
from ..saved import bakes as saved_bakes
from ..scene import bakes, reading


def show(obj: bpy.types.Object | None, scene: bpy.types.Scene, baked: bool) -> None:
    """Lets the chosen bake of `obj` play (`baked`), or its live flesh; refuses an object that has none."""
    if obj is None or obj.type != "MESH" or not (obj.thew.made.rides or obj.thew.made.keyframed):
        jobs.check_flesh(obj)
    saved_bakes.migrate(obj)
    if baked and not bakes.bake_descriptions(obj):
        raise Refusal(f"{describe(obj)} has no bake: press Bake first")
    updates.stop_update()
    show_bakes(obj, scene, baked)


def show_bakes(obj: bpy.types.Object, scene: bpy.types.Scene, baked: bool) -> None:
    """Shows the chosen bake of an object and its riders, or what is live of them."""
    made = obj.thew.made
    made.shows_bake = baked
    if made.rides:
        obj.thew.enabled = True
        riding.switch(obj)
    elif made.keyframed:
        obj.thew.enabled = True
        keyframed.apply_state(obj)
        keyframed_events.present(obj, scene)
    elif made.flesh:
        obj.thew.enabled = True
        for rider in riding.riders_of(obj):
            rider.thew.made.shows_bake = baked and bool(bakes.bake_descriptions(rider))
            riding.switch(rider)
        jobs.apply_state(obj)
    else:  # a finished bake: nothing else is left
        bakes.show(obj, bool(len(obj.thew.bakes)))
    updates.evaluate_own_curves(reading.view_layer(scene))  # those of a bake are muted or not
    if not baked:
        playback.before_frame(scene)

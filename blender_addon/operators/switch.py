# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches between the live flesh and its bake."""

import bpy

from ..live import jobs, keyframed, keyframed_events, playback, riding, updates
from ..logic.errors import Refusal
from ..saved import bakes as saved_bakes
from ..scene import bakes
from .operator_bases import QuickJob


def show_bakes(context, obj, baked: bool) -> None:
    """Shows the chosen bake of an object and its riders, or what is live of them."""
    made = obj.thew.made
    made.shows_bake = baked
    if made.rides:
        obj.thew.enabled = True
        riding.switch(obj)
    elif made.keyframed:
        obj.thew.enabled = True
        keyframed.apply_state(obj)
        keyframed_events.present(obj, context.scene)
    elif made.flesh:
        obj.thew.enabled = True
        for rider in riding.riders_of(obj):
            rider.thew.made.shows_bake = baked and bool(bakes.bake_descriptions(rider))
            riding.switch(rider)
        jobs.apply_state(obj)
    else:  # a finished bake: nothing else is left
        bakes.show(obj, bool(len(obj.thew.bakes)))
    if not baked:
        playback.before_frame(context.scene)


class BakeSwitch(QuickJob):
    """Base of both switches. `baked`: the bake plays, not the live flesh."""

    baked = False

    def edit(self, context, obj):
        if obj is None or obj.type != "MESH" or not (obj.thew.made.rides or obj.thew.made.keyframed):
            jobs.check_flesh(obj)
        saved_bakes.migrate(obj)
        if self.baked and not bakes.bake_descriptions(obj):
            raise Refusal(f"“{obj.name}” has no baked shape keys: press Bake first")
        updates.stop_update()
        show_bakes(context, obj, self.baked)


class THEW_OT_show_live(BakeSwitch, bpy.types.Operator):
    bl_label = "Show Live"
    bl_description = "Mute the baked shape keys and show the live flesh"


class THEW_OT_show_bake(BakeSwitch, bpy.types.Operator):
    bl_label = "Show Bake"
    bl_description = "Let the baked shape keys play instead of the live flesh"
    baked = True

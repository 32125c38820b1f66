# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches between the live flesh and its bake."""

import bpy

from ..live import jobs, keyframed, keyframed_events, playback, riding, updates
from ..logic.errors import Refusal
from ..scene import writing
from .operator_bases import QuickJob


class BakeSwitch(QuickJob):
    """Base of both switches. `baked`: the bake plays, not the live flesh."""

    baked = False

    def edit(self, context, obj):
        if obj is None or obj.type != "MESH" or not (obj.thew.made.rides or obj.thew.made.keyframed):
            jobs.check_flesh(obj)
        if self.baked and not writing.baked_keys(obj):
            raise Refusal(f"“{obj.name}” has no baked shape keys: press Bake first")
        updates.stop_update()
        obj.thew.made.shows_bake = self.baked
        obj.thew.enabled = True
        if obj.thew.made.rides:
            riding.switch(obj)
        elif obj.thew.made.keyframed:
            keyframed.apply_state(obj)
            keyframed_events.present(obj, context.scene)
        else:
            for rider in riding.riders_of(obj):
                rider.thew.made.shows_bake = self.baked and bool(writing.baked_keys(rider))
                riding.switch(rider)
            jobs.apply_state(obj)
        if not self.baked:
            playback.before_frame(context.scene)


class THEW_OT_show_live(BakeSwitch, bpy.types.Operator):
    bl_label = "Show Live"
    bl_description = "Mute the baked shape keys and show the live flesh"


class THEW_OT_show_bake(BakeSwitch, bpy.types.Operator):
    bl_label = "Show Bake"
    bl_description = "Let the baked shape keys play instead of the live flesh"
    baked = True

# SPDX-License-Identifier: GPL-3.0-or-later
"""Two sets of settings of a character, A and B: stored, swapped, copied and forgotten."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty

from ..live import comparing, jobs
from ..logic.comparison import SIDES, other_side
from .operator_bases import QuickJob, fresh_property, option

#: Items of the ways to copy.
COPIES = tuple((side, f"{side} to {other_side(side)}", f"Both get the settings {side}") for side in SIDES)
#: Items of the sides to bring into view.
SHOWN_SIDES = (
    ("OTHER", "Other Side", "The settings that are not in view"),
    *((side, side, f"The settings {side}") for side in SIDES),
)


class THEW_OT_compare_store(QuickJob, bpy.types.Operator):
    bl_label = "Store Settings"
    bl_description = "Keep the present settings, to compare them with what you try next"

    def edit(self, context, obj):
        jobs.check_flesh(obj)
        comparing.store(obj, context.scene)
        side = obj.thew.compared_side
        return f"{side} and {other_side(side)} are alike now: change settings, then swap."


class THEW_OT_compare_swap(QuickJob, bpy.types.Operator):
    bl_label = "Swap A and B"
    bl_description = "Bring the other settings into view, with their motion: at once, if it was simulated before"

    side: fresh_property(
        EnumProperty,
        "Side",
        "Settings to bring into view",
        items=SHOWN_SIDES,
        default="OTHER",
    )

    def edit(self, context, obj):
        jobs.check_flesh(obj)
        if self.side == obj.thew.compared_side:
            return f"The settings {self.side} are in view already."
        ready = comparing.swap(obj, context.scene)
        return f"Shows {obj.thew.compared_side}{'' if ready else ', as soon as it is simulated'}."


class THEW_OT_compare_copy(QuickJob, bpy.types.Operator):
    bl_label = "Copy Settings"
    bl_description = "Give both sides the settings of one of them"

    source: option(
        EnumProperty,
        "From",
        "Side whose settings both get",
        items=COPIES,
        default="A",
    )

    def edit(self, context, obj):
        jobs.check_flesh(obj)
        comparing.copy(obj, context.scene, self.source)
        return f"{other_side(self.source)} has the settings of {self.source}."


class THEW_OT_compare_end(QuickJob, bpy.types.Operator):
    bl_label = "End Comparison"
    bl_description = "Keep the settings in view and forget the others"

    def edit(self, _context, obj):
        jobs.check_flesh(obj)
        side = obj.thew.compared_side
        comparing.end(obj)
        return f"The settings {side} stay; the others are forgotten."

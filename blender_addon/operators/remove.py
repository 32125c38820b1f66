# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes what Thew made."""

import bpy
from bpy.props import BoolProperty

from ..live import jobs, updates
from .operator_bases import QuickJob, option


class THEW_OT_remove(QuickJob, bpy.types.Operator):
    bl_label = "Remove Flesh"
    bl_description = "Remove the flesh and let the Armature modifier move the mesh again. Settings, rigs, painted maps and bakes stay"

    remove_baked_keys: option(
        BoolProperty, "Bakes Too", "Also delete the bakes: their shape keys, files and modifiers", default=False
    )

    remove_rigs: option(BoolProperty, "Rigs Too", "Also delete the rigs, which are otherwise kept", default=False)

    def edit(self, _context, obj):
        updates.stop_update()
        return jobs.remove(obj, self.remove_baked_keys, self.remove_rigs, keep_settings=True)

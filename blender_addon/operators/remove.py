# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes what Thew made."""

import bpy
from bpy.props import BoolProperty

from ..live import jobs, updates
from .shell import Quick


class THEW_OT_remove(Quick, bpy.types.Operator):
    bl_idname = "thew.remove"
    bl_label = "Remove"
    bl_description = "Take away the flesh and let the Armature modifier move the mesh again"

    remove_baked_keys: BoolProperty(
        name="Baked Keys Too", description="Also delete the shape keys that were baked", default=False
    )

    remove_rigs: BoolProperty(
        name="Rigs Too", description="Also delete the rigs, which are kept otherwise", default=False
    )

    def edit(self, _context, obj):
        updates.stop_update()
        return jobs.remove(obj, self.remove_baked_keys, self.remove_rigs)

# SPDX-License-Identifier: GPL-3.0-or-later
"""A wrinkle material, driven by the skin's tension."""

import bpy

from ..logic.names import describe
from ..scene import libraries, reading, wrinkles
from .operator_bases import QuickJob


class THEW_OT_add_wrinkle_material(QuickJob, bpy.types.Operator):
    bl_label = "Add Wrinkle Material"
    bl_description = "Switch Tension on, and add a material whose bumps appear where the flesh compresses the skin"

    def edit(self, _context, obj):
        reading.check_editable(obj)
        libraries.check_own_mesh(obj, "it takes no other materials", "add the material in that file")
        first = not len(obj.material_slots)
        material = wrinkles.add_material(obj)
        obj.thew.store_tension = True
        where = "wears" if first else "has, in a slot of its own, the material"
        return f"{describe(obj)} {where} “{material.name}”: it wrinkles where the flesh compresses the skin"

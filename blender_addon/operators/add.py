# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Flesh."""

import bpy
from bpy.props import EnumProperty, IntProperty

from .. import jobs
from ..logic.sentences import plural
from ..properties import METHODS
from ..session import register
from .shell import Job


class THEW_OT_add(Job, bpy.types.Operator):
    bl_idname = "thew.add"
    bl_label = "Add Flesh"
    bl_description = "Give the active mesh a body that its bones drag along, in place of its Armature modifier"
    bl_options = {"REGISTER", "UNDO"}

    cells_across: IntProperty(
        name="Cells Across",
        description="How many cells of the control lattice the character is long",
        default=12,
        min=3,
        max=40,
    )
    method: EnumProperty(name="Method", description="How the flesh is moved", items=METHODS, default="warped")

    def job(self, context, obj):
        settings = obj.thew
        given = self.properties.is_property_set
        return jobs.add(
            obj,
            context.scene,
            context.view_layer,
            cells_across=self.cells_across if given("cells_across") else settings.cells_across,
            method=self.method if given("method") else settings.method,
            simulate=not bpy.app.background,
        )

    def said(self, obj, _result):
        flesh = register.flesh(obj)
        return f"“{obj.name}” has flesh: a lattice of {plural(len(flesh.lattice.cells), 'cell')}."

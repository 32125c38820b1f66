# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Flesh."""

import bpy
from bpy.props import EnumProperty, IntProperty

from .. import jobs, target
from ..anchors import armature_of
from ..logic.errors import sentence
from ..logic.sentences import plural
from ..properties import METHODS, MOST_CELLS
from ..session import register
from .shell import Job


class THEW_OT_add(Job, bpy.types.Operator):
    bl_idname = "thew.add"
    bl_label = "Add Flesh"
    bl_description = "Give the active mesh a body of flesh that its bones drag along, on top of its Armature modifier"
    bl_options = {"REGISTER", "UNDO"}

    cells_across: IntProperty(
        name="Cells Across",
        description="How many cells of the control lattice the character is long",
        default=12,
        min=3,
        max=MOST_CELLS,
    )
    method: EnumProperty(name="Method", description="How the flesh is moved", items=METHODS, default="hyperelastic")

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
        if flesh.character.apart:
            self.report({"WARNING"}, sentence(flesh.character.apart))
        if others := fleshed(obj):
            self.report(
                {"WARNING"},
                f"“{others[0].name}” on the same armature has flesh already: if “{obj.name}” is clothes, eyes or hair, press "
                "Remove, then Ride on Body.",
            )
        return f"“{obj.name}” has flesh: a lattice of {plural(len(flesh.lattice.cells), 'cell')}."


def fleshed(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Other meshes with flesh on the armature of `obj`, the largest first."""
    armature = armature_of(obj)
    if armature is None:
        return []
    found = target.moved_by(armature, bpy.context.scene)
    return [other for other in found if other != obj and other.thew.made.flesh]

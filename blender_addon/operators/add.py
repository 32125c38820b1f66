# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Flesh."""

import bpy
from bpy.props import EnumProperty, IntProperty

from ..live import handlers, jobs, riding, target
from ..live.flesh import Flesh
from ..live.session import register
from ..logic.errors import Refusal, sentence
from ..logic.sentences import plural
from ..saved.choices import METHODS, MOST_CELLS
from ..scene.reading import armature_of
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
        self._first = not settings.made.flesh
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
        others = fleshed(obj)
        if others and self._first and is_carried(flesh):
            return ride_instead(obj, others[0])
        if others:
            self.report(
                {"WARNING"},
                f"“{others[0].name}” on the same armature has flesh already: if “{obj.name}” is clothes, eyes or hair, press "
                "Remove, then Ride on Body.",
            )
        return f"“{obj.name}” has flesh: a lattice of {plural(len(flesh.lattice.cells), 'cell')}."


def is_carried(flesh: Flesh) -> bool:
    """Whether no bone runs through any of it, so that nothing of it could move by itself."""
    return len(flesh.body.held_vertices) == flesh.body.dofs


def ride_instead(obj: bpy.types.Object, body: bpy.types.Object) -> str:
    """Let what no bone runs through ride on a body with flesh; gives what was done in words."""
    jobs.remove(obj)
    try:
        riding.mount(obj, body, bpy.context.view_layer)
    except Refusal as error:
        return (
            f"No bone runs through “{obj.name}”, so it has no flesh of its own, and it cannot ride on a body: {error}."
        )
    handlers.look_up(bpy.context.scene)
    return f"No bone runs through “{obj.name}”, so it rides on “{body.name}” and moves with the flesh there."


def fleshed(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Other meshes with flesh on the armature of `obj`, the largest first."""
    armature = armature_of(obj)
    if armature is None:
        return []
    found = target.moved_by(armature, bpy.context.scene)
    return [other for other in found if other != obj and other.thew.made.flesh]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds flesh."""

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ..languages.translations import report
from ..live import jobs, playback, riding, target, whole_character
from ..live.flesh import Flesh
from ..live.session import register
from ..logic.errors import Refusal, sentence
from ..logic.still_poses import nothing_moves, unmoved_text
from ..saved.choices import MAX_CELLS, METHODS
from ..scene.flesh_map import FLESH, RIGID, STIFFNESS, own_group_note, was_kept
from ..scene.reading import armature_of
from .operator_bases import Job, fill, fresh_property


class THEW_OT_add(Job, bpy.types.Operator):
    bl_label = "Add Flesh"
    bl_description = (
        "Add flesh that the bones drag along to the body; eyes, teeth, hair and clothes on the same armature ride on "
        "it. On a character with flesh, the active mesh gets its own"
    )

    cells_across: fresh_property(
        IntProperty,
        "Detail",
        "Number of blocks of flesh along the character",
        default=12,
        min=3,
        max=MAX_CELLS,
    )
    method: fresh_property(EnumProperty, "Method", "Method that moves the flesh", items=METHODS, default="hyperelastic")
    whole: fresh_property(
        BoolProperty,
        "Whole Character",
        "Include the other meshes on the armature: the body gets flesh, the others ride on it. When off, only the "
        "active mesh gets flesh",
        default=True,
    )

    def job(self, context, obj):
        self._first = not obj.thew.made.flesh
        fill(self, cells_across=obj.thew.cells_across, method=obj.thew.method)
        take = whole_character.add if self.whole else whole_character.add_alone
        return take(
            obj,
            context.scene,
            context.view_layer,
            cells_across=self.cells_across,
            method=self.method,
            simulate=not bpy.app.background,
        )

    def message(self, obj, taken):
        told = []
        for body in taken.bodies:
            flesh = register.state_of(body)
            if flesh.character.apart:
                report(self, {"WARNING"}, sentence(flesh.character.apart))
            if is_carried(flesh):
                report(
                    self,
                    {"WARNING"},
                    f"No bone runs through “{body.name}”, so nothing of it sways: put bones inside its skin, or, where that has "
                    "inner walls (a Solidify that was applied), delete them, and add the flesh again.",
                )
            if is_carried(flesh):
                told.append(f"“{body.name}” has flesh, which bones hold all over.")
            elif nothing_moves(flesh):
                told.append(f"“{body.name}” has flesh, but nothing moves it yet.")
                told.append(sentence(unmoved_text(*flesh.build_settings.live)))
            else:
                told.append(f"“{body.name}” has flesh: play the animation to see it move.")
        for body in taken.bodies if self._first else ():
            painted = register.state_of(body).character.painted
            for name, values in ((FLESH, painted.flesh), (STIFFNESS, painted.stiffness), (RIGID, painted.rigid)):
                if values is not None and not was_kept(body, name):
                    report(self, {"WARNING"}, sentence(own_group_note(body, name)))
        others = other_flesh(obj) if taken.bodies == [obj] else []
        if others and self._first and is_carried(register.state_of(obj)):
            return ride_instead(obj, others[0])
        if others:
            report(
                self,
                {"WARNING"},
                f"“{others[0].name}” on the same armature has flesh already: if “{obj.name}” is clothes, eyes or hair, press "
                "Remove Flesh, then Ride on Body.",
            )
        if taken.riders:
            playback.look_up(bpy.context.scene)
        return " ".join([*told, *taken.sentences()])


def is_carried(flesh: Flesh) -> bool:
    """Returns whether bones hold all of its nodes, so that nothing can move by itself."""
    return len(flesh.body.held_vertices) == flesh.body.node_count


def ride_instead(obj: bpy.types.Object, body: bpy.types.Object) -> str:
    """Lets an object without bones of its own ride on a body with flesh. Returns the message for the artist."""
    jobs.remove(obj)
    try:
        riding.mount(obj, body, bpy.context.view_layer)
    except Refusal as error:
        return (
            f"No bone runs through “{obj.name}”, so it has no flesh of its own, and it cannot ride on a body: {error}."
        )
    playback.look_up(bpy.context.scene)
    return f"No bone runs through “{obj.name}”, so it rides on “{body.name}” and moves with the flesh there."


def other_flesh(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Returns the other meshes with flesh on the armature of `obj`, the largest first."""
    armature = armature_of(obj)
    if armature is None:
        return []
    found = target.moved_meshes(armature, bpy.context.scene)
    return [other for other in found if other != obj and other.thew.made.flesh]

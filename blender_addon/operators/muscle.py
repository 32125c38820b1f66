# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Muscle: the large muscles of a character, on both sides, or one between two bones."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..edit import muscles, posed_character
from ..edit.rig_list import drop_rig
from ..live import updates
from ..logic.errors import Refusal
from ..logic.names import describe
from ..rigs import rigging
from ..saved import rig_layouts
from ..saved.samples import show_sliders
from ..scene.reading import active_bone, armature_of, selected_bones
from .operator_bases import QuickJob, fresh_property, option


class THEW_OT_rig_muscle(QuickJob, bpy.types.Operator):
    bl_label = "Add Muscle"
    bl_description = (
        "Add a muscle on each side of the character: it contracts between two places on bones and bulges at constant "
        "volume, led by its own length"
    )

    muscle: option(EnumProperty, "Muscle", "Muscle to add", items=muscles.PRESETS, default="BICEPS")
    origin: fresh_property(
        StringProperty, "Origin", "Bone of the origin, for Between Two Bones; empty: the selected one"
    )
    insertion: fresh_property(
        StringProperty, "Insertion", "Bone of the insertion, for Between Two Bones; empty: the active one"
    )
    driven: option(
        BoolProperty,
        "Led by Its Length",
        "Drive the control: the muscle contracts as far as its joint brings its ends together",
        default=True,
    )

    def edit(self, context, obj):
        updates.stop_update()
        rig_layouts.migrate(obj)
        stand = posed_character.read(obj, context.scene, context.view_layer)
        before = len(obj.thew.rigs)
        try:
            made = self.add(stand)
            names = [rig.name for rig in obj.thew.rigs[before:]]
            undriven = self.drive(stand, before) if self.driven else []
            context.view_layer.update()
            for rig in obj.thew.rigs[before:]:
                show_sliders(rig)
            rigging.show_edit(context, obj)
        except Exception:
            while len(obj.thew.rigs) > before:
                drop_rig(obj, len(obj.thew.rigs) - 1)
            raise
        said = " and ".join(f"“{name}”" for name in names)
        led = "" if not self.driven else "".join(f" {text}" for text in undriven) or " Their own length leads them."
        return f"{said} {'was' if made == 1 else 'were'} added.{led}"

    def add(self, stand: posed_character.PosedCharacter) -> int:
        """Adds the muscles and returns their number."""
        if self.muscle != "BETWEEN":
            return len(muscles.add_preset(stand, self.muscle))
        armature = armature_of(stand.obj)
        insertion = self.insertion or active_bone(armature)
        others = [bone for bone in selected_bones(armature) if bone != insertion]
        origin = self.origin or (others[0] if len(others) == 1 else "")
        if not origin or not insertion:
            raise Refusal(
                f"Between which bones of {describe(stand.obj)}? Select two in pose mode, that of the insertion last"
            )
        muscles.add_between(stand, origin, insertion)
        return 1

    def drive(self, stand: posed_character.PosedCharacter, first: int) -> list[str]:
        """Drives the new muscles by their lengths. Returns a sentence for each that no joint shortens."""
        sentences = []
        for rig in stand.obj.thew.rigs[first:]:
            try:
                muscles.drive(stand.obj, stand.flesh, rig)
            except Refusal as error:
                sentences.append(str(error) + ".")
        return sentences

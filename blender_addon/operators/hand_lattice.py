# SPDX-License-Identifier: GPL-3.0-or-later
"""Lattice by hand: an editable mesh of the cells, cells added and deleted, mirrored, and read back."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty

from ..edit import hand_lattice as edit
from ..languages.translations import translate
from ..live import lattice_faults, target
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import plural
from .operator_bases import QuickJob, mirror_direction, option


class THEW_OT_lattice_edit(QuickJob, bpy.types.Operator):
    bl_label = "Edit Lattice"
    bl_description = (
        "Show the lattice around the character at rest as a mesh to edit: its edges and faces are those of the cells. Edges on bones are "
        "marked sharp"
    )

    source: option(
        EnumProperty,
        "Begin With",
        "Lattice to begin with",
        items=(
            ("PRESENT", "Present Lattice", "The cells that the flesh has now"),
            (
                "BOXES",
                "Boxes along Bones",
                "Hexahedra from the root along the bones most in line; other bones are yours to add",
            ),
        ),
        default="PRESENT",
    )

    @classmethod
    def description(cls, _context, properties):
        if properties.source == "BOXES":
            return translate(
                "Begin anew with a coarse lattice to edit: boxes from the root along the bones most in line. Other bones are yours to add, "
                "with Add Cell"
            )
        return translate(cls.bl_description)

    def invoke(self, context, event):
        """Asks before edits are replaced that the flesh does not use."""
        try:
            edited = edit.has_edits(target.target_mesh(context))
        except Refusal:
            edited = False  # of a damaged lattice nothing is kept
        if not edited:
            return self.execute(context)
        return context.window_manager.invoke_confirm(
            self,
            event,
            title="Replace the edited lattice?",
            message="It has edits that were not taken by Use This Lattice",
            confirm_text="Replace",
        )

    def edit(self, context, obj):
        around = edit.surroundings(context, obj)
        hand = edit.present_lattice(obj) if self.source == "PRESENT" else edit.boxes(around)
        made = edit.show(context, obj, hand, around)
        return f"{describe(made)} shows {plural(len(hand.cells), 'cell')} at rest: move its vertices in edit mode, then press Use This Lattice."


class THEW_OT_lattice_add_cell(QuickJob, bpy.types.Operator):
    bl_label = "Add Cell"
    bl_description = "Extrude the selected outer faces of the lattice: a quad to a hexahedron, a triangle to a prism"

    def edit(self, _context, obj):
        return f"{plural(edit.add_cells(obj), 'cell')} added: move the selected faces where they belong."


class THEW_OT_lattice_delete_cell(QuickJob, bpy.types.Operator):
    bl_label = "Delete Cell"
    bl_description = "Delete the cells whose faces are all selected, or else those behind the selected outer faces"

    def edit(self, _context, obj):
        return f"{plural(edit.delete_cells(obj), 'cell')} deleted."


class THEW_OT_lattice_symmetrize(QuickJob, bpy.types.Operator):
    bl_label = "Symmetrize"
    bl_description = (
        "Mirror one side of the lattice to the other, about the mesh's own X. Cells across the middle are cut off there"
    )

    direction: mirror_direction()

    def edit(self, context, obj):
        count = edit.symmetrize(context, obj, 1 if self.direction == "POSITIVE_X" else -1)
        return f"The lattice has {plural(count, 'cell')}, the same on both sides."


class THEW_OT_lattice_use(QuickJob, bpy.types.Operator):
    bl_label = "Use This Lattice"
    bl_description = (
        "Read the edited lattice back and use it for the flesh. Vertices near bones move onto them. A broken condition is named, drawn "
        "in red, and the last good lattice stays"
    )

    def edit(self, context, obj):
        count, notes = edit.use(context, obj)
        return [f"{describe(obj)} uses its lattice by hand of {plural(count, 'cell')}.", *notes]


class THEW_OT_lattice_automatic(QuickJob, bpy.types.Operator):
    bl_label = "Automatic Lattice"
    bl_description = "Let Thew make the lattice again. The lattice by hand is kept, and so is the mesh that shows it"

    def edit(self, _context, obj):
        if obj is None or not obj.thew.use_hand_lattice:
            raise Refusal(f"{describe(obj) if obj else 'Nothing'} uses no lattice by hand")
        lattice_faults.forget(obj)
        obj.thew.use_hand_lattice = False
        return f"{describe(obj)} uses the automatic lattice."

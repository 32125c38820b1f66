# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies rigs to another character: by the limbs of both, and else by their bones. A dialog shows these in pairs, and the view the mapped skin."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, StringProperty

from ..edit import limb_rigs
from ..edit.limb_guides import LimbOwner
from ..edit.retargeting import CharacterLink
from ..live import jobs, target, updates
from ..logic.native import EXPECTED_ERRORS
from ..rigs import rigging
from ..saved import rig_layouts
from ..saved.retargeting import ThewBonePair
from ..scene import windows
from ..scene.reading import armature_of
from ..ui import ghost_overlay
from .limbs import other_mesh
from .operator_bases import QuickJob, fresh_property

#: Width of the dialog in pixels.
DIALOG_WIDTH = 460


class THEW_OT_rig_copy(QuickJob, bpy.types.Operator):
    bl_label = "Copy Rigs to Another Character"
    bl_description = (
        "Copy the rigs of the other selected mesh to the active one: on limbs that both have by the limbs, else by the bones "
        "that correspond, with suitable size and strength"
    )

    source: fresh_property(StringProperty, "From", "Mesh to copy from; empty: the other selected one")
    names: fresh_property(
        BoolProperty, "Names", "Names of bones count, parts and sides in several languages", default=True
    )
    swap: fresh_property(
        BoolProperty,
        "Swap Sides",
        "Exchange left and right: for a character that looks the other way, whose bones have no names",
        default=False,
    )
    pairs: CollectionProperty(type=ThewBonePair, options={"SKIP_SAVE"})

    def invoke(self, context, _event):
        """Shows the pairs of bones; without a window, copies at once."""
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        obj = target.target_mesh(context)
        try:
            self.find_pairs(context, obj)
        except Exception as error:
            return self.refuse(obj, error)
        return context.window_manager.invoke_props_dialog(self, width=DIALOG_WIDTH)

    def check(self, context):
        """Follows a change in the dialog: finds the pairs anew, or shows where changed pairs put the skin."""
        obj = target.target_mesh(context)
        try:
            if (self.names, self.swap) != self.shown[:2]:
                self.find_pairs(context, obj)
            elif given_pairs(self.pairs) != self.shown[2]:
                self.show_ghost(context, obj, self.link_of(context, obj, given_pairs(self.pairs)))
            else:
                return False
        except EXPECTED_ERRORS:
            ghost_overlay.hide()
        return True

    def draw(self, context):
        layout, obj = self.layout, target.target_mesh(context)
        row = layout.row()
        row.prop(self, "names")
        row.prop(self, "swap")
        armatures = [armature_of(each) for each in (other_mesh(context, obj, self.source), obj)]
        column = layout.column(align=True)
        for pair in self.pairs:
            row = column.row(align=True)
            for end, armature in zip(("source", "target"), armatures, strict=True):
                row.prop_search(pair, end, armature.data, "bones", text="")

    def link_of(self, context, obj, given=()) -> CharacterLink:
        """Returns the correspondence of both characters with the choices of the dialog."""
        both = (other_mesh(context, obj, self.source), obj)
        sides = (LimbOwner(each, jobs.with_body(each, context.scene, context.view_layer)) for each in both)
        return CharacterLink(*sides, given, self.names, self.swap and not given)

    def find_pairs(self, context, obj) -> None:
        """Fills the table with the pairs of bones that shape and names give."""
        link = self.link_of(context, obj)
        self.pairs.clear()
        for pair in link.native.bones:
            added = self.pairs.add()
            added.source, added.target = pair
        self.show_ghost(context, obj, link)

    def show_ghost(self, context, obj, link: CharacterLink) -> None:
        """Shows the mapped skin as a ghost."""
        self.shown = (self.names, self.swap, given_pairs(self.pairs))
        ghost_overlay.show(obj, link.ghost(context.view_layer.depsgraph))
        windows.redraw()

    def cancel(self, _context):
        """Takes the ghost away when the dialog is left."""
        ghost_overlay.hide()
        windows.redraw()

    def edit(self, context, obj):
        ghost_overlay.hide()
        source = other_mesh(context, obj, self.source)
        updates.stop_update()
        for each in (source, obj):
            rig_layouts.migrate(each)
        given = given_pairs(self.pairs)

        def link_of(here: LimbOwner, there: LimbOwner) -> CharacterLink:
            # The table has sides exchanged already.
            return CharacterLink(here, there, given, self.names, self.swap and not given)

        report = limb_rigs.carry(context, source, obj, link_of)
        for text in report.warnings:
            self.report({"WARNING"}, text)
        rigging.show_edit(context, obj)
        return report.message(obj)


def given_pairs(pairs) -> list[tuple[str, str]]:
    """Returns the pairs of a table that are whole."""
    return [(pair.source, pair.target) for pair in pairs if pair.source and pair.target]

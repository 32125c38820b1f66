# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs carried from one character's limbs to another's."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ..edit import limb_rigs as edit
from ..live import updates
from ..logic.errors import Refusal
from ..logic.names import describe
from ..rigs import rigging
from ..saved import rig_layouts
from .flesh import Quick


class THEW_OT_limb_carry_rigs(Quick, bpy.types.Operator):
    bl_idname = "thew.limb_carry_rigs"
    bl_label = "Carry Rigs"
    bl_description = (
        "Copy the rigs that hang on the limbs of the other selected mesh to the same places on the active one's: as large and as strong "
        "as suits it, driven by its bones. Limbs of one name belong together"
    )
    bl_options = {"REGISTER", "UNDO"}

    source: StringProperty(
        name="From",
        description="The mesh that they come from; empty: the other one that is selected",
        options={"SKIP_SAVE"},
    )

    def edit(self, context, obj):
        if obj is None or obj.type != "MESH":
            raise Refusal("Nothing is active: select the mesh to carry from, then the one to carry to")
        source = self.chosen(context, obj)
        updates.stop_update()
        for each in (source, obj):
            rig_layouts.migrate(each)
        report = edit.carry(context, source, obj)
        for text in report.warnings:
            self.report({"WARNING"}, text)
        rigging.shown(context, obj)
        return report.said(obj)

    def chosen(self, context, obj) -> bpy.types.Object:
        """The mesh that rigs come from."""
        if self.source:
            source = bpy.data.objects.get(self.source)
            if source is None or source.type != "MESH":
                raise Refusal(f"There is no mesh “{self.source}” to carry from: choose one of this file")
            return source
        others = [o for o in context.selected_objects if o.type == "MESH" and o != obj]
        if len(others) != 1:
            raise Refusal(
                f"Select one mesh to carry from besides {describe(obj)}, which is active and gets its rigs: {len(others)} are selected"
            )
        return others[0]


CLASSES = (THEW_OT_limb_carry_rigs,)

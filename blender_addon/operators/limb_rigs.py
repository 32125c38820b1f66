# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies rigs from one character's limbs to another's."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ..edit import limb_rigs as edit
from ..live import updates
from ..rigs import rigging
from ..saved import rig_layouts
from .limbs import other_mesh
from .operator_bases import QuickJob, fresh_property


class THEW_OT_limb_carry_rigs(QuickJob, bpy.types.Operator):
    bl_label = "Copy Rigs"
    bl_description = (
        "Copy the rigs on the limbs of the other selected mesh to the active one's limbs of the same names, with "
        "suitable size and strength, driven by its bones"
    )

    source: fresh_property(StringProperty, "From", "Mesh to copy from; empty: the other selected one")

    def edit(self, context, obj):
        source = other_mesh(context, obj, self.source)
        updates.stop_update()
        for each in (source, obj):
            rig_layouts.migrate(each)
        report = edit.carry(context, source, obj)
        for text in report.warnings:
            self.report({"WARNING"}, text)
        rigging.show_edit(context, obj)
        return report.message(obj)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Limbs: the limbs that have coordinates, and their tools."""

from __future__ import annotations

import bpy

from ..saved import limbs as saved
from ..scene.reading import armature_of
from .layouts import draw_text
from .panel_places import panels


class THEW_UL_limbs(bpy.types.UIList):
    """A row of the list of limbs: name, and whether it is drawn."""

    def draw_item(self, _context, layout, _data, limb, _icon, _active, _property, _index=0, _filter=0):
        row = layout.row(align=True)
        row.prop(limb, "name", text="", emboss=False, icon="BONE_DATA")
        row.prop(limb, "shown", text="", icon="HIDE_OFF" if limb.shown else "HIDE_ON", emboss=False)


def draw_limbs(layout, _context, obj, width: int) -> None:
    """Draws the list of limbs and their tools."""
    if armature_of(obj) is None:
        words = "This mesh has no armature: limbs are made along bones"
        draw_text(layout.column(align=True), words, width, icon="INFO")
        layout.operator("thew.skeleton_click", icon="BONE_DATA")
        layout.operator("thew.suggest_bones", icon="ARMATURE_DATA")
        return
    row = layout.row()
    row.template_list("THEW_UL_limbs", "", obj.thew, "limbs", obj.thew, "active_limb", rows=2)
    column = row.column(align=True)
    column.operator("thew.limb_add", text="", icon="ADD")
    column.operator("thew.limb_remove", text="", icon="REMOVE")
    limb = saved.active_limb(obj)
    if limb is None:
        words = "Select the bones of an arm, a leg or a tail in pose mode and press"
        draw_text(layout.column(align=True), words, width, icon="INFO")
        layout.operator("thew.limb_add", icon="ADD")
        return
    row = layout.row(align=True)
    row.operator("thew.limb_drag", icon="HANDLE_ALIGNED")
    row.operator("thew.limb_fit", icon="MOD_SHRINKWRAP")
    layout.operator("thew.limb_attributes", icon="SPREADSHEET")
    layout.operator("thew.limb_paint", icon="BRUSH_DATA")
    row = layout.row(align=True)
    row.operator("thew.limb_carry", icon="COPYDOWN")
    row.operator("thew.rig_copy", text="Copy Rigs", icon="FORCE_FORCE")
    layout.prop(obj.thew, "limb_lattice")


CLASSES = (THEW_UL_limbs, *panels("Limbs", draw_limbs, 5, condition=lambda _obj: True))

register, unregister = bpy.utils.register_classes_factory(CLASSES)

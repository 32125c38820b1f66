# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Limbs: the limbs that have coordinates, and their tools."""

from __future__ import annotations

import bpy

from ..live import target
from ..saved import limbs as saved
from ..scene.reading import armature_of
from .layouts import draw_text, letters


class THEW_UL_limbs(bpy.types.UIList):
    """A row of the list of limbs: name, and whether it is drawn."""

    def draw_item(self, _context, layout, _data, limb, _icon, _active, _property, _index=0, _filter=0):
        row = layout.row(align=True)
        row.prop(limb, "name", text="", emboss=False, icon="BONE_DATA")
        row.prop(limb, "shown", text="", icon="HIDE_OFF" if limb.shown else "HIDE_ON", emboss=False)


class Panel:
    """Contents of the limb panels in the sidebar and among the physics properties."""

    bl_label = "Limbs"

    @classmethod
    def poll(cls, context):
        obj = target.of(context)
        return obj is not None and obj.type == "MESH"

    def draw(self, context):
        layout, obj = self.layout, target.of(context)
        if armature_of(obj) is None:
            words = "This mesh has no armature: limbs are made along bones"
            draw_text(layout.column(align=True), words, letters(context), icon="INFO")
            layout.operator("thew.suggest_bones", icon="ARMATURE_DATA")
            return
        row = layout.row()
        row.template_list("THEW_UL_limbs", "", obj.thew, "limbs", obj.thew, "active_limb", rows=2)
        column = row.column(align=True)
        column.operator("thew.limb_add", text="", icon="ADD")
        column.operator("thew.limb_remove", text="", icon="REMOVE")
        limb = saved.active(obj)
        if limb is None:
            words = "Select the bones of an arm, a leg or a tail in pose mode and press"
            draw_text(layout.column(align=True), words, letters(context), icon="INFO")
            layout.operator("thew.limb_add", icon="ADD")
            return
        row = layout.row(align=True)
        row.operator("thew.limb_drag", icon="HANDLE_ALIGNED")
        row.operator("thew.limb_fit", icon="MOD_SHRINKWRAP")
        layout.operator("thew.limb_attributes", icon="SPREADSHEET")
        layout.operator("thew.limb_paint", icon="BRUSH_DATA")
        row = layout.row(align=True)
        row.operator("thew.limb_carry", icon="COPYDOWN")
        row.operator("thew.limb_carry_rigs", icon="FORCE_FORCE")
        layout.prop(obj.thew, "limb_lattice")


class THEW_PT_limbs_sidebar(Panel, bpy.types.Panel):
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Thew"
    bl_parent_id = "THEW_PT_sidebar"
    bl_order = 5
    bl_options = {"DEFAULT_CLOSED"}


class THEW_PT_limbs_physics(Panel, bpy.types.Panel):
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"
    bl_parent_id = "THEW_PT_physics"
    bl_order = 5
    bl_options = {"DEFAULT_CLOSED"}


CLASSES = (THEW_UL_limbs, THEW_PT_limbs_sidebar, THEW_PT_limbs_physics)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)

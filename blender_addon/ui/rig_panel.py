# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Rigs: the list of rigs, and the control, template, place and samples of the active one."""

from __future__ import annotations

import bpy

from ..edit.rig_fit import fit_text
from ..languages.contexts import OWN
from ..languages.translations import translate
from ..live import target
from ..live.session import register as fleshes
from ..logic.sentences import plural
from ..logic.sliders import GUIDE_SLIDERS, GUIDES, MUSCLE_SLIDERS, TEMPLATE_SLIDERS, TEMPLATES
from ..saved import rigs as saved_rigs
from ..saved.samples import CONTROL_TOLERANCE, sliders_of
from ..scene.reading import armature_of
from .layouts import draw_text
from .panel_places import foldout, panels


class THEW_UL_rigs(bpy.types.UIList):
    """A row of the list of rigs: name, control, solo and enabled, and an icon if it has a problem."""

    def draw_item(self, _context, layout, _data, rig, _icon, _active, _property, _index=0, _filter=0):
        row = layout.row(align=True)
        if rig.problem:
            row.label(text="", icon="ERROR")
        row.prop(rig, "name", text="", emboss=False)
        row.prop(rig, "control", text="", slider=True)
        row.prop(rig, "solo", text="", icon="SOLO_ON" if rig.solo else "SOLO_OFF", emboss=False)
        row.prop(rig, "enabled", text="", icon="HIDE_OFF" if rig.enabled else "HIDE_ON", emboss=False)


class THEW_UL_samples(bpy.types.UIList):
    """A row of the list of samples: the control value of the sample."""

    def draw_item(self, _context, layout, rig, sample, _icon, _active, _property, _index=0, _filter=0):
        row = layout.row(align=True)
        row.prop(sample, "control", text="At", emboss=False)
        if abs(sample.control - rig.control) <= CONTROL_TOLERANCE:
            row.label(text="", icon="LAYER_ACTIVE")


class THEW_MT_rigs(bpy.types.Menu):
    """Menu of the rarer commands on rigs."""

    bl_label = "Rigs"
    bl_description = "Presets, files and further commands on rigs"

    def draw(self, context):
        layout, obj = self.layout, target.target_mesh(context)
        rig = saved_rigs.active_rig(obj)
        if rig is not None and rig.kind == "FORCE" and obj.thew.made.flesh:
            again = layout.operator("thew.rig_place", text="Place Anew", icon="PIVOT_CURSOR")
            again.index, again.template, again.guide = obj.thew.active_rig, rig.template, rig.guide
        layout.operator("thew.rig_duplicate", icon="DUPLICATE")
        layout.separator()
        layout.operator("thew.rig_copy", icon="FORCE_FORCE")
        layout.operator("thew.landmarks_click", icon="PIVOT_INDIVIDUAL")
        if len(obj.thew.landmarks):
            layout.operator("thew.landmarks_clear", icon="X")
        layout.operator("thew.rig_export", icon="EXPORT")
        layout.operator("thew.rig_import", icon="IMPORT")


class THEW_MT_rig_add(bpy.types.Menu):
    """Menu of new rigs: every template, and the muscles."""

    bl_label = "Add Rig"
    bl_description = "Add a force field or a muscle"

    def draw(self, _context):
        layout = self.layout
        layout.operator_enum("thew.rig_add", "template")
        layout.separator()
        layout.operator_menu_enum("thew.rig_muscle", "muscle", text="Muscle", icon="FORCE_CURVE")


class THEW_MT_place(bpy.types.Menu):
    """Every template by every guide, to drag onto the body."""

    bl_label = "Drag onto the Body"

    def draw(self, _context):
        row = self.layout.row()
        for guide, called in GUIDES.items():
            column = row.column()
            column.label(text=called.label, text_ctxt=OWN, icon=called.icon)
            for template, spec in TEMPLATES.items():
                button = column.operator("thew.rig_place", text=spec.label, icon=spec.icon)
                button.template, button.guide = template, guide


def draw_mouse_tools(layout, obj, rig) -> None:
    """Draws the buttons of the mouse tools, and the presets."""
    row = layout.row(align=True)
    row.menu("THEW_MT_place", text="Place", icon="PIVOT_CURSOR")
    row.operator_menu_enum("thew.rig_preset", "preset", text="Presets", icon="PRESET")
    part = row.row(align=True)
    part.enabled = rig is not None and rig.kind == "FORCE"
    part.operator("thew.rig_pull", text="Pull", icon="VIEW_PAN")
    row = layout.row(align=True)
    row.operator("thew.rig_from_shape", icon="SHAPEKEY_DATA")
    row.operator("thew.rig_from_mesh", icon="OUTLINER_OB_MESH")
    lasso = obj.mode == "EDIT"
    text = "Keep Region" if lasso else "Select Region"
    layout.operator("thew.rig_region", text=text, icon="RESTRICT_SELECT_OFF", depress=lasso)


def draw_preferences(layout, rig) -> None:
    """Draws the constraints while pulling. Each slider is free, fixed, or drawn to a preferred value with a weight."""
    body = foldout(layout, "rig_wishes", "While Pulling")
    if body is None:
        return
    column, pull = body.column(align=True), rig.pull
    for name in sliders_of(rig):
        row = column.row(align=True)
        label = rig.bl_rna.properties[name].name
        fixed = getattr(pull.fixed, name)
        row.prop(pull.fixed, name, text=label, toggle=True, icon="LOCKED" if fixed else "UNLOCKED")
        part = row.row(align=True)
        part.enabled = not fixed
        part.prop(pull.preferred, name, text="")
        part.prop(pull.weights, name, text="")


def draw_force(layout, obj, rig) -> None:
    """Draws the foldout Force: the measure that fixes the strength, and the resulting force."""
    body = foldout(layout, "rig_force", "Force")
    if body is None:
        return
    row = body.row(align=True)
    row.label(text="Strength By")
    for by, called, _ in saved_rigs.MEASURES:
        row.operator("thew.rig_measure", text=called, depress=rig.strength_by == by).by = by
    body.prop(rig, "firmness")
    force = current_force(obj, rig)
    if force is not None:
        body.label(text=translate(f"Pushes with up to {force:.3g} N/m³"))


def current_force(obj, rig) -> float | None:
    """Returns the largest force of the active rig at its control, N/m³. `None` while it does not push."""
    flesh = fleshes.known_state(obj)
    native_rig = None if flesh is None else flesh.pushing.natives.get(obj.thew.active_rig)
    return None if native_rig is None else native_rig.parameters(rig.control)["strength"]


def draw_state(layout, obj, width: int) -> None:
    """Draws the reason why the view may not show the effect of the rigs."""
    flesh = fleshes.known_state(obj)
    if not obj.thew.made.flesh or not len(obj.thew.rigs):
        return
    text = flesh.problem if flesh is not None else ""
    if flesh is None or flesh.body is None:
        text = "Go to another frame, or press Rest Pose Preview, to see the templates."
    if text:
        draw_text(layout, text, width, icon="INFO")


def draw_list(layout, obj) -> None:
    """Draws the list of rigs and its buttons."""
    settings = obj.thew
    row = layout.row()
    row.template_list("THEW_UL_rigs", "", settings, "rigs", settings, "active_rig", rows=4)
    column = row.column(align=True)
    column.menu("THEW_MT_rig_add", text="", icon="ADD")
    column.operator("thew.rig_remove", text="", icon="REMOVE")
    column.separator()
    column.menu("THEW_MT_rigs", text="", icon="DOWNARROW_HLT")
    column.separator()
    column.operator("thew.rig_move", text="", icon="TRIA_UP").direction = "UP"
    column.operator("thew.rig_move", text="", icon="TRIA_DOWN").direction = "DOWN"


def draw_guide(layout, obj, rig) -> None:
    """Draws the foldout Place: the guide of the rig. It is mostly set with the mouse."""
    label = f"Place: “{rig.bone}”" if rig.guide == "BONE" else "Place"
    body = foldout(layout, "rig_guide", label, icon=GUIDES[rig.guide].icon)
    if body is None:
        return
    column = body.column(align=True)
    column.prop(rig, "guide")
    if rig.guide == "BONE":
        armature = armature_of(obj)
        if armature is not None:
            column.prop_search(rig, "bone", armature.data, "bones")
    for name in GUIDE_SLIDERS[rig.guide]:
        column.prop(rig, name)


def draw_samples(layout, rig) -> None:
    """Draws the foldout of the recorded samples."""
    if not len(rig.samples):
        return
    body = foldout(layout, "rig_samples", plural(len(rig.samples), "Sample"))
    if body is None:
        return
    row = body.row()
    row.template_list("THEW_UL_samples", "", rig, "samples", rig, "active_sample", rows=2)
    row.operator("thew.rig_sample_remove", text="", icon="REMOVE")


def draw_force_rig(layout, obj, rig) -> None:
    """Draws a force field: its template, guide and samples."""
    column = layout.column(align=True)
    column.prop(rig, "template")
    by_yield = rig.strength_by == "YIELD"
    for name in TEMPLATE_SLIDERS[rig.template]:
        column.prop(rig, "yields" if name == "strength" and by_yield else name)
    layout.operator("thew.rig_record", text="Record (not kept yet)" if rig.draft else "Record", icon="REC")
    draw_guide(layout, obj, rig)
    draw_samples(layout, rig)
    draw_preferences(layout, rig)
    draw_force(layout, obj, rig)


def draw_sculpted_rig(layout, _obj, _rig) -> None:
    """Draws a sculpted rig, which has no sliders."""
    layout.label(text="Sculpted: Control 1 is the whole shape", icon="SHAPEKEY_DATA")


def draw_muscle_rig(layout, obj, rig) -> None:
    """Draws a muscle: its sizes, its ends and its samples."""
    column = layout.column(align=True)
    ends = [name for name in MUSCLE_SLIDERS if name.startswith(("origin_", "insertion_"))]
    for name in MUSCLE_SLIDERS:
        if name not in ends:
            column.prop(rig, name)
    column.prop(rig, "firmness")
    layout.operator("thew.rig_record", text="Record (not kept yet)" if rig.draft else "Record", icon="REC")
    body = foldout(layout, "rig_guide", f"Ends: “{rig.bone}”, “{rig.insertion}”", icon="BONE_DATA")
    if body is not None:
        armature = armature_of(obj)
        column = body.column(align=True)
        for end, bone in (("origin", "bone"), ("insertion", "insertion")):
            if armature is not None:
                column.prop_search(rig, bone, armature.data, "bones", text=end.capitalize())
            for name in (name for name in ends if name.startswith(end)):
                column.prop(rig, name)
    draw_samples(layout, rig)


#: Panel function of a rig, by its kind.
DRAWING_BY_KIND = {"FORCE": draw_force_rig, "SCULPTED": draw_sculpted_rig, "MUSCLE": draw_muscle_rig}


def draw_rig(layout, obj, rig, width: int) -> None:
    """Draws one rig: its control, and what its kind has."""
    row = layout.row(align=True)
    row.prop(rig, "control", slider=True)
    row.operator("thew.rig_driver", text="", icon="DRIVER")
    DRAWING_BY_KIND[rig.kind](layout, obj, rig)
    if rig.fit >= 0.0:
        layout.label(text=translate(f"As copied it {fit_text(rig.fit)}"), icon="SNAP_ON")
    if rig.problem:
        box = layout.box().column(align=True)
        draw_text(box, rig.problem, width, icon="ERROR")
    elif rig.note:
        draw_text(layout.column(align=True), rig.note, width, icon="INFO")


def draw_rigs(layout, _context, obj, width: int) -> None:
    """Draws the preview, the list of rigs, and the active one."""
    settings = obj.thew
    if settings.made.flesh:
        row = layout.row(align=True)
        row.use_property_split = False
        row.prop(settings, "settled", toggle=True, icon="FREEZE")
        row.operator("thew.settle", text="", icon="FILE_REFRESH")
    else:
        layout.label(text="They push once flesh is added", icon="INFO")
        layout.operator("thew.remove", text="Delete Rigs", icon="X").remove_rigs = True
    draw_list(layout, obj)
    rig = saved_rigs.active_rig(obj)
    if settings.made.flesh:
        draw_mouse_tools(layout, obj, rig)
    if rig is not None:
        draw_rig(layout, obj, rig, width)
    draw_state(layout, obj, width)


def is_shown(obj) -> bool:
    """Returns whether a mesh has flesh, or rigs of former flesh."""
    return obj.thew.made.flesh or len(obj.thew.rigs) > 0


CLASSES = (
    THEW_UL_rigs, THEW_UL_samples, THEW_MT_rigs, THEW_MT_rig_add, THEW_MT_place, *panels("Rigs", draw_rigs, 5, condition=is_shown)
)  # fmt: skip

register, unregister = bpy.utils.register_classes_factory(CLASSES)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Lattice: the switch of mirrored lattices, the lattice by hand and its tools."""

from __future__ import annotations

import bpy

from ..live import lattice_faults
from ..logic.errors import sentence
from ..saved.hand_lattice import edited_mesh
from ..scene.reading import armature_of
from .layouts import draw_text
from .panel_places import panels


def draw_lattice(layout, _context, obj, width: int) -> None:
    """Draws which lattice is in use, and the tools that make one by hand. Messages stand below: no row moves under the mouse."""
    settings = obj.thew
    layout.column().prop(settings, "show_lattice")
    text = (
        "Uses the lattice by hand, the cage of blocks in which the flesh is computed"
        if settings.use_hand_lattice
        else "Thew makes the lattice, the cage of blocks in which the flesh is computed"
    )
    draw_text(layout.column(align=True), text, width, icon="MESH_GRID")
    column = layout.column()  # always drawn: after Use This Lattice another button would lie under the mouse
    column.active = not settings.use_hand_lattice and not (settings.limb_lattice and settings.limbs)
    column.prop(settings, "symmetric")
    column = layout.column(align=True)
    column.operator("thew.lattice_edit", icon="EDITMODE_HLT").source = "PRESENT"
    column.operator("thew.lattice_edit", text="Boxes along Bones", icon="MESH_CUBE").source = "BOXES"
    edited, armature = edited_mesh(obj) is not None, armature_of(obj)
    if edited:
        if armature is not None:
            row = layout.row(align=True)
            row.use_property_split = False  # both words fit only without a label before them
            row.prop(armature.data, "pose_position", expand=True)
        column = layout.column(align=True)
        row = column.row(align=True)
        row.operator("thew.lattice_add_cell", icon="ADD")
        row.operator("thew.lattice_delete_cell", icon="REMOVE")
        column.operator("thew.lattice_symmetrize", icon="MOD_MIRROR")
        layout.operator("thew.lattice_use", icon="CHECKMARK")
    if settings.use_hand_lattice:
        layout.operator("thew.lattice_automatic", icon="LOOP_BACK")
    elif settings.hand_lattice:
        layout.column().prop(settings, "use_hand_lattice")
    if edited and armature is not None and armature.data.pose_position == "POSE":
        draw_text(
            layout.column(align=True),
            "The lattice stands around the character at rest: press Rest Position to see both in one place",
            width,
            icon="INFO",
        )
    faults = lattice_faults.of(obj)
    if faults is not None:
        column = layout.column(align=True)
        column.alert = True
        draw_text(column, sentence(faults.text), width, icon="ERROR")


CLASSES = (*panels("Lattice", draw_lattice, 7),)

register, unregister = bpy.utils.register_classes_factory(CLASSES)

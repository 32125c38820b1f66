# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of bones that correspond, in the dialog that copies rigs to another character. It scrolls: some characters have a hundred."""

from __future__ import annotations

import bpy

#: Rows that are shown at once: with what else the dialog has they fill two thirds of a small screen.
MAX_ROWS = 16

#: Width of the colour of a pair, in rows.
SWATCH_WIDTH = 0.8

#: The armatures of both characters, set by the dialog that draws the list.
armatures: list[bpy.types.Object] = []


class THEW_UL_bone_pairs(bpy.types.UIList):
    """A row of the list: the colour of the pair in the view, and the bone of either character, to be chosen anew."""

    def draw_item(self, _context, layout, dialog, pair, _icon, _active, _property, index=0, _filter=0):
        row = layout.row(align=True)
        if index < len(dialog.colours):
            swatch = row.row()
            swatch.ui_units_x = SWATCH_WIDTH
            swatch.prop(dialog.colours[index], "colour", text="")
        for end, armature in zip(("source", "target"), armatures, strict=True):
            row.prop_search(pair, end, armature.data, "bones", text="")


register, unregister = bpy.utils.register_classes_factory((THEW_UL_bone_pairs,))

# SPDX-License-Identifier: GPL-3.0-or-later
"""The kind of a character, which decides which parts the automatic map of flesh may make soft."""

from __future__ import annotations

from bpy.props import EnumProperty

from .edit_callbacks import setting

KINDS = (
    ("AUTOMATIC", "Automatic", "Found from the shape and the rig: what is soft, and whether it is a machine"),
    (
        "HUMAN",
        "Human",
        "Stands upright: breasts, belly, buttocks, then thighs and upper arms; ribs, shins and skull are hard",
    ),
    (
        "ANIMAL",
        "Animal",
        "On all fours, flying or swimming: belly, haunches and what hangs; skull, shanks, wings and fins are hard",
    ),
    ("TOON", "Toon", "Rubber: the whole trunk and the head are soft, limbs to beyond their middle"),
    ("INSECT", "Insect", "A shell: only the abdomen behind the last legs is soft"),
    ("ROBOT", "Robot", "Hard throughout, whatever the softness; paint what should be soft"),
)


class KindProperties:
    """Mix-in for the kind, saved with the object; its identifiers never change."""

    kind: setting(
        EnumProperty,
        "Kind",
        "Kind of character, which decides which parts are soft in the automatic map of flesh",
        items=KINDS,
        default="AUTOMATIC",
    )

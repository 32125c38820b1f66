# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved limbs of a character: `Object.thew.limbs`, each a medial model along a chain of bones.

A model is a text in the object's own space at rest (`logic.limbs`), so that it does not change with the character's pose.
"""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, IntProperty, StringProperty

from ..logic.names import free_name
from .edit_callbacks import record, setting


def _name_edited(self, _context):
    others = [limb.name for limb in self.id_data.thew.limbs if limb != self]
    if self.name in others or not self.name:
        self.name = free_name(self.name or "Limb", others)


class ThewLimb(bpy.types.PropertyGroup):
    """One limb with coordinates."""

    name: StringProperty(name="Name", description="Name of the limb", update=_name_edited)
    bones: record(StringProperty, "Bones that it was made along, one per line", name="Bones")
    model: record(StringProperty, "Handles of the limb", name="Model")
    shown: BoolProperty(
        name="Show", description="Draw the limb's handles, spokes and boundary in the 3D view", default=True
    )
    tokens: record(StringProperty, "Identifiers of its bones that survive renaming, one per line", name="Tokens")

    def saved_bones(self) -> list[tuple[str, str]]:
        """Returns (name, token) of its bones, the first one nearest to the root, by their names at the last lookup; "" for no
        token.
        """
        names = self.bones.split("\n") if self.bones else []
        tokens = self.tokens.split("\n") if self.tokens else []
        return list(zip(names, tokens + [""] * (len(names) - len(tokens)), strict=False))


def active_limb(obj: bpy.types.Object | None) -> ThewLimb | None:
    """Returns the limb chosen in the list."""
    if obj is None or not 0 <= obj.thew.active_limb < len(obj.thew.limbs):
        return None
    return obj.thew.limbs[obj.thew.active_limb]


class LimbProperties:
    """Mix-in for the limbs of a mesh."""

    limbs: CollectionProperty(type=ThewLimb, description="Limbs with coordinates along, around and in depth")
    limb_lattice: setting(
        BoolProperty,
        "Lattice from Limbs",
        "Fill the limbs of the list with flesh that follows their handles, joined to the rest of the flesh. Limbs "
        "that cannot be filled stay as they are; Details says why",
        default=False,
    )
    active_limb: IntProperty(name="Limb", description="Limb chosen in the list", default=0, min=0, options=set())


CLASSES = (ThewLimb,)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The limbs of a character as they are saved: `Object.thew.limbs`, each a medial model along a chain of bones.

A model is a text in the object's own space at rest (`logic.limbs`), so that it stays what it was however the character stands.
"""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, StringProperty

from ..logic.names import free_name


def _named(self, _context):
    others = [limb.name for limb in self.id_data.thew.limbs if limb != self]
    if self.name in others or not self.name:
        self.name = free_name(self.name or "Limb", others)


class ThewLimb(bpy.types.PropertyGroup):
    """A limb with coordinates."""

    name: StringProperty(name="Name", description="What the limb is called", update=_named)
    bones: StringProperty(name="Bones", description="The bones that it was made along, one a line", options={"HIDDEN"})
    model: StringProperty(name="Model", description="Its atoms", options={"HIDDEN"})
    shown: BoolProperty(
        name="Show", description="Draw the limb's atoms, spokes and boundary in the 3D view", default=True
    )

    def chain(self) -> list[str]:
        """Names of its bones, the first one nearest to the root."""
        return self.bones.split("\n") if self.bones else []


def active(obj: bpy.types.Object | None) -> ThewLimb | None:
    """The limb that is chosen in the list."""
    if obj is None or not 0 <= obj.thew.active_limb < len(obj.thew.limbs):
        return None
    return obj.thew.limbs[obj.thew.active_limb]


CLASSES = (ThewLimb,)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a mesh's lattice: mirrored or not, automatic or by hand; the saved lattice by hand, and the mesh in which it is edited.

The lattice is a text in the space of the character's mesh at rest (`logic.hand_lattice`), so that it outlives a remeshed skin.
"""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, PointerProperty, StringProperty

from .edit_callbacks import record, setting


class HandLatticeProperties:
    """Mix-in for the lattice of a mesh, automatic or by hand, and for the mesh that shows it."""

    symmetric: setting(
        BoolProperty,
        "Symmetric",
        "Mirror the lattice if the character's left and right mirror each other at rest, so that both sides sway alike. "
        "Details says whether the lattice is symmetric",
        default=True,
    )
    use_hand_lattice: setting(
        BoolProperty,
        "Lattice by Hand",
        "Use the lattice that was made by hand, whatever Detail says; when off, Thew makes the lattice",
        default=False,
    )
    hand_lattice: record(
        StringProperty, "The last good lattice by hand; on the mesh that shows it, the one it began with"
    )
    hand_mesh: record(PointerProperty, "The mesh in which the lattice is edited", type=bpy.types.Object)
    lattice_of: record(PointerProperty, "The character whose lattice this mesh shows", type=bpy.types.Object)


def edited_mesh(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Returns the mesh in which the lattice of `obj` is edited; None where there is none in the scene."""
    made = obj.thew.hand_mesh
    alive = made is not None and made.type == "MESH" and bpy.context.scene.objects.get(made.name) == made
    return made if alive else None


def lattice_in_use(obj: bpy.types.Object) -> str:
    """Returns the text of the lattice by hand of `obj`; "" where the automatic one is used."""
    return obj.thew.hand_lattice if obj.thew.use_hand_lattice else ""

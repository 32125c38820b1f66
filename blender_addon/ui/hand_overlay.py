# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of what is wrong with a lattice by hand: red lines and points where a condition is broken."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import lattice_faults, target
from ..logic.spaces import transform
from .viewing import Drawing, Overlay, draw_all

FAULT_COLOUR = (1.0, 0.1, 0.1, 1.0)
#: Sizes of single points and of many, pixels, and the number from which they are many: where a part of the skin lies outside the
#: lattice, each of its vertices is a point, and large ones would hide the body.
POINT_SIZE, SMALL_POINT_SIZE, MANY_POINTS = 9.0, 2.5, 60


def draw(context: bpy.types.Context) -> None:
    """Draws the faults of the target mesh's lattice."""
    obj = target.target_mesh(context)
    if obj is not None and obj.type == "MESH":
        draw_all(drawings(obj))  # bones lie inside the body: their gaps show through it


def drawings(obj: bpy.types.Object) -> list[Drawing]:
    """Returns the lines and points to draw in the world, at rest as the lattice's mesh is."""
    faults = lattice_faults.of(obj)
    if faults is None:
        return []
    matrix = np.array(obj.matrix_world)
    lines = transform(matrix, faults.lines.reshape(-1, 3)).reshape(-1, 2, 3)
    size = POINT_SIZE if len(faults.points) < MANY_POINTS else SMALL_POINT_SIZE
    return [(lines, FAULT_COLOUR, 3.0), (transform(matrix, faults.points), FAULT_COLOUR, size)]


OVERLAYS = (Overlay(draw, lattice_faults.known),)

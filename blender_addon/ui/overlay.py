# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of the control lattice, deformed with the frame: thin lines, and the bones' edges in colour."""

from __future__ import annotations

import bpy
import numpy as np

from ..live.flesh import Flesh
from ..live.session import register as fleshes
from ..logic.wires import lattice_wires
from .viewing import Overlay, draw_all

CELL_COLOUR = (0.35, 0.75, 1.0, 0.35)
BONE_COLOUR = (1.0, 0.55, 0.1, 1.0)

#: Wires of the lattices drawn, by the lattice's identity: (lattice, cell edges, bone edges).
_wires: dict[int, tuple[object, np.ndarray, np.ndarray]] = {}


def draw(context: bpy.types.Context) -> None:
    """Draws the lattices of the scene's objects whose overlay is on."""
    for obj in fleshes.objects(context.scene):
        if not obj.thew.show_lattice or not obj.visible_get():
            continue
        flesh = fleshes.known_state(obj)
        if flesh is not None and flesh.lattice is not None:
            draw_lattice(flesh, context.scene.frame_float if obj.thew.enabled else None)


def draw_lattice(flesh: Flesh, frame: float | None) -> None:
    """Draws one lattice as it is at `frame`, or at rest."""
    positions = lattice_shape(flesh, frame).astype(np.float32)
    cells, bones = wires_of(flesh.lattice)
    draw_all([(positions[cells], CELL_COLOUR, 1.0)], hidden=True)
    draw_all([(positions[bones], BONE_COLOUR, 3.0)])  # bones lie inside the body: they show through it


def lattice_shape(flesh: Flesh, frame: float | None) -> np.ndarray:
    """Returns the lattice vertices in Blender's world, [k, 3]."""
    if frame is not None and flesh.clip is not None:
        return flesh.lattice_positions(frame)[: len(flesh.lattice.vertices)]
    return flesh.place.world(flesh.lattice.vertices)


def wires_of(lattice) -> tuple[np.ndarray, np.ndarray]:
    """Returns the lattice's (cell edges, bone edges), cached for the next drawing."""
    known = _wires.get(id(lattice))
    if known is None or known[0] is not lattice:
        _wires.clear() if len(_wires) > 32 else None
        known = (lattice, *lattice_wires(lattice.cells, lattice.bone_edges))
        _wires[id(lattice)] = known
    return known[1], known[2]


OVERLAYS = (Overlay(draw, _wires),)

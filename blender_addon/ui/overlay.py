# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of the control lattice, deformed with the frame: thin lines, the bones' edges in colour, and points where functions of Fine Detail act."""

from __future__ import annotations

import bpy
import numpy as np

from ..live.flesh import Flesh
from ..live.session import register as fleshes
from ..logic.fine_detail import acting_functions
from ..logic.wires import lattice_wires
from .viewing import Drawing, Overlay, draw_all

CELL_COLOUR = (0.35, 0.75, 1.0, 0.35)
BONE_COLOUR = (1.0, 0.55, 0.1, 1.0)

#: Colours of functions of Fine Detail by level, and the sizes of their points in pixels.
FUNCTION_COLOURS = ((1.0, 0.7, 0.1, 0.95), (0.95, 0.2, 0.1, 0.95), (0.8, 0.2, 0.9, 0.95))
FUNCTION_SIZES = (6.0, 4.5, 3.5)
#: Number of points from which they are drawn small, and their size then over the usual one: where most of the flesh is strained there are
#: thousands, and large ones would hide the body.
MANY_POINTS, SMALL_SHARE = 300, 0.4
#: Bodies whose places are kept at most: a cache keeps them alive, and one with details takes up to gigabytes.
MAX_PLACES = 4

#: Wires of the lattices drawn, by the lattice's identity: (lattice, cell edges, bone edges).
_wires: dict[int, tuple[object, np.ndarray, np.ndarray]] = {}
#: Places of the finer functions of the bodies drawn, by the body's identity: (body, lattice vertices [d, 8], their shares [d, 8]).
_places: dict[int, tuple[object, np.ndarray, np.ndarray]] = {}


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
    if frame is not None:
        draw_all(function_drawings(flesh, frame))


def function_drawings(flesh: Flesh, frame: float) -> list[Drawing]:
    """Returns the points of the functions of Fine Detail that act or fade at `frame`, level by level, Blender's world."""
    if flesh.clip is None or flesh.body is None or flesh.body.basis_levels == 0:
        return []
    places = function_places(flesh, flesh.lattice_positions(frame))
    levels = acting_functions(flesh.body, flesh.clip.lattice_positions(flesh.index_at(frame)))
    found = zip(levels, FUNCTION_COLOURS, FUNCTION_SIZES, strict=False)
    share = 1.0 if sum(map(len, levels)) < MANY_POINTS else SMALL_SHARE
    return [(places[chosen], colour, share * size) for chosen, colour, size in found if len(chosen)]


def function_places(flesh: Flesh, nodes: np.ndarray) -> np.ndarray:
    """Returns the places of all finer functions [d, 3] in a lattice whose nodes are at `nodes`."""
    known = _places.get(id(flesh.body))
    if known is None or known[0] is not flesh.body:
        if len(_places) >= MAX_PLACES:
            _places.clear()
        centres = np.asarray(flesh.body.node_centres)[len(flesh.lattice.vertices) :]
        corners, shares = (np.asarray(each) for each in flesh.lattice.embed(centres))
        known = (flesh.body, np.maximum(corners, 0), np.where(corners < 0, 0.0, shares))
        _places[id(flesh.body)] = known
    return np.einsum("da,dac->dc", known[2], nodes[known[1]])


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


OVERLAYS = (Overlay(draw, _wires, _places),)

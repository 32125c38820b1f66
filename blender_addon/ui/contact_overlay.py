# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of contacts: points coloured by force, and the cells that bones alone hold folded."""

from __future__ import annotations

import bpy
import numpy as np

from ..live.flesh import Flesh
from ..live.session import is_live
from ..live.session import register as fleshes
from ..logic.cells import flattest_cells
from ..logic.contact import force_levels, held_cell_count
from ..logic.wires import lattice_wires
from .viewing import Drawing, Overlay, draw_all

#: Colours of contacts from the weakest to the strongest, and the sizes of their points in pixels.
COLOURS = (
    (1.0, 0.97, 0.75, 0.9),
    (1.0, 0.85, 0.4, 0.95),
    (1.0, 0.6, 0.15, 1.0),
    (0.95, 0.3, 0.1, 1.0),
    (0.8, 0.05, 0.1, 1.0),
)
MIN_POINT_SIZE, POINT_SIZE_STEP = 5.0, 1.0
HELD_COLOUR = (0.75, 0.35, 1.0, 0.9)


def drawings(obj: bpy.types.Object, frame: float) -> list[Drawing]:
    """Returns the drawings for `obj` at the scene's `frame`."""
    flesh = fleshes.known_state(obj)
    if flesh is None or flesh.build_settings is None or flesh.build_settings.touches is None:
        return []
    resting = flesh.shows_rest(obj.thew.settled)
    if not (obj.thew.settled if resting else flesh.condition.is_showable):
        return []  # a pose being edited, which contact has not seen, or a clip of another mesh
    contacts = flesh.contacts(frame, resting)
    found = []
    if contacts is not None and len(contacts):
        force = np.linalg.norm(contacts.forces, axis=1)
        strongest = float(force.max()) if resting or flesh.touching is None else flesh.touching.strongest
        place = flesh.clip_place
        if resting:
            place = flesh.place_at(np.array(obj.matrix_world, dtype=np.float64))
        points, level = place.world(contacts.points), force_levels(force, strongest, len(COLOURS))
        for i, colour in enumerate(COLOURS):
            found.append((points[level == i], colour, MIN_POINT_SIZE + POINT_SIZE_STEP * i))
    if not resting:
        found.append((held_cells(flesh, frame), HELD_COLOUR, 2.0))
    return [each for each in found if len(each[0])]


def held_cells(flesh: Flesh, frame: float) -> np.ndarray:
    """Returns the edges of the cells that bones alone hold folded, Blender's world [m, 2, 3]. The core counts these cells."""
    if flesh.clip is None:
        return np.empty((0, 2, 3))
    index = flesh.index_at(frame)
    count = held_cell_count(flesh.clip, index)
    if not count:
        return np.empty((0, 2, 3))
    lattice = flesh.lattice
    posed = np.asarray(flesh.clip.lattice_positions(index))[: len(lattice.vertices)]
    chosen = flattest_cells(lattice.cells, np.asarray(lattice.vertices), posed, set(flesh.body.held_vertices), count)
    edges, _ = lattice_wires([lattice.cells[i] for i in chosen], [])
    return flesh.clip_place.world(posed[edges])


def visible_drawings(context: bpy.types.Context) -> list[Drawing]:
    """Returns the drawings of all objects that show their contacts."""
    found = []
    for obj in fleshes.objects(context.scene):
        if obj.thew.show_contacts and is_live(obj) and obj.visible_get():
            found += drawings(obj, context.scene.frame_float)
    return found


OVERLAYS = (Overlay(lambda context: draw_all(visible_drawings(context))),)

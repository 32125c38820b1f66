# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of the other character's skin on the one that gets its rigs, or colours of the map of both, while the dialog of their bones is
open.
"""

from __future__ import annotations

import bpy
import numpy as np

from .map_overlay import direction_to_eye, draw_triangles, lit_surface
from .viewing import Overlay, draw_all

COLOUR = (1.0, 0.45, 0.1, 0.35)

#: The object on which the ghost lies, by name, and its lines [e, 2, 3] in Blender's world; empty without one.
_shown: list[tuple[str, np.ndarray]] = []
#: Colours [n, 3] of the vertices of meshes, by the object's name.
_painted: dict[str, np.ndarray] = {}


def show(obj: bpy.types.Object, lines: np.ndarray) -> None:
    """Shows lines [e, 2, 3] on an object in place of those that are shown."""
    hide()
    _shown[:] = [(obj.name, lines)]


def paint(colours: dict[bpy.types.Object, np.ndarray]) -> None:
    """Shows meshes in colours [n, 3] of their vertices in place of a ghost."""
    hide()
    _painted.update({obj.name: each for obj, each in colours.items()})


def hide() -> None:
    """Hides the ghost and the colours."""
    _shown.clear()
    _painted.clear()


def drawings() -> list:
    """Returns the ghost as a drawing, if its object is there and visible."""
    found = []
    for name, lines in _shown:
        obj = bpy.data.objects.get(name)
        if obj is not None and obj.visible_get():
            found.append((lines, COLOUR, 1.0))
    return found


def surfaces(depsgraph: bpy.types.Depsgraph, towards_eye: np.ndarray) -> list[tuple]:
    """Returns the painted meshes that are there and visible as coloured surfaces."""
    found = []
    for name, colours in _painted.items():
        obj = bpy.data.objects.get(name)
        if obj is not None and obj.visible_get():
            found.append(lit_surface(obj.evaluated_get(depsgraph), colours, towards_eye))
    return [each for each in found if each is not None]


def draw(context: bpy.types.Context) -> None:
    """Draws the ghost or the colours."""
    if _painted:
        for each in surfaces(context.view_layer.depsgraph, direction_to_eye(context.region_data)):
            draw_triangles(*each)
    draw_all(drawings())


OVERLAYS = (Overlay(draw),)

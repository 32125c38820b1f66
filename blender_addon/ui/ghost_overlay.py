# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of the other character's skin on the one that gets its rigs, while the dialog of their bones is open."""

from __future__ import annotations

import bpy
import numpy as np

from .viewing import Overlay, draw_all

COLOUR = (1.0, 0.45, 0.1, 0.35)

#: The object on which the ghost lies, by name, and its lines [e, 2, 3] in Blender's world; empty without one.
_shown: list[tuple[str, np.ndarray]] = []


def show(obj: bpy.types.Object, lines: np.ndarray) -> None:
    """Shows lines [e, 2, 3] on an object in place of those that are shown."""
    _shown[:] = [(obj.name, lines)]


def hide() -> None:
    """Hides the ghost."""
    _shown.clear()


def drawings() -> list:
    """Returns the ghost as a drawing, if its object is there and visible."""
    found = []
    for name, lines in _shown:
        obj = bpy.data.objects.get(name)
        if obj is not None and obj.visible_get():
            found.append((lines, COLOUR, 1.0))
    return found


def draw(_context: bpy.types.Context) -> None:
    """Draws the ghost."""
    draw_all(drawings())


OVERLAYS = (Overlay(draw),)

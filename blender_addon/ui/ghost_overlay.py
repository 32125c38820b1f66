# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay while the dialog of the bones of two characters is open: the skin of one on the other, or colours of the map of both, and the
bones of both in the colours of their pairs.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.pair_colours import ALONE
from .map_overlay import direction_to_eye, draw_triangles, lit_surface
from .viewing import Drawing, Overlay, draw_all

COLOUR = (1.0, 0.45, 0.1, 0.35)

#: Widths in pixels of bones that have a partner, and of others.
PAIRED_WIDTH, ALONE_WIDTH = 5.0, 2.0

#: The object on which the ghost lies, by name, and its lines [e, 2, 3] in Blender's world; empty without one.
_shown: list[tuple[str, np.ndarray]] = []
#: Colours [n, 3] of the vertices of meshes, by the object's name.
_painted: dict[str, np.ndarray] = {}
#: Bones [k, 2, 3] in Blender's world and their colours [k, 3], by the armature's name.
_bones: dict[str, tuple[np.ndarray, np.ndarray]] = {}


def show(obj: bpy.types.Object, lines: np.ndarray) -> None:
    """Shows lines [e, 2, 3] on an object in place of what is shown."""
    hide()
    _shown[:] = [(obj.name, lines)]


def paint(colours: dict[bpy.types.Object, np.ndarray]) -> None:
    """Shows meshes in colours [n, 3] of their vertices in place of a ghost."""
    hide()
    _painted.update({obj.name: each for obj, each in colours.items()})


def mark(bones: dict[bpy.types.Object, tuple[np.ndarray, np.ndarray]]) -> None:
    """Shows bones [k, 2, 3] of armatures in colours [k, 3], besides what is shown."""
    _bones.clear()
    _bones.update({armature.name: each for armature, each in bones.items()})


def hide() -> None:
    """Hides the ghost, the colours and the bones."""
    _shown.clear()
    _painted.clear()
    _bones.clear()


def drawings() -> list:
    """Returns the ghost as a drawing, if its object is there and visible."""
    found = []
    for name, lines in _shown:
        obj = bpy.data.objects.get(name)
        if obj is not None and obj.visible_get():
            found.append((lines, COLOUR, 1.0))
    return found


def bone_drawings() -> list[Drawing]:
    """Returns the bones of the armatures that are there, those without a partner first."""
    found = []
    for name, (bones, colours) in _bones.items():
        if bpy.data.objects.get(name) is not None:
            alone = (np.abs(colours - ALONE) < 1e-6).all(axis=1)
            for single in (True, False):
                width = ALONE_WIDTH if single else PAIRED_WIDTH
                chosen = zip(bones[alone == single], colours[alone == single], strict=True)
                found += [(bone[None], (*colour.tolist(), 1.0), width) for bone, colour in chosen]
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
    """Draws the ghost or the colours, and the bones."""
    if _painted:
        for each in surfaces(context.view_layer.depsgraph, direction_to_eye(context.region_data)):
            draw_triangles(*each)
    draw_all(drawings() + bone_drawings())


OVERLAYS = (Overlay(draw),)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Belts in the scene: the ring of skin around a bone as it is shown now."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.native import core
from .mesh import triangles_of
from .pins import shown_places


@dataclass(frozen=True)
class HeldRing:
    """Vertices of a mesh where a belt lies, their places as they are shown, and its axis, Blender's world."""

    vertices: np.ndarray  # int[k]
    places: np.ndarray  # [k, 3]
    axis: np.ndarray  # [3]


def find(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    bone: str,
    shape: tuple[float, float],
    depsgraph: bpy.types.Depsgraph,
) -> HeldRing:
    """Returns the ring of a belt with a height along the bone and a width, scene units.

    Refuses an unknown bone, a bone without length, and one without skin around it there.
    """
    along, width = shape
    evaluated = armature.evaluated_get(depsgraph)
    posed = evaluated.pose.bones.get(bone)
    if posed is None:
        raise Refusal(f"{describe(armature)} has no bone “{bone}”: choose one of its bones")
    matrix = np.array(evaluated.matrix_world, dtype=np.float64)
    head, tail = (matrix[:3, :3] @ np.array(end) + matrix[:3, 3] for end in (posed.head, posed.tail))
    shown = shown_places(obj, depsgraph)
    ring = core().Surface(shown, triangles_of(obj.data)).ring(head + along * (tail - head), tail - head, width)
    if ring is None:
        raise Refusal(
            f"No skin of {describe(obj)} goes around the bone “{bone}” at {along:.2f} of its length: choose another height along it, or "
            "another bone"
        )
    return HeldRing(ring[0], shown[ring[0]], tail - head)

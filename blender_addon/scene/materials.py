# SPDX-License-Identifier: GPL-3.0-or-later
"""Hard parts of a mesh, recognised by the names of its materials."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.hard_names import is_hard
from ..logic.sentences import join_words
from .mesh import numbers


@dataclass(frozen=True)
class HardParts:
    """The hard parts of a mesh."""

    names: tuple[str, ...] = ()  # of the hard materials that have faces
    part: np.ndarray | None = None  # float32[n]: hard share by area around each vertex; None: nothing is hard

    @property
    def note(self) -> str:
        """Returns a sentence without full stop on the hard materials; "" without any."""
        if not self.names:
            return ""
        names = join_words([f"“{name}”" for name in self.names])
        one = len(self.names) == 1
        return f"{names} {'is' if one else 'are'} hard by {'its' if one else 'their'} name: paint Flesh to change that"


def hard_parts(obj: bpy.types.Object) -> HardParts:
    """Returns the parts of a mesh whose materials are hard.

    A mesh that is hard all over counts as not hard: nothing would be left of the flesh that the artist wants.
    """
    materials = [slot.material for slot in obj.material_slots]
    hard_slots = np.array([material is not None and is_hard(material.name) for material in materials], dtype=bool)
    mesh = obj.data
    if not hard_slots.any() or not len(mesh.polygons):
        return HardParts()
    index = numbers(mesh.polygons, "material_index", dtype=np.int32)
    index = np.clip(index, 0, len(hard_slots) - 1)  # as Blender draws faces whose slot is gone
    of_face = hard_slots[index]
    if not of_face.any() or of_face.all():
        return HardParts()
    loops, areas = numbers(mesh.polygons, "loop_total", dtype=np.int32), numbers(mesh.polygons, "area")
    corners = numbers(mesh.loops, "vertex_index", dtype=np.int32)
    # Faces without area count too, with a tiny weight.
    weight = np.repeat(np.maximum(np.nan_to_num(areas, posinf=0.0).astype(np.float64), 1e-12), loops)
    n = len(mesh.vertices)
    around = np.bincount(corners, weights=weight, minlength=n)
    its = np.bincount(corners, weights=weight * np.repeat(of_face, loops), minlength=n)
    part = np.divide(its, around, out=np.zeros(n), where=around > 0.0)
    used = set(np.unique(index).tolist())
    names = tuple(dict.fromkeys(materials[i].name for i in sorted(used) if hard_slots[i]))
    return HardParts(names, np.clip(part, 0.0, 1.0).astype(np.float32))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Hard parts of a mesh, as the names of its materials tell them."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.hard_names import is_hard
from ..logic.sentences import listed


@dataclass(frozen=True)
class Hard:
    """Parts of a mesh that are of something hard."""

    names: tuple[str, ...] = ()  # of the materials that say so and have faces
    part: np.ndarray | None = None  # float32[n]: of the faces around each vertex, by area; None where nothing is

    @property
    def note(self) -> str:
        """Says which materials count as hard, without a full stop; "" where none does."""
        if not self.names:
            return ""
        names = listed([f"“{name}”" for name in self.names])
        one = len(self.names) == 1
        return f"{names} {'is' if one else 'are'} hard by {'its' if one else 'their'} name: paint Flesh to have it otherwise"


def hard(obj: bpy.types.Object) -> Hard:
    """Returns where the materials of a mesh say that it is hard.

    A mesh that is hard all over stays as it is: nothing would be left of the flesh that was asked for.
    """
    materials = [slot.material for slot in obj.material_slots]
    says = np.array([material is not None and is_hard(material.name) for material in materials], dtype=bool)
    mesh = obj.data
    if not says.any() or not len(mesh.polygons):
        return Hard()
    index = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("material_index", index)
    index = np.clip(index, 0, len(says) - 1)  # as Blender draws faces whose slot is gone
    of_face = says[index]
    if not of_face.any() or of_face.all():
        return Hard()
    loops, areas = np.empty(len(index), dtype=np.int32), np.empty(len(index), dtype=np.float32)
    mesh.polygons.foreach_get("loop_total", loops)
    mesh.polygons.foreach_get("area", areas)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    # Faces without area count as well, if hardly.
    weight = np.repeat(np.maximum(np.nan_to_num(areas, posinf=0.0).astype(np.float64), 1e-12), loops)
    n = len(mesh.vertices)
    around = np.bincount(corners, weights=weight, minlength=n)
    its = np.bincount(corners, weights=weight * np.repeat(of_face, loops), minlength=n)
    part = np.divide(its, around, out=np.zeros(n), where=around > 0.0)
    used = set(np.unique(index).tolist())
    names = tuple(dict.fromkeys(materials[i].name for i in sorted(used) if says[i]))
    return Hard(names, np.clip(part, 0.0, 1.0).astype(np.float32))

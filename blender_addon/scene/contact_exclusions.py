# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices without contact: those of the vertex group that the artist chose for it."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.digests import digest_of
from ..logic.errors import sentence
from ..logic.names import describe
from .mesh import Groups

#: Weight above which vertices are ignored. Half of the largest weight.
WEIGHT_THRESHOLD = 0.5


@dataclass(frozen=True)
class IgnoredVertices:
    """The vertices without contact, as read."""

    group: tuple[str, bool] = ("", False)  # see `chosen_group`
    vertices: np.ndarray | None = None  # bool[n]; None: no vertex group was chosen, or it is gone
    problem: str = ""  # a sentence where the group is gone

    @property
    def digest(self) -> bytes:
        """Returns a hash of the vertices."""
        return b"" if self.vertices is None else digest_of(self.vertices)

    def regions(self) -> np.ndarray | None:
        """Returns a region number per vertex, 0 for those without contact, int32[n]; None: all have contact."""
        return None if self.vertices is None else (~self.vertices).astype(np.int32)


def chosen_group(obj: bpy.types.Object) -> tuple[str, bool]:
    """Returns the chosen vertex group ("" without a choice), and whether `obj` has it."""
    name = obj.thew.contact_ignore
    return name, bool(name) and obj.vertex_groups.get(name) is not None


def read(obj: bpy.types.Object, groups: Groups, count: int) -> IgnoredVertices:
    """Returns the ignored vertices of `obj` among its weights, of `count` vertices."""
    name, there = chosen_group(obj)
    if not name:
        return IgnoredVertices()
    if not there:
        return IgnoredVertices(
            (name, there),
            problem=sentence(
                f"{describe(obj)} has no vertex group “{name}”, which contact was to ignore: choose another one under "
                "Contact, or clear it"
            ),
        )
    group, vertex, weight = groups
    vertices = np.zeros(count, dtype=bool)
    vertices[vertex[(group == obj.vertex_groups[name].index) & (weight > WEIGHT_THRESHOLD)]] = True
    return IgnoredVertices((name, there), vertices)

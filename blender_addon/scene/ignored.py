# SPDX-License-Identifier: GPL-3.0-or-later
"""Which vertices touch nothing: those of the vertex group that the artist chose for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.errors import sentence
from ..logic.names import describe
from .mesh import Groups

#: Vertices with more weight than this are ignored. Half of what a weight can be.
HALF = 0.5


@dataclass(frozen=True)
class Ignored:
    """The vertices that touch nothing, as they were read."""

    asked: tuple[str, bool] = ("", False)  # see `asked`
    vertices: np.ndarray | None = None  # bool[n]; None: no vertex group was chosen, or it is gone
    problem: str = ""  # a sentence where the group is gone

    @property
    def digest(self) -> bytes:
        """A hash of them."""
        return b"" if self.vertices is None else hashlib.blake2b(self.vertices.data, digest_size=16).digest()

    def regions(self) -> np.ndarray | None:
        """A number per vertex of which 0 touches nothing, int32[n]; None: all may touch."""
        return None if self.vertices is None else (~self.vertices).astype(np.int32)


def asked(obj: bpy.types.Object) -> tuple[str, bool]:
    """The vertex group that is chosen, "" where none is, and whether `obj` has it."""
    name = obj.thew.contact_ignore
    return name, bool(name) and obj.vertex_groups.get(name) is not None


def read(obj: bpy.types.Object, groups: Groups, count: int) -> Ignored:
    """The ignored vertices of `obj` among its weights, of `count` vertices."""
    name, there = asked(obj)
    if not name:
        return Ignored()
    if not there:
        return Ignored(
            (name, there),
            problem=sentence(
                f"{describe(obj)} has no vertex group “{name}”, which contact was to ignore: choose another one under "
                "Contact, or clear it"
            ),
        )
    group, vertex, weight = groups
    vertices = np.zeros(count, dtype=bool)
    vertices[vertex[(group == obj.vertex_groups[name].index) & (weight > HALF)]] = True
    return Ignored((name, there), vertices)

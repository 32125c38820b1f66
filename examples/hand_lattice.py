# SPDX-License-Identifier: MIT OR Apache-2.0
"""Control lattices by hand: rings of points, swept to hexahedra, and limbs extruded from patches of their sides. [capell2002, §3.1]

Cells meet in common faces because neighbours share the numbers of their corners. A patch is an array of such numbers. The middle line of a
sweep of 3 x 3 points is a line of edges: bones lie there. Needs no Blender.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import thew

ROUNDING = 0.84
"""Factor on the corners of a limb's rings: 1 makes limbs square, 0.71 circular with flat cells at the corners."""


class HandLattice:
    """Vertices and hexahedra under construction."""

    def __init__(self) -> None:
        self.vertices: list[np.ndarray] = []
        self.cells: list[list[int]] = []

    def add(self, points: np.ndarray) -> np.ndarray:
        """Adds points [m,n,3] and returns their numbers [m,n]."""
        first = len(self.vertices)
        self.vertices += list(points.reshape(-1, 3))
        return np.arange(first, len(self.vertices)).reshape(points.shape[:2])

    def sweep(self, patch: np.ndarray, rings: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Extrudes a patch [m,n] through rings of points [m,n,3]; returns the numbers of all rings, the patch first."""
        all_rings = [patch]
        for points in rings:
            before, after = all_rings[-1], self.add(points)
            for i, j in np.ndindex(before.shape[0] - 1, before.shape[1] - 1):
                near, far = ([ring[i + a, j + b] for b in (0, 1) for a in (0, 1)] for ring in (before, after))
                self.cells.append(self._oriented([int(v) for v in near + far]))
            all_rings.append(after)
        return all_rings

    def finish(self, skeleton: thew.Skeleton) -> thew.Lattice:
        """Returns the lattice with the bones that lie on its edges."""
        return thew.Lattice(np.array(self.vertices), self.cells).with_bones_of(skeleton)

    def _oriented(self, cell: list[int]) -> list[int]:
        """Returns the corners i + 2j + 4k with right-handed axes."""
        corner = np.array([self.vertices[v] for v in cell])
        axes = [corner[axis].mean(axis=0) - corner[~axis].mean(axis=0) for axis in _AXES]
        return cell if np.linalg.det(axes) > 0.0 else [cell[i] for i in (1, 0, 3, 2, 5, 4, 7, 6)]


_AXES = [(np.arange(8) >> axis) % 2 == 1 for axis in range(3)]
"""For each axis of a hexahedron which corners lie at its far end."""


def limb_ring(centre, across, along, rounding: float = ROUNDING) -> np.ndarray:
    """Returns points [3,3,3] around a centre: `across` and `along` point from it to the middles of two sides."""
    points = np.zeros((3, 3, 3))
    for i, j in np.ndindex(3, 3):
        corner = rounding if (i - 1) * (j - 1) else 1.0
        points[i, j] = np.add(centre, corner * ((i - 1) * np.asarray(across) + (j - 1) * np.asarray(along)))
    return points


def trunk_ring(height: float, rows: Sequence[float], half: float, middle: float | None = None) -> np.ndarray:
    """Returns points [5,3,3] of a level ring: `rows` are y in front, at the bones and behind, `half` and `middle` the x of the columns."""
    columns = np.array([-half, -(middle or 0.5 * half), 0.0, middle or 0.5 * half, half])
    points = np.zeros((5, 3, 3))
    for i, j in np.ndindex(5, 3):
        outer = i in (0, 4) and j != 1
        x, y = columns[i] * (0.8 if outer else 1.0), rows[1] + (rows[j] - rows[1]) * (0.72 if outer else 1.0)
        points[i, j] = x, y, height
    return points

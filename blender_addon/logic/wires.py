# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of a lattice to draw."""

from __future__ import annotations

import itertools

import numpy as np

#: Edges of a cell by its number of corners: tetrahedron, prism (bottom, then top), hexahedron (i + 2 j + 4 k).
CELL_EDGES = {
    4: ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
    6: ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    8: (
        (0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7),
    ),
}  # fmt: skip


def lattice_wires(cells, bone_chains) -> tuple[np.ndarray, np.ndarray]:
    """Returns the lines of the cells and of the bones, each once: (int32[e, 2], int32[f, 2]); no line is in both.

    cells: lists of 4, 6 or 8 vertex indices; bone_chains: lists of vertex indices, head to tail.
    """
    bones = {tuple(sorted(pair)) for chain in bone_chains for pair in itertools.pairwise(chain)}
    edges = {
        (min(int(cell[a]), int(cell[b])), max(int(cell[a]), int(cell[b])))
        for cell in cells
        for a, b in CELL_EDGES[len(cell)]
    }
    return (
        np.array(sorted(edges - bones), dtype=np.int32).reshape(-1, 2),
        np.array(sorted(bones), dtype=np.int32).reshape(-1, 2),
    )

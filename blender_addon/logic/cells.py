# SPDX-License-Identifier: GPL-3.0-or-later
"""Cells of the lattice that are folded: how many in a clip, and which."""

from __future__ import annotations

import numpy as np

#: The frames at the corners of a cell by its number of corners, (corner, three neighbours): tetrahedron, prism (bottom, then
#: top), hexahedron (i + 2 j + 4 k).
CORNER_FRAMES = {
    4: ((0, 1, 2, 3),),
    6: tuple((i + k, (i + 1) % 3 + k, (i + 2) % 3 + k, i + 3 - k) for k in (0, 3) for i in range(3)),
    8: tuple((i, i ^ 1, i ^ 2, i ^ 4) for i in range(8)),
}


def inverted(clip) -> int:
    """The most of them in any frame that are the flesh's own: those that the bones alone fold are left out, since no stiffness and no
    finer lattice unfolds them."""
    counts = np.asarray(clip.inverted_cells)
    folded = getattr(clip, "folded_cells", None)
    if folded is not None:
        counts = np.maximum(counts - folded, 0)
    return int(counts.max(initial=0))


def flattest(cells, rest: np.ndarray, posed: np.ndarray, among: set[int], count: int) -> list[int]:
    """Of the cells with a corner that hangs wholly on vertices `among` those the `count` that are flattest, the flattest first.

    rest, posed [k, 3]: the lattice's vertices; how flat a cell is: the least volume at such a corner beside that at rest.
    """
    found = []
    for i, cell in enumerate(cells):
        corners = ([int(cell[v]) for v in frame] for frame in CORNER_FRAMES[len(cell)])
        frames = np.array([frame for frame in corners if among.issuperset(frame)])
        if not len(frames):
            continue
        found.append((float((volumes(posed, frames) / volumes(rest, frames)).min()), i))
    return [i for _, i in sorted(found)[:count]]


def volumes(points: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """The volume that the three edges of each corner frame [m, 4] span, [m]."""
    corner = points[frames]
    return np.linalg.det(corner[:, 1:] - corner[:, :1])

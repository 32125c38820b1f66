# SPDX-License-Identifier: GPL-3.0-or-later
"""Folded cells of the lattice: their number in a clip, and the flattest ones."""

from __future__ import annotations

import numpy as np

#: Frames at the corners of a cell by its number of corners, (corner, three neighbours): tetrahedron, prism (bottom, then top),
#: hexahedron (i + 2 j + 4 k).
CORNER_FRAMES = {
    4: ((0, 1, 2, 3),),
    6: tuple((i + k, (i + 1) % 3 + k, (i + 2) % 3 + k, i + 3 - k) for k in (0, 3) for i in range(3)),
    8: tuple((i, i ^ 1, i ^ 2, i ^ 4) for i in range(8)),
}


def max_inverted_cells(clip) -> int:
    """Returns the most cells that the flesh itself inverts in any frame.

    Cells that the bones alone fold are left out, since neither stiffness nor a finer lattice unfolds them.
    """
    counts = np.asarray(clip.inverted_cells)
    folded = getattr(clip, "folded_cells", None)
    if folded is not None:
        counts = np.maximum(counts - folded, 0)
    return int(counts.max(initial=0))


def flattest_cells(cells, rest: np.ndarray, posed: np.ndarray, among: set[int], count: int) -> list[int]:
    """Returns the `count` flattest cells, the flattest first, among cells with a corner that hangs wholly on vertices `among`.

    rest, posed [k, 3]: the lattice's vertices. Flatness is the least ratio of posed to rest volume at such a corner.
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
    """Returns the volume that the three edges of each corner frame [m, 4] span, [m]."""
    corner = points[frames]
    return np.linalg.det(corner[:, 1:] - corner[:, :1])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pieces of a mesh that lie on each other, such as eyes in a head or a pocket on trousers: where they touch at rest, and how far they slip.

Edges within a piece cannot tell whether it flies off, or sinks into what it lies on. Numpy only.
"""

from __future__ import annotations

import numpy as np

REACH = 0.02
"""Distance at rest below which vertices of two pieces touch, as a share of the size."""
WELD = 1e-6
"""Distance at rest below which vertices are one, as a share of the size: files split them at seams."""


def pieces(rest: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Returns the piece of each vertex of rest[n, 3] with edges[e, 2], int[n]; vertices in one place are one."""
    size = np.linalg.norm(np.ptp(rest, axis=0))
    _, place = np.unique(np.round(rest / (WELD * size)).astype(np.int64), axis=0, return_inverse=True)
    place = place.ravel()
    piece, ends = np.arange(place.max() + 1), place[edges]
    while True:  # the smallest number of a neighbour, then of that one's, until nothing changes
        least = piece.copy()
        np.minimum.at(least, ends[:, 0], piece[ends[:, 1]])
        np.minimum.at(least, ends[:, 1], piece[ends[:, 0]])
        least = least[least]
        if (least == piece).all():
            return np.unique(piece[place], return_inverse=True)[1].ravel()
        piece = least


def touching_pairs(rest: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Returns pairs of vertices of different pieces that touch, int[p, 2]: each vertex of all but the largest piece with its nearest."""
    piece, reach = pieces(rest, edges), REACH * float(np.linalg.norm(np.ptp(rest, axis=0)))
    boxes: dict[tuple[int, ...], list[int]] = {}
    corners = np.floor(rest / reach).astype(np.int64)
    for vertex, corner in enumerate(map(tuple, corners)):
        boxes.setdefault(corner, []).append(vertex)
    around = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    near = {
        (x, y, z): np.array([v for a, b, c in around for v in boxes.get((x + a, y + b, z + c), ())])
        for x, y, z in boxes
    }
    pairs = []
    for vertex in np.flatnonzero(piece != np.bincount(piece).argmax()):
        others = near[tuple(corners[vertex])]
        others = others[piece[others] != piece[vertex]]
        if len(others):
            gaps = np.linalg.norm(rest[others] - rest[vertex], axis=1)
            if gaps.min() < reach:
                pairs.append((vertex, others[gaps.argmin()]))
    return np.array(pairs, np.int64).reshape(-1, 2)


def slip(offsets: np.ndarray, pairs: np.ndarray) -> float:
    """Returns the largest difference between the offsets [f, n, 3] of touching vertices, in their unit."""
    return float(np.linalg.norm(offsets[:, pairs[:, 0]] - offsets[:, pairs[:, 1]], axis=2).max())

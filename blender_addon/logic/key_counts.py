# SPDX-License-Identifier: GPL-3.0-or-later
"""Number of compressed keys that frames need, by their singular vectors: a guess in milliseconds, in place of a fit."""

from __future__ import annotations

import numpy as np

#: Part of the singular vectors within an error that compressed keys need: measured 0.4 to 0.77 (`docs/methods/bakes.md`), and 0.8 of few frames.
KEY_PARTS = (0.4, 0.8)
#: Keys beside those: one holds the smallest weights (`key_weights`).
FURTHER_KEYS = 1
#: Largest number of frames and of vertices that are looked at. Twice as many take four times as long, and give one or two keys more.
MAX_FRAMES, MAX_VERTICES = 96, 300


def spread(count: int, most: int) -> np.ndarray:
    """Returns at most `most` indices below `count`, evenly spread with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def moving_vertices(reach: np.ndarray) -> np.ndarray:
    """Returns the vertices to look at, from those that move most to those that move least; `reach` [n]: how far each moves."""
    return np.argsort(-reach, kind="stable")[spread(len(reach), MAX_VERTICES)]


def singular_count(rows: np.ndarray, tolerance: float) -> int:
    """Returns the number of singular vectors of offsets [f, n, 3] that miss no vertex in any frame by more than `tolerance`."""
    left = np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)
    frames, sizes, shapes = np.linalg.svd(left, full_matrices=False)
    for count, size in enumerate(sizes):
        if np.linalg.norm(left.reshape(len(rows), -1, 3), axis=2).max(initial=0.0) <= tolerance:
            return count
        left = left - size * np.outer(frames[:, count], shapes[count])
    return len(sizes)


def key_range(rows: np.ndarray, tolerance: float) -> tuple[int, int]:
    """Returns the smallest and the largest number of compressed keys that offsets [f, n, 3] are likely to need."""
    count = singular_count(rows, tolerance)
    few, many = (max(1, round(part * count)) for part in KEY_PARTS)
    return few + FURTHER_KEYS, many + FURTHER_KEYS

# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a mesh whose keys move nothing else: the vertices of a bone and its neighbours, or those near each other."""

from __future__ import annotations

import numpy as np

#: Rounds in which centres of parts move to the middle of their vertices. Later rounds move hardly any.
ROUNDS = 8


def bone_regions(weights: np.ndarray, points: np.ndarray, count: int) -> np.ndarray:
    """Returns the region of each vertex, int64[n] below `count`; `weights` [n, b] of the bones, `points` [n, 3].

    Each vertex is of the bone that moves it most. The smallest region joins the one with which its skin blends most, or else the
    nearest, until there are at most `count`.
    """
    owner = np.argmax(weights, axis=1)
    bones, labels = np.unique(owner, return_inverse=True)
    shared = np.array([[weights[labels == i][:, other].sum() for other in bones] for i in range(len(bones))])
    shared = shared + shared.T
    parts = {i: np.flatnonzero(labels == i) for i in range(len(bones))}
    while len(parts) > count:
        least = min(parts, key=lambda i: (len(parts[i]), i))
        moved = parts.pop(least)
        centre = points[moved].mean(axis=0)
        away = {i: float(np.linalg.norm(points[part].mean(axis=0) - centre)) for i, part in parts.items()}
        into = max(parts, key=lambda i: (shared[least, i], -away[i], -i))
        parts[into] = np.concatenate([parts[into], moved])
        shared[into] += shared[least]
        shared[:, into] += shared[:, least]
    found = np.zeros(len(weights), dtype=np.int64)
    for number, part in enumerate(parts.values()):
        found[part] = number
    return found


def near_regions(points: np.ndarray, count: int) -> np.ndarray:
    """Returns the region of each vertex, int64[n] below `count`, of points [n, 3] near each other."""
    points = np.asarray(points, dtype=np.float64)
    centres = points[np.linalg.norm(points - points.mean(axis=0), axis=1).argmax()][None]
    while len(centres) < min(count, len(points)):
        away = np.min([np.linalg.norm(points - centre, axis=1) for centre in centres], axis=0)
        centres = np.concatenate([centres, points[away.argmax()][None]])
    for _ in range(ROUNDS):
        labels = np.argmin([np.linalg.norm(points - centre, axis=1) for centre in centres], axis=0)
        centres = np.array(
            [points[labels == i].mean(axis=0) if (labels == i).any() else centres[i] for i in range(len(centres))]
        )
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)

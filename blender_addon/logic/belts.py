# SPDX-License-Identifier: GPL-3.0-or-later
"""The girth of a belt: its points come nearer to their middle across its axis, or go away from it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .pins import PinPoints

#: Texts of points whose middles are kept: the belts of a few characters.
KEPT_MIDDLES = 64


@lru_cache(maxsize=KEPT_MIDDLES)
def middle(text: str) -> tuple[float, float, float]:
    """Returns the mean of a belt's points, which `text` holds, in the space of its target; zero without points."""
    local = PinPoints.from_text(text).local
    x, y, z = local.mean(axis=0) if len(local) else np.zeros(3)
    return float(x), float(y), float(z)


def girth_map(text: str, axis: np.ndarray, girth: float) -> np.ndarray:
    """Returns the map [4, 4] of the target's space that scales the points in `text` across `axis` [3] about their middle.

    The identity at a girth of 1, and for a pin without an axis, which is no belt.
    """
    found, length = np.eye(4), float(np.linalg.norm(axis))
    if girth == 1.0 or length == 0.0:
        return found
    along = np.asarray(axis, dtype=np.float64) / length
    found[:3, :3] += (girth - 1.0) * (np.eye(3) - np.outer(along, along))
    centre = np.array(middle(text))
    found[:3, 3] = centre - found[:3, :3] @ centre
    return found


def turned(axis: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns an axis turned as points are from `before` [k, 3] to `after` [k, 3], in the sense of least squares."""
    spread = (after - after.mean(axis=0)).T @ (before - before.mean(axis=0))
    left, _, right = np.linalg.svd(spread)
    mirror = np.sign(np.linalg.det(left @ right))
    return left @ np.diag([1.0, 1.0, mirror]) @ right @ axis

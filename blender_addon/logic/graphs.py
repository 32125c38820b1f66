# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of curves in a box, and arrows in space."""

from __future__ import annotations

import numpy as np

#: Left, bottom, width, height.
Rectangle = tuple[float, float, float, float]


def arrow(start: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Returns the lines of an arrow [5, 2, 3]: its shaft, and four barbs."""
    length = float(np.linalg.norm(vector))
    tip, along = start + vector, vector / max(length, 1e-30)
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side /= max(float(np.linalg.norm(side)), 1e-30)
    up = np.cross(along, side)
    back = tip - 0.2 * vector
    barbs = [(tip, back + 0.08 * length * each) for each in (side, -side, up, -up)]
    return np.array([(start, tip), *barbs])


def frame(box: Rectangle) -> np.ndarray:
    """Returns the lines of a box [4, 2, 2]."""
    left, bottom, width, height = box
    corners = np.array(
        [(left, bottom), (left + width, bottom), (left + width, bottom + height), (left, bottom + height)]
    )
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def reach(*rows: np.ndarray) -> tuple[float, float]:
    """Returns the least and the greatest value, with a margin."""
    low, high = min(float(r.min()) for r in rows), max(float(r.max()) for r in rows)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def curve_points(
    x: np.ndarray, y: np.ndarray, across: tuple[float, float], up: tuple[float, float], box: Rectangle
) -> np.ndarray:
    """Returns the points [s, 2] of a curve in a box that shows `across` and `up`."""
    left, bottom, width, height = box
    return np.stack(
        [
            left + width * (x - across[0]) / max(across[1] - across[0], 1e-30),
            bottom + height * (y - up[0]) / max(up[1] - up[0], 1e-30),
        ],
        axis=1,
    )


def strokes(points: np.ndarray, dashed: bool = False) -> np.ndarray:
    """Returns the lines from point to point, [s - 1, 2, 2]; `dashed`: two of four."""
    lines = np.stack([points[:-1], points[1:]], axis=1)
    return lines[np.arange(len(lines)) % 4 < 2] if dashed else lines

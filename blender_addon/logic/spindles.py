# SPDX-License-Identifier: GPL-3.0-or-later
"""The outline of a muscle: rings around its line, and lines along it."""

from __future__ import annotations

import numpy as np

#: Points along the line, and around each ring.
ALONG, AROUND = 13, 12
#: Lines along the spindle: every third point of the rings.
STRIDE = 3


def edges() -> np.ndarray:
    """Returns the edges of the outline as pairs of points, int[m, 2]: rings at every third place, and lines along."""
    rings = [
        (i * AROUND + k, i * AROUND + (k + 1) % AROUND)
        for i in range(STRIDE, ALONG - 1, STRIDE)
        for k in range(AROUND)
    ]  # fmt: skip
    along = [(i * AROUND + k, (i + 1) * AROUND + k) for i in range(ALONG - 1) for k in range(0, AROUND, STRIDE)]
    return np.array(rings + along)


def points(line: np.ndarray, contraction: float) -> np.ndarray:
    """Returns the points of the outline of a contracted muscle, [ALONG AROUND, 3], ring by ring; those of the ends are one place each.

    `line` [ALONG, 4]: places and radii without contraction. It is 1/√(1 − c g) times as wide, with g = 4 s (1 − s) along it: the belly most.
    """
    places, radii = line[:, :3], line[:, 3]
    shares = np.linspace(0.0, 1.0, len(line))
    wide = radii / np.sqrt(np.maximum(1.0 - contraction * 4.0 * shares * (1.0 - shares), 0.1))
    ahead = np.gradient(places, axis=0)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-30)
    side = np.cross(ahead, np.eye(3)[np.argmin(np.abs(ahead[len(line) // 2]))])
    side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-30)
    other = np.cross(ahead, side)
    angles = np.arange(AROUND) * (2.0 * np.pi / AROUND)
    ring = np.cos(angles)[None, :, None] * side[:, None] + np.sin(angles)[None, :, None] * other[:, None]
    return (places[:, None] + wide[:, None, None] * ring).reshape(-1, 3)

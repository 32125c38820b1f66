# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours of the map from one character to another: where each point comes from, how far the skins are apart, and which bones correspond."""

from __future__ import annotations

import numpy as np

#: Number of bands along the longest side of the character by which a place is told from its neighbours.
BANDS = 24
#: Share by which every other band is darker.
SHADE = 0.35
#: Distance of the skins, in sizes of the character, that is quite red: ten times that of a good map.
FAR = 0.02
#: Colours of no distance, half of `FAR`, and all of it.
NEAR_COLOURS = np.array([(0.15, 0.35, 0.9), (0.95, 0.95, 0.75), (0.9, 0.1, 0.05)])


def origin_colours(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Returns colours [n, 3] of places [n, 3] in a box from `low` [3] to `high` [3]: red, green and blue by its sides, with bands."""
    sides = np.maximum(high - low, 1e-12)
    shares = np.clip((points - low) / sides, 0.0, 1.0)
    bands = np.floor(BANDS * (points - low) / sides.max()).astype(int).sum(axis=1) % 2
    return (0.15 + 0.85 * shares) * (1.0 - SHADE * bands)[:, None]


def distance_colours(distances: np.ndarray, size: float) -> np.ndarray:
    """Returns colours [n, 3] of distances [n]: blue on the skin, red from `FAR` sizes on."""
    shares = np.clip(distances / (FAR * size), 0.0, 1.0)
    ends = np.linspace(0.0, 1.0, len(NEAR_COLOURS))
    return np.stack([np.interp(shares, ends, column) for column in NEAR_COLOURS.T], axis=1)


def weighted_colours(weights: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Returns the colours [n, 3] of vertices with weights [n, b] on bones in colours [b, 3]."""
    sums = np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return weights @ colours / sums

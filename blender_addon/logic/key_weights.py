# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights of keys that no importer and no engine clamps: from 0 to 1."""

from __future__ import annotations

import numpy as np


def nonnegative(keys: np.ndarray, curves: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns keys [k, n, 3] and weights [f, k] of each clip that make the same shapes with weights from 0 to 1.

    Where weights were below 0, one more key comes first. It holds every key at its smallest weight, and is on in all frames; the other
    weights count from there. With all weights 0 nothing moves, as before.
    """
    every = np.concatenate(curves).astype(np.float64)
    lowest = np.minimum(every.min(axis=0), 0.0)
    ranges = every.max(axis=0) - lowest
    ranges[ranges <= 0.0] = 1.0
    shapes = np.asarray(keys, dtype=np.float64)
    scaled = shapes * ranges[:, None, None]
    weights = [np.clip((each - lowest) / ranges, 0.0, 1.0) for each in curves]
    if lowest.any():
        scaled = np.concatenate([np.tensordot(lowest, shapes, axes=1)[None], scaled])
        weights = [np.column_stack([np.ones(len(each)), each]) for each in weights]
    return scaled.astype(np.float32), [each.astype(np.float32) for each in weights]

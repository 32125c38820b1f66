# SPDX-License-Identifier: MIT OR Apache-2.0
"""A flat square of cells, and skins that move it."""

import numpy as np

FPS, FRAMES, SIDE = 24.0, 25, 11
STEP = 0.1


def flat_square():
    """Builds a flat square of 10 by 10 cells over [0, 1]²: points, edges, triangles."""
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")
    points = np.stack([x, y, 0 * x], axis=-1).reshape(-1, 3) * STEP
    index = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    edges = np.concatenate(
        [
            np.stack([index[:-1].ravel(), index[1:].ravel()], 1),
            np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], 1),
        ]
    )
    a, b, c, d = (part.ravel() for part in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    return points, edges, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def hopping_skin(grid, high=0.1):
    """Returns a skin that hops with 2 periods a second."""
    seconds = np.arange(FRAMES) / FPS
    return grid[0] + high * np.sin(4.0 * np.pi * seconds)[:, None, None] * np.array([0.0, 0.0, 1.0])

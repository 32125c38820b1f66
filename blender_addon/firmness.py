# SPDX-License-Identifier: GPL-3.0-or-later
"""How much stiffer than asked flesh must be to keep its shape: under its own weight, and over a clip."""

from __future__ import annotations

import numpy as np

SOFTEST = 0.04
"""Softer bodies are firmed up: the part of its size by which one g sideways may move a body."""


def firmed(run, body, firmness, surface, cells, allowed, progress) -> dict:
    """The clip of `body` and, where it loses its shape over the clip, of firmer ones: the first that keeps it."""
    best = None
    for attempt in range(PASSES if allowed else 1):
        rest = 0.5**attempt
        clip = run(body, lambda done, stage, rest=rest: progress(1.0 - rest + 0.5 * rest * done, stage))
        lost = shape_lost(clip, surface, cells)
        # Only a clear gain is worth stiffer flesh: a fold that the bones make stays whatever the stiffness.
        if best is None or lost < 0.9 * best[0]:
            best = lost, {"clip": clip, "body": body, "firmness": firmness}
        if lost <= 1.0:
            break
        body, firmness = body.stiffened(2.0), firmness * 2.0
    return best[1]


PASSES = 7
"""Stiffness is doubled at most so often, less one."""
MOST_INVERTED = 0.02
MOST_VOLUME = 0.18
"""Flesh has lost its shape beyond this share of inverted cells, or this change of its volume."""


def shape_lost(clip, surface, cells) -> float:
    """How far a clip loses the body's shape: above 1 too far."""
    lost = int(max(clip.inverted_cells, default=0)) / max(cells, 1) / MOST_INVERTED
    if surface.report().closed:
        triangles = surface.triangles
        rest = abs(enclosed(surface.vertices, triangles))
        if rest > 1e-6 * surface.size**3:
            step = 1 + len(clip) // 120
            volumes = [abs(enclosed(clip.positions(i), triangles)) for i in range(0, len(clip), step)]
            lost = max(lost, max(abs(v / rest - 1.0) for v in volumes) / MOST_VOLUME)
    return lost


def enclosed(points: np.ndarray, triangles: np.ndarray) -> float:
    """Signed volume of a closed surface."""
    points = points - points.mean(axis=0)
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", np.cross(a, b), c)) / 6.0

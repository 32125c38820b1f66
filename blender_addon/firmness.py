# SPDX-License-Identifier: GPL-3.0-or-later
"""How much stiffer, or softer, than asked flesh must be to keep its shape and yet move: by itself, and over a clip."""

from __future__ import annotations

import numpy as np

from .logic.cells import inverted

SOFTEST, FIRMEST = 0.04, 0.01
"""The parts of its size by which one g sideways may, and should, move a body."""
LEAST = 0.25
"""Flesh is not softened further than to this part of its stiffness."""


def base_firmness(body) -> float:
    """What the stiffness should be multiplied by, whatever the clip."""
    softness = body.softness()
    if softness > SOFTEST:
        return softness / SOFTEST
    # Dense rigs leave little flesh free; what is free is to be seen moving. None is free: nothing to be done.
    return max(softness / FIRMEST, LEAST) if 0.0 < softness < FIRMEST else 1.0


def firmed(run, body, firmness, surface, cells, allowed, progress) -> dict:
    """The clip of `body` and, where it loses its shape over the clip, of firmer ones: the first that keeps it."""
    if not allowed:
        return {"clip": run(body, firmness, progress), "body": body, "firmness": firmness}
    best = None
    for attempt in range(PASSES):
        rest = 0.5**attempt
        clip = run(body, firmness, lambda done, stage, rest=rest: progress(1.0 - rest + 0.5 * rest * done, stage))
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
FARTHEST = 0.3
"""Flesh has lost its shape beyond this share of inverted cells, this change of its volume, or when it would be so far
from its skin, as a part of the body's size."""


def shape_lost(clip, surface, cells) -> float:
    """How far a clip loses the body's shape: above 1 too far."""
    lost = inverted(clip) / max(cells, 1) / MOST_INVERTED
    lost = max(lost, float(clip.strays.max()) / FARTHEST)
    if surface.report().closed:
        corners = np.ascontiguousarray(surface.triangles.T, dtype=np.intp)
        rest = abs(enclosed(surface.vertices, corners))
        if rest > 1e-6 * surface.size**3:
            step = 1 + len(clip) // 120
            volumes = [abs(enclosed(clip.positions(i), corners)) for i in range(0, len(clip), step)]
            lost = max(lost, max(abs(v / rest - 1.0) for v in volumes) / MOST_VOLUME)
    return lost


def enclosed(points: np.ndarray, corners: np.ndarray) -> float:
    """Signed volume of a closed surface: points [n, 3], corners [3, t]."""
    x, y, z = np.ascontiguousarray((points - points.mean(axis=0)).T)
    a, b, c = corners
    ax, ay, az, bx, by, bz = x[a], y[a], z[a], x[b], y[b], z[b]
    sixfold = x[c] * (ay * bz - az * by) + y[c] * (az * bx - ax * bz) + z[c] * (ax * by - ay * bx)
    return float(sixfold.sum(dtype=np.float64)) / 6.0

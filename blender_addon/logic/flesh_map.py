# SPDX-License-Identifier: GPL-3.0-or-later
"""Softness of the flesh per vertex, from 0 (the artist's skin) to 1 (softest): patches, colours, and stiffness factors."""

from __future__ import annotations

import heapq

import numpy as np

#: Blender's colours of weights, from 0 to 1 in equal steps.
RAMP = np.array([(0.0, 0.0, 0.5), (0.0, 0.625, 0.625), (0.0, 0.75, 0.0), (0.875, 0.875, 0.0), (1.0, 0.0, 0.0)])

#: Neutral weight in the map of stiffness. The middle between a quarter and four times.
NEUTRAL_WEIGHT = 0.5


def colours(values: np.ndarray) -> np.ndarray:
    """Returns the colour of each value in 0..1, [n, 3]."""
    values = np.clip(np.asarray(values, dtype=np.float64), 0.0, 1.0)
    stops = np.linspace(0.0, 1.0, len(RAMP))
    return np.stack([np.interp(values, stops, RAMP[:, i]) for i in range(3)], axis=-1)


def stiffness_factors(weights: np.ndarray) -> np.ndarray:
    """Returns the stiffness factors of painted weights: a quarter at 0, one at 0.5, four at 1."""
    return 4.0 ** (2.0 * np.clip(np.asarray(weights, dtype=np.float64), 0.0, 1.0) - 1.0)


# neighbours on the skin ---------------------------------------------------------------------------------------------


def neighbours(count: int, triangles: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the neighbours on a surface: (starts [n + 1], others [m]), with those of i in others[starts[i]:starts[i+1]].

    Coincident vertices, as seams leave them, count as joined.
    """
    triangles = np.asarray(triangles, dtype=np.int64)
    joined = np.concatenate([triangles[:, (i, (i + 1) % 3)] for i in range(3)])
    if len(points):
        _, first, twin = np.unique(np.asarray(points, np.float32), axis=0, return_index=True, return_inverse=True)
        seams = np.stack([np.arange(count), first[twin.ravel()]], axis=1)
        joined = np.concatenate([joined, seams[seams[:, 0] != seams[:, 1]]])
    both = np.unique(np.concatenate([joined, joined[:, ::-1]]), axis=0)
    starts = np.searchsorted(both[:, 0], np.arange(count + 1))
    return starts, both[:, 1]


def distances(points: np.ndarray, triangles: np.ndarray, seeds, reach: float) -> np.ndarray:
    """Returns each vertex's distance from the nearest seed along the edges of the skin, [n]; infinite beyond `reach`.

    `seeds`: (vertex, initial distance) each.
    """
    points = np.asarray(points, dtype=np.float64)
    starts, others = neighbours(len(points), triangles, points)
    away = np.full(len(points), np.inf)
    heap = []
    for vertex, start in seeds:
        if start <= reach and start < away[vertex]:
            away[vertex] = start
            heapq.heappush(heap, (float(start), int(vertex)))
    while heap:
        distance, vertex = heapq.heappop(heap)
        if distance > away[vertex]:
            continue
        near = others[starts[vertex] : starts[vertex + 1]]
        further = distance + np.linalg.norm(points[near] - points[vertex], axis=1)
        for other, length in zip(near.tolist(), further.tolist(), strict=True):
            if length <= reach and length < away[other]:
                away[other] = length
                heapq.heappush(heap, (length, other))
    return away


def smooth_step(part: np.ndarray) -> np.ndarray:
    """Returns a smooth step from 0 to 1; constant outside."""
    part = np.clip(part, 0.0, 1.0)
    return part * part * (3.0 - 2.0 * part)


def patch(points: np.ndarray, triangles: np.ndarray, centre: np.ndarray, face: int, radius: float) -> np.ndarray:
    """Returns each vertex's share in a round patch of the skin: 1 at its centre, falling smoothly to 0 at `radius`, [n].

    `centre` [3] lies on triangle `face`. Distances are along the skin, and at most the radius through the air; where edges are long
    compared with the radius, through the air alone.
    """
    corners = np.asarray(triangles)[face]
    straight = np.linalg.norm(points - centre, axis=1)
    # Paths along edges are up to half as long again as the skin between.
    away = distances(points, triangles, [(int(v), float(straight[v])) for v in corners], 1.5 * radius)
    reached = np.isfinite(away)
    share = np.where(reached, smooth_step(1.0 - straight / radius) * smooth_step(3.0 - 2.0 * away / radius), 0.0)
    if not share.any():  # the patch lies within one face
        share[corners[np.argmin(straight[corners])]] = 1.0
    return share


def tip_shares(points: np.ndarray, share: np.ndarray, root: np.ndarray, size: float) -> np.ndarray:
    """Returns each vertex's share in the tip of a limb that hangs from `root` [3], [n]; at size 1 the share at the root is a half.

    `share` [n]: each vertex's share in the limb.
    """
    away = np.linalg.norm(points - root, axis=1)
    far = away[share > 0.5].max() if (share > 0.5).any() else away[share > 0.0].max(initial=0.0)
    from_tip = 1.0 - away / far if far > 0.0 else np.zeros(len(points))
    return share * smooth_step((1.25 * size - from_tip) / 0.5)


def mix(old: np.ndarray, share: np.ndarray, amount: float) -> np.ndarray:
    """Returns the map with `amount` mixed in by `share`, float32[n]."""
    share = np.clip(share, 0.0, 1.0)
    return np.clip((1.0 - share) * old + share * amount, 0.0, 1.0).astype(np.float32)

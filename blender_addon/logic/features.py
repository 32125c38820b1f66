# SPDX-License-Identifier: GPL-3.0-or-later
"""Features of the skin, vertices whose places on a posed mesh are known: chosen by themselves, or read from text."""

from __future__ import annotations

import json

import numpy as np

from .errors import Refusal
from .json_text import parse_json

#: Features chosen for a bone. Three fix its turn; the others even out what the flesh has changed: with 4, a belly 5 cm thicker turns a spine by 2°.
PER_BONE = 24
#: Weight of a bone, over its largest one, from which a vertex tells of that bone alone. Below, joints blur the turn.
CLEAR_SHARE = 0.8
#: Largest weight below which a bone has no skin of its own.
MIN_WEIGHT = 0.2
#: Least number of features that fix a place in space.
MIN_FEATURES = 3


def choose_features(points: np.ndarray, weights: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """Returns vertices [f] that tell of every bone: of those that follow it most, the ones farthest apart.

    points: rest skin [n, 3]; weights [n, b]; chosen: vertices that may be taken, bool[n].
    """
    allowed = np.ones(len(points), bool) if chosen is None else chosen
    found: list[int] = []
    for bone in range(weights.shape[1]):
        own = np.where(allowed, weights[:, bone], 0.0)
        largest = own.max(initial=0.0)
        if largest < MIN_WEIGHT:
            continue
        candidates = np.flatnonzero(own >= CLEAR_SHARE * largest)
        found += candidates[farthest_first(points[candidates], PER_BONE)].tolist()
    return np.array(sorted(set(found)), dtype=np.int64)


def farthest_first(points: np.ndarray, count: int) -> np.ndarray:
    """Returns the indices of up to `count` points [n, 3]: the one farthest from the centre, then each farthest from those before."""
    away = np.linalg.norm(points - points.mean(axis=0), axis=1)
    found = [int(np.argmax(away))]
    away = np.linalg.norm(points - points[found[0]], axis=1)
    while len(found) < min(count, len(points)) and away.max() > 0.0:
        found.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[found[-1]], axis=1))
    return np.array(found)


def features_text(vertices: np.ndarray, places: np.ndarray) -> str:
    """Returns features as text: [vertex, x, y, z] each."""
    return json.dumps([[int(v), *place] for v, place in zip(vertices, places.tolist(), strict=True)])


def read_features(text: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the vertices [f], of `count`, and the places [f, 3] of a text. Raises a `Refusal` for one that is damaged."""
    try:
        rows = np.array(parse_json(text), dtype=np.float64).reshape(-1, 4)
        if not np.isfinite(rows).all():
            raise ValueError("a place is not a number")
    except (ValueError, TypeError) as error:
        raise Refusal(f"Features: expected a list of [vertex, x, y, z] as JSON ({error})") from error
    vertices = rows[:, 0].astype(np.int64)
    if (vertices != rows[:, 0]).any() or (vertices < 0).any() or (vertices >= count).any():
        raise Refusal(f"Features: a vertex is not one of the {count} of the character")
    return vertices, rows[:, 1:]


def check_features(vertices: np.ndarray, what: str) -> None:
    """Refuses too few features; `what`: the meshes, for the sentence."""
    if len(np.unique(vertices)) < MIN_FEATURES:
        raise Refusal(
            f"{len(np.unique(vertices))} features are too few to find a pose of {what}: click at least {MIN_FEATURES} that "
            "do not lie in a line"
        )

# SPDX-License-Identifier: GPL-3.0-or-later
"""Points of pins as text, and their vertices on the present mesh."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .sentences import significant
from .spaces import MetricSpace

#: Methods whose flesh can be pinned: all but the modal one.
NO_PINS_METHOD = "modal"
NO_PINS_NOTE = "The method Modal moves a few modes, not points: pins have no effect with it"
#: Numbers of a pin's target at a frame: its world matrix, by rows, and the influence.
TARGET_NUMBERS = 17
#: Points at which a pin holds the flesh at most; a painted group of any size is thinned to so many. A belt around a belly of twelve cells has
#: about forty independent points.
MAX_POINTS = 64
#: Distance of a vertex from its place at the time of pinning, as a part of the body's size, beyond which it counts as another one.
MAX_MISS = 0.02


@dataclass(frozen=True)
class PinPoints:
    """Points of one pin."""

    vertices: np.ndarray  # int[k], at the time of pinning
    rest: np.ndarray  # [k, 3] in the mesh's space at rest
    local: np.ndarray  # [k, 3] in the target's space

    def text(self) -> str:
        """Returns the points as text."""
        rows = zip(self.vertices.tolist(), self.rest.tolist(), self.local.tolist(), strict=True)
        return json.dumps([[vertex, *rest, *local] for vertex, rest, local in rows])

    @staticmethod
    def from_text(text: str) -> PinPoints:
        """Reads `text`; damaged text gives no points."""
        try:
            rows = np.array(json.loads(text or "[]"), dtype=np.float64)
        except (ValueError, TypeError, RecursionError, OverflowError):
            rows = np.empty((0, 7))
        if (
            rows.ndim != 2
            or rows.shape[1:] != (7,)
            or not np.isfinite(rows).all()
            or np.abs(rows).max(initial=0.0) > 1e12
        ):
            rows = np.empty((0, 7))
        return PinPoints(rows[:, 0].astype(np.int64), rows[:, 1:4], rows[:, 4:])

    def __len__(self) -> int:
        return len(self.vertices)

    def present_vertices(self, rest: np.ndarray, size: float) -> np.ndarray:
        """Returns the vertex of each point on a mesh with vertices at `rest` [n, 3], of this size; -1 where there is none.

        A mesh that was edited has other numbers: the nearest vertex is taken.
        """
        found = np.full(len(self), -1)
        for k, (vertex, place) in enumerate(zip(self.vertices, self.rest, strict=True)):
            if 0 <= vertex < len(rest) and np.linalg.norm(rest[vertex] - place) <= 1e-6 * size:
                found[k] = vertex
                continue
            miss = np.linalg.norm(rest - place, axis=1)
            nearest = int(np.argmin(miss))
            if miss[nearest] <= MAX_MISS * size:
                found[k] = nearest
        return found


def target_row(matrix: np.ndarray | None, influence: float) -> np.ndarray:
    """Returns the numbers of a target; without a matrix those of a pin that is off."""
    if matrix is None or not np.isfinite(matrix).all():
        matrix, influence = np.eye(4), 0.0
    return np.concatenate([np.ravel(matrix), [min(max(influence, 0.0), 1.0)]])


def places(rows: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Returns the places [f, k, 3] of points `local` [k, 3] on targets `rows` [f, 17], Blender's world."""
    matrices = rows[:, :16].reshape(-1, 4, 4)
    return np.einsum("fij,kj->fki", matrices[:, :3, :3], local) + matrices[:, None, :3, 3]


def trace(rows: np.ndarray, place: MetricSpace, size: float) -> np.ndarray | None:
    """Returns targets `rows` [f, p, 17] as points [f, k, 4, 3], metres, for the same tests as bones; None where all stand still.

    Influences become points as far apart as the body is large.
    """
    if not rows.shape[1] or (rows == rows[0]).all():
        return None
    maps = place.maps(rows[..., :16].reshape(*rows.shape[:2], 4, 4))
    origins = maps[..., :3, 3:]
    points = np.swapaxes(np.concatenate([origins + 0.1 * size * maps[..., :3, :3], origins], axis=-1), -1, -2)
    points[..., 3, :] += size * rows[..., 16:]
    return points


def moved_rows(rows: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Returns targets `rows` [f, p, 17] moved by world maps [f, 4, 4]."""
    moved = rows.copy()
    matrices = rows[..., :16].reshape(*rows.shape[:2], 4, 4)
    moved[..., :16] = (moves[:, None] @ matrices).reshape(*rows.shape[:2], 16)
    return moved


def named_conflict(text: str, names: Sequence[str]) -> str:
    """Returns the core's sentence about pins with the artist's names of them in place of numbers."""

    def of(match: re.Match) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match[0])]
        found = dict.fromkeys(f"“{names[n]}”" if n < len(names) else f"pin {n}" for n in numbers)
        return ", ".join(found)

    text = re.sub(r"[\d.]+e[-+]?\d+(?= m )", lambda match: significant(float(match[0]), 3), text)
    return re.sub(r"pins? \d+(?:, \d+)*", of, text)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bodies along a curve in the sagittal plane: cross-sections of half ellipses between stations, as signed distances.

Trunks, necks and tails of animals are wide, high and deep in different measure from place to place, which balls and limbs cannot
follow. A sweep interpolates its stations by a centripetal-free cubic (Catmull and Rom 1974), cuts the curve into short pieces and
takes the distance to the piece that is nearest. Sections lie across the curve; their upper and lower halves have heights of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PIECES = 16
"""Pieces between two stations. With six their corners show as ridges on the outer side of a bent neck."""


@dataclass(frozen=True)
class Sweep:
    """A body through stations. One without a bone leaves the weights of its skin to stretches of it that are not solid."""

    stations: tuple[tuple[float, float, float, float, float], ...]
    """Stations: y, z, half the width, height above the curve, depth below it. Metres."""
    bone: str
    colour: str
    span: tuple[float, float] = (0.0, 1e9)
    """The stretch of the sweep, in numbers of stations."""
    solid: bool = True
    """False: it adds no shape, and gives the skin near it to its bone."""

    def curve(self) -> np.ndarray:
        """Returns the interpolated stations, [m, 5]."""
        knots = np.array(self.stations)
        padded = np.concatenate([2 * knots[:1] - knots[1:2], knots, 2 * knots[-1:] - knots[-2:-1]])
        first, last = max(self.span[0], 0.0), min(self.span[1], len(knots) - 1.0)
        at = np.linspace(first, last, max(int(np.ceil((last - first) * PIECES)), 1) + 1)
        i = np.minimum(at.astype(int), len(knots) - 2)
        s = (at - i)[:, None]
        a, b, c, d = (padded[i + k] for k in range(4))
        return 0.5 * (2 * b + (c - a) * s + (2 * a - 5 * b + 4 * c - d) * s**2 + (3 * b - a - 3 * c + d) * s**3)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the corners of a box around the body."""
        y, z, wide, up, down = self.curve().T
        reach = np.maximum(np.maximum(up, down), wide).max()
        return np.array([-wide.max(), y.min() - reach, z.min() - reach]), np.array(
            [wide.max(), y.max() + reach, z.max() + reach]
        )

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Returns an estimate of the signed distance, shape [p]."""
        curve = self.curve()
        y, z = points[:, 1], points[:, 2]
        nearest, piece, place = np.full(len(points), np.inf), np.zeros(len(points), int), np.zeros(len(points))
        for number, (start, end) in enumerate(zip(curve[:-1, :2], curve[1:, :2], strict=True)):
            along = end - start
            t = np.clip(((y - start[0]) * along[0] + (z - start[1]) * along[1]) / (along @ along), 0.0, 1.0)
            squared = (y - start[0] - t * along[0]) ** 2 + (z - start[1] - t * along[1]) ** 2
            closer = squared < nearest
            nearest[closer], piece[closer], place[closer] = squared[closer], number, t[closer]
        start, end = curve[piece], curve[piece + 1]
        along = (end - start)[:, :2]
        middle = start + place[:, None] * (end - start)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        rest = points[:, 1:] - middle[:, :2]
        beyond = (rest * along).sum(axis=1)
        # Curves run forwards, to -y: up is their direction after a quarter turn.
        height = rest[:, 0] * along[:, 1] - rest[:, 1] * along[:, 0]
        wide, tall = middle[:, 2], np.where(height > 0.0, middle[:, 3], middle[:, 4])
        radii = np.stack([wide, tall, np.minimum(wide, tall)], axis=1)
        scaled = np.stack([points[:, 0], height, beyond], axis=1) / radii
        k0, k1 = np.linalg.norm(scaled, axis=1), np.linalg.norm(scaled / radii, axis=1)
        return np.where(k0 < 1e-6, -radii[:, 2], k0 * (k0 - 1.0) / np.maximum(k1, 1e-9))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of points clicked on two surfaces: features of a posed mesh and of a character, landmarks of two characters."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .picking import Hit, Picker

#: Colours of the pairs in turn. Eight that differ plainly: a ninth pair lies far from the first on any body.
COLOURS = (
    (1.0, 0.35, 0.3, 1.0), (0.35, 0.75, 1.0, 1.0), (1.0, 0.85, 0.2, 1.0), (0.45, 0.95, 0.45, 1.0), (0.9, 0.5, 1.0, 1.0),
    (1.0, 0.6, 0.2, 1.0), (0.3, 0.95, 0.9, 1.0), (1.0, 0.7, 0.8, 1.0),
)  # fmt: skip
#: Sizes of a point in pixels, of a pair and of one that waits for its partner, and the share of a pair's line that hides nothing.
POINT_SIZE, WAITING_SIZE, LINE_ALPHA = 9.0, 13.0, 0.5


@dataclass
class PointPairs:
    """Pairs of points on two surfaces, as they are clicked. A pair is whole with a point on each."""

    surfaces: tuple[Picker, Picker]
    at_vertices: tuple[bool, bool] = (False, False)  # surfaces on which points jump to the nearest corner
    pairs: list[tuple[Hit, Hit]] = field(default_factory=list)
    waiting: tuple[int, Hit] | None = None  # (surface, point) of the pair that is not whole yet

    def click(self, origin: np.ndarray, direction: np.ndarray) -> bool:
        """Takes the first point along a ray on either surface; one more on the same surface replaces the one that waits.

        Returns whether there was a surface.
        """
        hits = [(side, surface.ray(origin, direction)) for side, surface in enumerate(self.surfaces)]
        hits = [(side, hit) for side, hit in hits if hit is not None]
        if not hits:
            return False
        side, hit = min(hits, key=lambda each: each[1].distance)
        if self.at_vertices[side]:
            hit = at_vertex(hit, self.surfaces[side])
        if self.waiting is None or self.waiting[0] == side:
            self.waiting = (side, hit)
        else:
            other = self.waiting[1]
            self.pairs.append((hit, other) if side == 0 else (other, hit))
            self.waiting = None
        return True

    def take_back(self) -> None:
        """Takes back the point that waits, or the last pair."""
        if self.waiting is not None:
            self.waiting = None
        elif self.pairs:
            self.pairs.pop()

    def drawings(self) -> list[tuple]:
        """Returns the pairs as drawings: two points of one colour and a line from one to the other."""
        found = []
        for k, pair in enumerate(self.pairs):
            points, colour = np.array([hit.point for hit in pair]), COLOURS[k % len(COLOURS)]
            found += [(points[None], (*colour[:3], LINE_ALPHA), 1.5), (points, colour, POINT_SIZE)]
        if self.waiting is not None:
            found.append((self.waiting[1].point[None], COLOURS[len(self.pairs) % len(COLOURS)], WAITING_SIZE))
        return found


def at_vertex(hit: Hit, surface: Picker) -> Hit:
    """Returns the corner of a triangle that is nearest to a hit on it."""
    shares = (np.arange(3) == int(np.argmax(hit.barycentric))).astype(np.float64)
    return Hit(hit.face, shares, surface.vertices[hit.vertex(surface.triangles)], hit.distance)

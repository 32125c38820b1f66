# SPDX-License-Identifier: MIT OR Apache-2.0
"""Skin that lies in other flesh: which vertices, and how deep, told by the posed surface alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEP = 1e-4
"""A vertex is looked at so far outside of itself, as a share of the size: there it is in the open, or in other flesh."""
WELD = 1e-6
"""Vertices nearer than about this share of the size at rest are one."""
ELSEWHERE = 1.5
"""Skin that is this many times as far from a vertex at rest as it is now is other skin, not the far side of the same finger."""
SHALLOW = 0.15
"""So is skin, and beside a crease, where the middle between the two at rest is no deeper in flesh than this part of their distance."""
NEAREST = 8
"""Around so many vertices the nearest point of other skin is looked for."""
STEPS = 24
"""Along so many edges the way back out of other flesh is looked for."""
ROWS = 256
"""Vertices that are looked at together."""


@dataclass(frozen=True)
class Overlap:
    """What lies in other flesh at one instant."""

    vertices: np.ndarray
    """int[p], rising."""
    depths: np.ndarray
    """How far the skin that each came in through is, [p], in the vertices' unit; 0 where none is found."""

    def deepest(self, but: np.ndarray | None = None) -> tuple[int, float, int]:
        """How many vertices there are without those of an int array; the depth of the deepest, and which it is (-1: none)."""
        return self._deepest(~np.isin(self.vertices, but if but is not None else []))

    def of(self, chosen: np.ndarray) -> tuple[int, float, int]:
        """The same of those in an int array alone."""
        return self._deepest(np.isin(self.vertices, chosen))

    def _deepest(self, chosen: np.ndarray) -> tuple[int, float, int]:
        vertices, depths = self.vertices[chosen], self.depths[chosen]
        return len(vertices), float(depths.max(initial=0.0)), int(vertices[depths.argmax()]) if len(vertices) else -1


def normals(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Of vertices, outward as the triangles are, [n, 3]; zero where there are no triangles."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    area = np.cross(b - a, c - a)
    found = np.zeros_like(vertices)
    for i in range(3):
        np.add.at(found, triangles[:, i], area)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-300)


def inside(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The vertices of a welded surface that lie in other flesh, without depths."""
    return _inside(vertices, triangles)[0]


def welded(rest: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Triangles [t, 3] over the first of all vertices that are at one place at rest [n, 3], outward as most of them face."""
    grid = np.rint((rest - rest.min(axis=0)) / (WELD * np.linalg.norm(np.ptp(rest, axis=0)))).astype(np.int64)
    _, first, of = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    joined = first[of.reshape(-1)][triangles]
    joined = joined[(joined != np.roll(joined, 1, axis=1)).all(axis=1)]
    return joined[:, ::-1] if len(inside(rest, joined)) > 0.5 * len(np.unique(joined)) else joined


class Shape:
    """A surface at rest, whose poses are measured."""

    def __init__(self, rest: np.ndarray, triangles: np.ndarray) -> None:
        """Of vertices rest [n, 3] and triangles [t, 3] as they come."""
        import thew

        self.rest = np.ascontiguousarray(rest, np.float64)
        self.triangles = np.ascontiguousarray(welded(self.rest, np.asarray(triangles)))
        """Welded, outward."""
        self.surface = thew.Surface(self.rest, self.triangles)
        edges = np.concatenate([self.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
        self.edges = np.unique(np.sort(edges, axis=1), axis=0)
        self.corners = np.argsort(self.triangles, axis=None, kind="stable")
        self.starts = np.searchsorted(self.triangles.ravel()[self.corners], np.arange(len(self.rest) + 1))
        self.own = inside(self.rest, self.triangles)
        """Vertices in other flesh as modelled: no pose has these."""

    def overlap(self, vertices: np.ndarray) -> Overlap:
        """What of it in the pose of vertices [n, 3] lies in other flesh: where the winding number is above one half.

        A depth is the distance to the nearest skin that faces the vertex, has it behind itself, and is other skin at rest; or the way
        along edges to a vertex in the open, if that is shorter: somewhere on it the other skin is passed.
        """
        vertices = np.asarray(vertices, np.float64)
        found, out = _inside(vertices, self.triangles)
        back = self._ways_back(vertices, np.union1d(found, self.own))
        found = np.setdiff1d(found, self.own)
        parts = [found[i : i + ROWS] for i in range(0, len(found), ROWS)]
        depths = [self._depths(vertices, out, part) for part in parts]
        least = np.minimum(np.concatenate(depths), back[found]) if depths else np.zeros(0)
        return Overlap(found, np.where(np.isfinite(least), least, 0.0))

    def _ways_back(self, vertices: np.ndarray, covered: np.ndarray) -> np.ndarray:
        """Along edges from each vertex to one that is not covered, [n]."""
        ways = np.zeros(len(vertices))
        ways[covered] = np.inf
        one, other = self.edges[np.isin(self.edges, covered).any(axis=1)].T
        lengths = np.linalg.norm(vertices[one] - vertices[other], axis=1)
        for _ in range(STEPS):
            np.minimum.at(ways, one, ways[other] + lengths)
            np.minimum.at(ways, other, ways[one] + lengths)
        return ways

    def _depths(self, vertices: np.ndarray, out: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Of the vertices `found`, by the outward normals of all."""
        import thew

        def square(points: np.ndarray) -> np.ndarray:
            points = points - points.mean(axis=0)
            norms = np.einsum("ij,ij->i", points, points)
            return np.maximum(norms[found, None] + norms[None] - 2.0 * points[found] @ points.T, 0.0)

        far, apart = square(vertices), square(self.rest)
        behind = vertices[found] @ out.T < np.einsum("ij,ij->i", vertices, out)[None]
        far[:, np.setdiff1d(np.arange(len(vertices)), self.triangles)] = np.inf
        far[~(behind & (out[found] @ out.T < 0.0))] = np.inf
        other = apart > ELSEWHERE**2 * far
        depths = np.full(len(found), np.inf)
        some = min(NEAREST, len(vertices) - 1)
        near = [np.argpartition(np.where(c, far, np.inf), some, axis=1)[:, :some] for c in (other, ~other)]
        beside_crease = self._shallow(found, near[1])
        for row, vertex in enumerate(found):
            around = np.concatenate([near[0][row][other[row, near[0][row]]], near[1][row][beside_crease[row]]])
            around = around[np.isfinite(far[row, around])]
            if len(around):
                beside = np.concatenate([self.corners[self.starts[v] : self.starts[v + 1]] for v in around]) // 3
                beside = self.triangles[np.unique(beside)]
                depths[row] = thew.closest_points(vertices, beside, vertices[[vertex]])[1][0]
        return depths

    def _shallow(self, found: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Whether the middles at rest between vertices [p] and [p, k] are shallow, [p, k]."""
        a, b = self.rest[found][:, None], self.rest[near]
        middle = (0.5 * (a + b)).reshape(-1, 3)
        deep = np.where(self.surface.winding_number(middle) > 0.5, self.surface.closest_point(middle)[1], 0.0)
        return deep.reshape(near.shape) <= SHALLOW * np.linalg.norm(a - b, axis=2)


def _inside(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vertices in other flesh, and the normals of all."""
    import thew

    vertices = np.asarray(vertices, np.float64)
    out = normals(vertices, triangles)
    step = STEP * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    surface = thew.Surface(np.ascontiguousarray(vertices), np.ascontiguousarray(triangles))
    used = np.unique(triangles)
    return used[surface.winding_number((vertices + step * out)[used]) > 0.5], out

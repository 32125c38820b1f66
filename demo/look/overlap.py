# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vertices of the skin that lie in other flesh, and their depths, found from the posed surface alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STEP = 1e-4
"""Distance outside a vertex at which the winding number is evaluated, as a share of the size."""
WELD = 1e-6
"""Distance at rest below which vertices are welded, approximately, as a share of the size."""
ELSEWHERE = 1.5
"""Ratio of rest to present distance from which skin is other skin, not the far side of the same finger."""
SHALLOW = 0.15
"""Skin beside a crease is other skin, too, if the midpoint at rest is no deeper than this part of the distance."""
NEAREST = 8
"""Number of nearest vertices around which the nearest point of other skin is sought."""
STEPS = 24
"""Number of edges along which the way out of other flesh is sought."""
ROWS = 256
"""Number of vertices processed together."""


@dataclass(frozen=True)
class Overlap:
    """Vertices in other flesh at one instant."""

    vertices: np.ndarray
    """Indices int[p], ascending."""
    depths: np.ndarray
    """Distance to the skin through which each vertex came in, [p], in the vertices' unit; 0 if it is not found."""

    def deepest_vertex(self, but: np.ndarray | None = None) -> tuple[int, float, int]:
        """Returns (number of vertices without those in `but`, largest depth, its vertex or -1)."""
        return self._deepest_vertex(~np.isin(self.vertices, but if but is not None else []))

    def deepest_of(self, chosen: np.ndarray) -> tuple[int, float, int]:
        """Returns `deepest_vertex` for the vertices in an int array alone."""
        return self._deepest_vertex(np.isin(self.vertices, chosen))

    def _deepest_vertex(self, chosen: np.ndarray) -> tuple[int, float, int]:
        vertices, depths = self.vertices[chosen], self.depths[chosen]
        return len(vertices), float(depths.max(initial=0.0)), int(vertices[depths.argmax()]) if len(vertices) else -1


def normals(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Returns the outward normals of vertices, [n, 3]; zero for vertices without triangles."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    area = np.cross(b - a, c - a)
    found = np.zeros_like(vertices)
    for i in range(3):
        np.add.at(found, triangles[:, i], area)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-300)


def vertices_inside(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Returns the vertices of a welded surface that lie in other flesh."""
    return _inside(vertices, triangles)[0]


def weld(rest: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Returns triangles [t, 3] over vertices welded by their positions at rest [n, 3], oriented outwards by majority."""
    grid = np.rint((rest - rest.min(axis=0)) / (WELD * np.linalg.norm(np.ptp(rest, axis=0)))).astype(np.int64)
    _, first, of = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    joined = first[of.reshape(-1)][triangles]
    joined = joined[(joined != np.roll(joined, 1, axis=1)).all(axis=1)]
    return joined[:, ::-1] if len(vertices_inside(rest, joined)) > 0.5 * len(np.unique(joined)) else joined


class Shape:
    """A surface at rest, whose poses are measured."""

    def __init__(self, rest: np.ndarray, triangles: np.ndarray) -> None:
        """Welds and orients the surface of vertices rest [n, 3] and triangles [t, 3]."""
        import thew

        self.rest = np.ascontiguousarray(rest, np.float64)
        self.triangles = np.ascontiguousarray(weld(self.rest, np.asarray(triangles)))
        """Welded and oriented outwards."""
        self.surface = thew.Surface(self.rest, self.triangles)
        edges = np.concatenate([self.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
        self.edges = np.unique(np.sort(edges, axis=1), axis=0)
        self.corners = np.argsort(self.triangles, axis=None, kind="stable")
        self.starts = np.searchsorted(self.triangles.ravel()[self.corners], np.arange(len(self.rest) + 1))
        self.own = vertices_inside(self.rest, self.triangles)
        """Vertices in other flesh at rest: they do not count in poses."""

    def overlap(self, vertices: np.ndarray) -> Overlap:
        """Returns the vertices in other flesh in the pose `vertices` [n, 3]: their winding number is above one half.

        A depth is the smaller of two distances. One is to the nearest skin that faces the vertex, has it behind itself,
        and is other skin at rest. The other is along edges to a vertex outside of flesh: somewhere on the way the other skin is passed.
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
        """Returns the distance along edges from each vertex to one that is not covered, [n]."""
        ways = np.zeros(len(vertices))
        ways[covered] = np.inf
        one, other = self.edges[np.isin(self.edges, covered).any(axis=1)].T
        lengths = np.linalg.norm(vertices[one] - vertices[other], axis=1)
        for _ in range(STEPS):
            np.minimum.at(ways, one, ways[other] + lengths)
            np.minimum.at(ways, other, ways[one] + lengths)
        return ways

    def _depths(self, vertices: np.ndarray, out: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Returns the depths of the vertices `found`; `out`: the outward normals of all vertices."""
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
        beside_crease = self._are_shallow(found, near[1])
        for row, vertex in enumerate(found):
            around = np.concatenate([near[0][row][other[row, near[0][row]]], near[1][row][beside_crease[row]]])
            around = around[np.isfinite(far[row, around])]
            if len(around):
                beside = np.concatenate([self.corners[self.starts[v] : self.starts[v + 1]] for v in around]) // 3
                beside = self.triangles[np.unique(beside)]
                depths[row] = thew.closest_points(vertices, beside, vertices[[vertex]])[1][0]
        return depths

    def _are_shallow(self, found: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Returns whether the midpoints at rest between vertices [p] and [p, k] are shallow, [p, k]."""
        a, b = self.rest[found][:, None], self.rest[near]
        middle = (0.5 * (a + b)).reshape(-1, 3)
        deep = np.where(self.surface.winding_number(middle) > 0.5, self.surface.closest_point(middle)[1], 0.0)
        return deep.reshape(near.shape) <= SHALLOW * np.linalg.norm(a - b, axis=2)


def _inside(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the vertices in other flesh, and the normals of all vertices."""
    import thew

    vertices = np.asarray(vertices, np.float64)
    out = normals(vertices, triangles)
    step = STEP * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    surface = thew.Surface(np.ascontiguousarray(vertices), np.ascontiguousarray(triangles))
    used = np.unique(triangles)
    return used[surface.winding_number((vertices + step * out)[used]) > 0.5], out

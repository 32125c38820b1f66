# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a ray or a point meets a surface of triangles, and how thick the flesh is there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .spaces import across

#: By this part of its squared distance a sphere is taken for larger: more than rounding makes of it.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Hit:
    """A point on a surface: `point = barycentric · corners of triangle face`."""

    face: int
    barycentric: np.ndarray  # [3]
    point: np.ndarray  # [3]
    distance: float

    def on(self, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """The same point of the flesh on another shape [n, 3] of the same triangles [t, 3]."""
        return self.barycentric @ vertices[triangles[self.face]]

    def vertex(self, triangles: np.ndarray) -> int:
        """The nearest corner, as shares go."""
        return int(triangles[self.face][int(np.argmax(self.barycentric))])


class Picker:
    """A surface to point at: `vertices` [n, 3], `triangles` [t, 3].

    Each question looks through the spheres around all triangles and then at the few whose sphere fits. For a shape that is
    pointed at a few times that is quicker than any tree, which takes longer to make than a hundred such questions.
    """

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray):
        self.vertices = np.asarray(vertices, dtype=np.float64)
        self.triangles = np.asarray(triangles)
        corners = [self.vertices[self.triangles[:, i]] for i in range(3)]
        self._centres = (corners[0] + corners[1] + corners[2]) / 3.0
        self._squares = np.max([squared(corner - self._centres) for corner in corners], axis=0)  # of the radii

    def normal(self, face: int) -> np.ndarray:
        """The unit normal of a triangle; zero of one without area."""
        a, b, c = self._corners(face)
        normal = np.cross(b - a, c - a)
        size = np.linalg.norm(normal)
        return normal / size if size > 0.0 else normal

    def ray(self, origin: np.ndarray, direction: np.ndarray, least: float = 0.0) -> Hit | None:
        """The first triangle that a ray meets farther than `least` away, from either side."""
        return self.rays(origin, [direction], least)[0]

    def rays(self, origin: np.ndarray, directions, least: float = 0.0) -> list[Hit | None]:
        """The same for several rays from one point."""
        to_centre = self._centres - origin
        squares = squared(to_centre)
        room = self._squares + ROUNDING * squares
        far = squares - room
        return [self._ray(origin, direction, least, to_centre, far, room) for direction in directions]

    def _ray(self, origin, direction, least, to_centre, far, room) -> Hit | None:
        direction = np.asarray(direction, dtype=np.float64) / np.linalg.norm(direction)
        along = to_centre @ direction
        # The spheres that the line meets, and of them those that reach beyond `least`.
        near = np.flatnonzero(along * along >= far)
        near = near[along[near] + np.sqrt(room[near]) >= least]
        a, b, c = self._corners(near)
        normal = np.cross(b - a, c - a)
        steep = normal @ direction
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.einsum("ti,ti->t", a - origin, normal) / steep
            point = origin + distance[:, None] * direction
            shares = barycentric(point, a, b, c, normal)
            inside = (shares >= -1e-9).all(axis=1) & (distance > least) & np.isfinite(distance)
        if not inside.any():
            return None
        best = np.flatnonzero(inside)[np.argmin(distance[inside])]
        return self._hit(int(near[best]), shares[best], origin)

    def nearest(self, point: np.ndarray) -> Hit:
        """The nearest point of the surface."""
        point = np.asarray(point, dtype=np.float64)
        away = np.sqrt(squared(self._centres - point))
        # Those whose nearest point can be as near as a known one.
        near = np.flatnonzero(away - np.sqrt(self._squares) <= away.min())
        a, b, c = self._corners(near)
        shares = closest(point, a, b, c)
        corners = np.stack([a, b, c], axis=1)
        there = np.einsum("ti,tij->tj", shares, corners)
        best = int(np.argmin(np.linalg.norm(there - point, axis=1)))
        return self._hit(int(near[best]), shares[best], point)

    def thickness(self, point: np.ndarray, inward: np.ndarray, most: float) -> float:
        """How deep the flesh is below a point of the surface: the median of five rays about `inward`, at most `most`."""
        inward = np.asarray(inward, dtype=np.float64) / np.linalg.norm(inward)
        one, other = across(inward)
        sides = (0.0 * one, 0.35 * one, -0.35 * one, 0.35 * other, -0.35 * other)
        hits = self.rays(point, [inward + side for side in sides], least=1e-3 * most)
        return float(np.median([most if hit is None else min(hit.distance, most) for hit in hits]))

    def girth(self, point: np.ndarray, axis: np.ndarray, most: float) -> float:
        """How far the surface is from a point on a bone, across its `axis`: the median of eight rays, at most `most`."""
        one, other = across(np.asarray(axis, dtype=np.float64))
        turns = np.arange(8) * 0.25 * np.pi
        hits = self.rays(point, [np.cos(turn) * one + np.sin(turn) * other for turn in turns])
        found = [min(hit.distance, most) for hit in hits if hit is not None]
        return float(np.median(found)) if found else most

    def _corners(self, faces) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The corners of one triangle [3], or of several [k, 3]."""
        return tuple(self.vertices[self.triangles[faces, i]] for i in range(3))

    def _hit(self, face: int, shares: np.ndarray, origin: np.ndarray) -> Hit:
        shares = np.clip(shares, 0.0, 1.0)
        shares = shares / shares.sum()
        point = shares @ self.vertices[self.triangles[face]]
        return Hit(face, shares, point, float(np.linalg.norm(point - origin)))


def squared(vectors: np.ndarray) -> np.ndarray:
    """The squared lengths [t] of vectors [t, 3]."""
    return np.einsum("ti,ti->t", vectors, vectors)


def barycentric(point, a, b, c, normal) -> np.ndarray:
    """The shares [t, 3] of points [t, 3] in the planes of triangles with corners [t, 3] and normals (b-a) x (c-a)."""
    area = np.einsum("ti,ti->t", normal, normal)
    of_a = np.einsum("ti,ti->t", np.cross(c - b, point - b), normal) / area
    of_b = np.einsum("ti,ti->t", np.cross(a - c, point - c), normal) / area
    return np.stack([of_a, of_b, 1.0 - of_a - of_b], axis=1)


def closest(point, a, b, c) -> np.ndarray:
    """The shares [t, 3] of the point of each triangle that is nearest to `point` [3]."""
    normal = np.cross(b - a, c - a)
    points = np.broadcast_to(point, a.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = barycentric(points, a, b, c, normal)
    inside = np.isfinite(shares).all(axis=1) & (shares >= 0.0).all(axis=1)
    best, distance = np.zeros_like(a), np.full(len(a), np.inf)
    corners = (a, b, c)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        start, edge = corners[i], corners[j] - corners[i]
        length = np.einsum("ti,ti->t", edge, edge)
        part = np.einsum("ti,ti->t", point - start, edge) / np.where(length > 0.0, length, 1.0)
        part = np.clip(part, 0.0, 1.0)
        away = np.linalg.norm(start + part[:, None] * edge - point, axis=1)
        nearer = away < distance
        distance[nearer] = away[nearer]
        best[nearer] = 0.0
        best[nearer, i], best[nearer, j] = 1.0 - part[nearer], part[nearer]
    best[inside] = shares[inside]
    return best

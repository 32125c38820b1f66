# SPDX-License-Identifier: GPL-3.0-or-later
"""Hits of rays and nearest points on a surface of triangles, and the thickness of the flesh there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .native import core
from .spaces import perpendicular_vectors


@dataclass(frozen=True)
class Hit:
    """A point on a surface: `point = barycentric · corners of triangle face`."""

    face: int
    barycentric: np.ndarray  # [3]
    point: np.ndarray  # [3]
    distance: float

    def point_on(self, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """Returns the same point of the flesh on another shape [n, 3] of the same triangles [t, 3]."""
        return self.barycentric @ vertices[triangles[self.face]]

    def vertex(self, triangles: np.ndarray) -> int:
        """Returns the corner with the largest barycentric coordinate."""
        return int(triangles[self.face][int(np.argmax(self.barycentric))])


class Picker:
    """A surface to point at: `vertices` [n, 3], `triangles` [t, 3].

    The core tests every triangle for each query: a posed shape gets a few queries and is then dropped, and building a hierarchy
    takes as long as twenty of them.
    """

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray):
        self.vertices = np.ascontiguousarray(vertices, dtype=np.float64)
        self.triangles = np.ascontiguousarray(triangles, dtype=np.int64)

    def normal(self, face: int) -> np.ndarray:
        """Returns the unit normal of a triangle; zero for one without area."""
        a, b, c = self.vertices[self.triangles[face]]
        normal = np.cross(b - a, c - a)
        size = np.linalg.norm(normal)
        return normal / size if size > 0.0 else normal

    def normals(self) -> np.ndarray:
        """Returns the unit normals of all triangles, [t, 3]; zero for those without area."""
        a, b, c = (self.vertices[column] for column in self.triangles.T)
        normals = np.cross(b - a, c - a)
        return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)

    def vertex_normals(self) -> np.ndarray:
        """Returns unit normals of the vertices, [n, 3], means of those of their triangles; zero for vertices without any."""
        found, normals = np.zeros_like(self.vertices), self.normals()
        for column in self.triangles.T:
            np.add.at(found, column, normals)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-300)

    def ray(self, origin: np.ndarray, direction: np.ndarray, least: float = 0.0) -> Hit | None:
        """Returns the first hit of a ray farther than `least` away, on either side of triangles."""
        return self.rays(origin, [direction], least)[0]

    def rays(self, origin: np.ndarray, directions, least: float = 0.0) -> list[Hit | None]:
        """Returns the first hits of several rays from one point."""
        origins = np.broadcast_to(origin, (len(directions), 3))
        found = core().cast_rays(self.vertices, self.triangles, origins, directions, least)
        return [_hit(*each) for each in zip(*found, strict=True)]

    def nearest(self, point: np.ndarray) -> Hit:
        """Returns the nearest point of the surface."""
        found = core().closest_points(self.vertices, self.triangles, np.asarray(point)[None])
        return _hit(*(each[0] for each in found))

    def thickness(self, point: np.ndarray, inward: np.ndarray, most: float) -> float:
        """Returns the depth of the flesh below a point of the surface: the median of five rays about `inward`, at most `most`."""
        inward = np.asarray(inward, dtype=np.float64) / np.linalg.norm(inward)
        one, other = perpendicular_vectors(inward)
        sides = (0.0 * one, 0.35 * one, -0.35 * one, 0.35 * other, -0.35 * other)
        hits = self.rays(point, [inward + side for side in sides], least=1e-3 * most)
        return float(np.median([most if hit is None else min(hit.distance, most) for hit in hits]))

    def girth(self, point: np.ndarray, axis: np.ndarray, most: float) -> float:
        """Returns the distance of the surface from a point on a bone, across its `axis`: the median of eight rays, at most `most`."""
        one, other = perpendicular_vectors(np.asarray(axis, dtype=np.float64))
        turns = np.arange(8) * 0.25 * np.pi
        hits = self.rays(point, [np.cos(turn) * one + np.sin(turn) * other for turn in turns])
        found = [min(hit.distance, most) for hit in hits if hit is not None]
        return float(np.median(found)) if found else most


def _hit(point: np.ndarray, distance: float, face: int, barycentric: np.ndarray) -> Hit | None:
    return Hit(int(face), barycentric, point, float(distance)) if face >= 0 else None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders at every pose that was read, and their motion in the core's terms."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .spaces import MetricSpace, is_singular, transform

#: Largest stretch of a map that counts as a rotation: object matrices come in single precision.
ROTATION_TOLERANCE = 1e-4
#: Vertices of a deforming mesh that trace its motion. Evenly by number; the corners of a box and as many more.
MAX_TRACED_VERTICES = 16


@dataclass(frozen=True)
class Collider:
    """One object; Blender's units."""

    key: tuple[str, str]  # its name, and the file that it is linked from or ""
    triangles: np.ndarray  # int32[t, 3]
    matrices: np.ndarray  # [f, 4, 4] world matrices
    shapes: tuple[np.ndarray, ...]  # float32[n, 3] for each matrix, object space: the same array while nothing changes

    @property
    def name(self) -> str:
        """Returns the name for sentences."""
        return f"“{self.key[0]}”"

    @property
    def rigid(self) -> bool:
        """Returns whether only the matrix changes."""
        return all(shape is self.shapes[0] for shape in self.shapes)

    @property
    def moves(self) -> bool:
        """Returns whether it ever moves."""
        return not (self.rigid and (self.matrices == self.matrices[0]).all())

    def world(self, index: int) -> np.ndarray:
        """Returns its vertices at a pose, Blender's world, float64[n, 3]."""
        return transform(self.matrices[index], self.shapes[index].astype(np.float64))

    def at_poses(self, rows: np.ndarray) -> Collider:
        """Returns the collider at those poses alone, in that order."""
        return replace(self, matrices=self.matrices[rows], shapes=tuple(self.shapes[row] for row in rows))

    def area(self, index: int) -> float:
        """Returns the surface area at a pose over the square of its size; 0 for a point."""
        corners = self.world(index)[self.triangles]
        size = float(np.ptp(corners.reshape(-1, 3), axis=0).max())
        crosses = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        return float(np.linalg.norm(crosses, axis=1).sum()) / size**2 if size > 0.0 else 0.0

    @property
    def first_solid_pose(self) -> int:
        """Returns the first pose in which it is not flat to a line or a point; -1 without one."""
        if self.rigid and not is_singular(self.matrices[0]):
            return 0 if self.area(0) > 1e-9 else -1
        return next((index for index in range(len(self.shapes)) if self.area(index) > 1e-9), -1)

    def core_motion(self, place: MetricSpace) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns its vertices [n, 3] in metres, and its motion in the core's form: maps [f, 4, 4], vertices [f, n, 3], or None."""
        rest = max(self.first_solid_pose, 0)
        vertices = place.points(self.world(rest))
        if not self.moves:
            return vertices, None
        if self.rigid and not is_singular(self.matrices[rest]):
            maps = place.maps(self.matrices @ np.linalg.inv(self.matrices[rest]))
            return vertices, np.stack([as_rotation(each) for each in maps])
        return vertices, np.stack([place.points(self.world(index)) for index in range(len(self.shapes))])

    def trace(self, place: MetricSpace, size: float) -> np.ndarray:
        """Returns its motion as points [f, k, 4, 3], metres, scaled to at most `size`: for the same tests as bones."""
        some = np.unique(np.linspace(0, len(self.shapes[0]) - 1, MAX_TRACED_VERTICES).astype(int))
        corners = [shape[some].astype(np.float64) for shape in self.shapes]
        points = place.points(np.stack([transform(m, x) for m, x in zip(self.matrices, corners, strict=True)]))
        points -= points[0]
        points *= min(1.0, size / max(float(np.ptp(points, axis=0).max()), 1e-12))
        return np.repeat(points[:, :, None], 4, axis=2)

    def path(self, place: MetricSpace) -> np.ndarray:
        """Returns the path of its middle, metres, [f, 3]."""
        middles: dict[int, np.ndarray] = {}  # by array: one as long as nothing changes
        for shape in self.shapes:
            if id(shape) not in middles:
                middles[id(shape)] = shape.mean(axis=0, dtype=np.float64)[None]
        placed = zip(self.matrices, self.shapes, strict=True)
        return place.points(np.concatenate([transform(matrix, middles[id(shape)]) for matrix, shape in placed]))


def as_rotation(matrix: np.ndarray) -> np.ndarray:
    """Returns an affine map [4, 4] that is a rotation within rounding as an exact rotation; others unchanged."""
    left, sizes, right = np.linalg.svd(matrix[:3, :3])
    if np.abs(sizes - 1.0).max() > ROTATION_TOLERANCE:
        return matrix
    made = matrix.copy()
    made[:3, :3] = left @ right
    return made


@dataclass(frozen=True)
class Colliders:
    """All colliders of one object's flesh."""

    reading_keys: tuple = ()  # identities of the colliders that were wanted: see `scene.colliders.ColliderRequest.reading_key`
    each: tuple[Collider, ...] = ()
    problems: tuple[str, ...] = ()  # why others are left out, sentences

    @cached_property
    def digest(self) -> bytes:
        """Returns a hash of the places of all of them; b"" without colliders."""
        digest = hashlib.blake2b(digest_size=16)
        for collider in self.each:
            digest.update(repr((collider.key, collider.triangles.shape, len(collider.shapes))).encode())
            digest.update(collider.triangles.data)
            digest.update(np.ascontiguousarray(collider.matrices).data)
            for shape in collider.shapes[:1] if collider.rigid else collider.shapes:
                digest.update(np.ascontiguousarray(shape).data)
        return digest.digest() if self.each else b""

    def at_poses(self, rows: np.ndarray) -> Colliders:
        """Returns the colliders at those poses alone, in that order."""
        return replace(self, each=tuple(each.at_poses(rows) for each in self.each))

    def moved_by_maps(self, maps: np.ndarray) -> Colliders:
        """Returns the colliders, moved at each pose by that pose's affine map of the world [f, 4, 4]."""
        return replace(self, each=tuple(replace(each, matrices=maps @ each.matrices) for each in self.each))

    def trace(self, place: MetricSpace, size: float) -> np.ndarray | None:
        """Returns the traces of those that move, as in `Collider.trace`; None where all stand still."""
        traces = [each.trace(place, size) for each in self.each if each.moves]
        return np.concatenate(traces, axis=1) if traces else None

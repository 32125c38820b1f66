# SPDX-License-Identifier: GPL-3.0-or-later
"""Maps from Blender's spaces to metres and back.

The physics runs in metres about an origin near the character. *Rest world* is the mesh's place when flesh was added: `X = M0 x` for
a vertex `x` in object space. The Armature modifier moves a point of bone b by `T_b(t) = A(t) B_b(t) A(t)^-1 M(t) M0^-1`, with A the
armature's and M the mesh's object matrix and `B_b = pose matrix . rest matrix^-1` in armature space. So a mesh that is parented to
a moving armature and one that is not both follow the modifier.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .errors import Refusal

#: Plausible longest sides of a character by the scene's units, metres. A newborn child to more than the tallest man, 2.72 m.
CHARACTER_SIZES = (0.5, 3.0)
#: Height of every other character, metres. About the mean of grown men.
DEFAULT_HEIGHT = 1.7


def guess_height(longest_side: float, unit_scale: float = 1.0) -> float:
    """Returns the real height in metres of a character `longest_side` units long, in a scene of `unit_scale` metres per unit."""
    height = longest_side * unit_scale
    return height if CHARACTER_SIZES[0] <= height <= CHARACTER_SIZES[1] else DEFAULT_HEIGHT


def mirrors(matrix: np.ndarray) -> bool:
    """Returns whether an affine map [3 or 4, 3 or 4] mirrors: a mirrored object has its faces inside out."""
    return bool(np.linalg.det(np.asarray(matrix)[:3, :3]) < 0.0)


#: The reflection of a mirrored place. It keeps z, along which gravity usually acts.
REFLECTION = np.array([-1.0, 1.0, 1.0])

#: Relative difference of scales that counts as none: world matrices come in single precision.
SCALE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class MetricSpace:
    """Origin and scale of one body's metres in Blender's world: `metres = (world - origin) * metres_per_unit`; x is negated where
    `mirrored`.
    """

    origin: np.ndarray
    metres_per_unit: float
    mirrored: bool = False

    def carried(self, rest: np.ndarray, matrices: np.ndarray) -> MetricSpace:
        """Returns the place that makes a character whose mesh has world matrices [..., 4, 4], `rest` [4, 4] at rest, as large as it is at
        rest, and no mirror image.

        Where the scale changes in the course of the matrices, the character has its size at the median.
        """
        sizes = np.sort(relative_sizes(rest, matrices))
        scale = float(abs(sizes[len(sizes) // 2]))
        mirrored = bool(sizes[len(sizes) // 2] < 0.0)
        if abs(scale - 1.0) <= SCALE_TOLERANCE and not mirrored:
            return self
        # Single precision gives the same scale in other digits from frame to frame.
        scale = 1.0 if abs(scale - 1.0) <= SCALE_TOLERANCE else float(f"{scale:.5g}")
        return MetricSpace(self.origin, self.metres_per_unit / scale, self.mirrored ^ mirrored)

    def points(self, world: np.ndarray) -> np.ndarray:
        """Returns world points [..., 3] in metres."""
        return self.vectors(np.asarray(world, dtype=np.float64) - self.origin)

    def world(self, metres: np.ndarray) -> np.ndarray:
        """Returns points in metres [..., 3] in Blender's world."""
        return self.world_vectors(metres) + self.origin

    def vectors(self, world: np.ndarray) -> np.ndarray:
        """Returns world vectors [..., 3] in metres."""
        return self.directions(world) * self.metres_per_unit

    def world_vectors(self, metres: np.ndarray) -> np.ndarray:
        """Returns vectors in metres [..., 3] in Blender's world."""
        return self.directions(metres) / self.metres_per_unit

    def directions(self, vectors: np.ndarray) -> np.ndarray:
        """Returns vectors [..., 3] of Blender's world along the axes of the metres, or back, with their lengths."""
        return np.asarray(vectors) * REFLECTION if self.mirrored else np.asarray(vectors)

    def faces(self, triangles: np.ndarray) -> np.ndarray:
        """Returns triangles [t, 3] of Blender's world as they face outwards in the metres."""
        return np.ascontiguousarray(triangles[:, ::-1]) if self.mirrored else triangles

    def maps(self, world: np.ndarray, rest: MetricSpace | None = None) -> np.ndarray:
        """Returns affine maps [..., 4, 4] of the world as maps of the metres; `rest`: the place whose metres they map from (None:
        this one).
        """
        world, rest = np.asarray(world, dtype=np.float64), rest or self
        maps = world.copy()
        moved = world[..., :3, :3] @ rest.origin + world[..., :3, 3] - self.origin
        maps[..., :3, 3] = moved * self.metres_per_unit
        if rest.metres_per_unit != self.metres_per_unit:
            maps[..., :3, :3] *= self.metres_per_unit / rest.metres_per_unit
        if self.mirrored:
            maps[..., :3, :] *= REFLECTION[:, None]
        if rest.mirrored:
            maps[..., :3, :3] *= REFLECTION
        return maps

    def world_maps(self, metres: np.ndarray, rest: MetricSpace | None = None) -> np.ndarray:
        """Returns affine maps [..., 4, 4] of the metres as maps of the world: the inverse of `maps`."""
        rest, maps = rest or self, np.array(metres, dtype=np.float64)
        moved = self.world_vectors(maps[..., :3, 3]) + self.origin
        if rest.metres_per_unit != self.metres_per_unit:
            maps[..., :3, :3] *= rest.metres_per_unit / self.metres_per_unit
        if self.mirrored:
            maps[..., :3, :3] *= REFLECTION[:, None]
        if rest.mirrored:
            maps[..., :3, :3] *= REFLECTION
        maps[..., :3, 3] = moved - maps[..., :3, :3] @ rest.origin
        return maps

    def to_object(self, matrices: np.ndarray) -> np.ndarray:
        """Returns the maps from metres into the spaces of objects with these world matrices, [..., 4, 4] both, for the core."""
        maps = np.linalg.inv(np.asarray(matrices, dtype=np.float64))
        maps[..., :3, 3] += maps[..., :3, :3] @ self.origin
        maps[..., :3, :3] /= self.metres_per_unit
        if self.mirrored:
            maps[..., :3, :3] *= REFLECTION
        return maps


def relative_sizes(rest: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Returns by how much world matrices [..., 4, 4] scale more than `rest` [4, 4], [f]; below zero where they mirror."""
    linear = np.asarray(matrices, dtype=np.float64)[..., :3, :3].reshape(-1, 3, 3)
    return np.cbrt(np.linalg.det(linear) / np.linalg.det(rest[:3, :3]))


@dataclass(frozen=True)
class MeshSpace:
    """The own space of a character's mesh at rest, and the metres of its body."""

    place: MetricSpace
    matrix: np.ndarray  # [4, 4], the mesh's world matrix at rest

    def metres(self, points: np.ndarray) -> np.ndarray:
        """Returns points [n, 3] of the mesh's space in metres."""
        return self.place.points(transform(self.matrix, np.asarray(points, dtype=np.float64)))

    def mesh(self, metres: np.ndarray) -> np.ndarray:
        """Returns points [n, 3] in metres in the mesh's space."""
        return transform(np.linalg.inv(self.matrix), self.place.world(metres))


def bone_maps(armature: np.ndarray, bones: np.ndarray, mesh: np.ndarray, mesh_rest: np.ndarray) -> np.ndarray:
    """Returns T_b for one frame: `armature`, `mesh`, `mesh_rest` [4, 4] and `bones` [b, 4, 4] (B_b) -> [b, 4, 4]."""
    after = np.linalg.solve(armature, mesh @ np.linalg.inv(mesh_rest))
    return armature @ bones @ after


def transform(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns `points` [n, 3] moved by the affine `matrix` [4, 4]."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def similarity(before: np.ndarray, after: np.ndarray) -> np.ndarray | None:
    """Returns the map [4, 4] that turns, scales evenly, mirrors and moves points [n, 3] to others; None where no single map does, or points
    lie in a plane.
    """
    rows = np.column_stack([before, np.ones(len(before))])
    found, _, rank, _ = np.linalg.lstsq(rows, after, rcond=1e-6)
    matrix = np.eye(4)
    matrix[:3] = found.T
    if rank < 4 or is_singular(matrix) or np.abs(rows @ found - after).max() > 1e-5 * diagonal(after):
        return None
    stretches = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    if stretches[0] - stretches[2] > SCALE_TOLERANCE * stretches[0]:
        return None
    return matrix


def diagonal(points: np.ndarray) -> float:
    """Returns the diagonal of the box around `points` [n, 3]."""
    return float(np.linalg.norm(np.ptp(points, axis=0)))


def blend_vectors(
    at: float, spaces: np.ndarray, vectors_at: Callable[..., np.ndarray], share: float = 1.0
) -> np.ndarray:
    """Returns vectors at the pose `at` >= 0 times `share`, float32[n, 3]; those between two poses are blended.

    `vectors_at(index, to=, onto=)` gives the vectors of one pose in the space `to` [4, 4], added to `onto` if given; `spaces`
    [f, 4, 4]: those of the poses.
    """
    index, part = split_index(at)
    first = vectors_at(index, to=scaled_map(spaces[index], share * (1.0 - part)), onto=None)
    if part == 0.0:
        return first
    return vectors_at(index + 1, to=scaled_map(spaces[index + 1], share * part), onto=first)


def split_index(at: float) -> tuple[int, float]:
    """Returns the pose at or before `at` >= 0, and the fraction of the way to the next one."""
    part = at - int(at)
    return int(at), part if part > 1e-6 else 0.0


def scaled_map(space: np.ndarray, share: float) -> np.ndarray:
    """Returns the affine map `space` [4, 4] scaled so that vectors become `share` of theirs."""
    if share == 1.0:
        return space
    shared = space.copy()
    shared[:3] *= share
    return shared


def perpendicular_vectors(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns two unit vectors perpendicular to `axis` [3] and to each other."""
    one = np.cross(axis, np.eye(3)[int(np.abs(axis).argmin())])
    one = one / np.linalg.norm(one)
    other = np.cross(axis, one)
    return one, other / np.linalg.norm(other)


def is_singular(matrix: np.ndarray) -> bool:
    """Returns whether the affine map flattens space (or is not finite)."""
    linear = np.asarray(matrix, dtype=np.float64)[:3, :3]
    if not np.isfinite(matrix).all():
        return True
    # The determinant over the cube of the norm is at most the smallest singular value over the largest: most maps need no more.
    (a, b, c), (d, e, f), (g, h, i) = linear.tolist()
    square = a * a + b * b + c * c + d * d + e * e + f * f + g * g + h * h + i * i
    if abs(a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)) > 1e-6 * square * math.sqrt(square):
        return False
    sizes = np.linalg.svd(linear, compute_uv=False)
    return bool(sizes[-1] <= 1e-9 * sizes[0])


def inverse(matrix: np.ndarray, what: str) -> np.ndarray:
    """Returns the inverse of affine or linear maps [..., 3 or 4, 3 or 4]; a `Refusal` names `what` where one flattens space."""
    matrix = np.asarray(matrix, dtype=np.float64)
    if any(is_singular(each) for each in matrix.reshape(-1, *matrix.shape[-2:])):
        raise Refusal(f"{what} is scaled to zero at this frame: give it a scale, or go to another frame")
    return np.linalg.inv(matrix)


def normalise_rows(weights: np.ndarray) -> np.ndarray:
    """Returns rows [n, b] that sum to one, as in the Armature modifier; rows without weight stay zero."""
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 1e-4)


def skin_linearly(
    weights: np.ndarray, maps: np.ndarray, rest: np.ndarray, still: np.ndarray | None = None
) -> np.ndarray:
    """Computes linear blend skinning as the Armature modifier does.

    weights [n, b] (any sums), maps [b, 4, 4], rest [n, 3] -> [n, 3]. Vertices without weight follow `still` [4, 4], the mesh
    object's own motion.
    """
    share = normalise_rows(weights)
    blended = np.tensordot(share, maps[:, :3, :], axes=(1, 0))
    blended[share.sum(axis=1) < 0.5] = np.eye(4)[:3] if still is None else still[:3]
    return np.einsum("nij,nj->ni", blended[:, :, :3], rest) + blended[:, :, 3]

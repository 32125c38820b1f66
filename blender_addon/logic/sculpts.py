# SPDX-License-Identifier: GPL-3.0-or-later
"""Sculpts as keyframes of a surface: doubled and loose vertices, faults of a sculpt, plain curves through values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import Refusal
from .extents import triangle_edges
from .sentences import plural

#: Distance, as a part of the size, below which vertices in every shape are one. Ten times the rounding of single precision.
WELD_TOLERANCE = 1e-6
#: Part of its area below which a shrunk triangle is flat. A millionth of an area is a thousandth of a length.
FLAT_AREA_RATIO = 1e-6
#: Cosine between normals below which neighbours are folded onto each other. That is 154°, of faces that met at less than 90°
#: before: nearly back to back.
FOLD_COSINE = -0.9


@dataclass(frozen=True)
class WeldedSurface:
    """The surface that the core computes with: vertices in one place are one point of it, loose ones are left out."""

    first: np.ndarray  # int64[m] a vertex of each point
    point: np.ndarray  # int64[n] the point of each vertex, -1 for a loose one
    triangles: np.ndarray  # int32[t, 3] of points
    doubled: int

    @property
    def loose_vertices(self) -> np.ndarray:
        """Returns the vertices without faces."""
        return np.flatnonzero(self.point < 0)

    def mask(self, vertices: np.ndarray) -> np.ndarray:
        """Returns whether each point has a vertex in bool[n] `vertices`."""
        mask = np.zeros(len(self.first), dtype=bool)
        mask[self.point[vertices & (self.point >= 0)]] = True
        return mask

    def gather(self, shape: np.ndarray) -> np.ndarray:
        """Returns the points of shapes [..., n, 3]: the means of their vertices, [..., m, 3]."""
        if len(self.first) == (self.point >= 0).sum():
            return shape[..., self.first, :]
        held = self.point >= 0
        # Relative to the first of each, so that coincident vertices stay exactly in place.
        away = (shape - shape[..., self.first[self.point], :])[..., held, :]
        if not away.any():
            return shape[..., self.first, :]
        return shape[..., self.first, :] + means(away, self.point[held])

    def with_triangles(self, kept: np.ndarray) -> WeldedSurface:
        """Returns the surface of some of its triangles, bool[t]; vertices of other triangles alone become loose."""
        used = np.unique(self.triangles[kept])
        number = np.full(len(self.first) + 1, -1, dtype=np.int64)
        number[used] = np.arange(len(used))
        point = number[self.point]
        triangles = number[self.triangles[kept]].astype(np.int32)
        return WeldedSurface(self.first[used], point, triangles, int((point >= 0).sum()) - len(used))

    def vertex_values(self, points: np.ndarray) -> np.ndarray:
        """Returns for every vertex the value of its point, [..., n, 3]; undefined for loose ones."""
        return points[..., self.point, :]


def means(vectors: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Returns the means of vectors [..., r, 3] over groups numbered from 0 in int[r], [..., g, 3]."""
    count = np.bincount(group)
    flat = vectors.reshape(-1, len(group), 3)
    mean = [[np.bincount(group, each[:, axis]) / count for axis in range(3)] for each in flat]
    return np.array(mean).transpose(0, 2, 1).reshape(*vectors.shape[:-2], -1, 3)


def weld(shapes: np.ndarray, triangles: np.ndarray, size: float) -> WeldedSurface:
    """Welds the vertices that coincide in all `shapes` [k, n, 3]; no triangle keeps a corner twice."""
    count = shapes.shape[1]
    grid = np.round(shapes.astype(np.float64) / max(WELD_TOLERANCE * size, 1e-30)).transpose(1, 0, 2).reshape(count, -1)
    grid += 0.0  # no negative zeros
    _, first, inverse = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    welded = first[inverse.ravel()][triangles]
    whole = (welded[:, 0] != welded[:, 1]) & (welded[:, 1] != welded[:, 2]) & (welded[:, 2] != welded[:, 0])
    welded = welded[whole]
    used = np.unique(welded)
    number = np.full(count, -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    point = number[first[inverse.ravel()]]
    kept = point >= 0
    return WeldedSurface(used, point, number[welded].astype(np.int32), int(kept.sum()) - len(used))


def areas(shape: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the normals [t, 3], twice as long as the areas, and the areas [t]."""
    corners = shape[triangles].astype(np.float64)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return normals, 0.5 * np.linalg.norm(normals, axis=1)


def hinges(triangles: np.ndarray) -> np.ndarray:
    """Returns pairs of triangles that share an edge, [h, 2]; edges of more than two are left out."""
    edges = triangle_edges(triangles)
    owner = np.tile(np.arange(len(triangles)), 3)
    order = np.lexsort(edges.T[::-1])
    edges, owner = edges[order], owner[order]
    new = np.r_[True, (edges[1:] != edges[:-1]).any(axis=1)]
    starts = np.flatnonzero(new)
    sizes = np.diff(np.r_[starts, len(edges)])
    two = starts[sizes == 2]
    return np.stack([owner[two], owner[two + 1]], axis=1)


def faults(shape: np.ndarray, basis: np.ndarray, triangles: np.ndarray, what: str) -> list[str]:
    """Returns sentences on a sculpt that is flat or folds over in places; raises a `Refusal` where it has hardly any surface left."""
    (normals, area), (normals0, area0) = areas(shape, triangles), areas(basis, triangles)
    total = max(float(area0.sum()), 1e-300)
    flat = (area < FLAT_AREA_RATIO * area0) & (area0 > 1e-12 * total)
    if float(area.sum()) < 1e-6 * total or area0[flat].sum() > 0.5 * total:
        raise Refusal(
            f"{what} is flat: its surface has shrunk to a line or a point; sculpt it anew, or take it off the list"
        )
    sentences = []
    if flat.any():
        sentences.append(
            f"{what} has {plural(int(flat.sum()), 'triangle')} flattened to nothing, the first at vertex "
            f"{triangles[np.flatnonzero(flat)[0]][0]}: smooth it there, or press Relax Sculpt"
        )
    pairs = hinges(triangles)
    if len(pairs):
        unit, unit0 = (n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300) for n in (normals, normals0))
        turned = (unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1)
        before = (unit0[pairs[:, 0]] * unit0[pairs[:, 1]]).sum(axis=1)
        bad = np.flatnonzero((turned < FOLD_COSINE) & (before > 0.0) & ~flat[pairs].any(axis=1))
        if len(bad):
            sentences.append(
                f"{what} folds onto itself at {plural(len(bad), 'edge')}, the first at vertex "
                f"{triangles[pairs[bad[0], 0]][0]}: smooth it there, or press Relax Sculpt"
            )
    return sentences


def cubic(times: np.ndarray, values: np.ndarray, at: np.ndarray, cyclic: bool) -> np.ndarray:
    """Evaluates cubic splines through `values` [k, ...] at `at` [s]: at rest at both ends, or cyclic; [s, ...]."""
    times, at = np.asarray(times, dtype=np.float64), np.asarray(at, dtype=np.float64)
    flat = np.asarray(values, dtype=np.float64).reshape(len(times), -1)
    step = np.diff(times)
    chords = np.diff(flat, axis=0) / step[:, None]
    last = len(times) - 1
    matrix, right = np.zeros((last + 1, last + 1)), np.zeros_like(flat)
    for i in range(1, last):
        matrix[i, i - 1 : i + 2] = 1 / step[i - 1], 2 / step[i - 1] + 2 / step[i], 1 / step[i]
        right[i] = 3 * (chords[i - 1] / step[i - 1] + chords[i] / step[i])
    matrix[0, 0] = matrix[last, last] = 1.0
    if cyclic:
        matrix[0, 0] = 2 / step[0] + 2 / step[-1]
        matrix[0, 1] += 1 / step[0]
        matrix[0, last - 1] += 1 / step[-1]
        right[0] = 3 * (chords[0] / step[0] + chords[-1] / step[-1])
        matrix[last, 0] = -1.0
    slopes = np.linalg.solve(matrix, right)
    i = np.clip(np.searchsorted(times, at, side="right") - 1, 0, last - 1)
    h, u = step[i][:, None], ((at - times[i]) / step[i])[:, None]
    rows = (
        (1 + 2 * u) * (1 - u) ** 2 * flat[i]
        + u * (1 - u) ** 2 * h * slopes[i]
        + u * u * (3 - 2 * u) * flat[i + 1]
        + u * u * (u - 1) * h * slopes[i + 1]
    )
    return rows.reshape(len(at), *np.shape(values)[1:])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Clean closed quad meshes from soft blobs: a signed distance function, meshed by surface nets.

A figure is a list of parts (balls with three radii, and tapered limbs), joined by an exponential smooth minimum: `f(x)
= -k log sum exp(-d_i(x) / k)`. Naive surface nets (Gibson 1998) put one vertex into each grid cell in which f changes
sign. A few rounds of smoothing, each followed by a Newton step back onto f = 0, even out the quads. Only numpy is used
and nothing is random: the same figure gives the same mesh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]
"""An approximate signed distance function: points [p,3] to values [p]."""

BLOCK = 6
"""Cells of a grid along a side of the blocks that are left out where they are far from the surface."""


@dataclass(frozen=True)
class Part:
    """One blob: its shape, and the bone and colour of the skin near it."""

    a: tuple[float, float, float]
    """Centre of a ball, or the first end of a limb, metres."""
    b: tuple[float, float, float] | None
    """Second end of a limb, metres; `None` for a ball."""
    radii: tuple[float, ...]
    """A ball's three radii, or a limb's radii at its two ends, metres."""
    bone: str
    colour: str
    tilt: float = 0.0
    """Rotation of a ball about the x axis, radians."""
    solid: bool = True
    """False: it adds no shape, and gives the skin near it to its bone."""

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Returns the signed distance (an estimate for balls), shape [p]."""
        return self._limb(points) if self.b else self._ball(points)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the corners of a box around the part."""
        ends = np.array([self.a, self.b or self.a])
        return ends.min(axis=0) - max(self.radii), ends.max(axis=0) + max(self.radii)

    def mirrored(self) -> Part:
        """Returns the same part on the other side of the body; '.L' in the bone's name becomes '.R'."""
        flip = lambda p: (-p[0], p[1], p[2])  # noqa: E731
        return Part(
            flip(self.a),
            flip(self.b) if self.b else None,
            self.radii,
            self.bone.replace(".L", ".R"),
            self.colour,
            self.tilt,
        )

    def _ball(self, points: np.ndarray) -> np.ndarray:
        cos, sin = np.cos(self.tilt), np.sin(self.tilt)
        x, y, z = (points - np.array(self.a)).T
        local = np.stack([x, cos * y + sin * z, -sin * y + cos * z], axis=1)
        radii = np.array(self.radii)
        k0 = np.linalg.norm(local / radii, axis=1)
        k1 = np.linalg.norm(local / radii**2, axis=1)
        return k0 * (k0 - 1.0) / np.maximum(k1, 1e-9)

    def _limb(self, points: np.ndarray) -> np.ndarray:
        a, b = np.array(self.a), np.array(self.b)
        along = b - a
        t = np.clip((points - a) @ along / (along @ along), 0.0, 1.0)
        nearest = a + t[:, None] * along
        return np.linalg.norm(points - nearest, axis=1) - (self.radii[0] + t * (self.radii[1] - self.radii[0]))


def both_sides(part: Part) -> list[Part]:
    """Returns a part and its mirror image."""
    return [part, part.mirrored()]


def field(parts: list[Part], points: np.ndarray, softness: float) -> np.ndarray:
    """Returns the smooth union of all parts at `points`, shape [p]; negative inside."""
    distances = np.stack([part.distance(points) for part in parts])
    least = distances.min(axis=0)
    return least - softness * np.log(np.exp((least - distances) / softness).sum(axis=0))


def mesh(parts: list[Part], cell: float, softness: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns vertices [n,3] and quads [q,4] of the closed surface f = 0, oriented outwards."""
    parts = [part for part in parts if part.solid]
    reach = np.array([part.bounds() for part in parts])
    low = reach[:, 0].min(axis=0) - 3.0 * cell - 2.0 * softness
    high = reach[:, 1].max(axis=0) + 3.0 * cell + 2.0 * softness
    # The grid straddles x = 0, so that a symmetric figure gets a symmetric mesh.
    half = int(np.ceil(max(-low[0], high[0]) / cell))
    axes = [
        (np.arange(2 * half) - half + 0.5) * cell,
        np.arange(low[1], high[1], cell),
        np.arange(low[2], high[2], cell),
    ]
    return net(lambda points: field(parts, points, softness), axes, cell)


def net(function: Function, axes: list[np.ndarray], cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns vertices [n,3] and quads [q,4] of the closed surface on which a function of points is zero.

    The function is negative inside. `axes`: coordinates of the grid lines, whose steps are `cell` or, for a finer mesh, less.
    """
    values = _grid_values(function, axes)
    vertices, quads = _surface_net(values)
    _require_closed(quads, cell)
    vertices = np.stack([np.interp(v, np.arange(len(axis)), axis) for v, axis in zip(vertices.T, axes, strict=True)], 1)
    return _relax(vertices, quads, function, cell), quads


def _grid_values(function: Function, axes: list[np.ndarray]) -> np.ndarray:
    """Returns the function at the points of a grid; where a block of cells is far from its zeros, its value at a corner instead.

    The function changes by less than twice the way.
    """
    knots = [np.append(np.arange(0, len(axis) - 1, BLOCK), len(axis) - 1) for axis in axes]
    coarse = function(_grid([axis[knot] for axis, knot in zip(axes, knots, strict=True)]))
    coarse = coarse.reshape([len(knot) for knot in knots])
    a, b, c = coarse.shape
    corners = np.stack([coarse[i : a - 1 + i, j : b - 1 + j, k : c - 1 + k] for i, j, k in np.ndindex(2, 2, 2)])
    # No point of a block is farther from all of its corners than half its diagonal.
    diagonal = np.linalg.norm([np.diff(axis[knot]).max() for axis, knot in zip(axes, knots, strict=True)])
    near = (corners.min(axis=0) < diagonal) & (corners.max(axis=0) > -diagonal)
    # Of each grid line: the blocks before and after it, two different ones at a block's border.
    sides = []
    for axis, knot in zip(axes, knots, strict=True):
        line = np.arange(len(axis))
        ends = [np.searchsorted(knot, line, side) - 1 for side in ("left", "right")]
        sides.append([np.clip(end, 0, len(knot) - 2) for end in ends])
    values = corners[0][np.ix_(*[side[1] for side in sides])]
    wanted = np.zeros(values.shape, bool)
    for i, j, k in np.ndindex(2, 2, 2):
        wanted |= near[np.ix_(sides[0][i], sides[1][j], sides[2][k])]
    at = [axis[index] for axis, index in zip(axes, np.nonzero(wanted), strict=True)]
    values[wanted] = function(np.stack(at, axis=1))
    return values


def _grid(axes: list[np.ndarray]) -> np.ndarray:
    """Returns the points of a grid, [p,3]."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _require_closed(quads: np.ndarray, cell: float) -> None:
    """Raises ValueError unless every edge is used once in each direction: a fold thinner than a cell violates that."""
    edges = np.concatenate([quads[:, [i, (i + 1) % 4]] for i in range(4)])
    forward, count = np.unique(edges, axis=0, return_counts=True)
    if (count > 1).any() or not np.array_equal(forward, np.unique(edges[:, ::-1], axis=0)):
        raise ValueError(f"A fold of the figure is thinner than its cells of {cell} m: take another cell size.")


def _surface_net(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the vertices and quads of the surface net of grid values, in units of cells."""
    shape = np.array(values.shape) - 1
    corners = np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)])
    at = [values[i : i + shape[0], j : j + shape[1], k : k + shape[2]].ravel() for i, j, k in corners]
    inside = np.stack(at) < 0.0
    mixed = np.flatnonzero(inside.any(axis=0) & ~inside.all(axis=0))
    at = np.stack(at)[:, mixed]
    total, count = np.zeros((len(mixed), 3)), np.zeros(len(mixed))
    for p in range(8):
        for axis in range(3):
            if corners[p, axis]:
                continue
            q = p + (1, 2, 4)[axis]
            crossed = (at[p] < 0.0) != (at[q] < 0.0)
            t = at[p, crossed] / (at[p, crossed] - at[q, crossed])
            total[crossed] += corners[p] + t[:, None] * (corners[q] - corners[p])
            count[crossed] += 1.0
    vertices = np.stack(np.unravel_index(mixed, shape), axis=1) + total / count[:, None]
    number = np.full(shape.prod(), -1)
    number[mixed] = np.arange(len(mixed))
    number = number.reshape(shape)
    return vertices, np.concatenate([_quads(values, number, axis) for axis in range(3)])


def _quads(values: np.ndarray, number: np.ndarray, axis: int) -> np.ndarray:
    """Returns one quad for every grid edge along `axis` that crosses the surface, between its four cells."""
    v, n = np.moveaxis(values, axis, 0), np.moveaxis(number, axis, 0)
    # An even permutation of axes keeps the winding; (1, 0, 2) is odd.
    odd = axis == 1
    start, end = v[:-1, 1:-1, 1:-1] < 0.0, v[1:, 1:-1, 1:-1] < 0.0
    i, j, k = np.nonzero(start != end)
    ring = np.stack([n[i, j, k], n[i, j + 1, k], n[i, j + 1, k + 1], n[i, j, k + 1]], axis=1)
    backwards = start[i, j, k] == odd
    ring[backwards] = ring[backwards][:, ::-1]
    return ring


def _relax(vertices: np.ndarray, quads: np.ndarray, function: Function, cell: float) -> np.ndarray:
    pairs = np.concatenate([quads[:, [i, (i + 1) % 4]] for i in range(4)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    degree = np.bincount(pairs.ravel(), minlength=len(vertices))[:, None]
    for _ in range(4):
        total = np.zeros_like(vertices)
        np.add.at(total, pairs[:, 0], vertices[pairs[:, 1]])
        np.add.at(total, pairs[:, 1], vertices[pairs[:, 0]])
        vertices = 0.4 * vertices + 0.6 * total / degree
        vertices = _project(vertices, function, cell)
    return vertices


def _project(vertices: np.ndarray, function: Function, cell: float) -> np.ndarray:
    """Returns the vertices after one Newton step onto f = 0 along its gradient."""
    h = 0.05 * cell
    value = function(vertices)
    gradient = np.stack(
        [(function(vertices + step) - function(vertices - step)) / (2 * h) for step in np.eye(3) * h], axis=1
    )
    slope = np.maximum((gradient**2).sum(axis=1), 0.05)
    move = -(value / slope)[:, None] * gradient
    length = np.linalg.norm(move, axis=1, keepdims=True)
    return vertices + move * np.minimum(1.0, 0.5 * cell / np.maximum(length, 1e-12))

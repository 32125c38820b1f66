# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices that a moving surface carries along: small parts (eyes, teeth, buttons), clothes, doubled vertices that sculpts part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import sculpts
from .layers import components

#: Parts that move by themselves: least share of the largest one's area, least distance from it as a part of the size, largest
#: number.
MIN_AREA_SHARE, MIN_PART_DISTANCE, MAX_LEADING_PARTS = 0.25, 0.03, 6
#: Size, as a part of the body's, below which a carried part keeps its shape. For a person 16 cm: eyes, teeth, buttons.
MAX_RIGID_SIZE = 0.08
#: Number of parts in excess of those with doubles welded at which the sculpts count as tearing the mesh.
MIN_TORN_PARTS = 4
#: Points of a part for which distances are measured. Their median is that of all to a sixteenth, counted in ranks.
MAX_DISTANCE_SAMPLES = 64


@dataclass(frozen=True)
class CarriedVertices:
    """Vertices of the mesh that ride on points of the core."""

    vertices: np.ndarray  # int64[r]
    corners: np.ndarray  # int64[r, 3] the points beneath each
    shares: np.ndarray  # float64[r, 3]
    group: np.ndarray  # int64[r] vertices with one number move as one
    parted_count: int  # number of doubled vertices that sculpts part, the last ones

    def carry(self, displacements: np.ndarray) -> np.ndarray:
        """Returns the displacements [..., r, 3] of the vertices for displacements [..., m, 3] of the points."""
        each = (self.shares[:, :, None] * displacements[..., self.corners, :]).sum(axis=-2)
        return sculpts.means(each, self.group)[..., self.group, :]


def parts(triangles: np.ndarray, count: int) -> np.ndarray:
    """Returns for each of `count` points the connected part of the triangles that it is in, numbered from 0."""
    return components(count, triangles[:, [0, 1, 1, 2]].reshape(-1, 2))


def leading_triangles(points: np.ndarray, triangles: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Returns whether each triangle moves by itself, bool[t]: in the largest part, or another large one that stands apart."""
    area = np.bincount(label[triangles[:, 0]], sculpts.areas(points, triangles)[1])
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    chosen: list[int] = []
    for part in np.argsort(-area, kind="stable"):
        if len(chosen) == MAX_LEADING_PARTS or (chosen and area[part] < MIN_AREA_SHARE * area[chosen[0]]):
            break
        if chosen:
            own, others = points[label == part], points[np.isin(label, chosen)]
            asked = own[:: max(1, len(own) // MAX_DISTANCE_SAMPLES)]
            near = [np.linalg.norm(others - x, axis=1).min() for x in asked]
            if np.median(near) < MIN_PART_DISTANCE * size:
                continue
        chosen.append(int(part))
    return np.isin(label[triangles[:, 0]], chosen)


def split_riders(
    thew: Any, shapes: np.ndarray, triangles: np.ndarray, size: float
) -> tuple[sculpts.WeldedSurface, CarriedVertices | None]:
    """Returns the surface that moves by itself, and the vertices that ride on it.

    `shapes` [k, n, 3], the basis first. Doubled vertices that a shape parts stay apart, unless the mesh would fall to pieces.
    """
    welded, torn = sculpts.weld(shapes, triangles, size), False
    if not len(welded.triangles):
        return welded, None
    label = parts(welded.triangles, len(welded.first))
    if label.max() >= MIN_TORN_PARTS:
        whole = sculpts.weld(shapes[:1], triangles, size)
        other = parts(whole.triangles, len(whole.first))
        if label.max() > other.max() + MIN_TORN_PARTS:
            welded, label, torn = whole, other, True
    basis = shapes[0].astype(np.float64)
    own = welded.with_triangles(leading_triangles(welded.gather(basis), welded.triangles, label))
    small = np.flatnonzero((welded.point >= 0) & (own.point < 0))
    riders = _place_on_surface(thew, own.gather(basis), own.triangles, small, basis[small], label[welded.point[small]])
    if torn:
        apart = np.abs(shapes - own.vertex_values(own.gather(shapes))).max(axis=(0, 2)) > sculpts.WELD_TOLERANCE * size
        riders = _add_doubles(riders, np.flatnonzero(apart & (own.point >= 0)), own.point)
    return own, riders if len(riders.vertices) else None


def _add_doubles(riders: CarriedVertices, parted: np.ndarray, point: np.ndarray) -> CarriedVertices:
    """Adds doubled vertices `parted` [p], which ride on their own points, each for itself."""
    count = len(parted)
    return CarriedVertices(
        np.concatenate([riders.vertices, parted]),
        np.concatenate([riders.corners, np.repeat(point[parted, None], 3, axis=1)]),
        np.concatenate([riders.shares, np.tile([1.0, 0.0, 0.0], (count, 1))]),
        np.concatenate([riders.group, riders.group.max(initial=-1) + 1 + np.arange(count)]),
        count,
    )


def _place_on_surface(
    thew: Any, points: np.ndarray, triangles: np.ndarray, riders: np.ndarray, places: np.ndarray, part: np.ndarray
) -> CarriedVertices:
    """Places vertices `riders` [r] at `places` [r, 3], of parts `part` [r], on the nearest points of a surface."""
    if not len(riders):
        none = np.empty(0, dtype=np.int64)
        return CarriedVertices(none, np.empty((0, 3), dtype=np.int64), np.empty((0, 3)), none, 0)
    _, _, nearest, shares = thew.closest_points(points, triangles, places)
    nearest, shares = np.asarray(nearest, dtype=np.int64), np.asarray(shares, dtype=np.float64)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    group = np.empty(len(riders), dtype=np.int64)
    number = 0
    for each in np.unique(part):
        own = np.flatnonzero(part == each)
        if np.linalg.norm(np.ptp(places[own], axis=0)) < MAX_RIGID_SIZE * size:
            group[own] = number
            number += 1
        else:
            group[own] = number + np.arange(len(own))
            number += len(own)
    return CarriedVertices(riders, triangles[nearest].astype(np.int64), shares, group, 0)

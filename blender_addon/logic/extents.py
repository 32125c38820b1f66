# SPDX-License-Identifier: GPL-3.0-or-later
"""The size of a character of several meshes: without props far away, and without surroundings."""

from __future__ import annotations

import numpy as np

from .errors import Refusal

#: Largest valid coordinate: a volume of its cube, 1e45, does not fit into single precision, in which Blender works.
MAX_COORDINATE = 1e15

Box = tuple[np.ndarray, np.ndarray]

#: Distance from the body, as a part of its own size, within which a mesh belongs to it. The same as in the core, where half and
#: twice of it were tried (`src/body/anatomy/skin.rs`).
MAX_MESH_DISTANCE = 0.5
#: Size, over that of all bones together, beyond which a mesh is ground, sky or a cage. The same as in the core.
MIN_SURROUNDING_SIZE = 4.0
#: Least number of bones that define a body's size. The same as in the core: two may be a prop's.
MIN_SIZING_BONES = 3


def box(points: np.ndarray) -> Box:
    """Returns the smallest and largest coordinates of points [n, 3]; an inverted infinite box without points or with non-finite
    ones.
    """
    points = np.asarray(points, dtype=np.float64)
    if not len(points) or not np.isfinite(points).all():
        return np.full(3, np.inf), np.full(3, -np.inf)
    return points.min(axis=0), points.max(axis=0)


def whole_box(own: Box, others: list[Box], bones: np.ndarray) -> Box:
    """Returns the box of a body whose skin fills `own`, with those of other meshes on its skeleton that belong to it.

    `bones` [2 b, 3]: the ends of all bones.
    """
    low, high = own
    most = np.inf
    if len(bones) >= 2 * MIN_SIZING_BONES:
        most = MIN_SURROUNDING_SIZE * max(np.linalg.norm(np.ptp(bones, axis=0)), np.linalg.norm(high - low))
    rest = [other for other in others if np.isfinite(other[0]).all() and np.linalg.norm(other[1] - other[0]) <= most]
    while rest:
        reach = MAX_MESH_DISTANCE * np.linalg.norm(high - low)
        near = [b for b in rest if np.linalg.norm(np.maximum(np.maximum(b[0] - high, low - b[1]), 0.0)) <= reach]
        if not near:
            break
        rest = [b for b in rest if not any(b is other for other in near)]
        low = np.min([low, *(b[0] for b in near)], axis=0)
        high = np.max([high, *(b[1] for b in near)], axis=0)
    return low, high


def is_out_of_range(points: np.ndarray) -> np.ndarray:
    """Returns which points [n, 3] have no valid place, bool[n]."""
    return ~np.isfinite(points).all(axis=1) | (np.abs(points) > MAX_COORDINATE).any(axis=1)


def check_coordinates(points: np.ndarray, what: str) -> None:
    """Refuses vertices [n, 3] without a valid place; `what`: their mesh in the sentence."""
    bad = np.flatnonzero(is_out_of_range(points))
    if len(bad):
        raise Refusal(
            f"Vertex {bad[0]} of {what} has a position that is not a number: repair or delete it in edit mode"
        )


def triangle_edges(triangles: np.ndarray) -> np.ndarray:
    """Returns the three edges of each triangle [t, 3], the lower corner first: first all first ones, int[3 t, 2]."""
    return np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)

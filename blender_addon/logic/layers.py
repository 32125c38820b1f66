# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers over the skin: each vertex of a garment moves with the skin below it, small hard pieces as one.

The offset of the nearest point of the skin is added to the vertex, so that their distance stays. The lattice itself, continued
outwards, would sway farther than the skin, which follows the flesh. It would bend eyes, teeth and buttons: a piece that is small
and carried as one takes the mean of its vertices' offsets. A larger one that one bone carries and that stands off the skin, a sword
or a hat, takes the mean over its vertices nearest to the skin. Farther out, as in a skirt, neighbours may lie over different limbs:
there the offsets are smoothed over the layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Largest size of a hard piece, as a part of the body's. Two decimetres of a person: eyes, buckles, buttons.
MAX_PIECE_SIZE = 0.1
#: Distances from the skin, as parts of the body's size: layers are smoothed from the first on, fully from the second.
SMOOTHING_START, FULL_SMOOTHING = 0.02, 0.06
#: Rounds of smoothing, each over one more neighbour. They reach √(12 · 0.5) = 2.4 edges.
SMOOTHING_ROUNDS = 12


@dataclass(frozen=True)
class LooseVertices:
    """Vertices of a layer that lie far from the skin, and their neighbours."""

    vertices: np.ndarray  # int [k]
    share: np.ndarray  # float32 [k, 1] blend towards the neighbours' mean, 0 to 1
    neighbours: np.ndarray  # int [l], those of the first, of the second, ...
    starts: np.ndarray  # int [k] start of each one's neighbours

    @staticmethod
    def from_edges(far: np.ndarray, edges: np.ndarray) -> LooseVertices:
        """Builds the far vertices; `far` [m]: 0 for vertices that stay as they are, 1 for fully smoothed ones; `edges` [e, 2]."""
        both = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64)
        both = both[far[both[:, 0]] > 0.0]
        both = both[np.argsort(both[:, 0], kind="stable")]
        vertices, starts = np.unique(both[:, 0], return_index=True)
        return LooseVertices(vertices, far[vertices, None].astype(np.float32), both[:, 1], starts)

    def smooth(self, offsets: np.ndarray) -> None:
        """Smooths `offsets` float32[m, 3] in place."""
        if not len(self.vertices):
            return
        count = np.diff(self.starts, append=len(self.neighbours))[:, None].astype(np.float32)
        for _ in range(SMOOTHING_ROUNDS):
            here = offsets[self.vertices]
            mean = np.add.reduceat(offsets[self.neighbours], self.starts, axis=0) / count
            offsets[self.vertices] = here + 0.5 * self.share * (mean - here)


@dataclass(frozen=True)
class SkinLayer:
    """Places of a mesh's vertices over the skin."""

    corners: np.ndarray  # int [m, 3] vertices of the skin
    shares: np.ndarray  # float32 [m, 3]
    pieces: np.ndarray  # int [m]: the hard piece of each vertex, from 0; -1 for soft ones
    grip: np.ndarray  # [m] weight of each vertex in the mean of its hard piece
    distance: np.ndarray  # [m] to the skin at rest
    loose: LooseVertices  # the vertices that are smoothed

    def offsets(self, skin: np.ndarray) -> np.ndarray:
        """Returns the offsets of the layer, float32[m, 3], for offsets `skin` [n, 3] of the skin; any space."""
        offsets = np.einsum("mi,mij->mj", self.shares, np.asarray(skin, dtype=np.float32)[self.corners])
        self.loose.smooth(offsets)
        hard = self.pieces >= 0
        if hard.any():
            piece, grip = self.pieces[hard], self.grip[hard]
            count = np.bincount(piece, grip)
            for axis in range(3):
                offsets[hard, axis] = (np.bincount(piece, grip * offsets[hard, axis]) / count)[piece]
        return offsets


def layer(surface, points: np.ndarray, edges: np.ndarray, weights: np.ndarray | None) -> SkinLayer:
    """Builds the layer of `points` [m, 3] over a native surface at rest; `edges` [e, 2] of their mesh join them to pieces.

    `weights` [m, b]: of the bones; None: nothing deforms the mesh.
    """
    nearest, distance, faces = surface.closest_point(points)
    vertices, triangles = np.asarray(surface.vertices), np.asarray(surface.triangles)
    corners = triangles[np.asarray(faces)]
    shares = barycentric(nearest, *(vertices[corners[:, i]] for i in range(3)))
    shares = np.clip(shares, 0.0, 1.0)
    shares = (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)
    distance, size = np.asarray(distance), float(surface.size)
    pieces = hard_pieces(points, edges, weights, MAX_PIECE_SIZE * size, distance > SMOOTHING_START * size)
    grip = piece_weights(points, pieces, distance, MAX_PIECE_SIZE * size, SMOOTHING_START * size)
    far = np.clip((distance / size - SMOOTHING_START) / (FULL_SMOOTHING - SMOOTHING_START), 0.0, 1.0)
    return SkinLayer(corners, shares, pieces, grip, distance, LooseVertices.from_edges(far, edges))


def barycentric(points: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Returns the barycentric coordinates [m, 3] of points [m, 3] in triangles with corners [m, 3]."""
    normal = np.cross(b - a, c - a)
    area = np.einsum("ti,ti->t", normal, normal)
    of_a = np.einsum("ti,ti->t", np.cross(c - b, points - b), normal) / area
    of_b = np.einsum("ti,ti->t", np.cross(a - c, points - c), normal) / area
    return np.stack([of_a, of_b, 1.0 - of_a - of_b], axis=1)


def hard_pieces(
    points: np.ndarray, edges: np.ndarray, weights: np.ndarray | None, longest: float, off: np.ndarray | None = None
) -> np.ndarray:
    """Returns the number of the hard piece of each point, int[m], from 0; -1 for points of larger or bent pieces.

    `off` bool[m]: points that stand off the skin; larger pieces mostly of these are hard too, if one bone carries them.
    """
    piece = components(len(points), edges)
    count = int(piece.max(initial=-1)) + 1
    stiff = np.linalg.norm(piece_ranges(points, piece, count), axis=1) <= longest
    if weights is not None:
        if off is not None:
            stiff |= np.bincount(piece, off, minlength=count) > 0.5 * np.bincount(piece, minlength=count)
        stiff &= piece_ranges(weights, piece, count).max(axis=1, initial=0.0) <= WEIGHT_TOLERANCE
    number = np.where(stiff, np.cumsum(stiff) - 1, -1)
    return number[piece]


def piece_ranges(values: np.ndarray, piece: np.ndarray, count: int) -> np.ndarray:
    """Returns the range of values [m, k] in each of `count` pieces, [count, k]."""
    low, high = np.full((2, count, values.shape[1]), np.array([np.inf, -np.inf])[:, None, None])
    np.minimum.at(low, piece, values)
    np.maximum.at(high, piece, values)
    return high - low


def piece_weights(
    points: np.ndarray, pieces: np.ndarray, distance: np.ndarray, longest: float, near: float
) -> np.ndarray:
    """Returns the weight of each vertex in the mean of its hard piece, [m].

    All are equal in small pieces. In pieces longer than `longest` the weight falls to 0 at `near` beyond the least distance from
    the skin.
    """
    grip, hard = np.ones(len(points)), pieces >= 0
    if not hard.any():
        return grip
    piece, count = pieces[hard], int(pieces.max()) + 1
    large = np.linalg.norm(piece_ranges(points[hard], piece, count), axis=1) > longest
    least = np.full(count, np.inf)
    np.minimum.at(least, piece, distance[hard])
    close = np.clip(1.0 - (distance[hard] - least[piece]) / near, 0.0, 1.0)
    grip[hard] = np.where(large[piece], close, 1.0)
    return grip


#: Largest difference of weights in a piece that is carried as one.
WEIGHT_TOLERANCE = 1e-3


def components(count: int, edges: np.ndarray) -> np.ndarray:
    """Returns the connected piece of each of `count` vertices, numbered from 0, int[count]; `edges` int[e, 2]."""
    label = np.arange(count)
    one, other = np.asarray(edges, dtype=np.int64).reshape(-1, 2).T
    while True:
        least = np.minimum(label[one], label[other])
        new = label.copy()
        np.minimum.at(new, label[one], least)
        np.minimum.at(new, label[other], least)
        new = new[new]
        if np.array_equal(new, label):
            return np.unique(label, return_inverse=True)[1].reshape(-1)
        label = new

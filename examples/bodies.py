# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the figures measure and show of a tetrahedral body: interpolation, strain, lengths, colours. Needs numpy only."""

from __future__ import annotations

import numpy as np


def gradients(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Gradients [e,4,3] of the linear shape functions."""
    edges = np.swapaxes(vertices[tets[:, 1:]] - vertices[tets[:, :1]], 1, 2)
    inner = np.linalg.inv(edges)
    return np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1)


def nodal_mass(vertices: np.ndarray, tets: np.ndarray, density: float) -> np.ndarray:
    """A quarter of each element's mass at each of its corners, [k]."""
    volume = np.linalg.det(vertices[tets[:, 1:]] - vertices[tets[:, :1]]) / 6.0
    return np.bincount(np.asarray(tets).ravel(), np.repeat(density * volume / 4.0, 4), len(vertices))


def rotation(w: np.ndarray) -> np.ndarray:
    """exp [w]ₓ of one rotation vector."""
    angle = float(np.linalg.norm(w))
    if angle < 1e-12:
        return np.eye(3)
    axis = np.cross(np.eye(3), w / angle)
    return np.eye(3) + np.sin(angle) * axis + (1.0 - np.cos(angle)) * axis @ axis


def rotation_vector(matrix: np.ndarray) -> np.ndarray:
    """The rotation vector, shorter than half a turn, of a rotation matrix."""
    skew = 0.5 * np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    sine, cosine = float(np.linalg.norm(skew)), 0.5 * (np.trace(matrix) - 1.0)
    return skew if sine < 1e-12 else skew / sine * np.arctan2(sine, cosine)


class Carrier:
    """Carries points along with tetrahedra: barycentric weights in the tetrahedron that holds a point, or nearly."""

    def __init__(self, vertices: np.ndarray, tets: np.ndarray, points: np.ndarray) -> None:
        slope, tets = gradients(vertices, tets), np.asarray(tets)
        origin = vertices[tets[:, 0]]
        self.corners, self.weights = np.zeros((len(points), 4), int), np.zeros((len(points), 4))
        for chunk in np.array_split(np.arange(len(points)), max(1, len(points) * len(tets) // 2_000_000)):
            weights = np.einsum("eai,pei->pea", slope, points[chunk][:, None] - origin)
            weights[:, :, 0] += 1.0
            best = weights.min(axis=2).argmax(axis=1)
            self.corners[chunk] = tets[best]
            self.weights[chunk] = weights[np.arange(len(chunk)), best]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Values at the nodes [k,...], interpolated at the points."""
        return np.einsum("pa,pa...->p...", self.weights, values[self.corners])


def strain(vertices: np.ndarray, tets: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Norm of Green's strain, ½(FᵀF − 1), the mean over the elements at each node [k]: zero for any rigid motion."""
    f = np.eye(3) + np.einsum("eai,eaj->eij", u[tets], gradients(vertices, tets))
    green = 0.5 * (np.swapaxes(f, 1, 2) @ f - np.eye(3))
    norm = np.sqrt((green**2).sum(axis=(1, 2)))
    corners = np.asarray(tets).ravel()
    return np.bincount(corners, np.repeat(norm, 4), len(vertices)) / np.bincount(corners, minlength=len(vertices))


def ramp(t: np.ndarray) -> np.ndarray:
    """Colours, linear: calm blue-green at 0, sand in the middle, red at 1 and above."""
    stops = np.array(
        [[0.16, 0.55, 0.62], [0.55, 0.75, 0.62], [0.97, 0.86, 0.52], [0.93, 0.52, 0.25], [0.75, 0.13, 0.14]]
    )
    at = np.linspace(0.0, 1.0, len(stops))
    return np.stack([np.interp(t, at, channel) for channel in stops.T], axis=-1) ** 2.2


def nodes_on_line(vertices: np.ndarray, point: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The nodes on a line, in order along it."""
    offset = vertices - point
    along = offset @ direction
    near = np.linalg.norm(offset - along[:, None] * direction, axis=1) < 1e-9
    found = np.flatnonzero(near)
    return found[np.argsort(along[found])]


def length(points: np.ndarray) -> float:
    """Of a polyline."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the programs of this folder are about, made from numbers: an arm around two bones, and its poses."""

from dataclasses import dataclass

import numpy as np
import thew
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ELBOW = np.array([0.5, 0.0, 0.0])


@dataclass
class Arm:
    """A closed tube along x, 1 m long and 0.2 m thick, with rounded ends, and two bones of half a metre."""

    vertices: Floats
    triangles: NDArray[np.int64]
    weights: Floats
    names: list[str]
    parents: list[int]
    heads: Floats
    tails: Floats


def arm(along: int = 30, around: int = 20) -> Arm:
    """Vertices [along · around + 2, 3] in metres; weights [n, 2] pass from bone to bone over the elbow's 0.2 m."""
    turn = np.linspace(0.0, np.pi, along + 2)[1:-1]
    x, radius = 0.5 - 0.6 * np.cos(turn), 0.1 * np.sin(turn) ** 0.3
    angle = 2.0 * np.pi * np.arange(around) / around
    rings = np.stack(
        np.broadcast_arrays(x[:, None], np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))), 2
    )
    vertices = np.concatenate([rings.reshape(-1, 3), [[-0.1, 0.0, 0.0], [1.1, 0.0, 0.0]]])
    i, j = (index.ravel() for index in np.indices((along - 1, around)))
    k = (j + 1) % around
    first, last, j0, k0 = along * around, along * around + 1, np.arange(around), (np.arange(around) + 1) % around
    corners = [
        (i * around + j, i * around + k, (i + 1) * around + k),
        (i * around + j, (i + 1) * around + k, (i + 1) * around + j),
        (np.full(around, first), k0, j0),
        (np.full(around, last), j0 + (along - 1) * around, k0 + (along - 1) * around),
    ]
    lower = np.clip((vertices[:, 0] - 0.4) / 0.2, 0.0, 1.0)
    heads = np.array([[0.0, 0.0, 0.0], ELBOW])
    return Arm(
        vertices,
        np.concatenate([np.stack(three, axis=1) for three in corners]),
        np.stack([1.0 - lower, lower], axis=1),
        ["upper", "lower"],
        [-1, 0],
        heads,
        heads + ELBOW,
    )


def bent_poses(angles: Floats) -> Floats:
    """Poses [f,2,4,4]: the lower bone turned about y at the elbow by angles [f], radians; positive lowers the hand."""
    poses = np.tile(np.eye(4), (len(angles), 2, 1, 1))
    c, s, o = np.cos(angles), np.sin(angles), np.zeros(len(angles))
    poses[:, 1, :3, :3] = np.stack([c, o, s, o, o + 1.0, o, -s, o, c], axis=1).reshape(-1, 3, 3)
    poses[:, 1, :3, 3] = ELBOW - poses[:, 1, :3, :3] @ ELBOW
    return poses


def body(softness: float = 0.5, cells_across: float = 8.0) -> thew.Body:
    """The arm with flesh; `swinging_arm.py` goes through the same steps one by one."""
    a = arm()
    surface, skeleton = thew.Surface(a.vertices, a.triangles), thew.Skeleton(a.names, a.parents, a.heads, a.tails)
    lattice = thew.Lattice.enclose(surface, skeleton, a.weights, cells_across)
    return thew.Body(surface, skeleton, lattice, thew.Material(), a.weights, softness=softness)

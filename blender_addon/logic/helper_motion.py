# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion of helper bones as the channels of Blender's pose bones, and back; and the skin that they move.

A bone's pose B maps the armature's space from rest to posed. With the rest matrix R of a helper bone and the pose of its parent,
its channels are the location, rotation and scale of `R^-1 B_parent^-1 B R`: the motion relative to the parent, in the bone's axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .spaces import normalise_rows


@dataclass(frozen=True)
class Channels:
    """Channels of helper bones over one clip, in single precision as curves keep them."""

    location: np.ndarray  # [f, N, 3]
    rotation: np.ndarray  # [f, N, 4] quaternions, w first, without changes of sign
    scale: np.ndarray  # [f, N, 3]


def channels_of(rest: np.ndarray, parents: np.ndarray, poses: np.ndarray) -> Channels:
    """Returns the channels of helper bones: rest matrices `rest` [N, 4, 4], poses of the parents and their own [f, N, 4, 4]."""
    local = np.linalg.inv(rest) @ np.linalg.inv(parents) @ poses @ rest
    scale = np.linalg.norm(local[..., :3, :3], axis=-2)
    rotation = continuous(quaternions(local[..., :3, :3] / scale[..., None, :]))
    return Channels(*(each.astype(np.float32) for each in (local[..., :3, 3], rotation, scale)))


def poses_of(rest: np.ndarray, parents: np.ndarray, channels: Channels) -> np.ndarray:
    """Returns the poses of helper bones with these channels, [f, N, 4, 4]: the inverse of `channels_of`."""
    rotation = channels.rotation.astype(np.float64)
    local = np.zeros(parents.shape)
    local[..., :3, :3] = matrices(rotation) * channels.scale[..., None, :].astype(np.float64)
    local[..., :3, 3], local[..., 3, 3] = channels.location, 1.0
    return parents @ rest @ local @ np.linalg.inv(rest)


def quaternions(turns: np.ndarray) -> np.ndarray:
    """Returns unit quaternions [..., 4], w first, of rotation matrices [..., 3, 3], from the largest of the four components."""
    x, y, z = (turns[..., i, i] for i in range(3))
    squares = np.stack([1.0 + x + y + z, 1.0 + x - y - z, 1.0 - x + y - z, 1.0 - x - y + z], axis=-1)  # of twice each
    largest = squares.argmax(axis=-1)
    skew = [
        turns[..., 2, 1] - turns[..., 1, 2],
        turns[..., 0, 2] - turns[..., 2, 0],
        turns[..., 1, 0] - turns[..., 0, 1],
    ]
    mixed = [
        turns[..., 1, 0] + turns[..., 0, 1],
        turns[..., 0, 2] + turns[..., 2, 0],
        turns[..., 2, 1] + turns[..., 1, 2],
    ]
    rows = [
        (squares[..., 0], skew[0], skew[1], skew[2]),
        (skew[0], squares[..., 1], mixed[0], mixed[1]),
        (skew[1], mixed[0], squares[..., 2], mixed[2]),
        (skew[2], mixed[1], mixed[2], squares[..., 3]),
    ]
    every = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    found = np.take_along_axis(every, largest[..., None, None], axis=-2)[..., 0, :]
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def matrices(rotations: np.ndarray) -> np.ndarray:
    """Returns the rotation matrices [..., 3, 3] of quaternions [..., 4], w first, of any length."""
    w, x, y, z = np.moveaxis(rotations / np.linalg.norm(rotations, axis=-1, keepdims=True), -1, 0)
    rows = [
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def continuous(rotations: np.ndarray) -> np.ndarray:
    """Returns quaternions [f, N, 4] of which each is nearer to the one before than its opposite is; the first ones have w >= 0."""
    found = rotations.copy()
    for f in range(len(found)):
        against = found[f, :, 0] < 0.0 if f == 0 else (found[f] * found[f - 1]).sum(axis=-1) < 0.0
        found[f][against] *= -1.0
    return found


def skinned(weights: np.ndarray, poses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns the points [n, 3] moved by the poses [b, 4, 4] blended by `weights` [n, b], which sum to 1 in each row."""
    blended = np.tensordot(weights, poses[:, :3, :], axes=(1, 0))
    return np.einsum("nij,nj->ni", blended[:, :, :3], points) + blended[:, :, 3]


def whole_weights(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns weights [n, b] that sum to 1 in every row: vertices without any take those of the nearest vertex that has some.

    Flesh carries such vertices along, so they need bones.
    """
    shares = normalise_rows(weights)
    bare = np.flatnonzero(shares.sum(axis=1) < 0.5)
    held = np.flatnonzero(shares.sum(axis=1) >= 0.5)
    for vertex in bare if len(held) else ():
        shares[vertex] = shares[held[np.linalg.norm(points[held] - points[vertex], axis=1).argmin()]]
    return shares


def pruned(weights: np.ndarray) -> np.ndarray:
    """Returns the columns of weights [n, b] that have any, as indices."""
    return np.flatnonzero((weights > 0.0).any(axis=0))


#: Bytes that a pose bone's name may take in every supported version of Blender.
MAX_NAME_BYTES = 63


def helper_names(parents: list[str], taken: set[str]) -> list[str]:
    """Returns free names of helper bones after their parents: `flesh.Spine.001`. Long names of parents are cut."""
    names, taken = [], set(taken)
    for parent in parents:
        number, name = 0, ""
        while not name or name in taken:
            number += 1
            end = f".{number:03d}"
            middle = parent.encode()[: MAX_NAME_BYTES - len("flesh.") - len(end)].decode(errors="ignore")
            name = f"flesh.{middle}{end}"
        taken.add(name)
        names.append(name)
    return names

# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds guide parameters of points (a guide maps parameters to a point), and carries frames at rest onto the posed body."""

from __future__ import annotations

import numpy as np


def zero_direction(along: np.ndarray) -> np.ndarray:
    """Returns the side of a bone (unit vector `along`) where a guide's angle is zero: the world's -Y, or +Z for bones along Y."""
    reference = np.array([0.0, -1.0, 0.0])
    if abs(along[1]) > np.cos(np.radians(30.0)):
        reference = np.array([0.0, 0.0, 1.0])
    out = reference - (reference @ along) * along
    return out / np.linalg.norm(out)


def bone_coordinates(point: np.ndarray, head: np.ndarray, tail: np.ndarray) -> tuple[float, float, float]:
    """Returns (along, angle, distance) of a point [3] at a bone: a share of its length, radians about head to tail, a length."""
    bone = tail - head
    length = np.linalg.norm(bone)
    if length <= 0.0:
        bone, length = np.array([0.0, 0.0, 1.0]), 1.0
    along = bone / length
    out = zero_direction(along)
    offset = np.asarray(point, dtype=np.float64) - head
    part = float(offset @ along)
    across = offset - part * along
    angle = float(np.arctan2(across @ np.cross(along, out), across @ out))
    return part / float(length), angle, float(np.linalg.norm(across))


def facing_frame(point: np.ndarray, towards: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
    """Returns the rigid frame [4, 4] at `point` whose Z looks along `towards` and whose X is nearest to `right`."""
    z = np.asarray(towards, dtype=np.float64) / np.linalg.norm(towards)
    x = np.eye(3)[int(np.abs(z).argmin())] if right is None else np.asarray(right, dtype=np.float64)
    x = x - (x @ z) * z
    if np.linalg.norm(x) < 1e-9:
        return facing_frame(point, towards)
    x /= np.linalg.norm(x)
    frame = np.eye(4)
    frame[:3, 0], frame[:3, 1], frame[:3, 2], frame[:3, 3] = x, np.cross(z, x), z, point
    return frame


def unpose_directions(vectors: np.ndarray, posed: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Returns directions [n, 3] at a posed triangle `posed` [3, 3], rotated back to the triangle at rest, [n, 3]."""
    turn = triangle_frame(rest) @ triangle_frame(posed).T
    return np.asarray(vectors) @ turn.T


def triangle_frame(corners: np.ndarray) -> np.ndarray:
    """Returns the columns first edge, across it, normal; a unit matrix where the triangle has no area."""
    edge, normal = corners[1] - corners[0], np.cross(corners[1] - corners[0], corners[2] - corners[0])
    if np.linalg.norm(edge) <= 0.0 or np.linalg.norm(normal) <= 0.0:
        return np.eye(3)
    x, z = edge / np.linalg.norm(edge), normal / np.linalg.norm(normal)
    return np.stack([x, np.cross(z, x), z], axis=1)


def carried_frame(frame: np.ndarray, weights: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Returns a rigid `frame` [4, 4] at rest, carried along by bones: weights [b], maps [b, 4, 4] -> [4, 4], rigid."""
    total = weights.sum()
    blended = np.eye(4) if total <= 0.0 else np.tensordot(weights / total, maps, axes=(0, 0))
    u, _, vt = np.linalg.svd(blended[:3, :3])
    turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
    posed = np.eye(4)
    posed[:3, :3] = turn @ frame[:3, :3]
    posed[:3, 3] = blended[:3, :3] @ frame[:3, 3] + blended[:3, 3]
    return posed


def ridden_frame(frame: np.ndarray, shares: np.ndarray, rest: np.ndarray, posed: np.ndarray) -> np.ndarray:
    """Returns a rigid `frame` [4, 4] at rest as it rides on a triangle: shares [3] of its corners, at rest and posed [3, 3]."""
    turn = triangle_frame(posed) @ triangle_frame(rest).T
    there = np.eye(4)
    there[:3, :3] = turn @ frame[:3, :3]
    there[:3, 3] = shares @ posed + turn @ (frame[:3, 3] - shares @ rest)
    return there

# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns of bones that bring points of the skin near clicked places and near planes, and no farther from the start than these ask for.

`Skeleton.fit_pose` of the core meets features exactly, whatever turns that takes. Clicks are off by a finger's width, and a few of them
leave twists open. So here each turn costs: minimised is `Σ w |r|² / (Σ w (s/10)²) + μ Σ |θ_b|²` with residuals r of points or along
normals, the size s, and the turn θ_b of each bone against the bone above since the start, by damped Gauss-Newton steps. The derivative of
a point by a bone's turn is `−W [p − head]ₓ`, W the weight of the bone and of all below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Steps of a fit, and the largest turn of a step, rad.
STEPS, MAX_TURN = 12, 0.5
#: Distance, in sizes, that counts as one.
UNIT = 0.1


@dataclass(frozen=True)
class Goals:
    """Goals of points of the skin."""

    points: np.ndarray  # [k, 3] at rest, metres
    weights: np.ndarray  # [k, b] of bones
    places: np.ndarray  # [k, 3] metres
    metrics: np.ndarray  # [k, 3, 3] weight of the distance from each place: w I of a point, about w n nᵀ of a plane


def fit_turns(skeleton: Any, goals: Goals, start: np.ndarray, size: float, cost: float) -> np.ndarray:
    """Returns the pose [b, 4, 4] near `start` that brings points near their goals; `cost`: μ."""
    parents, heads = np.asarray(skeleton.parents), np.asarray(skeleton.heads)
    below = subtrees(parents)
    shares = (
        goals.weights / np.maximum(goals.weights.sum(axis=1, keepdims=True), 1e-12) @ below.T
    )  # [k, b] of each bone and below
    scale = 1.0 / (np.trace(goals.metrics, axis1=1, axis2=2).sum() / 3.0 * (UNIT * size) ** 2)
    pose, turns = np.array(start), np.zeros((len(parents), 3))
    for _ in range(STEPS):
        shown = np.asarray(skeleton.skin(goals.points, goals.weights, pose))
        centres = np.einsum("bij,bj->bi", pose[:, :3, :3], heads) + pose[:, :3, 3]
        matrix, force = normal_equations(shown, goals, shares, centres)
        count = 3 * len(parents)
        own = np.arange(count)
        matrix *= scale
        force *= scale
        matrix[own, own] += cost
        force[:count] -= cost * turns.ravel()
        matrix[np.arange(len(matrix)), np.arange(len(matrix))] += 1e-9 * np.trace(matrix) / len(matrix)
        step = np.linalg.solve(matrix, force)
        step *= min(1.0, MAX_TURN / max(np.abs(step[:count]).max(), 1e-12))
        turns += step[:count].reshape(-1, 3)
        pose = turned(pose, step[:count].reshape(-1, 3), step[count:], below, heads)
    return pose


def subtrees(parents: np.ndarray) -> np.ndarray:
    """Returns whether bone j is bone i or hangs below it, float[b, b]."""
    found = np.eye(len(parents))
    for bone in range(len(parents)):
        above = parents[bone]
        while above >= 0:
            found[above, bone] = 1.0
            above = parents[above]
    return found


def normal_equations(
    shown: np.ndarray, goals: Goals, shares: np.ndarray, centres: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the matrix and the right-hand side of one step, for a turn [3] of each bone and a shift [3] of the whole."""
    arms = shares[:, :, None] * (shown[:, None] - centres)  # [k, b, 3]
    x, y, z = np.moveaxis(arms, 2, 0)
    zero = np.zeros_like(x)
    turning = np.stack(
        [np.stack(row, axis=-1) for row in ((zero, z, -y), (-z, zero, x), (y, -x, zero))], axis=2
    )  # [k, b, 3, 3]
    blocks = np.moveaxis(turning, 1, 2).reshape(len(shown), 3, -1)
    derivative = np.concatenate([blocks, np.broadcast_to(np.eye(3), (len(shown), 3, 3))], axis=2)  # [k, 3, 3 b + 3]
    weighed = np.einsum("kij,kjn->kin", goals.metrics, derivative)
    missing = goals.places - shown
    return np.einsum("kim,kin->mn", derivative, weighed), np.einsum("kin,ki->n", weighed, missing)


def turned(pose: np.ndarray, turns: np.ndarray, shift: np.ndarray, below: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Returns a pose with each bone turned by a rotation vector [b, 3] about its head, with all below it, and the whole shifted."""
    pose = pose.copy()
    for bone, turn in enumerate(turns):
        angle = float(np.linalg.norm(turn))
        if angle < 1e-12:
            continue
        x, y, z = turn / angle
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        move = np.eye(4)
        move[:3, :3] += np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        centre = pose[bone, :3, :3] @ heads[bone] + pose[bone, :3, 3]
        move[:3, 3] = centre - move[:3, :3] @ centre
        hanging = below[bone] > 0.0
        pose[hanging] = move @ pose[hanging]
    pose[:, :3, 3] += shift
    return pose

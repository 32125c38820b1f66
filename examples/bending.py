# SPDX-License-Identifier: MIT OR Apache-2.0
"""A bar and an arm, bent, and what is measured of them. Needs no Blender."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import thew

from examples import models
from examples.bodies import rotation
from examples.models import Shape

JOINT = np.array([0.5, 0.0, 0.0])
METHODS = {
    "linear": "global linear",
    "warped_vertex": "warped, vertex form",
    "warped": "warped, cell form",
    "neohookean": "nonlinear, neo-Hookean",
    "nonlinear": "nonlinear, St. Venant-Kirchhoff",
}
"""By the library's names. The last two are what the others are measured against: St. Venant-Kirchhoff flesh gives way
where it is squeezed hard and folds into itself, neo-Hookean flesh does not."""
NONLINEAR = ("neohookean", "nonlinear")


@dataclass
class Limb:
    """Something along x with two bones that meet at `JOINT`, and the ball of flesh around the joint that is watched."""

    shape: Shape
    body: thew.Body
    near: np.ndarray
    """Points of the flesh within `reach` of the joint, [p,3]."""
    lattice: thew.Lattice


def bar(detail: int = 14, cells_across: float = 16.0) -> Limb:
    """1 x 0.2 x 0.2 m."""
    shape = models.rounded_box((5 * detail, detail, detail), (1.0, 0.2, 0.2), 0.025)
    return _limb(shape, (0.02, 0.98), cells_across, 0.15)


def arm(vertices: int | None = None, cells_across: float = 24.0) -> Limb:
    """An arm of a metre or so, from the shoulder to the fist."""
    return _limb(models.arm(vertices), (0.02, 0.92), cells_across, 0.1)


def _limb(shape: Shape, ends: tuple[float, float], cells_across: float, reach: float) -> Limb:
    surface = thew.Surface(shape.vertices, shape.triangles)
    heads = np.array([[ends[0], 0.0, 0.0], JOINT])
    tails = np.array([JOINT, [ends[1], 0.0, 0.0]])
    skeleton = thew.Skeleton(["upper", "lower"], [-1, 0], heads, tails)
    lower = np.clip((shape.vertices[:, 0] - JOINT[0]) / (2.0 * reach) + 0.5, 0.0, 1.0)
    lower = lower**2 * (3.0 - 2.0 * lower)
    weights = np.stack([1.0 - lower, lower], axis=1)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=cells_across)
    even = np.ones(len(shape.vertices))  # of one stiffness
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, flesh=even)
    step = np.arange(-reach, reach, reach / 12.0) + reach / 24.0
    ball = np.stack(np.meshgrid(step, step, step, indexing="ij"), axis=-1).reshape(-1, 3)
    ball = ball[np.linalg.norm(ball, axis=1) < reach] + JOINT
    return Limb(shape, body, ball[surface.winding_number(ball) > 0.5], lattice)


def bent_pose(degrees: float) -> np.ndarray:
    """The lower bone raised about the joint, a pose [2,4,4]."""
    pose = np.tile(np.eye(4), (2, 1, 1))
    pose[1, :3, :3] = rotation(np.array([0.0, -np.radians(degrees), 0.0]))
    pose[1, :3, 3] = JOINT - pose[1, :3, :3] @ JOINT
    return pose


@dataclass
class Bent:
    """One method's answer."""

    points: np.ndarray
    """The skin, [n,3]."""
    volume: float
    """What the flesh around the joint takes up, as a part of what it took at rest."""
    turned_over: float
    """The part of that flesh that is inverted."""
    squeezed: np.ndarray
    """det F at the skin's points, [n]: 1 where the flesh keeps its volume."""
    away: dict[str, tuple[float, float]] = field(default_factory=dict)
    """For each nonlinear method the largest and the mean distance of the skin's points from its own, as a part of the
    body's size."""


def bend(limb: Limb, degrees: float) -> dict[str, Bent]:
    """The limb at one angle, in balance without gravity, by every method."""
    answers = {}
    for method in METHODS:
        balance = thew.Equilibrium(limb.body, method)
        # The load path of Newton's method goes there in steps of half a right angle at most.
        steps = int(np.ceil(degrees / 45.0)) if method in NONLINEAR else 1
        for angle in np.linspace(0.0, degrees, steps + 1)[1:]:
            balance.set_pose(bent_pose(angle))
            q = balance.solve(gravity=(0.0, 0.0, 0.0))
        change = stretches(limb.lattice, limb.near, q)
        answers[method] = Bent(
            np.asarray(balance.positions(), float),
            float(change.mean()),
            float((change < 0.0).mean()),
            stretches(limb.lattice, limb.shape.vertices, q),
        )
    size = float(np.linalg.norm(np.ptp(limb.shape.vertices, axis=0)))
    for method in NONLINEAR:
        for answer in answers.values():
            away = np.linalg.norm(answer.points - answers[method].points, axis=1) / size
            answer.away[method] = float(away.max()), float(away.mean())
    return answers


def stretches(lattice: thew.Lattice, points: np.ndarray, q: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """det F at points [p], by central differences of the displacements q [nodes,3]."""
    f = np.tile(np.eye(3), (len(points), 1, 1))
    for axis in range(3):
        step = h * np.eye(3)[axis]
        ahead, behind = (_carried(lattice, points + side * step, q) for side in (1.0, -1.0))
        f[:, :, axis] += (ahead - behind) / (2.0 * h)
    return np.linalg.det(f)


def _carried(lattice: thew.Lattice, points: np.ndarray, q: np.ndarray) -> np.ndarray:
    index, weight = lattice.embed(points)
    return np.einsum("pa,pai->pi", np.where(index < 0, 0.0, weight), q[np.maximum(index, 0)])

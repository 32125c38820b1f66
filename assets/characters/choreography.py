# SPDX-License-Identifier: MIT OR Apache-2.0
"""Poses from numbers: rotations about the world's axes, two-bone reaching, footfalls. Needs numpy only.

A bone's orientation is the rotation R_b from rest to posed in the armature's space, so motions are written in plain
axes (x sideways, -y ahead, z up) whatever the bones' own axes are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .figure import Figure

FPS = 24


def turn(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """Returns the rotation by degrees about x, then y, then z, [3, 3]."""
    cx, cy, cz = np.cos(np.radians([x, y, z]))
    sx, sy, sz = np.sin(np.radians([x, y, z]))
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def smooth(t: float) -> float:
    """Returns 0 before 0, 1 after 1, and a twice differentiable transition between."""
    t = min(max(t, 0.0), 1.0)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)


class Pose:
    """One frame's pose. Bones must be turned parents first."""

    def __init__(self, figure: Figure, offset: np.ndarray, rotation: np.ndarray) -> None:
        self.figure = figure
        self.offset = np.asarray(offset, float)
        self.rotations = {figure.bones[0].name: rotation}
        self._heads = {figure.bones[0].name: np.array(figure.bones[0].head) + self.offset}

    def rotation(self, bone: str) -> np.ndarray:
        """Returns R_b. A bone that was not turned follows its parent."""
        if bone not in self.rotations:
            self.rotations[bone] = self.rotation(self.figure.bone(bone).parent)
        return self.rotations[bone]

    def head(self, bone: str) -> np.ndarray:
        """Returns the position of the bone's head in this pose."""
        if bone not in self._heads:
            rest = self.figure.bone(bone)
            parent = self.figure.bone(rest.parent)
            arm = np.array(rest.head) - np.array(parent.head)
            self._heads[bone] = self.head(rest.parent) + self.rotation(rest.parent) @ arm
        return self._heads[bone]

    def map(self, bone: str) -> np.ndarray:
        """Returns the bone's map from rest to posed, [4, 4]."""
        rotation, rest = self.rotation(bone), np.array(self.figure.bone(bone).head)
        result = np.eye(4)
        result[:3, :3], result[:3, 3] = rotation, self.head(bone) - rotation @ rest
        return result

    def turn(self, bone: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> None:
        """Turns a bone relative to its parent by degrees about the rest pose's plain axes."""
        self.rotations[bone] = self.rotation(self.figure.bone(bone).parent) @ turn(x, y, z)

    def reach(self, upper: str, lower: str, end: str, target: np.ndarray, bend: np.ndarray, level: np.ndarray) -> None:
        """Moves the head of `end` to `target`, with the joint between pointing along `bend`. `end` itself gets R = level."""
        rest = [np.array(self.figure.bone(name).head) for name in (upper, lower, end)]
        first, second = np.linalg.norm(rest[1] - rest[0]), np.linalg.norm(rest[2] - rest[1])
        root = self.head(upper)
        span = target - root
        length = min(np.linalg.norm(span), 0.998 * (first + second))
        ahead = span / np.linalg.norm(span)
        out = bend - ahead * (ahead @ bend)
        out /= np.linalg.norm(out)
        along = (first**2 - second**2 + length**2) / (2.0 * length)
        joint = root + along * ahead + np.sqrt(max(first**2 - along**2, 0.0)) * out
        side = np.cross(ahead, out)
        rest_side = np.cross(rest[2] - rest[0], bend)
        for name, start, stop, now in (
            (upper, rest[0], rest[1], joint - root),
            (lower, rest[1], rest[2], root + length * ahead - joint),
        ):
            self.rotations[name] = _frame(now, side) @ _frame(stop - start, rest_side).T
        self.rotations[end] = level


def _frame(ahead: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Returns right-handed axes as columns, the first along `ahead`, the second as near to `side` as possible."""
    first = ahead / np.linalg.norm(ahead)
    second = side - first * (first @ side)
    second /= np.linalg.norm(second)
    return np.stack([first, second, np.cross(first, second)], axis=1)


def footfall(distance: float, stride: float, phase: float, duty: float, lift: float) -> tuple[float, float, float]:
    """Returns the position of a foot when the body has gone `distance`: metres ahead, metres up, and its swing from 0 to 1.

    The foot is planted for the fraction `duty` of a stride, exactly under its hip at the middle of that time.
    """
    u = distance / stride + phase
    step = np.floor(u)
    part = u - step
    planted = (step - phase + 0.5 * duty) * stride
    if part < duty:
        return planted, 0.0, 0.0
    swing = (part - duty) / (1.0 - duty)
    return planted + smooth(swing) * stride, lift * np.sin(np.pi * swing) ** 2, swing

# SPDX-License-Identifier: GPL-3.0-or-later
"""Outlines of force templates: line segments in their own frame, at their true size.

Every outline touches the boundary beyond which the template does not act, so it shows the affected region. Segments are [m, 2, 3],
in the unit of the given sizes.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from .guides import triangle_frame
from .spaces import across

#: Corners of a drawn circle. Chords of one with a radius of 100 pixels are off by 0.2.
ROUND = 48


def outline(kind: str, radius: float = 0.0, ring_radius: float = 0.0, tube_radius: float = 0.0) -> np.ndarray:
    """Returns the lines [m, 2, 3] of a BUMP, RADIAL, BULGE (`radius`) or TORUS (`ring_radius`, `tube_radius`)."""
    if kind == "TORUS":
        return torus(ring_radius, tube_radius)
    return radius * {"BUMP": bump, "RADIAL": radial, "BULGE": bulge}[kind]()


@cache
def bump() -> np.ndarray:
    """Returns a sphere of radius 1 and an arrow along +Z, where it pushes."""
    return np.concatenate([sphere(), arrow(np.zeros(3), np.array([0.0, 0.0, 1.0]))])


@cache
def radial() -> np.ndarray:
    """Returns a sphere of radius 1 with spokes from its middle, along which it pushes."""
    ends = [np.array(d, dtype=np.float64) for d in np.ndindex(3, 3, 3)]
    spokes = [(d - 1.0) / np.linalg.norm(d - 1.0) for d in ends if np.abs(d - 1.0).sum() in (1.0, 3.0)]
    return np.concatenate([sphere(), *(arrow(0.35 * d, d, 0.12) for d in spokes)])


@cache
def bulge() -> np.ndarray:
    """Returns lobes about the axis Z, where it pushes out, arrows along it, where it draws in, and the boundary about its middle."""
    angle = np.linspace(0.0, np.pi, ROUND // 2 + 1)
    lobe = np.stack([np.sin(angle) ** 3, np.sin(angle) ** 2 * np.cos(angle)], axis=1)
    lines = [ring(1.0)]
    for turn in np.arange(4) * 0.5 * np.pi:
        out = np.array([np.cos(turn), np.sin(turn), 0.0])
        lines.append(chain(lobe[:, :1] * out + lobe[:, 1:] * np.array([0.0, 0.0, 1.0])))
    for side in (-1.0, 1.0):
        lines.append(arrow(np.array([0.0, 0.0, side]), np.array([0.0, 0.0, 0.3 * side]), 0.15))
    return np.concatenate(lines)


def torus(ring_radius: float, tube_radius: float) -> np.ndarray:
    """Returns the inner, outer, upper and lower ring about the axis Z, and eight rings of the tube."""
    lines = [ring(ring_radius + tube_radius), ring(abs(ring_radius - tube_radius))]
    lines += [ring(ring_radius) + np.array([0.0, 0.0, side * tube_radius]) for side in (-1.0, 1.0)]
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND // 2 + 1)
    for turn in np.arange(8) * 0.25 * np.pi:
        out = np.array([np.cos(turn), np.sin(turn), 0.0])
        around = np.cos(angle)[:, None] * out + np.sin(angle)[:, None] * np.array([0.0, 0.0, 1.0])
        lines.append(chain(ring_radius * out + tube_radius * around))
    return np.concatenate(lines)


@cache
def sphere() -> np.ndarray:
    """Returns three circles of radius 1, one about each axis."""
    flat = ring(1.0)
    return np.concatenate([flat, np.roll(flat, 1, axis=2), np.roll(flat, 2, axis=2)])


def ring(radius: float) -> np.ndarray:
    """Returns a circle about the axis Z."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    return chain(radius * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1))


def chain(points: np.ndarray) -> np.ndarray:
    """Returns the segments between consecutive points [n, 3]."""
    return np.stack([points[:-1], points[1:]], axis=1)


def arrow(start: np.ndarray, end: np.ndarray, head: float = 0.2) -> np.ndarray:
    """Returns a line from `start` to `end` with a head of four strokes."""
    along = end - start
    along = along / np.linalg.norm(along)
    one, other = across(along)
    lines = [(start, end)]
    for side in (one, -one, other, -other):
        lines.append((end, end - head * along + 0.4 * head * side))
    return np.array(lines)


def carried(frame: np.ndarray, weights: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Returns a rigid `frame` [4, 4] at rest, carried along by bones: weights [b], maps [b, 4, 4] -> [4, 4], rigid."""
    total = weights.sum()
    blended = np.eye(4) if total <= 0.0 else np.tensordot(weights / total, maps, axes=(0, 0))
    u, _, vt = np.linalg.svd(blended[:3, :3])
    turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
    posed = np.eye(4)
    posed[:3, :3] = turn @ frame[:3, :3]
    posed[:3, 3] = blended[:3, :3] @ frame[:3, 3] + blended[:3, 3]
    return posed


def ridden(frame: np.ndarray, shares: np.ndarray, rest: np.ndarray, posed: np.ndarray) -> np.ndarray:
    """Returns a rigid `frame` [4, 4] at rest as it rides on a triangle: shares [3] of its corners, at rest and posed [3, 3]."""
    turn = triangle_frame(posed) @ triangle_frame(rest).T
    there = np.eye(4)
    there[:3, :3] = turn @ frame[:3, :3]
    there[:3, 3] = shares @ posed + turn @ (frame[:3, 3] - shares @ rest)
    return there

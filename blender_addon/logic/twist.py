# SPDX-License-Identifier: GPL-3.0-or-later
"""Twist of single bones: the artist's numbers, their checks and the core's form of them, and the tubes as lines.

Flesh within the radius of a bone turns with that bone. Bones without a twist of their own have the core's automatic one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import Refusal

#: Corners of a drawn ring, and rings of a drawn tube. A ring of 24 looks round at the size of a limb.
RING_CORNERS, RINGS = 24, 4


@dataclass(frozen=True)
class BoneTwist:
    """The twist of one bone."""

    bone: str
    radius: float  # scene units
    strength: float  # a factor on the automatic stiffness; 0 is off


def check(twists: tuple[BoneTwist, ...], size: float, length: Callable[[float], str]) -> None:
    """Refuses a radius of zero, or one beyond the body, which is `size` scene units across. `length` writes a length."""
    for twist in twists:
        if twist.radius <= 0.0:
            raise Refusal(
                f"The twist of the bone “{twist.bone}” has the radius {length(0.0)}: give it one above 0, or set its Strength to 0, "
                "which switches it off"
            )
        if twist.radius > size:
            raise Refusal(
                f"The twist of the bone “{twist.bone}” reaches {length(twist.radius)}, beyond the body, which is {length(size)} across: "
                "give it a smaller Radius"
            )


def core_twists(
    twists: tuple[BoneTwist, ...], bones: list[str], metres_per_unit: float
) -> list[dict[str, float] | None]:
    """Returns the twists of `bones` as the core takes them, one per bone, in metres; [] where no bone has one."""
    own = {twist.bone: twist for twist in twists if twist.bone in bones}
    if not own:
        return []
    return [
        {"radius": own[bone].radius * metres_per_unit, "strength": own[bone].strength} if bone in own else None
        for bone in bones
    ]


def tubes(body: Any, bones: list[str]) -> list[tuple[str, np.ndarray, np.ndarray, float]]:
    """Returns the tubes of a thew.Body as (bone, head [3], tail [3], radius), metres at rest. `bones`: the present names of its bones."""
    present = dict(zip(body.skeleton.names, bones, strict=True))  # a bone renamed since keeps its old name in the body
    return [(present[bone], head, tail, radius) for bone, head, tail, radius, _ in body.twist_tubes]


def bones_with_flesh(body: Any, bones: list[str]) -> set[str]:
    """Returns the names of the bones around which a thew.Body has flesh."""
    return {bone for bone, *_ in tubes(body, bones)}


def automatic_radius(body: Any, bones: list[str], bone: str) -> float:
    """Returns the radius of a bone's tube in a thew.Body, metres; 0 where the bone carries no flesh."""
    return max((radius for name, _, _, radius in tubes(body, bones) if name == bone), default=0.0)


def idle_note(twists: tuple[BoneTwist, ...], body: Any, bones: list[str], elsewhere: tuple[str, ...]) -> str:
    """Returns a sentence on bones whose twist has no effect, or "". `elsewhere`: bones that carry other meshes."""
    if not twists:
        return ""
    working = bones_with_flesh(body, bones) | set(elsewhere)
    idle = [twist.bone for twist in twists if twist.bone not in working]
    if not idle:
        return ""
    more = f" ({len(idle)} such bones)" if len(idle) > 1 else ""
    return f"The bone “{idle[0]}” has a twist, but carries no flesh{more}: it has no effect"


def tube_lines(head: np.ndarray, tail: np.ndarray, radius: float) -> np.ndarray:
    """Returns the lines of the tube around head to tail, [m, 2, 3]: rings, and four lines along it."""
    axis = np.asarray(tail, dtype=np.float64) - head
    length = float(np.linalg.norm(axis))
    axis = axis / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    angles = np.arange(RING_CORNERS) * (2.0 * np.pi / RING_CORNERS)
    ring = radius * (np.cos(angles)[:, None] * across + np.sin(angles)[:, None] * np.cross(axis, across))
    places = head + np.linspace(0.0, length, RINGS)[:, None] * axis
    rings = places[:, None] + ring
    around = np.stack([rings, np.roll(rings, -1, axis=1)], axis=2).reshape(-1, 2, 3)
    along = np.stack([rings[0, :: RING_CORNERS // 4], rings[-1, :: RING_CORNERS // 4]], axis=1)
    return np.concatenate([around, along])

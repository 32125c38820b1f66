# SPDX-License-Identifier: MIT OR Apache-2.0
"""Motions of the figures of Figures 6 and 7, ties of bodies to them, and the places that Figure 8's tail is dragged to. [choi2003, §6]

Needs numpy only.
"""

from __future__ import annotations

import numpy as np

from assets.characters.choreography import Pose, smooth, turn
from assets.characters.figure import Figure
from examples import motion

BEAT = 0.62
"""Seconds from one side of the hips' dance to the other."""
LEAVE, LAND = 0.68, 1.36
"""Times at which the jump leaves the ground and comes back to it, seconds."""
PULLS = ((0.0, 0.0, 0.0), (0.75, -0.15, 0.45), (-0.85, -0.2, 0.25), (0.1, -0.5, 1.0))
"""Places that the tail's tip is dragged to, metres from rest, a second each."""
SUPPORTS = {
    "belly": ((0.0, 0.06, 0.57), (0.24, 0.2, 0.14)),
    "box": ((0.0, 0.0, 0.75), (0.17, 0.17, 0.12)),
    "blob": ((0.0, 0.0, 0.72), (0.16, 0.14, 0.12)),
}
"""Ellipsoids, centre and radii in metres, whose nodes go with the pelvis."""
BOX_ENDS = {"foot.L": "tail", "foot.R": "tail", "head": "tail"}
BLOB_ENDS = {
    "chest": "tail",
    "forearm.L": "head",
    "forearm.R": "head",
    "foot.L": "head",
    "foot.R": "head",
    "head": "tail",
}
"""The end of each bone at which a body is held."""


def hips(bodo: Figure, t: float) -> Pose:
    """Hips from side to side with a bounce and a twist, feet planted, arms up."""
    grow = min(t / 0.8, 1.0) ** 2 * (3.0 - 2.0 * min(t / 0.8, 1.0))
    side = grow * np.sin(np.pi * t / BEAT)
    dip = grow * (0.5 - 0.5 * np.cos(2.0 * np.pi * t / BEAT))
    pose = Pose(bodo, np.array([0.13 * side, 0.0, -0.03 - 0.1 * dip]), turn(4.0 * dip, 9.0 * side, 26.0 * side))
    pose.turn("spine", 2.0 * dip, -9.0 * side, -14.0 * side)
    pose.turn("chest", 2.0 * dip, -8.0 * side, -18.0 * side)
    pose.turn("neck", 0.0, -4.0 * side, 4.0 * side)
    pose.turn("head", 4.0 * dip, 10.0 * side, 6.0 * side)
    for name, sign in (("L", 1.0), ("R", -1.0)):
        ankle = np.array(bodo.bone(f"foot.{name}").head)
        knee = np.array([0.35 * sign, -1.0, 0.0])
        pose.reach(f"thigh.{name}", f"shin.{name}", f"foot.{name}", ankle, knee, turn(0.0, 0.0, 14.0 * sign))
        lift = 62.0 + 22.0 * sign * side
        pose.turn(f"upperarm.{name}", -10.0, -sign * lift * grow, 0.0)
        pose.turn(f"forearm.{name}", -25.0 * grow, -sign * 50.0 * grow, 0.0)
    return pose


def jump(figure: Figure, t: float) -> Pose:
    """Crouch to the side, fly in an arch, land."""
    if t < LEAVE:
        height = -0.2 * np.sin(np.pi * smooth(t / LEAVE) ** 1.5) + 0.04 * smooth((t - 0.6) / 0.08)
    elif t < LAND:
        speed = 0.5 * 9.81 * (LAND - LEAVE)
        height = 0.04 + 0.6 * (speed * (t - LEAVE) - 0.5 * 9.81 * (t - LEAVE) ** 2)
    else:
        height = 0.04 - 0.24 * np.sin(np.pi * min((t - LAND) / 0.7, 1.0)) * (1.0 - 0.3 * smooth((t - LAND) / 0.7))
    crouch = smooth(t / 0.4) * (1.0 - smooth((t - 0.45) / 0.25))
    fly = smooth((t - LEAVE) / 0.2) * (1.0 - smooth((t - LAND + 0.22) / 0.26))
    sunk = smooth((t - LAND) / 0.2) * (1.0 - smooth((t - LAND - 0.3) / 0.4))
    lean = 26.0 * crouch - 8.0 * fly + 22.0 * sunk
    pose = Pose(figure, np.array([0.0, 0.0, height]), turn(4.0 * crouch, 0.5 * lean, 0.0))
    pose.turn("spine", 4.0 * crouch, 0.7 * lean - 17.0 * fly, 0.0)
    pose.turn("chest", 0.0, 0.7 * lean - 19.0 * fly, 14.0 * fly)
    pose.turn("head", 0.0, 0.5 * lean - 12.0 * fly, 20.0 * fly)
    for side, sign in (("L", 1.0), ("R", -1.0)):
        pose.turn(f"upperarm.{side}", 0.0, -sign * (70.0 * fly - 10.0 * crouch), 0.0)
        pose.turn(f"forearm.{side}", 0.0, -sign * 20.0 * fly, 0.0)
        if t < LEAVE or t > LAND:
            ankle = np.array(figure.bone(f"foot.{side}").head) + [
                0.0,
                0.0,
                0.04 * smooth((t - 0.6) / 0.08) * (t < LEAVE),
            ]
            pose.reach(
                f"thigh.{side}", f"shin.{side}", f"foot.{side}", ankle, np.array([0.3 * sign, -1.0, 0.0]), np.eye(3)
            )
        else:
            pose.turn(f"thigh.{side}", 0.0, 26.0 * fly, 0.0)
            pose.turn(f"shin.{side}", 0.0, 22.0 * fly, 0.0)
            pose.turn(f"foot.{side}", 24.0 * fly, 0.0, 0.0)
    return pose


def sway(figure: Figure, t: float) -> Pose:
    """Sway, twist, one arm up and one leg out in turn."""
    grow = smooth(t / 0.5)
    side = grow * np.sin(np.pi * t / 1.1)
    bounce = grow * (0.5 - 0.5 * np.cos(4.0 * np.pi * t / 1.1))
    pose = Pose(figure, np.array([0.1 * side, 0.0, -0.05 * bounce]), turn(0.0, -5.0 * side, 14.0 * side))
    pose.turn("spine", 0.0, -9.0 * side, 8.0 * side)
    pose.turn("chest", 0.0, -9.0 * side, 8.0 * side)
    pose.turn("head", 0.0, -14.0 * side, -16.0 * side)
    for name, sign in (("L", 1.0), ("R", -1.0)):
        pose.turn(f"upperarm.{name}", 0.0, -sign * grow * (8.0 + 32.0 * sign * side), 0.0)
        pose.turn(f"forearm.{name}", 0.0, -sign * grow * 20.0, 0.0)
        kick = grow * max(-sign * side, 0.0)
        pose.turn(f"thigh.{name}", -12.0 * kick, -sign * 30.0 * kick, 0.0)
        pose.turn(f"shin.{name}", 8.0 * kick, -sign * 6.0 * kick, 0.0)
        pose.turn(f"foot.{name}", 0.0, 0.0, 0.0)
    return pose


def jumper() -> Figure:
    """The stick figure of the jelly box."""
    return motion.stick_figure("jumper", 0.72, 1.2, 1.5, 0.1, (0.46, 0.0, 0.86), 0.13)


def dancer() -> Figure:
    """The stick figure of the blob."""
    return motion.stick_figure("dancer", 0.7, 1.14, 1.4, 0.13, (0.62, 0.0, 0.91), 0.2)


def shoulders_and_neck(nodes: np.ndarray) -> tuple[dict[int, str], int]:
    """The torso's nodes that go with a shoulder, and the one that goes with the neck."""
    sides = (("L", 1.0), ("R", -1.0))
    shoulders = {motion.nearest_node(nodes, (s * 0.2, 0.03, 1.09)): f"shoulder.{n}" for n, s in sides}
    return shoulders, motion.nearest_node(nodes, (0.0, 0.03, 1.2))


def tied_nodes(nodes: np.ndarray, figure: Figure, bones: dict[str, str]) -> dict[int, str]:
    """The nodes nearest to the heads or tails of bones: {"foot.L": "head"} and the like."""
    return {motion.nearest_node(nodes, getattr(figure.bone(bone), end)): bone for bone, end in bones.items()}


def pull(t: float) -> np.ndarray:
    """The tip's displacement while it is held."""
    last = min(int(t), len(PULLS) - 2)
    return np.array(PULLS[last]) + smooth((t - last) / 0.95) * (np.array(PULLS[last + 1]) - np.array(PULLS[last]))

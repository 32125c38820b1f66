# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wanda: a hound with floppy ears and a long tail, who trots until she stops."""

from __future__ import annotations

import numpy as np

from .choreography import Pose, footfall, turn
from .figure import Bone, Clip, Eye, Figure
from .implicit import Part, both_sides


def figure() -> Figure:
    """Returns Wanda at rest, facing -Y. Her ears and the last third of her tail have no bones: they are flesh."""
    left = [
        Bone("upperarm.L", "chest", (0.085, -0.24, 0.44), (0.095, -0.2, 0.26)),
        Bone("forearm.L", "upperarm.L", (0.095, -0.2, 0.26), (0.095, -0.235, 0.07)),
        Bone("paw.L", "forearm.L", (0.095, -0.235, 0.07), (0.095, -0.3, 0.03)),
        Bone("thigh.L", "hips", (0.085, 0.25, 0.44), (0.1, 0.2, 0.27)),
        Bone("shin.L", "thigh.L", (0.1, 0.2, 0.27), (0.095, 0.275, 0.07)),
        Bone("foot.L", "shin.L", (0.095, 0.275, 0.07), (0.095, 0.205, 0.03)),
    ]
    middle = [
        Bone("hips", None, (0.0, 0.27, 0.5), (0.0, 0.12, 0.51)),
        Bone("spine", "hips", (0.0, 0.12, 0.51), (0.0, -0.08, 0.51)),
        Bone("chest", "spine", (0.0, -0.08, 0.51), (0.0, -0.26, 0.52)),
        Bone("neck", "chest", (0.0, -0.26, 0.52), (0.0, -0.37, 0.65)),
        Bone("head", "neck", (0.0, -0.37, 0.65), (0.0, -0.6, 0.66)),
        Bone("tail.1", "hips", (0.0, 0.3, 0.52), (0.0, 0.43, 0.57)),
        Bone("tail.2", "tail.1", (0.0, 0.43, 0.57), (0.0, 0.56, 0.64)),
    ]
    limbs = [
        Part((0.07, -0.23, 0.43), (0.095, -0.2, 0.27), (0.095, 0.056), "upperarm.L", "coat"),
        Part((0.095, -0.2, 0.26), (0.095, -0.232, 0.09), (0.054, 0.043), "forearm.L", "coat"),
        Part((0.095, -0.235, 0.047), (0.095, -0.275, 0.043), (0.047, 0.046), "paw.L", "socks"),
        Part((0.075, 0.24, 0.43), (0.1, 0.2, 0.28), (0.12, 0.066), "thigh.L", "coat"),
        Part((0.1, 0.2, 0.27), (0.095, 0.27, 0.1), (0.062, 0.041), "shin.L", "coat"),
        Part((0.095, 0.268, 0.047), (0.095, 0.222, 0.043), (0.047, 0.046), "foot.L", "socks"),
        # The ear: fixed at the head's side, hanging, thin across.
        Part((0.095, -0.4, 0.735), (0.148, -0.395, 0.66), (0.034, 0.036), "head", "ear"),
        Part((0.15, -0.395, 0.65), (0.165, -0.4, 0.53), (0.036, 0.05), "head", "ear"),
        Part((0.05, -0.555, 0.615), None, (0.042, 0.06, 0.048), "head", "muzzle"),
    ]
    trunk = [
        Part((0.0, 0.235, 0.465), None, (0.13, 0.14, 0.13), "hips", "coat"),
        Part((0.0, 0.06, 0.45), None, (0.135, 0.2, 0.14), "spine", "coat"),
        Part((0.0, 0.02, 0.395), None, (0.115, 0.18, 0.105), "spine", "belly"),
        Part((0.0, -0.19, 0.45), None, (0.145, 0.16, 0.16), "chest", "coat"),
        Part((0.0, -0.25, 0.395), None, (0.085, 0.095, 0.1), "chest", "belly"),
        Part((0.0, -0.25, 0.5), (0.0, -0.37, 0.64), (0.108, 0.085), "neck", "coat"),
        Part((0.0, -0.405, 0.685), None, (0.108, 0.115, 0.105), "head", "coat"),
        Part((0.0, -0.48, 0.65), (0.0, -0.59, 0.625), (0.07, 0.055), "head", "muzzle"),
        Part((0.0, -0.638, 0.652), None, (0.032, 0.026, 0.024), "head", "nose"),
        Part((0.0, 0.31, 0.51), (0.0, 0.43, 0.57), (0.062, 0.044), "tail.1", "coat"),
        Part((0.0, 0.43, 0.57), (0.0, 0.56, 0.64), (0.044, 0.04), "tail.2", "coat"),
        Part((0.0, 0.56, 0.64), (0.0, 0.65, 0.74), (0.04, 0.038), "tail.2", "coat"),
        Part((0.0, 0.65, 0.74), (0.0, 0.67, 0.87), (0.038, 0.036), "tail.2", "socks"),
    ]
    return Figure(
        name="Wanda",
        bones=middle + left + [bone.mirrored() for bone in left],
        parts=trunk + [side for part in limbs for side in both_sides(part)],
        palette={
            "coat": (0.78, 0.50, 0.28),
            "belly": (0.95, 0.85, 0.70),
            "socks": (0.97, 0.93, 0.86),
            "muzzle": (0.95, 0.86, 0.74),
            "ear": (0.45, 0.26, 0.15),
            "nose": (0.13, 0.10, 0.10),
        },
        eyes=[Eye((side * 0.052, -0.488, 0.725), 0.022, (side * 0.35, -1.0, 0.1), "head") for side in (1, -1)],
        cell=0.0145,
        softness=0.01,
        blend=0.022,
        clips={"trot": Clip(60, trot)},
    )


def trot(wanda: Figure, t: float) -> Pose:
    """Returns the pose at time t of a trot on diagonal pairs of legs, with a spring in every step, and a halt."""
    stride, period, halt, brake = 0.5, 0.5, 1.6, 0.28
    braking = min(max(t - halt, 0.0), brake)
    distance = stride / period * (min(t, halt) + braking - 0.5 * braking**2 / brake) + 0.16 * stride
    cycle = 2.0 * np.pi * distance / stride
    # Lowest in the middle of each pair's stance, highest between: two springs a stride.
    middle = np.pi * 0.5
    bob = -0.026 - 0.022 * np.cos(2.0 * (cycle - middle))
    stopping = np.sin(np.pi * min(max((t - halt) / 0.5, 0.0), 1.0))
    pose = Pose(
        wanda,
        np.array([0.006 * np.sin(cycle), -distance, bob]),
        turn(1.5 * np.sin(2.0 * cycle) + 4.0 * stopping, 1.5 * np.sin(cycle), 3.0 * np.sin(cycle)),
    )
    pose.turn("spine", 1.5 * np.cos(2.0 * cycle), 0.0, -3.0 * np.sin(cycle))
    pose.turn("chest", -1.5 * np.cos(2.0 * cycle), 0.0, -3.0 * np.sin(cycle))
    pose.turn("neck", -3.0 + 4.0 * np.cos(2.0 * (cycle - middle) + 0.6), 0.0, 2.0 * np.sin(cycle))
    pose.turn("head", 3.0 - 5.0 * np.cos(2.0 * (cycle - middle) + 0.9) + 6.0 * stopping, 3.0 * np.sin(cycle), 0.0)
    pose.turn("tail.1", 4.0 * np.sin(2.0 * cycle), 0.0, 13.0 * np.sin(cycle))
    pose.turn("tail.2", 6.0 * np.sin(2.0 * cycle - 0.7), 0.0, 16.0 * np.sin(cycle - 0.7))
    for chain, bend in (("upperarm forearm paw", 1.0), ("thigh shin foot", -1.0)):
        for side in ("L", "R"):
            upper, lower, end = (f"{name}.{side}" for name in chain.split())
            diagonal = (side == "L") == (bend > 0.0)
            ahead, up, swing = footfall(distance, stride, 0.0 if diagonal else 0.5, 0.54, 0.07)
            ankle = np.array(wanda.bone(end).head) + [0.0, -ahead, up]
            flick = turn(-bend * 0.0 + 38.0 * np.sin(np.pi * swing) ** 2)
            pose.reach(upper, lower, end, ankle, np.array([0.0, bend, 0.0]), flick)
    return pose

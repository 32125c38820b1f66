# SPDX-License-Identifier: MIT OR Apache-2.0
"""Thea: a theropod, 2.5 m tall and 5.5 m long, with heavy thighs, a belly, a dewlap and a long tail."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .choreography import Pose, footfall, smooth, turn
from .figure import Bone, Clip, Eye, Figure, Horn
from .implicit import Part, both_sides
from .sweep import Sweep

#: y, z, half the width, height above, depth below the curve from the tip of the tail to the back of the head.
TRUNK = (
    (3.05, 1.36, 0.02, 0.022, 0.022),
    (2.5, 1.30, 0.05, 0.06, 0.055),
    (1.95, 1.27, 0.09, 0.105, 0.10),
    (1.4, 1.27, 0.14, 0.165, 0.16),
    (0.9, 1.31, 0.195, 0.22, 0.24),
    (0.45, 1.37, 0.25, 0.27, 0.33),
    (0.0, 1.43, 0.285, 0.285, 0.40),
    (-0.35, 1.45, 0.33, 0.285, 0.46),
    (-0.65, 1.46, 0.355, 0.30, 0.48),
    (-0.95, 1.49, 0.325, 0.30, 0.42),
    (-1.2, 1.57, 0.26, 0.27, 0.34),
    (-1.38, 1.71, 0.205, 0.215, 0.255),
    (-1.5, 1.89, 0.175, 0.18, 0.21),
    (-1.6, 2.06, 0.16, 0.165, 0.19),
    (-1.70, 2.20, 0.15, 0.15, 0.17),
)
#: y, z of the joints of the tail.
TAIL = ((0.3, 1.40), (0.78, 1.33), (1.3, 1.28), (1.85, 1.27), (2.4, 1.29), (3.0, 1.355))
#: The upper half of the head, from its back to the tip of the snout, and the jaw.
SKULL = (
    (-1.64, 2.25, 0.12, 0.115, 0.10),
    (-1.80, 2.285, 0.165, 0.135, 0.125),
    (-1.97, 2.285, 0.15, 0.125, 0.125),
    (-2.13, 2.25, 0.115, 0.105, 0.105),
    (-2.28, 2.215, 0.10, 0.095, 0.09),
    (-2.40, 2.185, 0.085, 0.08, 0.075),
    (-2.47, 2.17, 0.06, 0.055, 0.055),
)
JAW = (
    (-1.70, 2.135, 0.11, 0.06, 0.075),
    (-1.90, 2.085, 0.125, 0.05, 0.075),
    (-2.10, 2.05, 0.10, 0.04, 0.06),
    (-2.28, 2.03, 0.082, 0.036, 0.052),
    (-2.42, 2.015, 0.06, 0.032, 0.042),
)


def figure() -> Figure:
    """Returns Thea at rest: upright on her toes, tail level, facing -Y."""
    left = [
        Bone("thigh.L", "hips", (0.22, -0.02, 1.36), (0.27, -0.42, 0.92)),
        Bone("shin.L", "thigh.L", (0.27, -0.42, 0.92), (0.25, 0.10, 0.47)),
        Bone("foot.L", "shin.L", (0.25, 0.10, 0.47), (0.25, -0.10, 0.10)),
        Bone("toes.L", "foot.L", (0.25, -0.10, 0.10), (0.25, -0.42, 0.03)),
        Bone("upperarm.L", "chest", (0.235, -1.16, 1.36), (0.285, -1.02, 1.13)),
        Bone("forearm.L", "upperarm.L", (0.285, -1.02, 1.13), (0.26, -1.24, 1.0)),
        Bone("hand.L", "forearm.L", (0.26, -1.24, 1.0), (0.245, -1.36, 0.95)),
    ]
    middle = [
        Bone("hips", None, (0.0, 0.1, 1.42), (0.0, -0.3, 1.45)),
        Bone("spine", "hips", (0.0, -0.3, 1.45), (0.0, -0.7, 1.48)),
        Bone("chest", "spine", (0.0, -0.7, 1.48), (0.0, -1.2, 1.58)),
        Bone("neck", "chest", (0.0, -1.2, 1.58), (0.0, -1.44, 1.8)),
        Bone("nape", "neck", (0.0, -1.44, 1.8), (0.0, -1.66, 2.14)),
        Bone("head", "nape", (0.0, -1.66, 2.14), (0.0, -2.42, 2.2)),
        Bone("jaw", "head", (0.0, -1.74, 2.14), (0.0, -2.4, 2.06)),
        *(
            Bone(f"tail.{k}", f"tail.{k - 1}" if k > 1 else "hips", (0.0, *start), (0.0, *end))
            for k, (start, end) in enumerate(pairwise(TAIL), start=1)
        ),
    ]
    trunk = [
        Sweep(TRUNK, "", "hide"),
        *(
            Sweep(TRUNK, bone, "hide", span, solid=False)
            for bone, span in (
                ("tail.5", (0.0, 1.2)),
                ("tail.4", (1.2, 2.2)),
                ("tail.3", (2.2, 3.2)),
                ("tail.2", (3.2, 4.2)),
                ("tail.1", (4.2, 5.2)),
                ("hips", (5.2, 6.8)),
                ("spine", (6.8, 8.1)),
                ("chest", (8.1, 10.2)),
                ("neck", (10.2, 11.7)),
                ("nape", (11.7, 14.0)),
            )
        ),
        Sweep(SKULL, "head", "hide"),
        Sweep(JAW, "jaw", "hide"),
        Part((0.0, -0.48, 1.13), None, (0.30, 0.44, 0.24), "spine", "hide"),  # belly
        Part((0.0, -1.02, 1.24), None, (0.20, 0.22, 0.17), "chest", "hide"),  # breastbone
        Part((0.0, -1.71, 1.955), None, (0.06, 0.15, 0.165), "nape", "hide", -0.45),  # dewlap
        Part((0.0, -1.45, 1.56), None, (0.12, 0.14, 0.20), "neck", "hide", -0.7),  # crop
    ]
    limbs = [
        Part((0.215, 0.03, 1.36), (0.285, -0.36, 0.98), (0.275, 0.17), "thigh.L", "hide"),  # quadriceps
        Part((0.22, 0.14, 1.24), (0.275, -0.20, 0.92), (0.22, 0.13), "thigh.L", "hide"),  # hamstrings
        Part((0.27, -0.40, 0.935), None, (0.10, 0.105, 0.115), "thigh.L", "hide"),  # knee
        Part((0.27, -0.36, 0.90), (0.255, 0.0, 0.56), (0.125, 0.075), "shin.L", "hide"),
        Part((0.27, -0.14, 0.775), None, (0.112, 0.19, 0.12), "shin.L", "hide", -0.75),  # calf
        Part((0.255, 0.0, 0.56), (0.25, 0.095, 0.475), (0.07, 0.066), "shin.L", "hide"),
        Part((0.25, 0.09, 0.45), (0.25, -0.09, 0.12), (0.068, 0.062), "foot.L", "hide"),
        Part((0.25, -0.10, 0.088), None, (0.09, 0.08, 0.06), "toes.L", "hide"),
        Part((0.25, -0.12, 0.079), (0.25, -0.38, 0.05), (0.055, 0.036), "toes.L", "hide"),
        Part((0.275, -0.10, 0.079), (0.345, -0.31, 0.047), (0.05, 0.034), "toes.L", "hide"),
        Part((0.225, -0.10, 0.079), (0.165, -0.31, 0.047), (0.05, 0.034), "toes.L", "hide"),
        Part((0.19, -1.15, 1.40), (0.275, -1.03, 1.15), (0.085, 0.055), "upperarm.L", "hide"),
        Part((0.28, -1.02, 1.13), (0.26, -1.22, 1.01), (0.053, 0.036), "forearm.L", "hide"),
        Part((0.26, -1.24, 1.0), None, (0.034, 0.045, 0.036), "hand.L", "hide"),
        Part((0.272, -1.26, 1.0), (0.28, -1.345, 0.965), (0.027, 0.022), "hand.L", "hide"),
        Part((0.245, -1.26, 0.99), (0.232, -1.34, 0.945), (0.027, 0.022), "hand.L", "hide"),
        Part((0.125, -1.93, 2.375), (0.072, -2.14, 2.325), (0.05, 0.03), "head", "hide"),  # brow
        Part((0.105, -1.79, 2.19), None, (0.075, 0.12, 0.11), "head", "hide"),  # cheek
        Part((0.055, -2.37, 2.245), None, (0.026, 0.04, 0.022), "head", "hide"),  # nostril
    ]
    claws = [
        Horn((0.25, -0.405, 0.05), (0.25, -0.50, 0.012), 0.028, "toes.L", (0.0, 0.0, 0.012)),
        Horn((0.343, -0.325, 0.046), (0.372, -0.41, 0.012), 0.025, "toes.L", (0.0, 0.0, 0.01)),
        Horn((0.166, -0.325, 0.046), (0.14, -0.41, 0.012), 0.025, "toes.L", (0.0, 0.0, 0.01)),
        Horn((0.288, -1.345, 0.958), (0.29, -1.395, 0.89), 0.018, "hand.L", (0.0, -0.012, 0.0)),
        Horn((0.238, -1.335, 0.938), (0.232, -1.385, 0.868), 0.018, "hand.L", (0.0, -0.012, 0.0)),
        *_teeth(),
    ]
    return Figure(
        name="Thea",
        bones=middle + left + [bone.mirrored() for bone in left],
        parts=trunk + [side for part in limbs for side in both_sides(part)],
        palette={"hide": (0.62, 0.50, 0.31), "claw": (0.16, 0.13, 0.11), "tooth": (0.93, 0.88, 0.74)},
        eyes=[Eye((side * 0.132, -1.99, 2.318), 0.044, (side * 1.0, -0.7, 0.0), "head") for side in (1, -1)],
        horns=[horn for each in claws for horn in (each, each.mirrored())],
        paint=_paint,
        cell=0.024,
        softness=0.02,
        blend=0.05,
        scales=0.022,
        clips={"walk": Clip(84, walk), "roar": Clip(84, roar)},
    )


def _teeth() -> list[Horn]:
    """Returns the upper and lower teeth of the left side, from the corner of the mouth to the tip of the snout."""
    teeth = []
    for k, y in enumerate(np.linspace(-1.99, -2.44, 9)):
        x = np.interp(-y, [1.97, 2.13, 2.28, 2.40, 2.47], [0.115, 0.092, 0.08, 0.066, 0.038])
        z = np.interp(-y, [1.97, 2.13, 2.28, 2.40, 2.47], [2.185, 2.165, 2.14, 2.122, 2.13])
        long = (0.062, 0.044, 0.054)[k % 3]
        teeth.append(Horn((x, y, z), (x * 0.98, y + 0.01, z - long), 0.0135, "head", colour="tooth"))
        if k < 8:
            z = np.interp(-y, [1.97, 2.47], [2.095, 2.03])
            teeth.append(Horn((x * 0.86, y - 0.027, z), (x * 0.86, y - 0.02, z + 0.035), 0.011, "jaw", colour="tooth"))
    return teeth


def _paint(points: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Returns the colours with a dark back and bands across it, and a pale underside."""
    x, y, z = points.T
    stations = [2.47, 1.9, 1.6, 1.2, 0.6, 0.0, -0.45, -1.4, -3.05]
    ridge = np.interp(-y, stations[::-1], [1.38, 1.44, 1.64, 1.72, 1.76, 1.84, 2.22, 2.42, 2.22])
    depth = np.interp(-y, stations[::-1], [0.05, 0.33, 0.6, 0.72, 0.84, 0.70, 0.42, 0.42, 0.25])
    below = np.clip((ridge - z) / depth, 0.0, 1.6)
    # Legs are as the flank: they begin where the trunk ends, and at its sides.
    leg = np.clip((1.08 - z) / 0.12, 0.0, 1.0)
    leg = np.maximum(
        leg, np.clip((np.abs(x) - 0.27) / 0.08, 0.0, 1.0) * np.clip((0.75 - np.abs(y + 0.05)) / 0.2, 0.0, 1.0)
    )
    below = below + leg * (np.minimum(below, 0.6) - below)
    pale = np.clip((below - 0.66) / 0.22, 0.0, 1.0)[:, None]
    wave = 0.5 + 0.5 * np.sin(10.0 * y + 1.6 * np.sin(1.7 * y) + 3.0 * below)
    bands = np.clip(2.2 * wave - 0.9, 0.0, 1.0) * np.clip(1.25 - 2.0 * below, 0.0, 1.0)
    bands *= np.clip((1.95 + y) / 0.4, 0.15, 1.0)
    dark = np.clip(0.85 * bands + 0.3 * np.clip(1.0 - 3.0 * below, 0.0, 1.0), 0.0, 1.0)[:, None]
    colours = colours * (1.0 - pale) + np.array([0.68, 0.55, 0.35]) * pale
    return colours * (1.0 - dark) + np.array([0.075, 0.05, 0.03]) * dark


def walk(thea: Figure, t: float) -> Pose:
    """Returns the pose at time t of a heavy walk that ends in a halt."""
    stride, period, halt, brake = 1.55, 1.15, 2.3, 0.5
    # Constant speed until `halt`, then a linear stop within `brake` seconds.
    braking = min(max(t - halt, 0.0), brake)
    distance = stride / period * (min(t, halt) + braking - 0.5 * braking**2 / brake)
    pace = 1.0 if t < halt else 1.0 - braking / brake
    cycle = 2.0 * np.pi * distance / stride
    # The body is lowest when both feet carry it, twice a stride, and falls onto each foot.
    fall = np.cos(2.0 * cycle + 0.6)
    rock = 6.0 * smooth((t - halt) / 0.42) * (1.0 - smooth((t - halt - 0.35) / 0.6))
    place = np.array([0.05 * np.sin(cycle), -distance - 0.10 * rock / 6.0, -0.05 - 0.045 * fall])
    pose = Pose(thea, place, turn(2.0 * fall + rock, 3.0 * np.sin(cycle), 5.0 * np.cos(cycle)))
    pose.turn("spine", -1.5 * fall, -2.0 * np.sin(cycle), -4.0 * np.cos(cycle))
    pose.turn("chest", -1.5 * fall, -1.5 * np.sin(cycle), -4.0 * np.cos(cycle))
    late = 2.0 * cycle - 0.9
    pose.turn("neck", -4.0 * np.cos(late) - 0.5 * rock, 0.0, 2.0 * np.cos(cycle))
    pose.turn("nape", 3.0 * np.cos(late) - 0.4 * rock, 0.0, 1.5 * np.cos(cycle))
    pose.turn("head", 3.0 * np.cos(late + 0.5), 0.0, 1.0 * np.cos(cycle))
    pose.turn("jaw", 3.0 + 2.0 * np.cos(late))
    for k in range(1, 6):
        wave = cycle - 0.55 * k
        pose.turn(f"tail.{k}", 1.5 * np.cos(2.0 * wave), 0.0, (3.0 + 1.2 * k) * np.cos(wave) * (0.35 + 0.65 * pace))
    for side, phase in (("L", 0.0), ("R", 0.5)):
        _step(pose, side, *footfall(distance, stride, phase, 0.6, 0.24))
        swing = np.sin(cycle + 2.0 * np.pi * phase)
        pose.turn(f"upperarm.{side}", 8.0 * swing)
        pose.turn(f"forearm.{side}", -6.0 + 5.0 * swing)
    return pose


def roar(thea: Figure, t: float) -> Pose:
    """Returns the pose at time t of a roar: she draws back, shakes her head, and stamps."""
    back = smooth(t / 0.9) * (1.0 - smooth((t - 0.85) / 0.55))
    out = smooth((t - 0.85) / 0.55) * (1.0 - smooth((t - 2.15) / 0.6))
    shake = np.sin(2.0 * np.pi * 1.5 * (t - 1.15)) * smooth((t - 1.15) / 0.4) * (1.0 - smooth((t - 1.9) / 0.5))
    raised = smooth((t - 1.9) / 0.45) * (1.0 - smooth((t - 2.35) / 0.32))
    hit = smooth((t - 2.5) / 0.22) * (1.0 - smooth((t - 2.72) / 0.6))
    place = np.array([-0.10 * raised, 0.10 * back - 0.12 * out, -0.08 * back - 0.06 * out - 0.05 * hit])
    pose = Pose(thea, place, turn(-6.0 * back + 6.0 * out - 3.0 * raised + 2.0 * hit, 4.0 * raised, 0.0))
    pose.turn("spine", -3.0 * back + 3.0 * out, 1.0 * shake, 2.0 * shake)
    pose.turn("chest", -4.0 * back + 2.0 * out, 1.5 * shake, 3.0 * shake)
    pose.turn("neck", -14.0 * back + 12.0 * out, 3.0 * shake, 6.0 * shake)
    pose.turn("nape", 10.0 * back + 8.0 * out, 5.0 * shake, 8.0 * shake)
    pose.turn("head", 12.0 * back - 20.0 * out, 8.0 * shake, 7.0 * shake)
    pose.turn("jaw", 4.0 + 26.0 * out)
    for k in range(1, 6):
        pose.turn(f"tail.{k}", 3.0 * back - 3.0 * out, 0.0, -(1.0 + 0.8 * k) * shake + 2.0 * np.sin(2.0 * t - 0.5 * k))
    for side in ("L", "R"):
        lift = 0.34 * raised if side == "L" else 0.0
        _step(pose, side, 0.12 * raised if side == "L" else 0.0, lift, 0.5 * raised if side == "L" else 0.0)
        pose.turn(f"upperarm.{side}", -18.0 * out + 10.0 * back, (8.0 if side == "L" else -8.0) * out)
        pose.turn(f"forearm.{side}", -15.0 * out)
    return pose


def _step(pose: Pose, side: str, ahead: float, up: float, swing: float) -> None:
    """Places the ball of one foot as the gait requires; the toes stay level on the ground and hang while it swings."""
    bones = pose.figure
    ankle, ball = (np.array(bones.bone(f"{name}.{side}").head) for name in ("foot", "toes"))
    hip = pose.head(f"thigh.{side}")
    target = ball + [0.0, -ahead, up]
    # The farther behind the hip the ball lies, the steeper the foot stands on it.
    behind = np.clip((target[1] - hip[1] + 0.1) / 0.8, -0.6, 1.0)
    foot = turn(26.0 * behind + 22.0 * np.sin(np.pi * swing))
    outwards = np.array([0.10 if side == "L" else -0.10, -1.0, 0.0])
    pose.reach(f"thigh.{side}", f"shin.{side}", f"foot.{side}", target + foot @ (ankle - ball), outwards, foot)
    pose.rotations[f"toes.{side}"] = turn(38.0 * np.sin(np.pi * swing) ** 2)

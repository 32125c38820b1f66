# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bodo: a fat-bellied biped, 1.5 m tall, who walks until he stops, and who jumps."""

from __future__ import annotations

import numpy as np

from .choreography import Pose, footfall, smooth, turn
from .figure import Bone, Clip, Eye, Figure
from .implicit import Part, both_sides


def figure() -> Figure:
    """Returns Bodo at rest: arms half down, legs apart, facing -Y."""
    left = [
        Bone("shoulder.L", "chest", (0.03, 0.02, 1.08), (0.15, 0.03, 1.1)),
        Bone("upperarm.L", "shoulder.L", (0.17, 0.03, 1.1), (0.35, 0.03, 0.96)),
        Bone("forearm.L", "upperarm.L", (0.35, 0.03, 0.96), (0.51, 0.0, 0.83)),
        Bone("hand.L", "forearm.L", (0.51, 0.0, 0.83), (0.6, -0.02, 0.755)),
        Bone("thigh.L", "hips", (0.125, 0.03, 0.57), (0.14, 0.01, 0.32)),
        Bone("shin.L", "thigh.L", (0.14, 0.01, 0.32), (0.145, 0.045, 0.085)),
        Bone("foot.L", "shin.L", (0.145, 0.045, 0.085), (0.155, -0.13, 0.035)),
    ]
    middle = [
        Bone("hips", None, (0.0, 0.04, 0.6), (0.0, 0.05, 0.75)),
        Bone("spine", "hips", (0.0, 0.05, 0.75), (0.0, 0.06, 0.92)),
        Bone("chest", "spine", (0.0, 0.06, 0.92), (0.0, 0.04, 1.13)),
        Bone("neck", "chest", (0.0, 0.04, 1.13), (0.0, 0.02, 1.2)),
        Bone("head", "neck", (0.0, 0.02, 1.2), (0.0, 0.0, 1.47)),
    ]
    limbs = [
        Part((0.12, 0.03, 1.08), (0.2, 0.03, 1.08), (0.1, 0.09), "shoulder.L", "shirt"),
        Part((0.19, 0.03, 1.085), (0.35, 0.03, 0.96), (0.088, 0.068), "upperarm.L", "shirt"),
        Part((0.35, 0.03, 0.96), (0.51, 0.0, 0.83), (0.066, 0.05), "forearm.L", "skin"),
        Part((0.55, -0.01, 0.795), None, (0.065, 0.062, 0.065), "hand.L", "skin"),
        Part((0.535, -0.045, 0.81), (0.56, -0.085, 0.785), (0.028, 0.024), "hand.L", "skin"),
        Part((0.125, 0.03, 0.56), (0.14, 0.01, 0.33), (0.13, 0.092), "thigh.L", "trousers"),
        Part((0.14, 0.01, 0.32), (0.145, 0.045, 0.12), (0.09, 0.065), "shin.L", "skin"),
        Part((0.145, 0.03, 0.065), (0.155, -0.11, 0.055), (0.068, 0.062), "foot.L", "shoe"),
        Part((0.158, 0.03, 1.34), None, (0.026, 0.03, 0.045), "head", "skin"),
        Part((0.09, -0.075, 1.27), None, (0.07, 0.06, 0.06), "head", "skin"),
        Part((0.07, 0.15, 0.6), None, (0.12, 0.11, 0.12), "hips", "trousers"),
    ]
    trunk = [
        Part((0.0, 0.04, 0.6), None, (0.21, 0.175, 0.14), "hips", "trousers"),
        Part((0.0, -0.1, 0.775), None, (0.265, 0.27, 0.2), "spine", "shirt", 0.25),
        Part((0.0, -0.02, 0.86), None, (0.245, 0.22, 0.19), "spine", "shirt"),
        Part((0.0, 0.035, 1.02), None, (0.195, 0.155, 0.15), "chest", "shirt"),
        Part((0.0, 0.04, 1.1), (0.0, 0.02, 1.22), (0.085, 0.075), "neck", "skin"),
        Part((0.0, -0.005, 1.36), None, (0.15, 0.15, 0.165), "head", "skin"),
        Part((0.0, -0.06, 1.255), None, (0.105, 0.09, 0.07), "head", "skin"),
        Part((0.0, -0.165, 1.325), None, (0.035, 0.038, 0.034), "head", "nose"),
        Part((0.0, 0.045, 1.44), None, (0.137, 0.135, 0.115), "head", "hair"),
    ]
    return Figure(
        name="Bodo",
        bones=middle + left + [bone.mirrored() for bone in left],
        parts=trunk + [side for part in limbs for side in both_sides(part)],
        palette={
            "skin": (0.93, 0.69, 0.55),
            "nose": (0.91, 0.54, 0.45),
            "hair": (0.36, 0.22, 0.15),
            "shirt": (0.95, 0.77, 0.30),
            "trousers": (0.22, 0.42, 0.58),
            "shoe": (0.42, 0.24, 0.19),
        },
        eyes=[Eye((side * 0.054, -0.125, 1.385), 0.038, (side * 0.1, -1.0, 0.0), "head") for side in (1, -1)],
        cell=0.019,
        softness=0.014,
        blend=0.03,
        clips={"walk": Clip(60, walk), "jump": Clip(60, jump)},
    )


def walk(bodo: Figure, t: float) -> Pose:
    """Returns the pose at time t of two bouncing strides and a sudden halt, in which the belly goes on."""
    stride, period, halt, brake = 0.62, 0.95, 1.7, 0.25
    # Constant speed until `halt`, then a linear stop within `brake` seconds.
    braking = min(max(t - halt, 0.0), brake)
    distance = stride / period * (min(t, halt) + braking - 0.5 * braking**2 / brake) + 0.08 * stride
    cycle = 2.0 * np.pi * distance / stride
    bob = -0.03 - 0.026 * np.cos(2.0 * cycle - 0.5)
    pose = Pose(
        bodo,
        np.array([0.022 * np.sin(cycle - 0.4), -distance, bob]),
        turn(4.0 - 2.0 * np.cos(2.0 * cycle), 4.0 * np.sin(cycle), 7.0 * np.sin(cycle)),
    )
    pose.turn("spine", -2.0, -3.0 * np.sin(cycle), -6.0 * np.sin(cycle))
    pose.turn("chest", -3.0, -2.0 * np.sin(cycle), -8.0 * np.sin(cycle))
    pose.turn("neck", 1.0, 0.0, 4.0 * np.sin(cycle))
    pose.turn("head", 2.0 + 2.5 * np.cos(2.0 * cycle), 2.0 * np.sin(cycle), 3.0 * np.sin(cycle))
    for side, phase in (("L", 0.0), ("R", 0.5)):
        _step(pose, side, *footfall(distance, stride, phase, 0.6, 0.085))
        sign = 1.0 if side == "L" else -1.0
        swing = np.sin(cycle + 2.0 * np.pi * phase + 0.3)
        pose.turn(f"shoulder.{side}", 0.0, 0.0, -sign * 3.0 * swing)
        pose.turn(f"upperarm.{side}", -26.0 * swing, sign * 14.0, 0.0)
        pose.turn(f"forearm.{side}", -22.0 + 14.0 * -swing, 0.0, 0.0)
    return pose


def jump(bodo: Figure, t: float) -> Pose:
    """Returns the pose at time t of a jump: crouch, leap a foot high, land, stand up and wait for the belly."""
    crouched, leave, land, low, stand = 0.5, 0.78, 1.26, 1.52, 2.0
    gravity = 9.81
    speed = 0.5 * gravity * (land - leave)
    if t < crouched:
        height = -0.19 * smooth(t / crouched)
    elif t < leave:
        height = _hermite(t, crouched, leave, -0.19, 0.03, 0.0, speed)
    elif t < land:
        height = 0.03 + speed * (t - leave) - 0.5 * gravity * (t - leave) ** 2
    elif t < low:
        height = _hermite(t, land, low, 0.03, -0.23, -speed, 0.0)
    else:
        height = -0.23 + 0.23 * smooth((t - low) / (stand - low))
    low_down = np.clip(-height / 0.23, 0.0, 1.0)
    bend = low_down**2 * (3.0 - 2.0 * low_down)
    air = smooth((t - leave) / 0.15) * (1.0 - smooth((t - land + 0.12) / 0.16))
    back = 1.0 - smooth((t - land) / 0.6)
    pose = Pose(bodo, np.array([0.0, 0.02 * bend, height]), turn(16.0 * bend - 4.0 * air))
    pose.turn("spine", 9.0 * bend)
    pose.turn("chest", 6.0 * bend - 5.0 * air)
    pose.turn("neck", -8.0 * bend)
    pose.turn("head", -14.0 * bend - 6.0 * air)
    raised = smooth((t - crouched) / 0.4) * back
    drawn = smooth(t / crouched) * (1.0 - smooth((t - crouched) / 0.35))
    for side in ("L", "R"):
        sign = 1.0 if side == "L" else -1.0
        tuck = 0.1 * air
        lifted = max(height - 0.03, 0.0) if leave < t < land else 0.0
        _step(pose, side, 0.0, lifted + tuck, 0.5 * air)
        pose.turn(f"upperarm.{side}", 35.0 * drawn - 70.0 * raised, sign * (12.0 - 34.0 * raised), 0.0)
        pose.turn(f"forearm.{side}", -18.0 - 20.0 * raised - 25.0 * bend, 0.0, 0.0)
    return pose


def _step(pose: Pose, side: str, ahead: float, up: float, swing: float) -> None:
    """Places one foot as the gait requires, with the toes hanging while it swings."""
    ankle = np.array(pose.figure.bone(f"foot.{side}").head) + [0.0, -ahead, up]
    toes = turn(24.0 * np.sin(np.pi * swing) ** 2 * (1.0 if swing < 0.5 else 0.4))
    outwards = np.array([0.12 if side == "L" else -0.12, -1.0, 0.0])
    pose.reach(f"thigh.{side}", f"shin.{side}", f"foot.{side}", ankle, outwards, toes)


def _hermite(t: float, t0: float, t1: float, p0: float, p1: float, v0: float, v1: float) -> float:
    """Returns the cubic through two heights with two speeds, at time t."""
    span = t1 - t0
    s = (t - t0) / span
    return (
        (2 * s**3 - 3 * s**2 + 1) * p0
        + (s**3 - 2 * s**2 + s) * span * v0
        + (3 * s**2 - 2 * s**3) * p1
        + (s**3 - s**2) * span * v1
    )

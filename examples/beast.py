# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bruno, the head and neck of a highland calf: soft ears, cheeks and dewlap, a hard skull and hard horns. Needs no Blender.

Ears and horns have no bones. They differ by painted stiffness alone.
"""

from __future__ import annotations

import numpy as np

from assets.characters.choreography import turn
from assets.characters.figure import Bone, Eye, Figure
from assets.characters.implicit import Part, both_sides

FPS = 24
CELLS_ACROSS = 10.0
"""Cells along the diagonal of the lattice's box."""
YOUNG = 30e3
"""Young's modulus of flesh where nothing is painted, Pa."""
HORN, SKULL, EAR = 150.0, 30.0, 1.5
"""Painted factors on Young's modulus."""


def figure(cell: float = 0.013) -> Figure:
    """Returns the head at rest, facing -y, 0.85 m with horns; the neck ends in a stump."""
    bones = [
        Bone("chest", None, (0.0, 0.16, -0.36), (0.0, 0.14, -0.24)),
        Bone("shoulder.L", "chest", (0.0, 0.16, -0.36), (0.15, 0.16, -0.33)),
        Bone("shoulder.R", "chest", (0.0, 0.16, -0.36), (-0.15, 0.16, -0.33)),
        Bone("neck.1", "chest", (0.0, 0.14, -0.24), (0.0, 0.11, -0.1)),
        Bone("neck.2", "neck.1", (0.0, 0.11, -0.1), (0.0, 0.06, 0.06)),
        Bone("head", "neck.2", (0.0, 0.06, 0.06), (0.0, -0.03, 0.2)),
        Bone("muzzle", "head", (0.0, -0.03, 0.2), (0.0, -0.27, 0.12)),
    ]
    middle = [
        Part((0.0, 0.15, -0.31), None, (0.15, 0.2, 0.13), "chest", "coat"),
        Part((0.0, 0.14, -0.25), (0.0, 0.1, -0.07), (0.165, 0.13), "neck.1", "coat"),
        Part((0.0, 0.1, -0.07), (0.0, 0.04, 0.13), (0.13, 0.11), "neck.2", "coat"),
        Part((0.0, -0.03, -0.13), None, (0.05, 0.085, 0.12), "neck.2", "cream", 0.35),
        Part((0.0, -0.01, 0.2), None, (0.125, 0.145, 0.12), "head", "coat"),
        Part((0.0, -0.045, 0.305), None, (0.07, 0.075, 0.05), "head", "tuft"),
        Part((0.0, -0.13, 0.28), None, (0.045, 0.05, 0.05), "head", "tuft"),
        Part((0.0, -0.12, 0.17), (0.0, -0.27, 0.11), (0.095, 0.082), "muzzle", "coat"),
        Part((0.0, -0.305, 0.095), None, (0.098, 0.062, 0.07), "muzzle", "muzzle"),
        Part((0.0, -0.28, 0.035), None, (0.062, 0.055, 0.035), "muzzle", "muzzle"),
    ]
    sides = [
        Part((0.1, 0.15, -0.32), None, (0.12, 0.17, 0.11), "shoulder.L", "coat"),
        Part((0.075, -0.09, 0.085), None, (0.052, 0.085, 0.078), "head", "coat"),
        Part((0.085, 0.02, 0.285), (0.2, 0.03, 0.335), (0.044, 0.036), "head", "horn"),
        Part((0.2, 0.03, 0.335), (0.275, 0.0, 0.425), (0.036, 0.025), "head", "horn"),
        Part((0.275, 0.0, 0.425), (0.28, -0.035, 0.52), (0.025, 0.012), "head", "horn"),
        Part((0.11, 0.035, 0.215), (0.2, 0.05, 0.185), (0.036, 0.042), "head", "coat"),
        Part((0.2, 0.05, 0.185), (0.285, 0.05, 0.1), (0.044, 0.05), "head", "coat"),
        Part((0.285, 0.05, 0.1), (0.325, 0.045, 0.0), (0.046, 0.03), "head", "coat"),
        Part((0.215, 0.012, 0.165), (0.29, 0.012, 0.07), (0.022, 0.022), "head", "pink"),
        Part((0.04, -0.355, 0.118), None, (0.016, 0.014, 0.013), "muzzle", "nostril"),
    ]
    return Figure(
        name="Bruno",
        bones=bones,
        parts=middle + [side for part in sides for side in both_sides(part)],
        palette={
            "coat": (0.70, 0.39, 0.20),
            "cream": (0.86, 0.66, 0.45),
            "tuft": (0.86, 0.56, 0.30),
            "muzzle": (0.93, 0.73, 0.63),
            "horn": (0.93, 0.90, 0.80),
            "pink": (0.90, 0.62, 0.55),
            "nostril": (0.35, 0.17, 0.15),
        },
        eyes=[Eye((side * 0.092, -0.105, 0.222), 0.026, (side * 0.75, -1.0, 0.05), "head") for side in (1, -1)],
        cell=cell,
        softness=0.012,
        blend=0.03,
    )


def stiffness(points: np.ndarray) -> np.ndarray:
    """Returns the painted factors [n] on Young's modulus: horns and the top of the skull hard, ears gristly, the rest flesh."""
    creature = figure()
    distance = {
        kind: np.min([part.distance(points) for part in creature.parts if part.colour in kinds], axis=0)
        for kind, kinds in (("horn", ("horn",)), ("other", ("coat", "cream", "muzzle", "pink", "tuft", "nostril")))
    }
    horn = distance["horn"] < distance["other"]
    skull = np.clip((points[:, 2] - 0.13) / 0.08, 0.0, 1.0) * (np.abs(points[:, 0]) < 0.15) * (points[:, 1] > -0.17)
    ear = (np.abs(points[:, 0]) > 0.14) & ~horn
    return np.select([horn, ear], [HORN, EAR], 1.0 + (SKULL - 1.0) * skull)


def ear(points: np.ndarray) -> np.ndarray:
    """Returns which points belong to the outer half of the left ear [n]."""
    return (points[:, 0] > 0.24) & (points[:, 2] < 0.16)


def horn(points: np.ndarray) -> np.ndarray:
    """Returns which points belong to the outer half of the left horn [n]."""
    return (points[:, 0] > 0.15) & (points[:, 2] > 0.38)


def turned(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> np.ndarray:
    """Returns the maps of all bones [b,4,4] with the head turned by degrees, a third at each joint of the neck."""
    maps = {None: np.eye(4)}
    for bone in figure().bones:
        local = np.eye(4)
        if bone.name in ("neck.1", "neck.2", "head"):
            local[:3, :3] = turn(pitch / 3, roll / 3, yaw / 3)
            local[:3, 3] = bone.head - local[:3, :3] @ bone.head
        maps[bone.name] = maps[bone.parent] @ local
    return np.array(list(maps.values())[1:])


def shake(frames: int = 72) -> np.ndarray:
    """Returns poses [frames,b,4,4]: four shakes of the head, stronger and weaker, and a rest."""
    poses = []
    for frame in range(frames):
        t = frame / FPS
        swell = np.sin(np.pi * np.clip(t / 1.6, 0.0, 1.0)) ** 2
        angle = 2.0 * np.pi * 2.0 * t
        poses.append(turned(34.0 * swell * np.sin(angle), -6.0 * swell, 8.0 * swell * np.sin(angle + 0.6)))
    return np.array(poses)


def look_aside(frames: int = 48, degrees: float = 90.0) -> np.ndarray:
    """Returns poses [frames,b,4,4]: the head turns aside within a second and stays there."""
    t = np.clip(np.arange(frames) / FPS, 0.0, 1.0)
    return np.array([turned(angle) for angle in degrees * t**3 * (10.0 - 15.0 * t + 6.0 * t**2)])

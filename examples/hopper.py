# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pogo, a round creature that hops, in a control lattice made by hand. Needs no Blender.

Feet, tail and trunk have bones; ears, arms and the last third of the tail are flesh. The bones of legs and trunk squash and stretch.
"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters.choreography import smooth, turn
from assets.characters.figure import Bone, Eye, Figure
from assets.characters.implicit import Part, both_sides
from examples.hand_lattice import HandLattice, limb_ring, trunk_ring

LEG = 0.1
"""x of the bones of the left leg, m."""
ANKLE = 0.005
"""Height of the ankles, m."""


def figure(cell: float = 0.0125) -> Figure:
    """Returns the creature at rest: 1 m high, facing -y, soles at z = -0.045."""
    left = [
        Bone("leg.L", "hips", (LEG, 0.03, 0.21), (LEG, 0.03, ANKLE)),
        Bone("foot.L", "leg.L", (LEG, 0.03, ANKLE), (LEG, -0.13, ANKLE)),
    ]
    middle = [
        Bone("hips", None, (0.0, 0.03, 0.21), (0.0, 0.03, 0.41)),
        Bone("chest", "hips", (0.0, 0.03, 0.41), (0.0, 0.0, 0.51)),
        Bone("head", "chest", (0.0, 0.0, 0.51), (0.0, -0.04, 0.67)),
        Bone("tail.1", "hips", (0.0, 0.26, 0.30), (0.0, 0.37, 0.265)),
        Bone("tail.2", "tail.1", (0.0, 0.37, 0.265), (0.0, 0.48, 0.28)),
    ]
    trunk = [
        Part((0.0, 0.03, 0.32), None, (0.165, 0.175, 0.165), "hips", "coat"),
        Part((0.0, -0.035, 0.305), None, (0.135, 0.135, 0.135), "hips", "cream"),
        Part((0.0, 0.0, 0.46), None, (0.11, 0.105, 0.12), "chest", "coat"),
        Part((0.0, -0.035, 0.62), None, (0.128, 0.122, 0.115), "head", "coat"),
        Part((0.0, -0.135, 0.588), None, (0.066, 0.05, 0.046), "head", "cream"),
        Part((0.0, -0.184, 0.612), None, (0.024, 0.018, 0.017), "head", "nose"),
        Part((0.0, 0.15, 0.32), (0.0, 0.27, 0.295), (0.085, 0.068), "tail.1", "coat"),
        Part((0.0, 0.27, 0.295), (0.0, 0.37, 0.265), (0.068, 0.055), "tail.1", "coat"),
        Part((0.0, 0.37, 0.265), (0.0, 0.5, 0.285), (0.055, 0.045), "tail.2", "coat"),
        Part((0.0, 0.5, 0.285), (0.0, 0.6, 0.35), (0.045, 0.05), "tail.2", "cream"),
    ]
    limbs = [
        Part((LEG, 0.035, 0.23), (LEG, 0.035, 0.03), (0.085, 0.05), "leg.L", "coat"),
        Part((LEG, 0.04, 0.008), (LEG, -0.145, 0.003), (0.048, 0.045), "foot.L", "cream"),
        Part((0.07, 0.0, 0.495), (0.235, -0.06, 0.455), (0.045, 0.038), "chest", "coat"),
        Part((0.055, -0.015, 0.71), (0.085, 0.0, 0.86), (0.036, 0.046), "head", "coat"),
        Part((0.085, 0.0, 0.86), (0.115, 0.015, 1.0), (0.046, 0.026), "head", "coat"),
        Part((0.082, -0.036, 0.84), (0.104, -0.018, 0.94), (0.018, 0.014), "head", "pink"),
    ]
    return Figure(
        name="Pogo",
        bones=middle + left + [bone.mirrored() for bone in left],
        parts=trunk + [side for part in limbs for side in both_sides(part)],
        palette={
            "coat": (0.86, 0.49, 0.25),
            "cream": (0.97, 0.89, 0.75),
            "pink": (0.95, 0.62, 0.56),
            "nose": (0.25, 0.13, 0.12),
        },
        eyes=[Eye((side * 0.056, -0.126, 0.655), 0.03, (side * 0.25, -1.0, 0.12), "head") for side in (1, -1)],
        cell=cell,
        softness=0.014,
        blend=0.03,
    )


def lattice(skeleton: thew.Skeleton) -> thew.Lattice:
    """Returns the lattice: a trunk of eight rings, and legs, feet, arms, ears and a tail from patches of its sides."""
    made = HandLattice()
    rings = [
        trunk_ring(0.135, (-0.145, 0.03, 0.17), 0.2, LEG),
        trunk_ring(0.21, (-0.215, 0.03, 0.25), 0.225, LEG),
        trunk_ring(0.31, (-0.225, 0.03, 0.26), 0.225),
        trunk_ring(0.41, (-0.2, 0.03, 0.225), 0.195),
        trunk_ring(0.51, (-0.16, 0.0, 0.145), 0.155),
        trunk_ring(0.59, (-0.24, -0.02, 0.13), 0.17),
        trunk_ring(0.67, (-0.215, -0.04, 0.13), 0.17),
        trunk_ring(0.76, (-0.15, -0.02, 0.085), 0.13, 0.065),
    ]
    trunk = made.sweep(made.add(rings[0]), rings[1:])
    for side, columns in ((1.0, slice(2, 5)), (-1.0, slice(0, 3))):
        out = np.array([side, 1.0, 1.0])
        x, y, z = np.eye(3)

        def ring(centre, across, along, out=out):
            return limb_ring(out * centre, across, along)

        leg = made.sweep(
            trunk[0][columns],
            [
                ring((LEG, 0.03, height), half * x, depth * y)
                for height, half, depth in ((0.068, 0.076, 0.088), (ANKLE, 0.07, 0.085), (-0.06, 0.07, 0.085))
            ],
        )
        front = np.stack([level[:, 0] for level in leg[:0:-1]], axis=1)
        made.sweep(
            front, [ring((LEG, at, ANKLE), 0.074 * x, high * z) for at, high in ((-0.13, 0.068), (-0.215, 0.06))]
        )
        shoulder = np.stack([level[4 if side > 0 else 0] for level in trunk[3:6]], axis=1)
        made.sweep(
            shoulder, [ring((0.23, -0.055, 0.46), 0.062 * y, 0.062 * z), ring((0.3, -0.085, 0.44), 0.05 * y, 0.055 * z)]
        )
        ears = [(0.083, -0.005, 0.84, 0.075), (0.095, 0.005, 0.93, 0.074), (0.12, 0.015, 1.05, 0.05)]
        made.sweep(trunk[-1][columns], [ring((a, b, c), half * x, half * y) for a, b, c, half in ears])
    back = np.stack([level[1:4, 2] for level in trunk[1:4]], axis=1)
    made.vertices[back[1, 1]][:] = (0.0, 0.26, 0.30)
    tail = [(0.37, 0.265, 0.085), (0.48, 0.28, 0.082), (0.58, 0.325, 0.096), (0.67, 0.385, 0.085)]
    up = np.array([0.0, 0.25, 0.97])
    made.sweep(back, [limb_ring((0.0, y, z), (half, 0.0, 0.0), half * up) for y, z, half in tail])
    return made.finish(skeleton)


def stiffness(points: np.ndarray) -> np.ndarray:
    """Returns the painted factors [n] on Young's modulus: ears and arms, which have no bones, are firmer."""
    ear = np.clip((points[:, 2] - 0.74) / 0.05, 0.0, 1.0)
    arm = np.clip((np.abs(points[:, 0]) - 0.13) / 0.05, 0.0, 1.0) * (points[:, 2] > 0.38) * (points[:, 2] < 0.56)
    return 1.0 + (FIRM - 1.0) * np.maximum(ear, arm)


FPS, HOPS, START, FLIGHT, CONTACT, END = 24, 3, 0.6, 0.32, 0.22, 1.5
"""Frames a second; hops; seconds before the first, in the air, between two hops, and after the last."""
YOUNG = 60e3
"""Young's modulus of the trunk's flesh, Pa."""
FIRM = 6.0
"""Painted factor on Young's modulus of ears and arms."""
STRIDE, PASS = 0.5, 0.11
"""Metres that the body goes in the air and while its feet stand."""
SPEED = 0.5 * 9.81 * FLIGHT
"""Upward speed at take-off, m/s."""
FRAMES = round(FPS * (START + HOPS * FLIGHT + (HOPS - 1) * CONTACT + END))
TRACKS = ("height", "ahead", "pitch", "tail", "tall")
"""Metres up and ahead of the hips, degrees of the trunk and the tail, and the factor on the height of the trunk."""


def poses(frames: int = FRAMES) -> np.ndarray:
    """Returns the maps of all bones [frames,b,4,4]: hops ahead with squash and stretch, then a stop."""
    creature, keys = figure(), _keys()
    return np.array([_pose(creature, keys, frame / FPS) for frame in range(frames)])


def _keys() -> dict[str, list[tuple[float, float, float]]]:
    """Returns (time, value, slope) of every track."""
    # Landing with the feet ahead, take-off with the feet behind.
    run = STRIDE / FLIGHT
    keys = {name: [(0.0, 1.0 if name == "tall" else 0.0, 0.0)] for name in TRACKS}

    def add(t: float, *values: tuple[float, float] | float) -> None:
        for name, value in zip(TRACKS, values, strict=True):
            keys[name].append((t, *(value if isinstance(value, tuple) else (value, 0.0))))

    add(0.55 * START, -0.036, -0.01, 4.0, 8.0, 0.84)
    t, x = START, 0.5 * PASS
    for hop in range(HOPS):
        add(t, (0.045, SPEED), (x, run), (20.0, 0.0), -12.0, (1.1, 0.0))
        add(t + 0.5 * FLIGHT, (0.045 + 0.25 * SPEED * FLIGHT, 0.0), (x + 0.5 * STRIDE, run), (6.0, -80.0), 4.0, 1.0)
        t, x = t + FLIGHT, x + STRIDE
        last = hop == HOPS - 1
        add(t, (0.045, -SPEED), (x, run), -7.0, 16.0, (1.06, 0.0))
        if not last:
            add(t + 0.5 * CONTACT, -0.036, (x + 0.5 * PASS, 0.6 * PASS / CONTACT), (4.0, 120.0), 4.0, 0.82)
            t, x = t + CONTACT, x + PASS
    add(t + 0.14, -0.045, x + 0.5 * PASS + 0.012, 4.0, 0.0, 0.8)
    add(t + 0.4, 0.012, x + 0.5 * PASS, -4.0, 4.0, 1.04)
    add(t + 0.65, 0.0, x + 0.5 * PASS, 0.0, 0.0, 1.0)
    return keys


def _at(keys: list[tuple[float, float, float]], t: float) -> float:
    """Returns the value of a cubic Hermite track."""
    times = [key[0] for key in keys]
    i = int(np.clip(np.searchsorted(times, t, "right") - 1, 0, len(keys) - 2))
    (a, p, m), (b, q, n) = keys[i], keys[i + 1]
    h, s = b - a, np.clip((t - a) / (b - a), 0.0, 1.0)
    return float(
        p * (1 + 2 * s) * (1 - s) ** 2 + q * s**2 * (3 - 2 * s) + h * (m * s * (1 - s) ** 2 - n * s**2 * (1 - s))
    )


def _feet(t: float) -> tuple[float, float, float]:
    """Returns metres ahead and up of the ankles, and degrees by which the toes point down."""
    hop = int(np.floor((t - START) / (FLIGHT + CONTACT)))
    hop = min(max(hop, -1), HOPS - 1)
    fly = (t - START - hop * (FLIGHT + CONTACT)) / FLIGHT if hop >= 0 else 1.0
    ahead = (max(hop, 0) + (smooth(fly) if hop >= 0 else 0.0)) * (STRIDE + PASS)
    up = 0.16 * np.sin(np.pi * np.clip(fly, 0.0, 1.0)) ** 2
    toes = 38.0 * np.sin(np.pi * np.clip(fly, 0.0, 1.0)) ** 2 * np.cos(np.pi * np.clip(fly, 0.0, 1.0))
    return ahead, float(up), float(toes)


def _pose(creature: Figure, keys: dict, t: float) -> np.ndarray:
    """Returns the maps of all bones [b,4,4] at a time."""
    height, ahead, pitch, tail, tall = (_at(keys[name], t) for name in TRACKS)
    maps: dict[str, np.ndarray] = {}

    def put(bone: str, to: np.ndarray, rotation: np.ndarray, along: float = 1.0) -> None:
        """Moves the bone's head and stretches it along z, its volume kept."""
        head = np.array(creature.bone(bone).head)
        linear = rotation @ np.diag([along**-0.5, along**-0.5, along])
        maps[bone] = np.eye(4)
        maps[bone][:3] = np.column_stack([linear, to - linear @ head])

    def joint(bone: str) -> np.ndarray:
        """Returns the place of the bone's head by its parent."""
        parent = maps[creature.bone(bone).parent]
        return parent[:3, :3] @ creature.bone(bone).head + parent[:3, 3]

    put("hips", np.add(creature.bone("hips").head, [0.0, -ahead, height]), turn(pitch), tall)
    put("chest", joint("chest"), turn(0.7 * pitch), tall)
    put("head", joint("head"), turn(0.15 * pitch), 0.6 + 0.4 * tall)
    put("tail.1", joint("tail.1"), turn(pitch + tail))
    put("tail.2", joint("tail.2"), turn(pitch + 1.8 * tail))
    foot_ahead, up, toes = _feet(t)
    for side in ("L", "R"):
        leg, foot = f"leg.{side}", f"foot.{side}"
        hip, rest = joint(leg), np.subtract(creature.bone(leg).tail, creature.bone(leg).head)
        ankle = np.add(creature.bone(foot).head, [0.0, -foot_ahead, up])
        way = ankle - hip
        put(leg, hip, turn(np.degrees(np.arctan2(way[1], -way[2]))), float(np.linalg.norm(way) / np.linalg.norm(rest)))
        put(foot, joint(foot), turn(toes))
    return np.array([maps[bone.name] for bone in creature.bones])


def ahead(pose: np.ndarray) -> float:
    """Returns how far the hips have gone, m."""
    return float(0.03 - (pose[0, :3, :3] @ [0.0, 0.03, 0.21] + pose[0, :3, 3])[1])

# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs for many characters: a breathing torso, a biceps that bulges with the elbow, a swallowing throat.

Sizes are parts of the *girth* at the place, the distance from the bone to the skin, so that a preset suits any body.
The strength is set by measuring how far the skin moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..logic.bone_names import CHEST, FOREARM, NECK, UPPER_ARM, Role


@dataclass(frozen=True)
class Piece:
    """One template on a bone."""

    name: str
    role: Role
    template: str
    along: float
    sizes: dict[str, float]  # parts of the girth
    moves: float  # displacement of the skin at full strength, a part of the girth
    out: float = 0.0  # a part of the girth
    angle: float = 0.0  # 0 is the front
    tilt: float = 0.0
    #: (control, share of the strength, along)
    samples: tuple[tuple[float, float, float], ...] = ()
    both_sides: bool = False


@dataclass(frozen=True)
class Preset:
    """A ready rig: one piece and the motion of its control."""

    label: str
    description: str
    piece: Piece
    #: Keys of the control: (share of the time, value); () for one that a bone drives.
    keys: tuple[tuple[float, float], ...] = ()
    seconds: float = 0.0
    loops: bool = False
    driver: Role | None = None  # the bone whose turn drives the control, a child of the piece's own
    full: float = 0.0  # the turn at which the control is 1, radians


PRESETS = {
    "BREATH": Preset(
        "Breath",
        "The chest widens and sinks, keyed as a loop over the scene's frames",
        Piece(
            "Breath", CHEST, "RADIAL", along=0.4, out=0.25, sizes={"radius": 1.25}, moves=0.12,
            samples=((0.0, 0.0, 0.4), (1.0, 1.0, 0.4)),
        ),
        keys=((0.0, 0.0), (0.4, 1.0), (0.55, 0.95), (1.0, 0.0)),
        seconds=4.0,
        loops=True,
    ),
    "BICEPS": Preset(
        "Biceps",
        "The upper arms bulge as the elbows bend",
        Piece(
            "Biceps", UPPER_ARM, "BULGE", along=0.5, out=0.35, tilt=0.5 * math.pi, sizes={"radius": 1.5}, moves=0.3,
            samples=((0.0, 0.0, 0.5), (1.0, 1.0, 0.5)), both_sides=True,
        ),
        driver=FOREARM,
        full=math.radians(110.0),
    ),
    "THROAT": Preset(
        "Throat",
        "A swallow runs down the neck, keyed once from the first frame of the scene on",
        Piece(
            "Swallow", NECK, "TORUS", along=0.5, tilt=0.5 * math.pi, sizes={"ring_radius": 0.85, "tube_radius": 0.6},
            moves=0.18, samples=((0.0, 0.0, 1.0), (0.2, 1.0, 0.8), (0.8, 1.0, 0.2), (1.0, 0.0, 0.0)),
        ),
        keys=((0.0, 0.0), (1.0, 1.0)),
        seconds=1.2,
    ),
}  # fmt: skip


def key_frames(preset: Preset, start: int, end: int, fps: float) -> list[tuple[float, float]]:
    """Returns (frame, value) of the control's keys in a scene of frames `start` to `end`.

    A loop takes a whole number of rounds in the range, so that the scene's own loop is seamless. A motion longer than
    the range is shortened to it.
    """
    span = float(max(end - start, 1))
    length = preset.seconds * fps
    if preset.loops:
        length = span / max(1, round(span / length))
    length = min(length, span)
    return [(start + share * length, value) for share, value in preset.keys]

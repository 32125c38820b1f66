# SPDX-License-Identifier: GPL-3.0-or-later
"""Distances by which pins stop short of their targets.

Flesh is shown only a part of its thickness away from its skin, and at most the Swing Limit. Neither depends on how soft it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .sentences import frames_text

#: Smallest gap that is reported, as a part of the body's size: less than two millimetres on a man, which nobody sees.
MIN_GAP = 1e-3
#: Share of the Swing Limit from which it takes effect (`kernel::limit` of the core).
FREE_SHARE = 2.0 / 3.0


@dataclass(frozen=True)
class PinGaps:
    """Gaps of the pins of a clip, frame by frame: those that hold fully and still stop short."""

    names: tuple[str, ...] = ()
    #: Displayed place of the point of a pin that is farthest from its target, and that target, Blender's world.
    ends: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 2, 3)))  # [f, p, 2, 3]
    #: Distances between both in units of the scene; 0 where the pin reaches its target, or does not hold fully.
    lengths: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # [f, p]
    #: Whether the Swing Limit stops the pin's point at its largest gap.
    limited: tuple[bool, ...] = ()
    #: Whether the target stands still while the character moves away from it: in some frames the pin reaches it.
    left: tuple[bool, ...] = ()

    def worst(self, name: str) -> tuple[float, int]:
        """Returns the largest gap of a pin, and its frame from 0; (0.0, 0) without a gap."""
        if name not in self.names or not len(self.lengths):
            return 0.0, 0
        lengths = self.lengths[:, self.names.index(name)]
        return float(lengths.max()), int(lengths.argmax())

    def at(self, name: str, index: int) -> float:
        """Returns the gap of a pin in frame `index`, from 0; 0.0 beyond the clip."""
        known = name in self.names and 0 <= index < len(self.lengths)
        return float(self.lengths[index, self.names.index(name)]) if known else 0.0

    def warnings(self, length: Callable[[float], str]) -> list[str]:
        """Returns a sentence for each pin that stops short, the largest gap first; `length` writes one."""
        found = sorted(((*self.worst(name), name) for name in self.names), key=lambda each: -each[0])
        return [
            f"The pin “{name}” stops {rounded(length, gap)} short: {self.advice(name)}"
            for gap, _, name in found
            if gap > 0.0
        ]

    def description(self, name: str, index: int, start: int, length: Callable[[float], str]) -> str:
        """Returns what the panel says of a pin in frame `index` of a clip that begins at frame `start`; "" where it reaches its target."""
        gap, frame = self.worst(name)
        if gap == 0.0:
            return ""
        here, most = self.at(name, index), rounded(length, gap)
        where = f"Stops {rounded(length, here)} short of its target here" if here > 0.0 else "Reaches its target here"
        alike = rounded(length, here) == most  # the text need not say one number twice
        more = "" if alike else f", {most} short in {frames_text([start + frame])}"
        return f"{where}{more}. Flesh goes only a part of its thickness from the skin: {self.advice(name)}"

    def advice(self, name: str) -> str:
        """Returns what to do about a pin that stops short."""
        index = self.names.index(name)
        if self.left[index]:
            return "parent its target to a bone"
        return "pull less, or raise Swing Limit" if self.limited[index] else "move its target nearer"

    def drawn_at(self, index: int, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the gaps of the pins called `names` in frame `index`, from 0: their ends [m, 2, 3] and lengths [m]."""
        if not 0 <= index < len(self.lengths):
            return np.zeros((0, 2, 3)), np.zeros(0)
        chosen = [k for k, name in enumerate(self.names) if name in names and self.lengths[index, k] > 0.0]
        return self.ends[index, chosen], self.lengths[index, chosen]


def rounded(length: Callable[[float], str], gap: float) -> str:
    """Returns a gap as text, with two digits."""
    return length(float(f"{gap:.2g}"))


def find(
    names: Sequence[str],
    held: np.ndarray,
    shown: np.ndarray,
    wanted: np.ndarray,
    swing: np.ndarray,
    reach: float,
    least: float,
) -> PinGaps:
    """Returns the gaps of pins.

    names: the pin of each point [k]; held: whether it holds fully [f, k]; shown, wanted: places [f, k, 3] in the world; swing: distances of
    the shown points from their skin [f, k]; reach: the Swing Limit in the same unit, or infinite; least: gap that counts.
    """
    away = np.where(held, np.linalg.norm(shown - wanted, axis=-1), 0.0)
    away[away < least] = 0.0
    pins = tuple(dict.fromkeys(names))
    frames = np.arange(len(away))
    ends, lengths = np.zeros((len(away), len(pins), 2, 3)), np.zeros((len(away), len(pins)))
    limited, left = [], []
    for p, pin in enumerate(pins):
        points = np.flatnonzero(np.array(names) == pin)
        worst = points[away[:, points].argmax(axis=1)]
        lengths[:, p] = away[frames, worst]
        ends[:, p] = np.stack([shown[frames, worst], wanted[frames, worst]], axis=1)
        at = int(lengths[:, p].argmax())
        limited.append(bool(swing[at, worst[at]] > FREE_SHARE * reach))
        still = np.abs(wanted[:, points] - wanted[0, points]).max() < least
        left.append(bool(still and (held[:, points].all(axis=1) & (lengths[:, p] == 0.0)).any()))
    return PinGaps(pins, ends, lengths, tuple(limited), tuple(left))

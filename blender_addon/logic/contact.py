# SPDX-License-Identifier: GPL-3.0-or-later
"""What touched in a clip, found once, and what the artist reads about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .played import Played
from .sentences import listed, plural

#: The methods whose flesh can touch.
METHODS = frozenset({"hyperelastic", "warped", "warped_vertex", "linear", "modal"})

#: Of these the one of which the surface alone is parted, frame by frame, and what the panel says with it.
PARTED = "modal"
ON_THE_SURFACE = "With Modal the surface alone is parted in each frame: nothing is pushed, and nothing rubs."

#: What the panel says with any other method.
UNTOUCHABLE = "This method knows no contact: choose Hyperelastic under Advanced."

#: Skins that overlap by less than this part of the body's size lie on each other, for all that can be seen.
VISIBLE = 5e-4

#: So many pairs of parts are named, and so many spans of frames; the rest is counted.
NAMED, SPANS = 3, 3

#: Frames between two touches that are not told apart: in them skins were just about to touch again.
APART = 2


@dataclass(frozen=True)
class Pair:
    """Two parts that touch: the bones that weigh most there; the same one twice where a part touches itself."""

    parts: tuple[str, str]
    frames: tuple[int, ...]
    force: float  # N, all frames added up


@dataclass(frozen=True)
class Touching:
    """What touched in the frames of a clip."""

    size: float  # of the body, metres
    itself: bool = True  # whether the body was to touch itself
    frames: tuple[int, ...] = ()  # in which anything touched
    pairs: tuple[Pair, ...] = ()  # those that press most first
    strongest: float = 0.0  # the largest force of a contact, N
    deepest: float = 0.0  # metres: how far skins overlap at most
    worst: int = 0  # the frame in which they do
    left: int = 0  # points that visibly overlap in that frame
    held: tuple[int, ...] = ()  # frames with cells that bones alone hold folded

    @staticmethod
    def of(
        clip: Any,
        frames: range,
        bones: list[str],
        weights: np.ndarray,
        size: float,
        thickness: float,
        itself: bool = True,
        parted: bool = False,
    ) -> Touching:
        """Of a clip that shows `frames`; weights [n, b] say of which bone a vertex is, `thickness` is kept between skins, metres;
        `parted`: on the surface alone, without forces."""
        weighs_most = np.where(weights.any(axis=1), weights.argmax(axis=1), len(bones))
        touched: list[int] = []
        strongest, deepest, worst, left = 0.0, 0.0, frames.start, 0
        forces: dict[tuple[int, int], float] = {}
        when: dict[tuple[int, int], list[int]] = {}
        for index, frame in enumerate(frames):
            contacts = clip.contacts(index)
            force, overlaps = np.linalg.norm(contacts.forces, axis=1), -(np.asarray(contacts.gaps) + thickness)
            meet = (force > 0.0) | (overlaps > 0.0) | parted  # others have parted just now
            if not meet.any():
                continue
            touched.append(frame)
            strongest = max(strongest, float(force.max()))
            if overlaps.max() > deepest:
                deepest, worst = float(overlaps.max()), frame
                left = int((overlaps > VISIBLE * size).sum())
            both = np.stack([weighs_most[contacts.vertices], weighs_most[contacts.partners]], axis=1)
            known = meet & (both < len(bones)).all(axis=1)
            pairs, which = np.unique(np.sort(both[known], axis=1), axis=0, return_inverse=True)
            pressed = np.bincount(which.ravel(), force[known], len(pairs))
            for (a, b), much in zip(pairs.tolist(), pressed.tolist(), strict=True):
                forces[a, b] = forces.get((a, b), 0.0) + much
                when.setdefault((a, b), []).append(frame)
        ranked = sorted(forces, key=lambda pair: (-forces[pair], pair))
        named = tuple(Pair((bones[a], bones[b]), tuple(when[a, b]), forces[a, b]) for a, b in ranked)
        held = tuple(frame for index, frame in enumerate(frames) if held_at(clip, index))
        return Touching(size, itself, tuple(touched), named, strongest, deepest, worst, left, held)

    @property
    def overlaps(self) -> bool:
        """Whether skins are seen to overlap still."""
        return self.deepest > VISIBLE * self.size and self.left > 0


def held_at(clip: Any, index: int) -> int:
    """How many cells bones alone hold near inversion at frame `index` of what a clip shows."""
    clip, at = clip.simulated(index) if isinstance(clip, Played) else (clip, index)
    counts = clip.held_cells
    return int(counts[at % len(counts)])


def spans(frames: tuple[int, ...]) -> str:
    """`frame 5`, `frames 12 to 48`, `frames 3 to 9 and 12 to 20`, or how many of which."""
    found: list[list[int]] = []
    for frame in frames:
        if found and frame - found[-1][1] <= APART:
            found[-1][1] = frame
        else:
            found.append([frame, frame])
    if len(found) > SPANS:
        return f"{len(frames)} of the frames {frames[0]} to {frames[-1]}"
    words = [f"{first} to {last}" if first < last else f"{first}" for first, last in found]
    return f"frame{'' if len(frames) == 1 else 's'} {listed(words)}"


def said_of(pairs: tuple[Pair, ...], known: str) -> list[str]:
    """Which parts touch which others, and when, unless these are the frames that are `known` already."""
    partners: dict[tuple[str, str], list[str]] = {}  # by the part that touches and the words for the frames
    for pair in pairs:
        one, other = pair.parts
        when = spans(pair.frames)
        if (other, when) in partners and (one, when) not in partners:
            one, other = other, one
        partners.setdefault((one, when), []).append("itself" if one == other else f"“{other}”")
    return [
        f"“{one}” touches {listed(others)}{f' in {when}' if when != known else ''}"
        for (one, when), others in partners.items()
    ]


def contact_notes(touching: Touching | None, length: Callable[[float], str]) -> list[str]:
    """What the artist reads about contact in a clip, sentences; `length`: metres in the words that the scene shows them in."""
    if touching is None:
        return []
    notes = []
    if not touching.frames and touching.itself:
        notes.append("Nothing touches.")
    if touching.frames:
        when = spans(touching.frames)
        parts = said_of(touching.pairs[:NAMED], when)
        more = len(touching.pairs) - NAMED
        if more > 0:
            parts.append(plural(more, "other pair touches", "other pairs touch"))
        text = f"The skin touches itself in {when}"
        text += f": {', '.join(parts)}" if parts else ""
        if touching.overlaps:
            points = plural(touching.left, "point still overlaps, by", "points still overlap, by up to")
            text += f"; {points} {length(touching.deepest)} in frame {touching.worst}"
        notes.append(f"{text}.")
    if touching.held:
        notes.append(
            f"In {spans(touching.held)} bones pass through each other, or fold what they alone hold: contact cannot help there, "
            "keep those bones further apart."
        )
    return notes


def levels(forces: np.ndarray, strongest: float, count: int) -> np.ndarray:
    """Of `count` levels that of each force [c] beside the strongest: 0 hardly presses. By the root, so that light touches differ."""
    share = np.sqrt(np.clip(forces / strongest, 0.0, 1.0)) if strongest > 0.0 else np.zeros(len(forces))
    return np.minimum((share * count).astype(int), count - 1)

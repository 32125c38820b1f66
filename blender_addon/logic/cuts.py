# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts: frames in which a character, or one of its bones, is elsewhere at once, so that its flesh would be thrown.

A fast motion announces itself: steps from frame to frame grow over several frames, and their direction goes on. A cut does not. The
*surprise* of a step is its distance from the mean of the two steps beside it. A step is a cut if it is

1. far: farther than flesh can be left behind without being seen thrown;
2. sudden: several times as long as the steps right beside it, or a jump there and back;
3. rare: its surprise is several times as large as the others within a quarter of a second.

Stepped animation is far and sudden all the time: it is compared pose by pose (`stepped`), without its holds.

The whole character is measured by the root mean square over its skin, in the world. A bone is measured alone, in the space of its
parent, by the skin that it and its descendants carry. The bones below one that jumps are therefore not named, and a hand that
teleports on a running character is. A bone that is elsewhere for a few frames and comes back makes two cuts that know of each other:
a wrong key, or a limb that flips. Thresholds: in 93 clips of 15 characters at 24 frames a second, blows, falls, landings and
badly solved legs among them, nothing reaches 72 % of `MIN_WHOLE_RATIO` or 81 % of `MIN_BONE_RATIO` where it is rare. Of 89 of these
clips with a part cut out, so that the skin moves by a tenth of the size, 81 are found. At half the ratios 4 clips are mistaken for
cut ones; at twice the ratios 55 of 89 are found. No clip has a jump of a bone there and back, at half the ratio neither. Of 385 such
jumps, a bone turned by 60° for one to four frames of these clips, 301 are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .sentences import frames_text, join_few
from .stepped import is_stepped, stands_out, unheld_frames

#: Least step of the whole skin, as a part of the body's size. Natural flesh sags by 0.018 of it under its own weight: three
#: times that is seen as a blow.
MIN_WHOLE_STEP = 0.05
#: Least step of the skin of one bone. The usual Swing Limit: flesh left behind farther than that is cut off there.
MIN_BONE_STEP = 0.15
#: Least ratio of a step to the larger one right beside it. Clips reach 2.1 and 4.8.
MIN_WHOLE_RATIO, MIN_BONE_RATIO = 3.0, 6.0
#: Largest way that is left of a jump there and back, over its steps: of the whole skin, and of one bone.
MAX_WHOLE_RETURN, MAX_BONE_RETURN = 0.5, 0.25
#: Longest time that a bone is away if it is to count as one jump there and back, s.
MAX_AWAY_TIME = 1.0 / 6.0
#: Largest step of a pose that is held, as a part of the body's size: single precision far from the origin.
HELD_STEP = 1e-4
#: Least ratio of the surprise to others around it.
MIN_SURPRISE_RATIO = 4.0
#: Seconds around a step in which others are compared, the least number of frames, and frames beside it in which its own surprise
#: still counts.
AROUND_TIME, AROUND_FRAMES, BESIDE_FRAMES = 0.25, 6, 2
#: Surprises around a step that one other cut causes: its own, and those of the steps beside it.
SURPRISES_PER_CUT = 3
#: Share of the skin that must move for the whole character to jump.
MIN_WHOLE_SHARE = 0.5
#: Step that counts as none in a denominator, as a part of the body's size: rounding of single precision.
TINY_STEP = 1e-6
#: Largest number of bones that a sentence names.
MAX_NAMES = 3


@dataclass(frozen=True)
class Cut:
    """One frame in which something jumps."""

    frame: int
    distance: float  # of the jump, as a part of the body's size
    bones: tuple[str, ...] = ()  # the bones that jump by themselves; () for the whole character
    away: tuple[
        int, ...
    ] = ()  # the few frames in which it is elsewhere, if this is the jump there or back; () if it stays

    @property
    def is_return(self) -> bool:
        """Returns whether it jumps back to where it was."""
        return bool(self.away) and self.frame > self.away[-1]

    @property
    def is_pop(self) -> bool:
        """Returns whether single bones jump there or back: wrong keys rather than a cut."""
        return bool(self.bones and self.away)

    @property
    def text(self) -> str:
        """Returns the jump in words, for a diagnosis."""
        return f"{self.what} by {100.0 * self.distance:.0f} % of its size"

    @property
    def row_text(self) -> str:
        """Returns frame and jump for a row of the panel."""
        if self.is_return:
            return self.return_text
        share = f"{100.0 * self.distance:.0f} %"
        if not self.bones:
            return f"Frame {self.frame}: everything jumps by {share} of its size"
        if len(self.bones) == 1:
            return f"Frame {self.frame}: “{self.bones[0]}” jumps by {share} of its size"
        return f"Frame {self.frame}: {join_quoted(self.bones)} jump by {share} of its size"

    @property
    def return_text(self) -> str:
        """Returns frame and return for a row of the panel."""
        if not self.bones:
            return f"Frame {self.frame}: everything jumps back"
        if len(self.bones) == 1:
            return f"Frame {self.frame}: “{self.bones[0]}” jumps back"
        return f"Frame {self.frame}: {join_quoted(self.bones)} jump back"

    @property
    def what(self) -> str:
        """Returns the words for what jumps, with the verb."""
        if not self.bones:
            return "Everything jumps"
        return f"{join_quoted(self.bones)} {'jumps' if len(self.bones) == 1 else 'jump'}"


@dataclass(frozen=True)
class Carried:
    """The skin of a character at rest, as points on its bones, metres."""

    names: tuple[str, ...]  # of the bones
    parents: np.ndarray  # [b], -1 for a root
    centres: np.ndarray  # [b, 3] the middle of each bone's own skin
    shares: np.ndarray  # [b] its share of all skin
    ends: np.ndarray  # [b, 6, 3] the outermost points of the skin that a bone and its descendants carry
    carries: np.ndarray  # bool[b] whether there are any
    size: float

    @staticmethod
    def from_skin(names: Sequence[str], parents: np.ndarray, points: np.ndarray, weights: np.ndarray, size: float):
        """Returns the carried skin of `points` [n, 3] with `weights` [n, b]; parents come before their children."""
        count = len(names)
        total = weights.sum(axis=0)
        centres = (weights.T @ points) / np.maximum(total, 1e-12)[:, None]
        main = np.where(weights.any(axis=1), weights.argmax(axis=1), -1)
        ends, carries = np.zeros((count, 6, 3)), np.zeros(count, dtype=bool)
        below: list[list[np.ndarray]] = [[points[main == bone]] for bone in range(count)]
        for bone in reversed(range(count)):
            found = np.concatenate(below[bone])
            if not len(found):
                continue
            carries[bone] = True
            ends[bone] = found[np.concatenate([found.argmin(axis=0), found.argmax(axis=0)])]
            if parents[bone] >= 0:
                below[int(parents[bone])].append(ends[bone])
        return Carried(tuple(names), np.asarray(parents), centres, total / max(total.sum(), 1e-12), ends, carries, size)


def find_cuts(maps: np.ndarray, skin: Carried, fps: float, first: int = 0) -> tuple[Cut, ...]:
    """Returns the cuts in poses `maps` [f, b, 4, 4], metres; `first`: the frame of the first pose.

    The frame of a cut is the first one in the new place.
    """
    if len(maps) < 3 or not len(skin.names):
        return ()
    around = max(round(AROUND_TIME * fps), AROUND_FRAMES)
    paths = {bone: own_path(maps, skin, bone) for bone in map(int, np.flatnonzero(skin.carries))}
    moves = moving_steps(paths, len(maps) - 1)
    single, trips = bone_cuts(paths, around, max(round(MAX_AWAY_TIME * fps), 1), moves)
    kept = unheld_frames(moves, around)
    held = np.diff(kept) > 1
    whole = {int(kept[at + 1]) - 1: cut for at, cut in whole_cuts(maps[kept], skin, around, held).items()}
    found = []
    every = {at for at, (_, most) in whole.items() if most}
    for at in sorted({*single, *whole}):
        if at in every:
            # Two in a row are sudden only as a jump there and back.
            away = tuple(first + there + 1 for there in (at - 1, at) if {there, there + 1} <= every)
            found.append(Cut(first + at + 1, whole[at][0], away=away))
            continue
        bones = single.get(at) or [largest_turn(maps, skin, at)]
        bones = sorted(bones, key=lambda each: -each[1])
        # A bone that jumps in the same frame and stays makes it a cut.
        shared = {trips.get((bone, at), (0, 0)) for bone, _ in bones}
        there, back = shared.pop() if len(shared) == 1 else (0, 0)
        away = tuple(range(first + there + 1, first + back + 1))
        found.append(Cut(first + at + 1, bones[0][1], tuple(skin.names[bone] for bone, _ in bones), away))
    return tuple(found)


def whole_cuts(maps: np.ndarray, skin: Carried, around: int, held: np.ndarray) -> dict[int, tuple[float, bool]]:
    """Returns for each step that is a cut of the skin as a whole its length, as a part of the size, and whether most of the skin moves.

    `held` bool[f - 1]: the steps that end a hold of stepped animation.
    """
    path = moved(maps, skin.centres[:, None])[:, :, 0] / skin.size
    every, surprises = steps_and_surprises(path)
    steps, surprises = (np.sqrt(np.square(each) @ skin.shares) for each in (every, surprises))
    sudden = steps > MIN_WHOLE_RATIO * np.maximum(beside(steps), TINY_STEP)
    # Back after one frame: both steps are as long as the other, and little of them is left.
    pair = np.minimum(steps[:-1], steps[1:])
    left = np.sqrt(np.square(np.linalg.norm(path[2:] - path[:-2], axis=-1)) @ skin.shares)
    outside = np.maximum(np.append(0.0, steps[:-2]), np.append(steps[2:], 0.0))
    back = (left < MAX_WHOLE_RETURN * pair) & (pair > MIN_WHOLE_RATIO * np.maximum(outside, TINY_STEP))
    returns = np.append(back, False) | np.append(False, back)
    sudden |= returns
    # One other cut may lie near.
    rare = surprises > MIN_SURPRISE_RATIO * others(surprises, around, SURPRISES_PER_CUT + 1)
    share = (every > 0.5 * steps[:, None]) @ skin.shares
    cut = np.flatnonzero((steps > MIN_WHOLE_STEP) & sudden & rare & (stands_out(steps) | returns | ~held))
    return {int(at): (float(steps[at]), bool(share[at] > MIN_WHOLE_SHARE)) for at in cut}


def largest_turn(maps: np.ndarray, skin: Carried, at: int) -> tuple[int, float]:
    """Returns the bone that moves most against its parent in a step, and how far, as a part of the size."""
    ways = [np.abs(np.diff(own_path(maps[at : at + 2], skin, bone), axis=0)).max() for bone in range(len(skin.names))]
    bone = int(np.argmax(np.where(skin.carries, ways, -1.0)))
    return bone, float(ways[bone])


def moving_steps(paths: dict[int, np.ndarray], count: int) -> np.ndarray:
    """Returns whether anything moves in each of `count` steps of the paths of bones, bool[count]."""
    moves = np.zeros(count, dtype=bool)
    for path in paths.values():
        moves |= np.linalg.norm(np.diff(path, axis=0), axis=-1).max(axis=1) > HELD_STEP
    return moves


def bone_cuts(
    paths: dict[int, np.ndarray], around: int, longest: int, moves: np.ndarray
) -> tuple[dict[int, list[tuple[int, float]]], dict[tuple[int, int], tuple[int, int]]]:
    """Returns for each step in which single bones jump those bones and their distances, as parts of the size.

    Also returns, by bone and step, the steps there and back of bones that are away for `longest` frames at most.
    `paths`: of each bone that carries skin, see `own_path`; `moves` bool[f - 1]: whether anything moves in each step.
    """
    found: dict[int, list[tuple[int, float]]] = {}
    trips: dict[tuple[int, int], tuple[int, int]] = {}
    for bone, path in paths.items():
        steps, surprises = (each.max(axis=1) for each in steps_and_surprises(path))
        if steps.max() <= MIN_BONE_STEP:
            continue
        jumps = single_jumps(path, moves, steps > HELD_STEP, around)
        for there, back in round_trips(path, steps, surprises, around, longest):
            if any(is_stepped(each, there, back, 2 * around) for each in (moves, steps > HELD_STEP)):
                continue
            trips[bone, there] = trips[bone, back] = there, back
            jumps |= {there, back}
        for at in jumps:
            found.setdefault(at, []).append((bone, float(steps[at])))
    return found, trips


def single_jumps(path: np.ndarray, moves: np.ndarray, own: np.ndarray, around: int) -> set[int]:
    """Returns the steps in which a path [f, k, 3] jumps.

    moves, own: bool[f - 1], whether anything moves in each step, and the path itself. The holds of both beats are left out.
    """
    kept = np.intersect1d(unheld_frames(moves, around), unheld_frames(own, around))
    if len(kept) < 3:
        return set()
    steps, surprises = (each.max(axis=1) for each in steps_and_surprises(path[kept]))
    sudden = steps > MIN_BONE_RATIO * np.maximum(beside(steps), TINY_STEP)
    rare = surprises > MIN_SURPRISE_RATIO * others(surprises, around, 1)
    jumps = (steps > MIN_BONE_STEP) & sudden & rare & (stands_out(steps) | (np.diff(kept) == 1))
    return {int(kept[at + 1]) - 1 for at in np.flatnonzero(jumps)}


def round_trips(
    path: np.ndarray, steps: np.ndarray, surprises: np.ndarray, around: int, longest: int
) -> list[tuple[int, int]]:
    """Returns the steps there and back of jumps of a path [f, k, 3] that end where they began after `longest` frames at most.

    Such a jump may be long beside the other one; it is sudden and rare beside the steps around the two and between them. All pairs
    of a length are tested at once: where everything moves fast, there are several for each frame.
    """
    found, far, padded = [], steps > MIN_BONE_STEP, np.pad(steps, 1)
    for length in range(1, min(longest, len(steps) - 1) + 1):
        there = np.flatnonzero(far[:-length] & far[length:])
        back = there + length
        shorter = np.minimum(steps[there], steps[back])
        left = np.linalg.norm(path[back + 1] - path[there], axis=-1).max(axis=-1, initial=0.0)
        close = np.max([padded[there + 1 + at] for at in range(-1, length + 2) if at not in {0, length}], axis=0)
        sudden = shorter > MIN_BONE_RATIO * np.maximum(close, TINY_STEP)
        for at in map(int, there[(left < MAX_BONE_RETURN * shorter) & sudden]):
            near = np.r_[
                max(at - around, 0) : max(at - BESIDE_FRAMES, 0),
                at + length + BESIDE_FRAMES + 1 : at + length + around + 1,
            ]
            near = near[near < len(steps)]
            own = min(surprises[at], surprises[at + length])
            if own > MIN_SURPRISE_RATIO * surprises[near].max(initial=0.0):
                found.append((at, at + length))
    return sorted(found)


def own_path(maps: np.ndarray, skin: Carried, bone: int) -> np.ndarray:
    """Returns the paths of what a bone carries in the space of its parent, [f, 6, 3], in sizes of the body."""
    parent, own = int(skin.parents[bone]), maps[:, bone]
    own = own if parent < 0 else relative(maps[:, parent], own)
    return moved(own[:, None], skin.ends[bone][None])[:, 0] / skin.size


def moved(maps: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns points [b, k, 3] moved by maps [f, b, 4, 4], [f, b, k, 3]."""
    return np.einsum("fbij,bkj->fbki", maps[..., :3, :3], points) + maps[..., None, :3, 3]


def relative(parents: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Returns maps [f, 4, 4] in the spaces of other maps [f, 4, 4]; in the world where one of these is flat."""
    if (np.abs(np.linalg.det(parents[:, :3, :3])) < 1e-12).any():
        return maps
    return np.linalg.inv(parents) @ maps


def steps_and_surprises(path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the length of each step of paths [f, k, 3], and its distance from the mean of the steps beside it, both [f - 1, k].

    At the ends the one step beside it counts for both.
    """
    steps = np.diff(path, axis=0)
    before, after = np.concatenate([steps[1:2], steps[:-1]]), np.concatenate([steps[1:], steps[-2:-1]])
    return np.linalg.norm(steps, axis=-1), np.linalg.norm(steps - 0.5 * (before + after), axis=-1)


def beside(steps: np.ndarray) -> np.ndarray:
    """Returns the larger of the two values beside each [f]; a missing one counts as 0."""
    return np.maximum(np.append(0.0, steps[:-1]), np.append(steps[1:], 0.0))


def others(surprises: np.ndarray, around: int, rank: int) -> np.ndarray:
    """Returns for each value [f] the one of that rank (1: the largest) within `around` of it, those right beside it left out.

    Near the ends, where one side is cut short, it is the largest.
    """
    count = len(surprises)
    padded = np.pad(surprises, around)
    near = np.array([shift for shift in range(-around, around + 1) if abs(shift) > BESIDE_FRAMES])
    table = padded[np.arange(count)[:, None] + around + near]
    table, inside = np.sort(table, axis=1), np.minimum(np.arange(count), np.arange(count)[::-1]) >= around
    return np.where(inside, table[:, -rank], table[:, -1])


def cut_text(cuts: Sequence[Cut]) -> str:
    """Returns a sentence on cuts that nobody has judged yet, without full stop; "" without cuts.

    Of a jump there and back of which one half is judged, the other half is a cut like others.
    """
    ends = {(cut.frame, cut.away) for cut in cuts}
    if cuts and all(cut.away and {(cut.away[0], cut.away), (cut.away[-1] + 1, cut.away)} <= ends for cut in cuts):
        return away_text(cuts)
    whole = [cut.frame for cut in cuts if not cut.bones]
    if whole:
        return f"Everything jumps in {frames_text(whole)}: where that is a cut, press Restart Here"
    if not cuts:
        return ""
    names = list(dict.fromkeys(bone for cut in cuts for bone in cut.bones))
    frames = frames_text([cut.frame for cut in cuts])
    if len(names) == 1:
        return f"“{names[0]}” jumps in {frames}: where that is a cut, press Restart Here"
    return f"{join_quoted(names)} jump in {frames}: where that is a cut, press Restart Here"


def away_text(cuts: Sequence[Cut]) -> str:
    """Returns a sentence on jumps there and back, without full stop."""
    names = list(dict.fromkeys(bone for cut in cuts for bone in cut.bones))
    frames = frames_text(sorted({frame for cut in cuts for frame in cut.away}))
    if not all(cut.bones for cut in cuts):
        return f"Everything is elsewhere in {frames} alone: correct its keys there, or press Restart at All Cuts"
    if len(names) == 1:
        return f"“{names[0]}” is elsewhere in {frames} alone: correct its keys there, or press Restart at All Cuts"
    return (
        f"{join_quoted(names)} are elsewhere in {frames} alone: correct their keys there, or press Restart at All Cuts"
    )


def join_quoted(names: Sequence[str]) -> str:
    """Returns the first few names in words, in quotation marks."""
    return join_few([f"“{name}”" for name in names], MAX_NAMES)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The beginning of a motion: a cycle that has always been going on, a run-in, or flesh at rest.

A range of frames is a cycle when its ends meet: the last pose, or the one that would follow it, is the first again. It may travel:
then the last pose is the first one moved, and the character goes on about as fast at both ends. A range without its last key,
because that equals the first, is recognised by its seam, which is as smooth as the motion around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .spaces import is_singular, mirrors

AUTOMATIC, CYCLE, PREROLL, SETTLED = "AUTOMATIC", "CYCLE", "PREROLL", "SETTLED"

POSE_TOLERANCE = 3e-4
"""Largest distance between a bone's places in equal poses, as a part of the body's size (the core requires 1e-3)."""
STANDSTILL_TOLERANCE = 1e-6
"""Largest step, as a part of the body's size, of a bone that stands still. More than ten times the rounding of single precision, in
which Blender keeps matrices.
"""
MAX_SEAM_STEP, MAX_SEAM_BEND = 1.1, 3.5
"""Factors at the seam of a cycle by which a bone may go farther, and bend its path more, than around there."""
SEAM_FRAMES = 3
"""Frames around the seam. The seam's step is compared with three on either side, its two bends with two."""
RUN_IN_TIME = 1.0 / 6.0
"""Seconds of a run-in. Four frames of film."""


LEAD_TIME = 2.0
"""Seconds of motion before a range that are simulated: less than a hundredth of a swing is left by then."""
MIN_HELD_STEPS = 3
"""Steps without motion at the end of a range, after the last key, from which on it is longer than its motion. One or two too many are
a slip of the hand on a loop.
"""
MIN_LEAP, MIN_LEAP_RATIO = 0.1, 4.0
"""Step of a bone's head, as a part of the size, and its ratio to the steps beside it, beyond which it was placed there: from a pose
of rest before the motion begins, or by a cut. A fast blow of a hand takes 0.2, but several frames.
"""


@dataclass(frozen=True)
class Beginning:
    """The beginning of a range of poses, for the core."""

    preroll: int = 0
    """Frames of run-in."""
    period: int = 0
    """Frames after which a cycle repeats; 0: no cycle."""
    travels: bool = False
    """Whether the cycle repeats elsewhere."""
    note: str = ""
    """A sentence for the artist."""

    @property
    def key(self) -> tuple:
        """Returns the inputs of the simulation."""
        return self.preroll, self.period, self.travels

    def options(self) -> dict:
        """Returns the options of `thew.simulate`."""
        return {"cyclic": self.period > 0, "preroll": self.preroll}

    def turn(self, rows: np.ndarray) -> np.ndarray:
        """Returns the simulated part of an array [f + 1, ...] over the poses: all of it, or one turn with its end."""
        if not self.period:
            return rows
        return rows[: self.period + 1] if self.travels else np.concatenate([rows[: self.period], rows[:1]])

    def turns_before(self, maps: np.ndarray, frames: float) -> np.ndarray:
        """Returns the turns of the cycle that lead to poses `maps` [f + 1, b, 4, 4], over at least `frames` frames."""
        return np.concatenate([move @ maps[: self.period] for move in self.moves_before(maps, frames)])

    def moves_before(self, maps: np.ndarray, frames: float) -> np.ndarray:
        """Returns the moves of those turns relative to the first turn of `maps`, [turns, 4, 4]."""
        step = moves(maps)[self.period] if self.travels else np.eye(4)
        back, turns = np.linalg.inv(step), int(np.ceil(frames / self.period))
        return np.stack([np.linalg.matrix_power(back, k) for k in range(turns, 0, -1)])

    def simulated_frame(self, index: int) -> int:
        """Returns the simulated frame that shows frame `index` of the range."""
        return index % self.period if self.period and not self.travels else index


@dataclass(frozen=True)
class Cycle:
    """One turn of a cycle among the poses that were read."""

    period: int
    """Frames after which it repeats."""
    closes: bool
    """Whether the pose after `period` frames is the first again; otherwise the first follows the last of them."""
    travel: float = 0.0
    """Distance covered by one turn, metres."""


def beginning(
    choice: str,
    maps: np.ndarray,
    heads: np.ndarray,
    size: float,
    fps: float,
    first: int,
    controls: np.ndarray | None = None,
    marked: bool = False,
    others: np.ndarray | None = None,
    keyed_to: float | None = None,
) -> Beginning:
    """Returns the beginning of a motion of poses `maps` [f + 1, b, 4, 4], metres; the last pose only looks ahead.

    heads [b, 3] at rest; `first`: the number of the first frame; controls [f + 1, r] of the rigs; `marked`: somebody has marked
    this range as a cycle; others [f + 1, k, 4, 3]: paths of other objects that must repeat too; `keyed_to`: the last keyed frame
    (None: nothing is keyed).
    """
    frames = len(maps) - 1
    if frames < 3:
        return Beginning(note="A cycle needs three frames or more: this range has fewer." if choice == CYCLE else "")
    path = trace(maps, heads, size)
    steps = np.linalg.norm(np.diff(path[:-1], axis=0), axis=-1).max(axis=(1, 2)) / size
    if choice in (AUTOMATIC, CYCLE):
        more = [controls_as_points(controls, size)] if controls is not None else []
        every = np.concatenate([path, *more, *([others] if others is not None else [])], axis=1)
        meant = marked or choice == CYCLE
        over = not meant and is_over(every[:-1], size, fps, None if keyed_to is None else keyed_to - first)
        found = None if over else cycle(every, maps, size, meant)
        if found and (choice == CYCLE or np.ptp(every[:-1], axis=0).max() > STANDSTILL_TOLERANCE * size):
            return Beginning(0, found.period, found.travel > 0.0, _cycle_note(found, first, first + frames - 1))
    run_in = round(RUN_IN_TIME * fps)
    if choice in (AUTOMATIC, PREROLL) and run_in and steps[0] > STANDSTILL_TOLERANCE:
        return Beginning(run_in, note=f"The joints come from a standstill just before frame {first}.")
    return Beginning()


def is_over(path: np.ndarray, size: float, fps: float, keyed_to: float | None = None) -> bool:
    """Returns whether a motion ends within its range and then stands still: it happens once, even if its ends meet.

    A hold that is keyed belongs to the motion, and may repeat with it; after `LEAD_TIME` flesh is at rest, and nothing is left to
    repeat. `keyed_to`: number of the pose [f] with the last key; where the motion goes on after it, something else moves the bones, whose
    keys are not known.
    """
    steps = np.linalg.norm(np.diff(path, axis=0), axis=-1).max(axis=(1, 2))
    moving = np.flatnonzero(steps > STANDSTILL_TOLERANCE * size)
    if not len(moving):
        return False
    held = len(steps) - 1 - int(moving[-1])
    beyond = 0 if keyed_to is None or keyed_to <= moving[-1] else min(held, len(steps) - keyed_to)
    return beyond >= MIN_HELD_STEPS or held >= LEAD_TIME * fps


def lead_length(before: np.ndarray, maps: np.ndarray, heads: np.ndarray, size: float) -> int:
    """Returns the number of poses `before` a range [l, b, 4, 4] that lead into its poses `maps` [f + 1, b, 4, 4].

    They begin where the motion starts or last jumps; 0 where all before the range stands still.
    """
    if not len(before):
        return 0
    path = trace(np.concatenate([before, maps]), heads, size)
    moves = np.linalg.norm(np.diff(path, axis=0), axis=-1) / size
    steps, of_heads = moves.max(axis=(1, 2)), moves[..., 0].max(axis=1)
    moving = np.flatnonzero(steps[: len(before)] > STANDSTILL_TOLERANCE)
    leaps = np.flatnonzero(
        (of_heads > np.maximum(MIN_LEAP, MIN_LEAP_RATIO * _neighbouring_steps(of_heads)))[: len(before)]
    )
    if not len(moving):
        return 0
    first = max(int(moving[0]), int(leaps[-1]) + 1 if len(leaps) else 0)
    return len(before) - first


def _neighbouring_steps(steps: np.ndarray) -> np.ndarray:
    """Returns the larger of the two steps beside each of `steps` [f]; a missing one counts as 0."""
    return np.maximum(np.append(0.0, steps[:-1]), np.append(steps[1:], 0.0))


def common_cycle(
    wishes: Sequence[Beginning],
    maps: Sequence[np.ndarray],
    paths: Sequence[np.ndarray],
    sizes: Sequence[float],
    still: Sequence[bool],
) -> list[Beginning] | None:
    """Returns the beginnings of several bodies in contact as one common cycle, which bodies that stand still join; None without
    one.

    `wishes`: the beginning of each alone; maps [f + 1, b, 4, 4] and paths (see `trace`) of each, in the same metres.
    """
    periods = [wish.period for wish in wishes if wish.period]
    if not periods or not all(wish.period or stays for wish, stays in zip(wishes, still, strict=True)):
        return None
    period = int(np.lcm.reduce(periods))
    travels = any(wish.travels for wish in wishes)
    if period > len(paths[0]) - 1 or (travels and len(set(periods)) > 1):
        return None
    if travels:
        step = moves(maps[0])[period]
        for path, size in zip(paths, sizes, strict=True):
            if _pose_distance(path[0] @ step[:3, :3].T + step[:3, 3], path[period], size) > POSE_TOLERANCE:
                return None
    return [replace(wish, preroll=0, period=period, travels=travels) for wish in wishes]


def trace(maps: np.ndarray, heads: np.ndarray, size: float) -> np.ndarray:
    """Returns the paths of each bone's head and of three points at the distance `size` from it, [f, b, 4, 3]."""
    points = heads[:, None] + size * np.concatenate([np.zeros((1, 3)), np.eye(3)])
    return np.einsum("fbij,bkj->fbki", maps[..., :3, :3], points) + maps[..., None, :3, 3]


def controls_as_points(controls: np.ndarray, size: float) -> np.ndarray:
    """Returns controls [f, r] as points [f, r, 4, 3] that move as far as the size, for the same tests as bones."""
    controls = np.nan_to_num(controls)
    points = np.zeros((*controls.shape, 4, 3))
    points[..., 0, 0] = controls * (size / np.maximum(np.ptp(controls, axis=0), 1e-12))
    return points


def cycle(path: np.ndarray, maps: np.ndarray, size: float, meant: bool = False) -> Cycle | None:
    """Returns the cycle in poses with this `path` (see `trace`; rigs may follow), or None; `meant`: the seam need not be smooth."""
    frames = len(path) - 1
    away = np.linalg.norm(path - path[0], axis=-1).max(axis=(1, 2)) / size
    within = min(POSE_TOLERANCE, 0.02 * away[:-1].max())
    found = None
    for period in range(3, frames + 1):
        # The pose after the last frame may be held or move on: it counts only where it closes the range.
        last = max(frames, period + 1)
        if away[period] <= within and _pose_distance(path[period:last], path[: last - period], size) <= within:
            # Slow motion comes near its beginning before it is there.
            found = period if found is None or away[period] < away[found] else found
        elif found is not None:
            break
    if found is not None:
        return Cycle(found, True)
    for period in (frames - 1, frames):
        travel = _travel(path[: period + 1], maps[: period + 1], size)
        if travel:
            return Cycle(period, True, travel)
    return Cycle(frames, False) if meant or _is_smooth(path[:frames], path) else None


def _pose_distance(a: np.ndarray, b: np.ndarray, size: float) -> float:
    """Returns the largest distance between two poses' points [..., 3], as a part of the size."""
    return float(np.linalg.norm(a - b, axis=-1).max()) / size


def guiding_bone(maps: np.ndarray) -> int | None:
    """Returns the first bone of poses [f, b, 4, 4] that the first pose does not flatten; None where it flattens all."""
    return next((bone for bone in range(maps.shape[1]) if not is_singular(maps[0, bone])), None)


def moves(maps: np.ndarray) -> np.ndarray:
    """Returns the moves of one bone from the first of poses `maps` [f, b, 4, 4] to each, [f, 4, 4]."""
    bone = guiding_bone(maps) or 0
    return maps[:, bone] @ np.linalg.inv(maps[0, bone])


def _travel(path: np.ndarray, maps: np.ndarray, size: float) -> float:
    """Returns the distance covered by a motion whose last pose is its first moved as a whole; 0.0: no such motion, or not steady."""
    if guiding_bone(maps) is None:
        return 0.0
    onwards = moves(maps)
    step = onwards[-1]
    turn = step[:3, :3]
    if np.abs(turn.T @ turn - np.eye(3)).max() > 1e-5 or mirrors(turn):
        return 0.0
    bones = maps.shape[1]
    onward = path.copy()
    onward[:, :bones] = path[:, :bones] @ turn.T + step[:3, 3]
    if _pose_distance(onward[0], path[-1], size) > POSE_TOLERANCE or not _is_smooth(path[:-1], onward):
        return 0.0
    centre = path[:, :bones, 0].mean(axis=1)
    way = float(np.linalg.norm(centre[-1] - centre[0]))
    mean = way / (len(path) - 1)
    ends = np.linalg.norm([centre[1] - centre[0], centre[-1] - centre[-2]], axis=1)
    carried = np.einsum("fij,bkj->fbki", onwards[:, :3, :3], path[0, :bones]) + onwards[:, None, None, :3, 3]
    if _pose_distance(carried, path[:, :bones], size) <= 10.0 * POSE_TOLERANCE:
        return 0.0  # only carried: every motion of one stiff thing looks like a turn that leads on
    steady = (ends > 0.5 * mean).all() and (ends < 2.0 * mean).all()
    return way if steady and way > 10.0 * POSE_TOLERANCE * size else 0.0


def _is_smooth(path: np.ndarray, onward: np.ndarray) -> bool:
    """Returns whether the path goes on with `onward` as smoothly as it runs around there, for every bone."""
    around = np.concatenate([path[-SEAM_FRAMES - 1 :], onward[: SEAM_FRAMES + 1]])
    seam = (
        len(path[-SEAM_FRAMES - 1 :]) - 1
    )  # the step from there on is the seam's; the bends at both its ends involve it
    steps, bends = (np.linalg.norm(np.diff(around, n=n, axis=0), axis=-1).max(axis=2) for n in (1, 2))
    usual, usual_bends = np.delete(steps, seam, 0), np.delete(bends, [seam - 1, seam], 0)
    beside = np.maximum(steps[seam - 1], steps[seam + 1])
    near = steps[seam] <= MAX_SEAM_STEP * np.minimum(usual.max(axis=0), 2.0 * beside) + 0.1 * usual.max()
    even = bends[seam - 1 : seam + 1] <= MAX_SEAM_BEND * (
        usual_bends.max(axis=0) + 0.1 * np.median(usual_bends.max(axis=1))
    )
    return bool(near.all() and even.all())


def _cycle_note(found: Cycle, first: int, last: int) -> str:
    if found.period < last - first:
        return f"Loops every {found.period} frames."
    if found.period == last - first:
        on = f", {found.travel:.2g} m further on" if found.travel else ""
        return f"Loops: frame {last} is frame {first} again{on}."
    return f"Loops: frame {last} runs into frame {first}."

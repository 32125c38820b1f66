# SPDX-License-Identifier: GPL-3.0-or-later
"""Stepped animation: poses held exactly for a few frames, so that each of its steps is far and sudden.

For the search for cuts its holds are left out, and the poses compared as if they were frames: a cut among them jumps much beyond the
other steps. Animation is stepped where `MIN_STEPPED_JUMPS` jumps or more follow each other with `MIN_HOLD` frames to a quarter of a
second from one to the next. Measured on 93 clips of 15 characters, held for 2, 3, 4 and 6 frames at 24 frames a second: 3, 4, 5 and 18
are mistaken for cut ones (9, 12, 40 and 52 without), most of them short clips of five poses. Of 87 that are put elsewhere in the middle,
by their size, 83, 77, 74 and 67 have this cut alone (77, 73, 57 and 43 without).
"""

from __future__ import annotations

import numpy as np

#: Numbers of frames for which stepped animation holds a pose.
HELD_FRAMES = (2, 3, 4)
#: Least number of jumps in a row by which stepped animation is told from a pose or two that are held, and frames from one to the next.
MIN_STEPPED_JUMPS, MIN_HOLD = 3, 2
#: Least ratio of a cut in stepped animation to the other steps around it.
MIN_STEPPED_RATIO = 3.0
#: Steps on each side with which a step of stepped animation is compared. With six, cuts half a second apart hide each other on twos, and
#: as many clips are mistaken for cut ones; where one of the other steps may be as long, twice as many are.
STEPS_BESIDE = 2


def unheld_frames(moves: np.ndarray, longest: int) -> np.ndarray:
    """Returns the frames that are left without the holds of stepped animation: all frames where there is none.

    `moves` bool[f - 1]: whether there is motion in each step; `longest`: the frames from one jump to the next at most.
    """
    jumps = np.flatnonzero(moves)
    held = np.zeros(len(moves), dtype=bool)
    gaps = np.diff(jumps)
    beside = np.minimum(np.append(longest + 1, gaps[:-1]), np.append(gaps[1:], longest + 1)) if len(gaps) else gaps
    # A pose that is held twice as long, at the end of a swing, is in the beat.
    fits = (gaps <= longest) | ((gaps <= 2 * longest) & (beside <= longest) & (gaps % np.maximum(beside, 1) == 0))
    fits = np.concatenate([[False], fits & (gaps >= MIN_HOLD), [False]])
    changes = np.flatnonzero(fits[1:] != fits[:-1])
    for first, last in zip(changes[::2], changes[1::2], strict=True):
        if last - first + 1 >= MIN_STEPPED_JUMPS:
            held[max(jumps[first] - longest, 0) : jumps[last] + longest + 1] = True
    return np.flatnonzero(np.append(True, moves | ~held))


def stands_out(steps: np.ndarray) -> np.ndarray:
    """Returns whether each step [f] is much longer than those beside it."""
    padded = np.pad(steps, STEPS_BESIDE)
    near = np.array([shift for shift in range(2 * STEPS_BESIDE + 1) if shift != STEPS_BESIDE])
    return steps > MIN_STEPPED_RATIO * padded[np.arange(len(steps))[:, None] + near].max(axis=1)


def is_stepped(moves: np.ndarray, there: int, back: int, around: int) -> bool:
    """Returns whether a jump there and back is two steps of animation that holds each pose for as many frames.

    `moves` bool[f - 1]: whether there is motion in each step. Where nothing else moves within `around`, this cannot be told.
    """
    first = max(there - around, 0)
    near = first + np.flatnonzero(moves[first : back + around + 1])
    if not np.any((near != there) & (near != back)):
        return False
    return any((back - there) % held == 0 and not np.any((near - there) % held) for held in HELD_FRAMES)

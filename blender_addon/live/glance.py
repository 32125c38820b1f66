# SPDX-License-Identifier: GPL-3.0-or-later
"""A glance at the frame in view: a likeness of it under new settings, before the motion that leads there is simulated.

Flesh remembers about a second of motion. A glance simulates as much of the motion before the frame as fits into a fourteenth of a second,
with the usual run-in. Tuned with a thousand cells, its error is a half to a tenth of the change, except in places that hardly change.
The frame itself replaces it. Clips, bakes and renders never contain one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..logic import cycles, modal
from .partial_motion import FIRST_PART_FRAMES, OVERLAP_FRAMES, PartialMotion

#: Seconds that a glance may take, so that a frame is in view a tenth of a second after an edit, drawing aside.
GLANCE_TIME = 0.07
#: Seconds of motion before the frame, beyond which a glance gains nothing.
MEMORY_TIME = 1.0
#: Fewest frames of a glance, its run-in included. With fewer the former flesh is nearer to the new.
LEAST_FRAMES = 10
#: Seconds for a frame, until one was measured: with 1,000 cells.
USUAL_PACE = 0.007


def simulated_rows(index: int, fps: float, pace: float, cuts: tuple[int, ...]) -> tuple[range, int]:
    """Returns the poses that a glance at pose `index` simulates, and its frames of run-in before them.

    `pace`: seconds for a frame; `cuts`: poses in which the flesh begins anew.
    """
    frames = int(min(max(GLANCE_TIME / pace, LEAST_FRAMES), MEMORY_TIME * fps))
    run_in = min(round(cycles.RUN_IN_TIME * fps), frames // 3)
    begun_anew = max((cut for cut in cuts if cut <= index), default=0)
    first = max(index + 1 + OVERLAP_FRAMES - (frames - run_in), begun_anew, 0)
    return range(first, index + 1 + OVERLAP_FRAMES), run_in


def take(new: Any, plan: Any, viewed: float | None, pace: float, simulate: Callable[..., Any]) -> PartialMotion | None:
    """Returns a glance at the frame `viewed`; None where the motion itself is there as soon, or holds no such frame.

    `new`, `plan`: the draft and its plan. `simulate(rows, controls, preroll)` returns a clip of the draft at these poses of its motion.
    """
    motion = new.motion
    index = -1 if viewed is None else int(np.floor(viewed)) - motion.start
    soon = 0 if plan.beginning.period else 2 * FIRST_PART_FRAMES - plan.lead
    if new.build_settings.method == modal.METHOD or not soon <= index < len(motion.maps) - OVERLAP_FRAMES:
        return None
    rows, run_in = simulated_rows(index, new.build_settings.fps, pace, plan.cuts)
    part = slice(rows.start, rows.stop)
    clip = simulate(rows, plan.controls[part], run_in)
    spaces = new.motion_place.to_object(motion.matrices[part])
    return Glance(new, clip, spaces, motion.start + rows.start, index + motion.start)


class Glance(PartialMotion):
    """A likeness of one frame."""

    def __init__(self, built: Any, clip: Any, spaces: np.ndarray, start: int, frame: int) -> None:
        super().__init__(built, clip, spaces, start, 0)
        self.frame = frame

    def is_ready(self, frame: float) -> bool:
        """Returns whether it is a likeness of `frame`."""
        return self.frame <= frame < self.frame + 1 and super().is_ready(frame)

    def ready_frames(self) -> tuple[int, int]:
        """Returns no frames: a likeness is not final."""
        return self.start, self.start - 1

# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of a simulation's progress, for the artist."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

#: The core's words for the current round of a loop.
LOOP_ROUND = re.compile(r"loop, round (\d+)")


def text(plan: Any) -> str:
    """Returns the progress text of a plan; frames of a loop are not final before it repeats, so they are shown only then."""
    return "Simulating the loop" if plan.beginning.period else "Simulating"


def own_text(progress: Callable[[float, str], bool]) -> Callable[[float, str], bool]:
    """Builds a callback of the core that passes on how far it is, under the text of the step: its stages are words of the method."""
    return lambda at, _stage: progress(at, "")


def callback(progress: Callable[[float, str], bool]) -> Callable[[float, str], bool]:
    """Builds the core's progress callback: it passes on frames, as text that a loop goes round again, and the work before frame 1.

    The preparation of contact counts from 0 to 1 by itself, and flesh deep in other flesh takes seconds to come to rest.
    """

    def report_progress(at: float, stage: str) -> bool:
        turn = LOOP_ROUND.search(stage)
        if "frame" in stage:
            return progress(at, "Simulating the loop once more" if turn and turn[1] != "1" else "")
        return progress(0.0, stage if at < 1.0 else "")

    return report_progress

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
    return "Closing the loop" if plan.beginning.period else "Simulating"


def callback(progress: Callable[[float, str], bool]) -> Callable[[float, str], bool]:
    """Builds the core's progress callback: it passes on frames, and as text the rounds of a loop and the work before frame 1.

    The preparation of contact counts from 0 to 1 by itself, and flesh deep in other flesh takes seconds to come to rest.
    """

    def report_progress(at: float, stage: str) -> bool:
        turn = LOOP_ROUND.search(stage)
        if "frame" in stage:
            return progress(at, f"Closing the loop (round {turn[1]})" if turn else "")
        return progress(0.0, stage if at < 1.0 else "")

    return report_progress

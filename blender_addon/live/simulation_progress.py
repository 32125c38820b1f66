# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of simulations in words: frames, rounds of a loop, and the work before the first frame."""

from __future__ import annotations

import re

#: The core's words for the current round of a loop.
LOOP_ROUND = re.compile(r"loop, round (\d+)")


def progress_callback(progress):
    """Builds the core's progress callback: it passes on frames, and as text the rounds of a loop and the work before frame 1.

    The preparation of contact counts from 0 to 1 by itself, and flesh deep in other flesh takes seconds to come to rest.
    """

    def report_progress(at: float, stage: str) -> bool:
        turn = LOOP_ROUND.search(stage)
        if "frame" in stage:
            return progress(at, f"Closing the loop (round {turn[1]})" if turn else "")
        return progress(0.0, stage if at < 1.0 else "")

    return report_progress

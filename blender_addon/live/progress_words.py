# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of a simulation's progress, for the artist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..logic.loop_rounds import LoopRounds


def text(plan: Any) -> str:
    """Returns the progress text of a plan; frames of a loop are not final before it repeats, so they are shown only then."""
    return "Simulating the loop" if plan.beginning.period else "Simulating"


def own_text(progress: Callable[[float, str], bool]) -> Callable[[float, str], bool]:
    """Builds a callback of the core that passes on how far it is, under the text of the step: its stages are words of the method."""
    return lambda at, _stage: progress(at, "")


def callback(
    progress: Callable[[float, str], bool], rounds: LoopRounds | None = None, start: float = 0.0, end: float = 1.0
) -> Callable[[float, str], bool]:
    """Builds the core's progress callback: it passes on frames from `start` to `end`, with the round of a loop, and the work before frame 1.

    The preparation of contact counts from 0 to 1 by itself, and flesh deep in other flesh takes seconds to come to rest.
    """
    furthest = start

    def report_progress(at: float, stage: str) -> bool:
        nonlocal furthest
        looped = rounds.fraction(stage) if rounds is not None else None
        if rounds is None or looped is None:
            furthest = max(furthest, start + (end - start) * at if "frame" in stage else start)
            return progress(furthest, "" if "frame" in stage or at >= 1.0 else stage)
        furthest = max(furthest, start + (end - start) * looped)
        return progress(furthest, f"Simulating the loop, round {rounds.made}" if rounds.made > 1 else "")

    return report_progress

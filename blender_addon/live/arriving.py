# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a motion that is still being simulated, seen as they are ready.

A motion that does not repeat is made in growing parts, which gives the same bits as making it at once. Each part is offered
here by the thread that made it and shown by the main one; the last frames of a part wait for the next one, because their bones do
not know yet where they are heading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..logic.spaces import share_of

#: Frames of the first part, and how much longer each following one is: a swing is seen after a tenth of a second, and what parts cost
#: more than the whole stays below five hundredths.
FIRST, GROWTH = 12, 2

#: Frames at the end of a part that the next part makes again.
UNSURE = 2


def parts(frames: int, restarts: Sequence[int] = ()) -> list[tuple[int, int]]:
    """The parts [start, end) in which so many poses are simulated; one begins at each of `restarts`."""
    found, start, size = [], 0, FIRST
    while start < frames:
        last = min([at for at in restarts if at > start], default=frames)
        end = last if last - start <= size + size // 2 else start + size
        found.append((start, end))
        start, size = end, size * GROWTH
    return found


class Arriving:
    """What is ready of a motion."""

    def __init__(self, built: Any, clip: Any, spaces: np.ndarray, start: int, lead: int) -> None:
        """built: what is simulated, on which meshes may ride; clip: its first frames, `lead` of them before the frame `start`; spaces
        [f, 4, 4]: metres to object space."""
        self.built = built
        self.clip, self.spaces, self.start, self.lead = clip, spaces, start, lead
        self.ready = len(clip) - lead - UNSURE

    def covers(self, frame: float) -> bool:
        """Whether `frame` can be shown."""
        return self.start <= frame and int(np.ceil(frame)) - self.start < self.ready

    def offsets(self, frame: float) -> np.ndarray:
        """What the flesh adds to the skin at a frame that is covered, object space, float32[n, 3]; part frames are blended."""
        index = int(frame - self.start)
        part = frame - self.start - index
        part = part if part > 1e-6 else 0.0
        first = self.clip.offsets(self.lead + index, to=share_of(self.spaces[index], 1.0 - part))
        if part == 0.0:
            return first
        return self.clip.offsets(self.lead + index + 1, to=share_of(self.spaces[index + 1], part), onto=first)

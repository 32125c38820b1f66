# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a motion that is still being simulated, shown as soon as they are ready.

A motion that does not repeat is simulated in growing parts, with the same bits as in one piece. The simulating thread offers each part
here; the main thread shows it. The last frames of a part wait for the next part, because their bones lack the poses that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..logic.spaces import blend_vectors
from . import driving

#: Frames of the first part, and the growth factor of each following part up to the longest. With a thousand cells the first one takes
#: a twentieth of a second, and the longest a third; simulating in parts costs seven hundredths more.
FIRST_PART_FRAMES, PART_GROWTH, LONGEST_PART_FRAMES = 6, 2, 48

#: Frames at the end of a part that the next part computes again.
OVERLAP_FRAMES = 2


def parts(frames: int, restarts: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Returns the parts [start, end) in which `frames` poses are simulated; one part begins at each of `restarts`."""
    found, start, size = [], 0, FIRST_PART_FRAMES
    while start < frames:
        last = min([at for at in restarts if at > start], default=frames)
        end = last if last - start <= size + size // 2 else start + size
        found.append((start, end))
        start, size = end, max(min(size * PART_GROWTH, LONGEST_PART_FRAMES), FIRST_PART_FRAMES)
    return found


class PartialMotion:
    """Finished frames of a motion that is still being simulated."""

    def __init__(
        self, built: Any, clip: Any, spaces: np.ndarray, start: int, lead: int, glance: PartialMotion | None = None
    ) -> None:
        """Keeps a clip and its spaces.

        `built`: the simulated stages, which riders are placed on. `clip`: its first frames, `lead` of them before the frame
        `start`. `spaces` [f, 4, 4]: metres to object space, from `start` on. `glance`: a likeness of the frame in view, until it is ready.
        """
        self.built, self.glance = built, glance
        self.clip, self.spaces, self.start, self.lead = clip, spaces, start, lead
        self.ready = len(clip) - lead - OVERLAP_FRAMES

    def is_ready(self, frame: float) -> bool:
        """Returns whether the final flesh of `frame` can be shown."""
        return self.start <= frame and int(np.ceil(frame)) - self.start < self.ready

    def ready_frames(self) -> tuple[int, int]:
        """Returns the first and the last frame that are final; the last is less than the first where there is none."""
        return self.start, self.start + self.ready - 1

    def covers(self, frame: float) -> bool:
        """Returns whether `frame` can be shown, if only as a likeness."""
        return self.is_ready(frame) or (self.glance is not None and self.glance.covers(frame))

    def offsets(self, frame: float) -> np.ndarray:
        """Returns what the flesh adds to the skin at a covered frame, object space, float32[n, 3]; subframes are blended."""
        if self.glance is not None and not self.is_ready(frame):
            return self.glance.offsets(frame)

        def vectors_at(index: int, **where) -> np.ndarray:
            return self.clip.offsets(self.lead + index, **where)

        shown = driving.influence(self.built, frame - self.start)
        return self.built.held(blend_vectors(frame - self.start, self.spaces, vectors_at, shown))

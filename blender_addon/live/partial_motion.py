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

#: Frames of the first part, and the growth factor of each following part. The first swing shows after a tenth of a second;
#: simulating in parts costs less than five hundredths more.
FIRST_PART_FRAMES, PART_GROWTH = 12, 2

#: Frames at the end of a part that the next part computes again.
OVERLAP_FRAMES = 2


def parts(frames: int, restarts: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Returns the parts [start, end) in which `frames` poses are simulated; one part begins at each of `restarts`."""
    found, start, size = [], 0, FIRST_PART_FRAMES
    while start < frames:
        last = min([at for at in restarts if at > start], default=frames)
        end = last if last - start <= size + size // 2 else start + size
        found.append((start, end))
        start, size = end, size * PART_GROWTH
    return found


class PartialMotion:
    """Finished frames of a motion that is still being simulated."""

    def __init__(self, built: Any, clip: Any, spaces: np.ndarray, start: int, lead: int) -> None:
        """Keeps a clip and its spaces.

        `built`: the simulated stages, which riders are placed on. `clip`: its first frames, `lead` of them before the frame
        `start`. `spaces` [f, 4, 4]: metres to object space.
        """
        self.built = built
        self.clip, self.spaces, self.start, self.lead = clip, spaces, start, lead
        self.ready = len(clip) - lead - OVERLAP_FRAMES

    def covers(self, frame: float) -> bool:
        """Returns whether `frame` can be shown."""
        return self.start <= frame and int(np.ceil(frame)) - self.start < self.ready

    def offsets(self, frame: float) -> np.ndarray:
        """Returns what the flesh adds to the skin at a covered frame, object space, float32[n, 3]; subframes are blended."""

        def vectors_at(index: int, **where) -> np.ndarray:
            return self.clip.offsets(self.lead + index, **where)

        return self.built.held(blend_vectors(frame - self.start, self.spaces, vectors_at))

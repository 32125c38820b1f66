# SPDX-License-Identifier: GPL-3.0-or-later
"""Count of the cells that the motion of a clip inverts, beyond those that its poses invert by themselves.

A higher Detail does not unfold cells that a pose folds: a foot torn off its shin for a frame, a joint bent upon itself. Flesh at
rest in the same pose has these inverted cells too, so their number is subtracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..logic import cells, modal
from ..logic.mapped_clips import CycleClip, LeadClip
from ..logic.native import core
from . import driving

#: Most frames that are examined, those with the most inverted cells first: flesh of a thousand cells comes to rest in 5 to 10 ms.
#: With more candidates the count can be too low, never too high.
MAX_EXAMINED_FRAMES = 24


def motion_inversions(built: Any, clip: Any) -> int:
    """Returns the most cells that the motion alone inverts in any frame of a clip of `built`."""
    settings = built.build_settings
    if settings.method == modal.METHOD:
        return cells.max_inverted_cells(clip)
    counts = inverted_counts(clip, len(built.motion.maps) - 1)
    order = np.argsort(-counts, kind="stable")[:MAX_EXAMINED_FRAMES]
    resting, most = None, 0
    for index in order:
        if counts[index] <= most:
            break
        if resting is None:
            place = built.motion_place
            resting = core().Simulation(built.body, settings=driving.settings_at(built, place))
        resting.reset(place.maps(built.motion.maps[index], built.place))
        most = max(most, int(counts[index]) - built.body.inverted_cells(resting.lattice_positions()))
    return most


def inverted_counts(clip: Any, frames: int) -> np.ndarray:
    """Returns the number of inverted cells in each of the `frames` that a clip shows, [f]; 0 where a simulated frame repeats."""
    known, counts, seen = {}, np.zeros(frames, dtype=int), set()
    for index in range(frames):
        of, at = clip.simulated_at(index) if isinstance(clip, (CycleClip, LeadClip)) else (clip, index)
        every = known.setdefault(id(of), np.asarray(of.inverted_cells))
        if (id(of), at) not in seen and at < len(every):
            counts[index] = every[at]
        seen.add((id(of), at))
    return counts

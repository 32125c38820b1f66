# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses that stand still at the end of a range of frames, as where a scene is longer than its action."""

from __future__ import annotations

import numpy as np

#: Change of a number of a pose that counts as none, and its part of the number: single precision rounds by less than a tenth of it.
STILL_TOLERANCE, STILL_SHARE = 1e-6, 1e-5
#: Smallest share of the range that stands still at its end and is told: an action in a scene made for it holds its last pose for less.
MIN_STILL_SHARE = 0.5


def still_row(rows: np.ndarray) -> int | None:
    """Returns the first of rows [f, n] from which all are alike, where they are most of the range; None without one, or if all are."""
    if len(rows) < 3:
        return None
    last = rows[-1]
    differ = (np.abs(rows - last) > STILL_TOLERANCE + STILL_SHARE * np.abs(last)).any(axis=1)
    moving = np.flatnonzero(differ)
    if not len(moving):
        return None
    first = int(moving[-1]) + 1
    return first if len(rows) - 1 - first >= MIN_STILL_SHARE * (len(rows) - 1) else None


def still_text(frame: int, last: int, scene: bool) -> str:
    """Returns the sentence on bones that stand still from `frame` to the `last` one; `scene`: the range is that of the scene."""
    if scene:
        return (
            f"The bones stand still from frame {frame} to {last}: set the scene's End to {frame}, unless that is meant."
        )
    return f"The bones stand still from frame {frame} to {last}: set End in the foldout Bake to {frame}, unless that is meant."

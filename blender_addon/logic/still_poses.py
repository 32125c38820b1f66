# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses that stand still at the end of a range of frames, as where a scene is longer than its action."""

from __future__ import annotations

from typing import Any

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


def nothing_moves(flesh: Any) -> bool:
    """Returns whether flesh has been simulated and nothing moves it: all poses that were read are alike, and no rig, pin, force field,
    collider, other flesh or keyed setting acts. Gravity may: flesh sags where the model does not, or rises where gravity is off.
    """
    motion, settings = flesh.motion, flesh.build_settings
    if motion is None or flesh.clip is None:
        return False
    acts = motion.moving or motion.pinned or motion.colliders.each or settings.others or any(r.on for r in flesh.rigs)
    if acts or any(settings.simulation.gravity) != settings.rest_includes_gravity:
        return False
    if not are_alike(motion.maps):
        return False
    return motion.lead_length == 0 or are_alike(np.concatenate([motion.before.maps, motion.maps[:1]]))


def are_alike(rows: np.ndarray) -> bool:
    """Returns whether all of several rows [f, ...] are alike. One row alone tells nothing."""
    first = rows[0]
    near = STILL_TOLERANCE + STILL_SHARE * np.abs(first)
    if (
        len(rows) < 2 or (np.abs(rows[len(rows) // 2] - first) > near).any()
    ):  # most motions end here: panels are drawn often
        return False
    return bool((np.abs(rows - first) <= near).all())


def unmoved_text(first: int, last: int) -> str:
    """Returns the sentence on bones that nothing moves in a range of frames."""
    return f"Nothing moves the bones in frames {first} to {last}: key them, or give the armature an action"


def still_text(frame: int, last: int, scene: bool) -> str:
    """Returns the sentence on bones that stand still from `frame` to the `last` one; `scene`: the range is that of the scene."""
    if scene:
        return (
            f"The bones stand still from frame {frame} to {last}: set the scene's End to {frame}, unless that is meant."
        )
    return f"The bones stand still from frame {frame} to {last}: set End in the foldout Bake to {frame}, unless that is meant."

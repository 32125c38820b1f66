# SPDX-License-Identifier: GPL-3.0-or-later
"""Controls of rigs as a motion holds them, frame by frame."""

from __future__ import annotations

import numpy as np

from .rigging import ResolvedRig


def controls_were_read(rigs: tuple[ResolvedRig, ...], motion) -> bool:
    """Returns whether the motion holds the control of every rig that is keyed or driven."""
    return all(rig.control is not None or rig.index < motion.controls.shape[1] for rig in rigs)


def lost_controls(rigs: tuple[ResolvedRig, ...], motion) -> dict[int, str]:
    """Returns, by index, sentences about rigs whose keyed or driven control is not a number at some frame."""
    sentences = {}
    for rig in rigs:
        if rig.on and rig.control is None:
            bad = np.flatnonzero(~np.isfinite(motion.controls[:, rig.index]))
            if len(bad):
                sentences[rig.index] = (
                    f"The control of the rig “{rig.name}” is not a number at frame {motion.start + bad[0]}: "
                    "repair its keys or its driver."
                )
    return sentences


def controls_of(rigs: tuple[ResolvedRig, ...], indices: tuple[int, ...], read: np.ndarray) -> np.ndarray:
    """Returns the controls of the rigs at `indices` over all frames, [f, r]. Animated ones are taken from `read` [f, all]."""
    by_index = {rig.index: rig for rig in rigs}
    columns = np.empty((len(read), len(indices)))
    for column, index in enumerate(indices):
        fixed = by_index[index].control
        columns[:, column] = read[:, index] if fixed is None else fixed
    return columns

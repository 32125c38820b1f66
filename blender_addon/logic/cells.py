# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverted cells of the lattice in a clip."""

from __future__ import annotations

import numpy as np


def inverted(clip) -> int:
    """The most of them in any frame that are the flesh's own: with modes, those that the bones alone fold are left out,
    since no stiffness unfolds them."""
    counts = np.asarray(clip.inverted_cells)
    folded = getattr(clip, "folded_cells", None)
    if folded is not None:
        counts = np.maximum(counts - folded, 0)
    return int(counts.max(initial=0))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""A studio for rows and columns of things, each of which is lit alike."""

from __future__ import annotations

import numpy as np

from examples.studio import Studio


class Shelf(Studio):
    """A studio in which things to the right and below stand nearer to the camera.

    The camera sees no depth, but light from the upper left then passes behind the neighbours of what it falls on.
    """

    def at(self, across: float, upright: float, near: float = 0.0) -> np.ndarray:
        return super().at(across, upright, near + across - upright)

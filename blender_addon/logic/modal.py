# SPDX-License-Identifier: GPL-3.0-or-later
"""The method Modal: the vibration modes of a flesh, found once, kept through every other setting, played one by one.

Modes are found for flesh of a reference stiffness: stiffer flesh has the same shapes, and eigenvalues that are greater by the same
factor. So the Stiffness slider does not find them anew, and a file gives the same modes however its sliders were moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import Refusal

METHOD = "modal"


def find(thew: Any, body: Any, count: int, progress: Any) -> Any:
    """Finds the `count` lowest modes of `body`, or as many as it has degrees of freedom."""
    freedom = 3 * (body.node_count - len(body.held_vertices))
    if freedom < 1:
        raise Refusal(
            "This flesh has no vibration modes, because bones hold all of it: raise Detail, or use another method"
        )
    return thew.modes(body, min(count, freedom), progress=progress)


def options(build_settings: Any, modes: Any, factor: float) -> dict[str, Any]:
    """Returns the modes of a modal simulation as its argument; empty for other methods. `factor`: the stiffness, as a multiple of
    the reference.
    """
    return {"modes": modes.scaled(factor)} if build_settings.method == METHOD else {}


#: Relative difference below which the ends of a swing are alike, so that it begins at the same one every time.
END_TOLERANCE = 5e-4


@dataclass
class Preview:
    """Plays modes one at a time."""

    deformer: Any  # thew.Deformer
    size: float  # of the body, metres
    count: int
    _peaks: dict[tuple[int, float], float] = field(default_factory=dict)

    @staticmethod
    def for_body(thew: Any, modes: Any, surface: Any) -> Preview:
        """Builds the preview of a body's modes on its surface."""
        return Preview(thew.Deformer(modes, surface, form="embedded", engine="cpu"), surface.size, len(modes))

    def peak(self, number: int, part: float) -> float:
        """Returns the amplitude of mode `number` (1 is the first) that moves some vertex by `part` of the body's size.

        Of the two ends of its swing, which warping makes unlike, it is the farther one.
        """
        known = self._peaks.get((number, part))
        if known is None:
            # Warping shortens large displacements, so the amplitude is approached in a few steps.
            unit = known = 1.0
            end = 1.0
            for step in range(12):
                there, opposite = (self._max_displacement(number, way * known) for way in (1.0, -1.0))
                end = -1.0 if opposite > (1.0 + END_TOLERANCE) * there else 1.0
                largest = opposite if end < 0.0 else there
                if not largest > 0.0:
                    break
                ratio = part * self.size / largest
                known *= ratio if step == 0 else min(ratio, 2.0)
                unit = known if step == 0 else unit
                if abs(ratio - 1.0) < 1e-4:
                    break
            # A mode that only rotates never gets that far: its amplitude is capped.
            known = end * min(known, 4.0 * unit)
            self._peaks[number, part] = known
        return known

    def _max_displacement(self, number: int, amplitude: float) -> float:
        """Returns the largest displacement of a vertex by a mode, metres."""
        moved = self.deformer.displacements(self._single_mode(number, amplitude))
        return float(np.sqrt((moved.astype(np.float64) ** 2).sum(axis=1).max()))

    def amplitudes(self, number: int, part: float, swings: float) -> np.ndarray:
        """Returns the amplitudes of all modes after `swings` swings; the first frame is the farthest."""
        return self._single_mode(number, self.peak(number, part) * math.cos(2.0 * math.pi * swings))

    def _single_mode(self, number: int, amplitude: float) -> np.ndarray:
        amplitudes = np.zeros(self.count)
        amplitudes[number - 1] = amplitude
        return amplitudes

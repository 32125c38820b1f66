# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours that tell pairs of bones apart: one for each pair, on both characters."""

from __future__ import annotations

import colorsys

import numpy as np

#: Step of the hue from a pair to the next, in turns: the golden section, by which neighbours in a chain differ most, however many there are.
HUE_STEP = 0.618033988749895
#: Saturation and value in turn, so that hues that come near each other after eight pairs still differ.
TONES = ((0.85, 0.95), (0.55, 1.0), (0.9, 0.65))
#: Colour of a bone without a partner.
ALONE = (0.35, 0.35, 0.35)


def pair_colours(count: int, first: int = 0) -> list[tuple[float, float, float]]:
    """Returns colours of `count` pairs, from pair `first` on."""
    pairs = range(first, first + count)
    return [colorsys.hsv_to_rgb((HUE_STEP * k) % 1.0, *TONES[k % len(TONES)]) for k in pairs]


def bone_colours(names: list[str], colours: dict[str, tuple[float, float, float]]) -> np.ndarray:
    """Returns the colours of bones by name, [b, 3], `ALONE` for those that `colours` lacks."""
    return np.array([colours.get(name, ALONE) for name in names], dtype=np.float64).reshape(-1, 3)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of a rig: one for each slider of every template and guide, of which a rig uses a part."""

from __future__ import annotations

#: What each template and guide is set by; `TEMPLATE_SLIDERS[t] + GUIDE_SLIDERS[g]` is the order of the native parameters.
TEMPLATE_SLIDERS = {
    "BUMP": ("radius", "strength"),
    "RADIAL": ("radius", "strength"),
    "BULGE": ("radius", "strength"),
    "TORUS": ("ring_radius", "tube_radius", "strength"),
}
GUIDE_SLIDERS = {
    "BONE": ("along", "angle", "distance", "tilt"),
    "SKIN": ("depth", "roll", "tilt"),
    "FREE": ("x", "y", "z", "rx", "ry", "rz"),
}
#: All of them, in the order in which a sample keeps them.
SLIDERS = (
    "radius", "ring_radius", "tube_radius", "strength", "along", "angle", "distance", "tilt", "depth", "roll",
    "x", "y", "z", "rx", "ry", "rz",
)  # fmt: skip
#: Those that are lengths, in Blender's units. The strength is one too where it says how far flesh yields.
LENGTHS = frozenset(("radius", "ring_radius", "tube_radius", "distance", "depth", "x", "y", "z"))


def native_parameters(
    names: tuple[str, ...], values: tuple[float, ...], metres_per_unit: float, by_yield: bool = False
) -> dict[str, float]:
    """The native parameters `names` of values for all of `SLIDERS`: lengths in metres, a strength by yield among them."""
    given, lengths = dict(zip(SLIDERS, values, strict=True)), lengths_of(by_yield)
    return {name: given[name] * (metres_per_unit if name in lengths else 1.0) for name in names}


def slider_parameters(parameters: dict[str, float], metres_per_unit: float, by_yield: bool = False) -> dict[str, float]:
    """Native parameters as slider values: lengths in Blender's units."""
    lengths = lengths_of(by_yield)
    return {name: value / (metres_per_unit if name in lengths else 1.0) for name, value in parameters.items()}


def lengths_of(by_yield: bool) -> frozenset[str]:
    """Which sliders are lengths."""
    return LENGTHS | {"strength"} if by_yield else LENGTHS

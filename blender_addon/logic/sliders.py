# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of a rig: one table of the sliders of all templates and guides; each rig uses some of them.

A slider's *kind* defines its unit in the panel, its limits, and its meaning in files and in the core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Kinds. Lengths are in Blender's units, natively in metres; angles in radians; ratios have no unit; strengths are forces per
#: volume (N/m3), or lengths where they give how far flesh yields.
LENGTH, ANGLE, RATIO, STRENGTH = "length", "angle", "ratio", "strength"


@dataclass(frozen=True)
class Slider:
    """A slider as it is shown and kept."""

    name: str
    kind: str
    label: str
    description: str
    default: float = 0.0
    size: bool = False  # size of a field: more than zero
    signed: bool = False  # goes both ways from zero


TABLE = (
    Slider("radius", LENGTH, "Radius", "How far from its middle the field reaches, in scene units", 0.1, size=True),
    Slider(
        "ring_radius", LENGTH, "Ring Radius", "The radius of the ring that the field surrounds, in scene units", 0.1,
        size=True,
    ),
    Slider(
        "tube_radius", LENGTH, "Tube Radius",
        "How far from the ring the field reaches, in scene units; less than the ring's own radius", 0.05, size=True,
    ),
    Slider(
        "strength", STRENGTH, "Strength",
        "The largest force on a cubic metre of flesh, in newtons (gravity pulls with about 10 000); negative turns the "
        "field about. By distance: how far the skin yields, in scene units", 40e3, signed=True,
    ),
    Slider("along", RATIO, "Along", "Where along the bone: 0 at its head, 1 at its tail, beyond either if you like", 0.5),
    Slider("angle", ANGLE, "Around", "Which way out from the bone; 0 is the front", signed=True),
    Slider("distance", LENGTH, "Out", "How far out from the bone, in scene units"),
    Slider(
        "tilt", ANGLE, "Tilt",
        "Turns the field's axis from straight out (0) towards the bone's tail, or along the skin (90 degrees)",
        signed=True,
    ),
    Slider("depth", LENGTH, "Depth", "How deep under the skin, in scene units; negative is outside"),
    Slider("roll", ANGLE, "Roll", "Turns the field about the skin's outward direction", signed=True),
    Slider("x", LENGTH, "X", "Moves the field along its first axis, in scene units", signed=True),
    Slider("y", LENGTH, "Y", "Moves the field along its second axis, in scene units", signed=True),
    Slider("z", LENGTH, "Z", "Moves the field along its third axis, in scene units", signed=True),
    Slider("rx", ANGLE, "Turn X", "Turns the field about its first axis (the three are one rotation vector)", signed=True),
    Slider("ry", ANGLE, "Turn Y", "Turns the field about its second axis", signed=True),
    Slider("rz", ANGLE, "Turn Z", "Turns the field about its third axis", signed=True),
)  # fmt: skip

#: Names of the sliders. The order is for this session alone: files keep sliders by name.
SLIDERS = tuple(slider.name for slider in TABLE)
BY_NAME = {slider.name: slider for slider in TABLE}

#: Sliders of each template and guide; `TEMPLATE_SLIDERS[t] + GUIDE_SLIDERS[g]` is the order of the native parameters.
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

#: Usual range of a slider, by kind; lengths and strengths range as far as the rig does.
RANGES = {ANGLE: 1.0, RATIO: 0.5}


def limits(slider: Slider) -> dict[str, float]:
    """Returns the limits of a slider in the panel: `min` if it has one, and the soft ones."""
    if slider.kind == STRENGTH:
        return {"soft_min": -500e3, "soft_max": 500e3}
    if slider.kind == ANGLE:
        return {"soft_min": -math.pi, "soft_max": math.pi}
    soft = {"soft_min": -1.0 if slider.signed else 0.0, "soft_max": 1.0}
    return {"min": 0.0, **soft} if slider.size else soft


def is_length(name: str, by_yield: bool = False) -> bool:
    """Returns whether a slider is in Blender's units: lengths are, and strengths by yield."""
    kind = BY_NAME[name].kind
    return kind == LENGTH or (by_yield and kind == STRENGTH)


def native_parameters(
    names: tuple[str, ...], values: tuple[float, ...], metres_per_unit: float, by_yield: bool = False
) -> dict[str, float]:
    """Returns the native parameters `names` of values for all of `SLIDERS`: lengths in metres, a strength by yield among them."""
    given = dict(zip(SLIDERS, values, strict=True))
    return {name: given[name] * (metres_per_unit if is_length(name, by_yield) else 1.0) for name in names}


def slider_parameters(parameters: dict[str, float], metres_per_unit: float, by_yield: bool = False) -> dict[str, float]:
    """Returns native parameters as slider values: lengths in Blender's units."""
    return {name: value / (metres_per_unit if is_length(name, by_yield) else 1.0) for name, value in parameters.items()}

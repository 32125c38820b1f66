# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of a rig: the core's table of templates, guides and muscles as sliders; each rig uses some of them.

A slider's *kind* defines its unit in the panel and its meaning in files and in the core. Without the core there is no slider; a file
keeps the values that it has.
"""

from __future__ import annotations

from dataclasses import dataclass

from .native import thew

#: Kinds. Lengths are in Blender's units, natively in metres; angles in radians; ratios have no unit; strengths are forces per
#: volume (N/m3), or lengths where they give how far flesh yields.
LENGTH, ANGLE, RATIO, STRENGTH = "length", "angle", "ratio", "strength"

TEMPLATES = {spec.name.upper(): spec for spec in (thew.templates() if thew else ())}
GUIDES = {spec.name.upper(): spec for spec in (thew.guides() if thew else ())}
#: Parameters of a muscle. Those of its ends are named after the end.
_MUSCLE = next((spec.parameters for spec in (thew.rig_kinds() if thew else ()) if spec.name == "muscle"), ())


@dataclass(frozen=True)
class Slider:
    """A slider: its name in files, its meaning, and its range in the panel."""

    name: str
    kind: str
    label: str
    description: str
    default: float
    size: bool  # size of a field: more than zero
    soft: tuple[float, float]  # ends in the panel; lengths and strengths range as far as the rig does


def slider(parameter) -> Slider:
    """Returns the slider of a parameter of the core."""
    kind = {"m": LENGTH, "rad": ANGLE, "": RATIO}.get(parameter.unit, STRENGTH)
    says = parameter.doc
    if kind == LENGTH:
        what, *more = says.split(";", 1)
        says = ";".join([f"{what}, in scene units", *more])
    if kind == STRENGTH:
        says += ". By distance: the yield of the skin, in scene units"
    return Slider(
        parameter.name, kind, parameter.label, says, parameter.default, parameter.kind == "radius", parameter.range
    )


#: All sliders by name: sizes of templates, the strength, then those of guides and muscles. The order is for this session alone: files keep
#: sliders by name.
SLIDERS_BY_NAME = {
    p.name: slider(p)
    for p in (
        *sorted((p for s in TEMPLATES.values() for p in s.parameters), key=lambda p: p.name == "strength"),
        *(p for s in GUIDES.values() for p in s.parameters),
        *_MUSCLE,
    )
}
TABLE, SLIDERS = tuple(SLIDERS_BY_NAME.values()), tuple(SLIDERS_BY_NAME)

#: Sliders of each template and guide; `TEMPLATE_SLIDERS[t] + GUIDE_SLIDERS[g]` is the order of the native parameters.
TEMPLATE_SLIDERS, GUIDE_SLIDERS = (
    {name: tuple(p.name for p in spec.parameters) for name, spec in specs.items()} for specs in (TEMPLATES, GUIDES)
)

#: Sliders of a muscle, in the order of its native parameters.
MUSCLE_SLIDERS = tuple(p.name for p in _MUSCLE)

#: Usual range of a slider, by kind; lengths and strengths range as far as the rig does.
USUAL_RANGES = {ANGLE: 1.0, RATIO: 0.5}


def choices(specs: dict) -> tuple[tuple[str, str, str, str, int], ...]:
    """Returns the items of a menu of templates or guides. Their numbers, which files keep, are places in the core's table."""
    items = tuple((name, spec.label, spec.doc, spec.icon, i) for i, (name, spec) in enumerate(specs.items()))
    return items or (("NONE", "None", "Unknown without the native part of Thew", "QUESTION", 0),)


def limits(slider: Slider) -> dict[str, float]:
    """Returns the limits of a slider in the panel: `min` if it has one, and the soft ones."""
    soft = dict(zip(("soft_min", "soft_max"), slider.soft, strict=True))
    return {"min": 0.0, **soft} if slider.size else soft


def size_names(template: str) -> tuple[str, ...]:
    """Returns the sliders of a template's sizes: all but the strength."""
    return tuple(name for name in TEMPLATE_SLIDERS[template] if SLIDERS_BY_NAME[name].size)


def is_length(name: str, by_yield: bool = False) -> bool:
    """Returns whether a slider is in Blender's units: lengths are, and strengths by yield."""
    kind = SLIDERS_BY_NAME[name].kind
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

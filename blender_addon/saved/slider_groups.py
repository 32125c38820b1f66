# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved numbers of a rig: a named property for each slider of `logic.sliders.TABLE`.

A slider that later versions add is one more name, at its default in older files; order has no meaning.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy
from bpy.props import BoolProperty, FloatProperty, PointerProperty

from ..languages.contexts import own_context
from ..logic.sliders import ANGLE, LENGTH, SLIDERS, STRENGTH, TABLE, Slider, limits

#: Unit, step and digits of a slider in the panel, by its kind.
UNITS = {LENGTH: "LENGTH", ANGLE: "ROTATION"}
STEPS = {LENGTH: 1, STRENGTH: 100000}
DIGITS = {LENGTH: 3, STRENGTH: 0}


def rig_sliders(update) -> type:
    """Builds a base class with the sliders of a rig, each with the unit and the limits of its kind."""
    return _group_class(
        "Sliders",
        "The sliders of a rig.",
        lambda s: _number_property(s, update=update, default=s.default, **limits(s)),
        (),
    )


def _number_property(slider: Slider, **options):
    return FloatProperty(
        name=slider.label,
        description=slider.description,
        unit=UNITS.get(slider.kind, "NONE"),
        step=STEPS.get(slider.kind, 3 if slider.kind == ANGLE else 1),
        precision=DIGITS.get(slider.kind, 3 if slider.kind != ANGLE else 2),
        options=set(),
        **own_context(slider.label),
        **options,
    )


def _group_class(name: str, summary: str, property_of, bases=(bpy.types.PropertyGroup,)) -> type:
    """Builds a class of properties, one for each slider."""
    return type(
        name,
        bases,
        {
            "__doc__": summary,
            "__module__": __name__,
            "__annotations__": {slider.name: property_of(slider) for slider in TABLE},
        },
    )


ThewSliders = _group_class(
    "ThewSliders",
    "A value for each slider, including those that template and guide do not use.",
    lambda slider: _number_property(slider, default=slider.default),
)
ThewPreferred = _group_class(
    "ThewPreferred",
    "The values that pulling the skin keeps near, as far as their weights go.",
    lambda slider: _number_property(slider),
)
ThewWeights = _group_class(
    "ThewWeights",
    "Weights of the sliders' preferred values while the skin is pulled.",
    lambda slider: FloatProperty(
        name=slider.label,
        description="Weight of this slider's preferred value while the skin is pulled; 0 holds it lightly "
        "where it began. At 1, a usual change weighs as much as missing a point by 0.3 % of the body's size",
        min=0.0,
        soft_max=10.0,
        options=set(),
        **own_context(slider.label),
    ),
)
ThewFixed = _group_class(
    "ThewFixed",
    "The sliders that pulling the skin leaves alone.",
    lambda slider: BoolProperty(
        name=slider.label,
        description="Pulling the skin leaves this slider alone",
        options=set(),
        **own_context(slider.label),
    ),
)


class ThewPull(bpy.types.PropertyGroup):
    """Preferences for pulling the skin."""

    preferred: PointerProperty(type=ThewPreferred, name="Preferred", description="Values that pulling keeps near")
    weights: PointerProperty(type=ThewWeights, name="Weights", description="Weights of those values")
    fixed: PointerProperty(type=ThewFixed, name="Fixed", description="Sliders that pulling leaves alone")


CLASSES = (ThewSliders, ThewPreferred, ThewWeights, ThewFixed, ThewPull)


def values_of(group) -> tuple:
    """Returns the values of a group, in the order of `SLIDERS`."""
    return tuple(getattr(group, name) for name in SLIDERS)


def set_values(group, values: Iterable[float]) -> None:
    """Sets the values of a group, in the order of `SLIDERS`."""
    for name, value in zip(SLIDERS, values, strict=True):
        setattr(group, name, value)

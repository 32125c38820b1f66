# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of saved data before use: numbers are finite, and within their ranges.

Blender keeps a property within its range when it is set, not when a file is read: a file may be damaged, or made by a script or by
somebody with bad intent.
"""

from __future__ import annotations

import math

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.spaces import is_singular

#: Properties that are shown, not saved.
DERIVED_PROPERTIES = {"height_shown", "frame"}


def check(obj: bpy.types.Object) -> None:
    """Refuses settings and notes of `obj` with values that are not numbers or out of range, by name."""
    settings, made = obj.thew, obj.thew.made
    for prop, value in wrong_values(settings):
        raise Refusal(
            f"The setting “{prop.name}” of {describe(obj)} is {value:g}: set it to between {prop.hard_min:g} and {prop.hard_max:g}"
        )
    if not made.flesh:
        return
    damaged = [prop.identifier for prop, _ in wrong_values(made)]
    if not damaged:
        matrices = (np.array(flat).reshape(4, 4) for flat in (made.mesh_rest, made.armature_rest))
        damaged = ["rest"] if made.longest_side <= 0.0 or any(map(is_singular, matrices)) else []
    if damaged:
        raise Refusal(
            f"What the file keeps about the flesh of {describe(obj)} is damaged: press Remove Flesh, then Add Flesh"
        )


def value_in_range(group, name: str):
    """Returns a number, or numbers, of a property group within their range; the default in place of one that is not finite.

    Settings of damaged files can thus be compared. `check` refuses them before anything is built.
    """
    prop, value = group.bl_rna.properties[name], getattr(group, name)
    numbers = value if prop.is_array else (value,)
    defaults = prop.default_array if prop.is_array else (prop.default,)
    sound = tuple(
        min(max(number, prop.hard_min), prop.hard_max) if math.isfinite(number) else default
        for number, default in zip(numbers, defaults, strict=True)
    )
    return sound if prop.is_array else sound[0]


def wrong_values(group):
    """Yields (property, value) for each number that is not finite, or out of its range."""
    for prop in group.bl_rna.properties:
        if prop.type not in {"FLOAT", "INT"} or prop.identifier in DERIVED_PROPERTIES:
            continue
        value = getattr(group, prop.identifier)
        for number in value if prop.is_array else (value,):
            if not math.isfinite(number) or not prop.hard_min <= number <= prop.hard_max:
                yield prop, number
                break

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file holds about flesh, looked at before it is believed: numbers are numbers, and within their ranges.

Blender keeps a property within its range where it is set, not where a file is read: a file may be damaged, made by a script
or by somebody who means no good.
"""

from __future__ import annotations

import math

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.spaces import is_singular

#: Shown, not saved.
DERIVED = {"height_shown", "frame"}


def check(obj: bpy.types.Object) -> None:
    """Refuse settings and notes of `obj` that are no numbers or out of range, by name."""
    settings, made = obj.thew, obj.thew.made
    for prop, value in wrong(settings):
        raise Refusal(
            f"The setting “{prop.name}” of {describe(obj)} is {value:g}: set it to between {prop.hard_min:g} and {prop.hard_max:g}"
        )
    if not made.flesh:
        return
    damaged = [prop.identifier for prop, _ in wrong(made)]
    if not damaged:
        matrices = (np.array(flat).reshape(4, 4) for flat in (made.mesh_rest, made.armature_rest))
        damaged = ["rest"] if made.longest_side <= 0.0 or any(map(is_singular, matrices)) else []
    if damaged:
        raise Refusal(
            f"What the file keeps about the flesh of {describe(obj)} is damaged: press Remove, then Add Flesh"
        )


def wrong(group):
    """(property, value) of every number that is none, or out of its range."""
    for prop in group.bl_rna.properties:
        if prop.type not in {"FLOAT", "INT"} or prop.identifier in DERIVED:
            continue
        value = getattr(group, prop.identifier)
        for number in value if prop.is_array else (value,):
            if not math.isfinite(number) or not prop.hard_min <= number <= prop.hard_max:
                yield prop, number
                break

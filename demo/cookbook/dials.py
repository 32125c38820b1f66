# SPDX-License-Identifier: MIT OR Apache-2.0
"""Effects of the dials on Bodo's belly in his jump, for `docs/numbers.md`: sway in mm, and the stiffness behind Softness."""

from __future__ import annotations

import bpy

from demo.characters import empty_scene
from demo.cookbook.measuring import take
from demo.cookbook.recipes import RECIPES
from demo.extension import flesh_of

SOFTNESS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Dials with the values that are tried, at the usual softness.
DIALS = {
    "settling": (0.5, 1.0, 2.0),
    "reach": (0.03, 0.15, 0.5),
    "cells_across": (8, 12, 24),
    "poisson": (0.3, 0.4, 0.49),
    "density": (500.0, 1000.0, 2000.0),
}
HEIGHTS = (0.3, 1.56, 6.0)


def measure() -> dict[str, dict[str, float]]:
    """Returns the sway of the belly by dial and value, mm on a height of 1.56 m, and `young`: pascals by softness."""
    empty_scene()
    stage = next(recipe for recipe in RECIPES if recipe.name == "belly").character()
    bpy.ops.thew.add()
    settings, found = stage.flesh.thew, {"softness": {}, "young": {}, "young at heights": {}}

    def sway() -> float:
        return round(take("", stage.flesh, [], []).sway(stage.place), 1)

    for softness in SOFTNESS:
        settings.softness = softness
        found["softness"][f"{softness:g}"] = sway()
        found["young"][f"{softness:g}"] = round(flesh_of(stage.flesh).young(softness, 0.0))
    settings.softness = 0.5
    for dial, values in DIALS.items():
        usual = getattr(settings, dial)
        found[dial] = {}
        for value in values:
            setattr(settings, dial, value)
            found[dial][f"{value:g}"] = sway()
        setattr(settings, dial, usual)
    for height in HEIGHTS:
        settings.real_height = height
        take("", stage.flesh, [], [])
        found["young at heights"][f"{height:g}"] = round(flesh_of(stage.flesh).young(0.5, 0.0))
    return found

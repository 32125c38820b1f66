# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved settings that direct flesh over a shot: how much of it is shown, and the force fields that it feels."""

from __future__ import annotations

import bpy
from bpy.props import FloatProperty, PointerProperty

from .edit_callbacks import call_on_change, setting


class DirectionProperties:
    """Mix-in for the settings of an object."""

    influence: FloatProperty(
        name="Influence",
        description="Share of the flesh's motion that is shown: 0 is the plain skin, 1 all of it. Can be keyed and driven; it simulates nothing again",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=call_on_change,
    )
    field_weight: FloatProperty(
        name="Force Fields",
        description="How much the scene's force fields push the flesh: Wind, Force, Vortex, Turbulence and Drag. Strength 1 is 1 m/s², a tenth of gravity. "
        "Can be keyed and driven",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=call_on_change,
    )
    field_collection: setting(
        PointerProperty,
        "Only From",
        "Collection whose force fields push this flesh; empty: those of the whole scene",
        type=bpy.types.Collection,
    )

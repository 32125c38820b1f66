# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs of Copy Rigs to Another Character: rows of the table of bones that correspond, their colours, and landmarks."""

import bpy
from bpy.props import FloatVectorProperty, StringProperty


class ThewBonePair(bpy.types.PropertyGroup):
    """Two bones that correspond. A row with an empty side is found anew by shape and names."""

    source: StringProperty(name="From", description="Bone of the character that has the rigs; empty: found anew")
    target: StringProperty(name="To", description="Bone of the character that gets them; empty: found anew")


class ThewPairColour(bpy.types.PropertyGroup):
    """The colour of a row of the table. It is no part of the row, so that scripts pass bones alone."""

    colour: FloatVectorProperty(
        name="Colour", description="Colour of both bones in the view", subtype="COLOR_GAMMA", size=3, min=0.0, max=1.0
    )


class ThewLandmark(bpy.types.PropertyGroup):
    """Two points of the skin that correspond, each in the object space of its mesh at rest."""

    source: FloatVectorProperty(size=3, description="Point of the character that has the rigs", options={"HIDDEN"})
    target: FloatVectorProperty(size=3, description="Point of this character", options={"HIDDEN"})


CLASSES = (ThewBonePair, ThewPairColour, ThewLandmark)

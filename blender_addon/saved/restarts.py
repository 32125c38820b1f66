# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved frames in which the flesh of an object begins anew: cuts, after which the character is elsewhere."""

from __future__ import annotations

import bpy
from bpy.props import CollectionProperty, IntProperty

from .choices import FRAME_RANGE
from .edit_callbacks import setting


class ThewRestart(bpy.types.PropertyGroup):
    """One frame in which the flesh begins anew."""

    frame: setting(
        IntProperty,
        "Begins Anew",
        "Frame in which the flesh begins anew, whatever came before: set it where the character jumps from one frame "
        "to the next",
        min=FRAME_RANGE[0],
        max=FRAME_RANGE[1],
    )


class RestartProperties:
    """Mix-in for the settings of an object."""

    restarts: CollectionProperty(type=ThewRestart, description="Frames in which the flesh begins anew")


def frames(settings) -> set[int]:
    """Returns the frames in which the flesh with these settings begins anew."""
    return {restart.frame for restart in settings.restarts}


def add(settings, new: set[int]) -> None:
    """Adds frames in which the flesh begins anew."""
    for frame in sorted(new - frames(settings)):
        settings.restarts.add().frame = frame


CLASSES = (ThewRestart,)

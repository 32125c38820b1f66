# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved frames in which the flesh of an object begins anew: cuts, after which the character is elsewhere."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, IntProperty

from .choices import FRAME_RANGE
from .edit_callbacks import call_on_change, setting


class ThewRestart(bpy.types.PropertyGroup):
    """One frame in which the flesh begins anew, or goes on although something jumps."""

    frame: setting(
        IntProperty,
        "Begins Anew",
        "Frame in which the flesh begins anew, whatever came before: set it where the character jumps from one frame "
        "to the next",
        min=FRAME_RANGE[0],
        max=FRAME_RANGE[1],
    )
    goes_on: setting(
        BoolProperty,
        "Goes On",
        "The flesh goes on through this frame although something jumps: no cut",
        default=False,
    )


class RestartProperties:
    """Mix-in for the settings of an object."""

    restarts: CollectionProperty(type=ThewRestart, description="Frames in which the flesh begins anew")
    restart: BoolProperty(
        name="Restart",
        description="Key this on in each frame in which the flesh begins anew, and off after it (on the armature: its action then "
        "carries its cuts)",
        default=False,
        options={"ANIMATABLE"},
        update=call_on_change,
    )
    restart_at_cuts: setting(
        BoolProperty,
        "Restart at Cuts",
        "Let the flesh begin anew wherever Thew notices that the character, or a bone, is elsewhere from one frame to the next "
        "and stays there",
        default=False,
    )


def frames(settings) -> set[int]:
    """Returns the frames in which the flesh with these settings begins anew, those of keys left out."""
    return {restart.frame for restart in settings.restarts if not restart.goes_on}


def passed_frames(settings) -> set[int]:
    """Returns the frames in which something jumps and the flesh goes on all the same."""
    return {restart.frame for restart in settings.restarts if restart.goes_on}


def add(settings, new: set[int]) -> None:
    """Adds frames in which the flesh begins anew."""
    for frame in sorted(new - frames(settings)):
        judge(settings, frame, goes_on=False)


def pass_over(settings, frame: int) -> None:
    """Lets the flesh go on through a frame in which something jumps."""
    judge(settings, frame, goes_on=True)


def judge(settings, frame: int, goes_on: bool) -> None:
    """Notes what the flesh does in a frame. What is known of it is changed in place: a library's entries cannot be removed."""
    found = [restart for restart in settings.restarts if restart.frame == frame]
    if not found:
        found = [settings.restarts.add()]
        found[0].frame = frame
    for restart in found:
        restart.goes_on = goes_on


def drop(settings, frame: int) -> bool:
    """Forgets all about a frame; returns whether anything was known."""
    found = [index for index, restart in enumerate(settings.restarts) if restart.frame == frame]
    for index in reversed(found):
        settings.restarts.remove(index)
    return bool(found)


CLASSES = (ThewRestart,)

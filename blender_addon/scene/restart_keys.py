# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames in which the flesh begins anew by keys: the property Restart of a character's armature, or of its mesh."""

from __future__ import annotations

import math
from collections.abc import Iterable

import bpy

from . import animation

#: Path of the property Restart, of an armature or a mesh.
PATH = "thew.restart"


def keyed_frames(*owners: bpy.types.Object | None) -> set[int]:
    """Returns the frames in which keys of the actions that objects play switch Restart on; None counts as an object without any."""
    found: set[int] = set()
    for owner in owners:
        data = None if owner is None else owner.animation_data
        if data is None:
            continue
        if not len(data.nla_tracks):  # asked in every frame that plays
            if data.action is not None:
                found |= frames_in(data.action, [animation.active_slot(data)])
            continue
        played = animation.played_action(owner)
        if played is not None and played.plain:
            found |= frames_in(played.action, [played.slot])
    return found


def frames_in(action: bpy.types.Action, slots: Iterable) -> set[int]:
    """Returns the frames in which keys of an action switch Restart on; `slots`: those that count ([None] before Blender 4.4)."""
    found: set[int] = set()
    for slot in slots:
        curves = animation.curves_of(action, slot)
        curve = curves.find(PATH) if len(curves) else None
        if curve is None or curve.mute:
            continue
        was_on = False
        for key in curve.keyframe_points:  # in the order of their frames
            is_on = key.co.y >= 0.5
            if is_on and not was_on:
                found.add(math.ceil(key.co.x - 1e-4))
            was_on = is_on
    return found

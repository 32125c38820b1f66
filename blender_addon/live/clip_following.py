# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps baked keys in step with their armature: after a change of its action or its NLA strips they play the clips of these.

A look costs a comparison per baked object; keys are touched after a change alone. Exporters that play one action after another are
followed too, but for glTF's, which plays the keys' clips itself.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import bpy

from ..logic.states import UNREAD_CONDITION, Condition
from ..scene import cache_playing, helper_playing, key_playing, key_tracks, poses, texture_playing
from .registers import Register

#: Package of the exporter that plays the keys' clips itself.
KEY_PLAYING_EXPORTER = "io_scene_gltf2"


@dataclass
class Following:
    """What the keys of one object follow at present."""

    condition: Condition = UNREAD_CONDITION  # it takes part in no events
    followed: tuple | None = None  # signature of what they follow; None: unknown


register = Register(Following, lambda obj: len(obj.thew.bakes) > 0)


def forget() -> None:
    """Makes every object follow anew at the next look, as after undo."""
    for obj in register.all_objects():
        register.state_of(obj).followed = None


def follow_all() -> None:
    """Lets the keys of every object follow anew."""
    forget()
    for obj in register.all_objects():
        follow(obj)


def look(scene: bpy.types.Scene) -> None:
    """Lets the keys of the scene's objects follow armatures that play something else since the last look."""
    if poses.silence_depth:
        return
    for obj in register.objects(scene):
        if not is_shown(obj):
            continue
        known, now = register.state_of(obj), signature(obj)
        if now != known.followed and not is_exporting():
            follow(obj)
            known.followed = now


def is_shown(obj: bpy.types.Object) -> bool:
    """Returns whether an object shows its bake, of whatever kind."""
    players = key_playing, cache_playing, texture_playing, helper_playing
    return any(player.is_shown(obj) for player in players)


def follow(obj: bpy.types.Object) -> None:
    """Lets the bake that an object shows follow its armature."""
    key_playing.follow_shown(obj)
    if cache_playing.is_shown(obj):
        cache_playing.follow(obj)
    if texture_playing.is_shown(obj):
        texture_playing.follow(obj)
    if helper_playing.is_shown(obj):
        helper_playing.follow(obj)


def signature(obj: bpy.types.Object) -> tuple:
    """Returns what decides what the bake of an object plays."""
    armature = key_playing.moving_armature(obj)
    return (
        obj.thew.active_bake,
        cache_playing.shown_fault(obj),
        key_tracks.signature(armature.animation_data if armature is not None else None),
    )


def is_exporting() -> bool:
    """Returns whether an exporter that plays the keys itself is at work."""
    frame = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(KEY_PLAYING_EXPORTER):
            return True
        frame = frame.f_back
    return False

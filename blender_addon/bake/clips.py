# SPDX-License-Identifier: GPL-3.0-or-later
"""The bones' animations that the clips of a bake belong to, and what an export would do with them."""

from __future__ import annotations

import bpy

from ..logic.names import describe
from ..saved import bakes as saved_bakes
from ..scene import animation, key_playing
from ..scene.key_playing import moving_armature

#: Default names of NLA tracks, by which the exporter does not merge animations.
DEFAULT_TRACK_NAMES = ("NlaTrack", "[Action Stash]")


def scene_action(obj: bpy.types.Object) -> bpy.types.Action | None:
    """Returns the action to which the bake of the scene's range belongs: the one played at the bake, or else the one played now.

    None where the bake that plays has no such clip.
    """
    bake, armature = saved_bakes.playing(obj), moving_armature(obj)
    clip = bake.scene_clip if bake is not None else None
    if clip is None:
        return None
    if clip.played is not None:
        return clip.played
    played = animation.played_action(armature) if armature is not None else None
    return played.action if played is not None and played.plain else None


def exported_actions(obj: bpy.types.Object) -> dict[bpy.types.Action, saved_bakes.ThewClip]:
    """Returns the actions of the armature that have a clip in the bake that plays, each with its clip."""
    bake = saved_bakes.playing(obj)
    if bake is None:
        return {}
    found = {clip.action: clip for clip in bake.clips if not clip.is_scene and clip.action is not None}
    action = scene_action(obj)
    return found if action is None else {action: bake.scene_clip, **found}


def animation_name(armature: bpy.types.Object, action: bpy.types.Action) -> str:
    """Returns the exporter's name for the animation of an action of the armature."""
    name = ""
    for track in armature.animation_data.nla_tracks if armature.animation_data is not None else ():
        if any(strip.action == action and not strip.mute for strip in track.strips):
            name = track.name
    return name if name and not name.startswith(DEFAULT_TRACK_NAMES) else action.name


def mismatch_warning(obj: bpy.types.Object) -> str:
    """Returns the sentence that the bones play an action that has no clip in the bake; "" if it has one."""
    bake, armature = saved_bakes.playing(obj), moving_armature(obj)
    if bake is None or armature is None or key_playing.played_clip(obj, bake) is not None:
        return ""
    played = animation.played_action(armature)
    strips = [strip for strip in animation.strips(armature.animation_data) if strip.action is not None]
    if played is None and any(key_playing.strip_clip(bake, strip) is not None for strip in strips):
        return ""
    clips = [
        clip.played.name if clip.is_scene else clip.label for clip in bake.clips if not clip.is_scene or clip.played
    ]
    if not clips:
        return ""
    what = f"plays “{played.action.name}”" if played is not None else "plays something else"
    of = f"of the action “{clips[0]}”" if len(clips) == 1 else f"of {len(clips)} actions"
    remedy = (
        f"make “{clips[0]}” active, or bake again" if len(clips) == 1 else "make one of them active, or bake that too"
    )
    return f"The bake of {describe(obj)} is {of} and {describe(armature)} {what}, with the plain skin: {remedy}"


def split_export_warning(obj: bpy.types.Object) -> str:
    """Returns the sentence that bones and baked keys of a mesh would export as separate animations; "" if as one."""
    armature = moving_armature(obj)
    if armature is None or exported_actions(obj) or not animation.animates(armature, "pose."):
        return ""
    return (
        f"{describe(armature)} plays NLA strips, each of which glTF writes as an animation of its own, and the keys of "
        f"{describe(obj)} as another: bake all actions, or export with the Animation Mode Scene and Split Animation by Object off"
    )

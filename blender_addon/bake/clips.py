# SPDX-License-Identifier: GPL-3.0-or-later
"""The bones' animation that a bake belongs to: the action that its armature played when it was baked."""

from __future__ import annotations

import bpy

from ..logic.names import describe
from ..scene import animation
from ..scene.reading import armature_modifier

#: Default names of NLA tracks, by which the exporter does not merge animations.
DEFAULT_TRACK_NAMES = ("NlaTrack", "[Action Stash]")


def armature_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Returns the armature that moves a mesh, by its modifier or as its parent."""
    modifier = armature_modifier(obj)
    if modifier is not None and modifier.object is not None:
        return modifier.object
    return obj.parent if obj.parent is not None and obj.parent.type == "ARMATURE" else None


def clip_of(obj: bpy.types.Object) -> bpy.types.Action | None:
    """Returns the action to which the bake of a mesh belongs: the one played at the bake, or else the one played now."""
    if obj.thew.made.baked_of is not None:
        return obj.thew.made.baked_of
    armature = armature_of(obj)
    played = animation.played_action(armature) if armature is not None else None
    return played.action if played is not None and played.plain else None


def animation_name(armature: bpy.types.Object, action: bpy.types.Action) -> str:
    """Returns the exporter's name for the animation of an action of the armature."""
    name = ""
    for track in armature.animation_data.nla_tracks if armature.animation_data is not None else ():
        if any(strip.action == action and not strip.mute for strip in track.strips):
            name = track.name
    return name if name and not name.startswith(DEFAULT_TRACK_NAMES) else action.name


def mismatch_warning(obj: bpy.types.Object) -> str:
    """Returns the sentence that the bones play another action than the baked one; "" if they play that one."""
    armature, baked = armature_of(obj), obj.thew.made.baked_of
    played = animation.played_action(armature) if armature is not None else None
    if armature is None or baked is None or (played is not None and played.action == baked):
        return ""
    what = f"plays “{played.action.name}”" if played is not None else "plays something else"
    return (
        f"The bake of {describe(obj)} is of the action “{baked.name}” and {describe(armature)} {what}, which its keys do not "
        f"fit: make “{baked.name}” active, or bake again"
    )


def split_export_warning(obj: bpy.types.Object) -> str:
    """Returns the sentence that bones and baked keys of a mesh would export as separate animations; "" if as one."""
    armature = armature_of(obj)
    if armature is None or clip_of(obj) is not None or not animation.animates(armature, "pose."):
        return ""
    return (
        f"{describe(armature)} plays NLA strips, each of which glTF writes as an animation of its own, and the keys of "
        f"{describe(obj)} as another: make one action active and bake it, or export with the Animation Mode Scene and Split Animation by Object off"
    )

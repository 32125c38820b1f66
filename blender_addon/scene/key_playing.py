# SPDX-License-Identifier: GPL-3.0-or-later
"""Baked shape keys in step with the armature: they play the clip of the action, or of the NLA strips, that it plays.

An armature that plays an action without a clip shows its plain skin. Where the artist animates other keys of the mesh by an action of
their own, that stays the active one, and the clips play from NLA tracks below it.
"""

from __future__ import annotations

import bpy

from ..saved import bakes as saved_bakes
from ..saved import timing
from . import animation, key_curves, key_tracks, writing
from .key_curves import CurvePlace, place_of
from .reading import armature_modifier


def moving_armature(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Returns the armature that moves a mesh, by its modifier or as its parent."""
    modifier = armature_modifier(obj)
    if modifier is not None and modifier.object is not None:
        return modifier.object
    return obj.parent if obj.parent is not None and obj.parent.type == "ARMATURE" else None


def active_action(armature: bpy.types.Object | None) -> bpy.types.Action | None:
    """Returns the active action of an armature; None where it has none, or a solo track silences it."""
    data = armature.animation_data if armature is not None else None
    if data is None or data.action is None or (data.use_nla and any(track.is_solo for track in data.nla_tracks)):
        return None
    return data.action


def played_clip(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> saved_bakes.ThewClip | None:
    """Returns the clip of a bake that belongs to what the armature plays now: its active action, or the scene's range.

    None where it plays strips of several clips, or something of which there is no clip. Keys in posed space need no armature.
    """
    armature, scene_clip = moving_armature(obj), bake.scene_clip
    action = active_action(armature)
    if action is not None:
        clip = bake.clip_of(action, animation.identifier_of(animation.active_slot(armature.animation_data)))
        if clip is not None:
            return clip
    if scene_clip is None or armature is None or bake.space == "POSED" or scene_clip.played is None:
        return scene_clip
    if action is None:
        played = animation.played_action(armature)
        action = played.action if played is not None else None
    return scene_clip if action == scene_clip.played else None


def strip_clip(bake: saved_bakes.ThewBake, strip: bpy.types.NlaStrip) -> saved_bakes.ThewClip | None:
    """Returns the clip of a bake that an NLA strip plays; None without one."""
    slot = animation.identifier_of(getattr(strip, "action_slot", None))
    return bake.clip_of(strip.action, slot) if strip.action is not None else None


def unplayed_action(obj: bpy.types.Object) -> bpy.types.Action | None:
    """Returns the active action of the armature if the bake that plays has no clip of it."""
    bake = saved_bakes.playing(obj)
    if bake is None or not len(bake.clips) or played_clip(obj, bake) is not None:
        return None
    return active_action(moving_armature(obj))


def is_shown(obj: bpy.types.Object) -> bool:
    """Returns whether keys of the bake that plays are not muted: the object shows its bake, or it is finished."""
    keys, bake = obj.data.shape_keys, saved_bakes.playing(obj)
    if keys is None or bake is None or not len(bake.clips):
        return False
    first = keys.key_blocks.get(bake.keys.partition("\n")[0])  # asked at every frame: one key stands for all
    return first is not None and not first.mute


def follow_shown(obj: bpy.types.Object) -> None:
    """Lets the keys of an object that shows its bake follow its armature."""
    if is_shown(obj):
        follow(obj)


def follow(obj: bpy.types.Object) -> None:
    """Lets the keys of the bake that plays follow what the armature plays now; touches only what differs."""
    keys, bake = obj.data.shape_keys, saved_bakes.playing(obj)
    if keys is None or bake is None or not len(bake.clips):
        return
    armature = moving_armature(obj)
    clip = played_clip(obj, bake)
    place = place_of(clip) if clip is not None else None
    own = own_place(obj)
    beside = clip if own not in {None, place} else None
    follow_tracks(obj, bake, armature, place, beside)
    if own is None:
        follow_action(keys, place, armature.animation_data if armature is not None else None)
    if place is None and not key_tracks.made_tracks(obj):
        for key in writing.keys_of(obj, bake):
            if key.value != 0.0:
                key.value = 0.0


def own_place(obj: bpy.types.Object) -> CurvePlace | None:
    """Returns the place of curves that the artist lets the keys of an object play; None where they play none but those of bakes."""
    played = key_curves.played_place(obj.data.shape_keys)
    if played is None:
        return None
    clips = [clip for bake in obj.thew.bakes for clip in bake.clips if place_of(clip) == played]
    scenes = [clip for clip in clips if clip.is_scene and not (clip.made_curves or clip.made_slot)]
    return played if not clips or len(scenes) == len(clips) else None


def follow_action(keys: bpy.types.Key, place: CurvePlace | None, source: bpy.types.AnimData | None) -> None:
    """Lets keys play a place as their active action, blended as the armature's; None: no action."""
    data = keys.animation_data
    if data is None and place is None:
        return
    data = data or keys.animation_data_create()
    if data.use_tweak_mode:
        data.use_tweak_mode = False
    animation.assign(data, place.action if place is not None else None, place.slot if place is not None else None)
    for name in ("action_blend_type", "action_influence", "action_extrapolation"):
        value = getattr(source, name) if source is not None else data.bl_rna.properties[name].default
        if getattr(data, name) != value:
            setattr(data, name, value)


def follow_tracks(
    obj: bpy.types.Object, bake: saved_bakes.ThewBake, armature: bpy.types.Object | None, place: CurvePlace | None,
    beside: saved_bakes.ThewClip | None,
) -> None:  # fmt: skip
    """Makes the NLA tracks of the keys after those of the armature, whose active action plays at `place`.

    `beside`: a clip that plays below the artist's own action. A finished bake keeps the clips that do not play in muted tracks, since
    exporters look for them there.
    """

    def place_of_strip(strip: bpy.types.NlaStrip) -> CurvePlace | None:
        found = strip_clip(bake, strip)
        return None if found is None else place_of(found)

    silent = place is None and active_action(armature) is not None
    copies = key_tracks.track_copies(armature.animation_data if armature is not None else None, place_of_strip, silent)
    clips = [clip for clip in bake.clips if place_of(clip) is not None]
    shown = {place, *(strip.place for copy in copies for strip in copy.strips)}
    stashed = [clip for clip in clips if place_of(clip) not in shown] if is_finished(obj) else []
    wanted = bool(copies or stashed or beside is not None) and bool(clips)
    if not wanted and not obj.thew.made.baked_tracks:
        return
    step = timing.stretch(bpy.context.scene)
    rest = key_tracks.Rest(place_of(clips[0]), step * (max(clip.end for clip in clips) + 2)) if wanted else None
    key_tracks.write(obj, copies, rest)
    for clip in stashed:
        key_tracks.add_plain_track(obj, clip.label, place_of(clip), step * clip.start, step * clip.end, mute=True)
    if beside is not None:
        times = step * (beside.start - 1), step * (beside.end + 1)
        key_tracks.add_plain_track(obj, key_tracks.ACTION_TRACK, place, *times)


def is_finished(obj: bpy.types.Object) -> bool:
    """Returns whether nothing of Thew is left on an object but its bakes."""
    made = obj.thew.made
    return not (made.flesh or made.rides or made.keyframed)

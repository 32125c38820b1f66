# SPDX-License-Identifier: GPL-3.0-or-later
"""NLA tracks of baked shape keys, made after those of the armature: the same strips at the same times, each with the keys' curves.

Below them lies a track in which every key is at 0, because Blender 5.0 and 5.1 take 1 for the value of a key beside all strips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy

from . import animation
from .key_curves import CurvePlace
from .mesh import numbers

#: Name of the track in which every key is at 0, and of the one that plays an action beside the artist's own.
REST_TRACK, ACTION_TRACK = "Thew Rest", "Thew"

#: Settings of a strip that its copy takes, in the order in which Blender accepts them.
STRIP_SETTINGS = (
    "action_frame_start", "action_frame_end", "scale", "repeat", "use_reverse", "blend_type", "use_auto_blend", "blend_in",
    "blend_out", "use_animated_influence", "use_animated_time", "use_animated_time_cyclic", "mute",
)  # fmt: skip
#: Values of a strip that the artist sets where they are animated, by a curve or without one. Blender finds them itself elsewhere.
STRIP_VALUES = {"use_animated_influence": "influence", "use_animated_time": "strip_time"}


@dataclass(frozen=True)
class StripCopy:
    """A strip of the keys: the armature's strip that it follows, and the place of its curves."""

    source: bpy.types.NlaStrip
    place: CurvePlace


@dataclass(frozen=True)
class TrackCopy:
    """A track of the keys after one of the armature."""

    name: str
    mute: bool
    strips: tuple[StripCopy, ...]


def track_copies(source: bpy.types.AnimData | None, place_of_strip, silent: bool = False) -> list[TrackCopy]:
    """Returns the tracks of the keys after the armature's animation data.

    `place_of_strip(strip)` returns the place of the keys' curves for a strip, or None without a clip; `silent`: all are muted.
    """
    if source is None:
        return []
    solo, found = any(track.is_solo for track in source.nla_tracks), []
    for track in source.nla_tracks:
        clips = [strip for strip in track.strips if strip.type == "CLIP" and strip.action is not None]
        copies = tuple(StripCopy(strip, place) for strip in clips if (place := place_of_strip(strip)) is not None)
        if copies:
            mute = silent or track.mute or not source.use_nla or (solo and not track.is_solo)
            found.append(TrackCopy(track.name, mute, copies))
    return found


@dataclass(frozen=True)
class Rest:
    """A place in which every key is at 0 from a curve time on."""

    place: CurvePlace
    time: float


def write(obj: bpy.types.Object, copies: list[TrackCopy], rest: Rest | None) -> None:
    """Replaces the tracks that were made for the keys of an object; `rest` None: it needs none."""
    remove(obj)
    keys = obj.data.shape_keys
    if rest is None:
        return
    data, made = keys.animation_data or keys.animation_data_create(), []
    data.use_nla = True
    track = data.nla_tracks.new()
    track.name = REST_TRACK
    made.append(track.name)
    for at in range(2):  # two of them: exporters take a track of one strip for an animation
        strip = new_strip(track, rest.place)
        strip.action_frame_start, strip.action_frame_end = rest.time, rest.time + 1.0
        strip.frame_start_raw, strip.frame_end_raw = float(at), at + 1.0
        strip.extrapolation = "HOLD" if at == 0 else "HOLD_FORWARD"
    for copy in copies:
        track = data.nla_tracks.new()
        track.name, track.mute = copy.name, copy.mute
        made.append(track.name)
        for each in copy.strips:
            copy_strip(new_strip(track, each.place), each.source)
    obj.thew.made.baked_tracks = "\n".join(made)


def add_plain_track(
    obj: bpy.types.Object, name: str, place: CurvePlace, start: float, end: float, mute: bool = False
) -> None:
    """Adds a track that plays a place's curves as they are written, from the curve time `start` to `end`."""
    track = obj.data.shape_keys.animation_data.nla_tracks.new()
    track.name, track.mute = name, mute
    strip = new_strip(track, place)
    strip.action_frame_start, strip.action_frame_end = start, end
    strip.frame_start_raw, strip.frame_end_raw = start, end
    obj.thew.made.baked_tracks += f"\n{track.name}"


def new_strip(track: bpy.types.NlaTrack, place: CurvePlace) -> bpy.types.NlaStrip:
    """Makes a strip of a place's curves behind all others of a track, where there is room."""
    frame = math.ceil(max((strip.frame_end for strip in track.strips), default=0.0)) + 1
    strip = track.strips.new(place.action.name, frame, place.action)
    if place.slot is not None:
        strip.action_slot = place.slot
    strip.extrapolation = "NOTHING"
    return strip


def copy_strip(strip: bpy.types.NlaStrip, source: bpy.types.NlaStrip) -> None:
    """Gives a strip the times and settings of another. Beside a strip nothing of it plays."""
    strip.use_sync_length = False
    strip.name = source.name
    for name in STRIP_SETTINGS:
        setattr(strip, name, getattr(source, name))
    strip.frame_start_raw, strip.frame_end_raw = source.frame_start, source.frame_end
    for switch, name in STRIP_VALUES.items():
        if getattr(source, switch):
            setattr(strip, name, getattr(source, name))
    for curve in source.fcurves:  # influence and time, where these are animated
        mine = strip.fcurves.find(curve.data_path)
        if mine is None or curve.is_empty:
            continue
        mine.keyframe_points.add(len(curve.keyframe_points) - len(mine.keyframe_points))
        for point, other in zip(mine.keyframe_points, curve.keyframe_points, strict=True):
            point.co, point.interpolation, point.easing = other.co, other.interpolation, other.easing
            point.handle_left_type, point.handle_right_type = other.handle_left_type, other.handle_right_type
            point.handle_left, point.handle_right = other.handle_left, other.handle_right
        mine.extrapolation = curve.extrapolation
        mine.update()


def made_tracks(obj: bpy.types.Object) -> list[bpy.types.NlaTrack]:
    """Returns the remaining tracks that were made for the keys of an object."""
    keys = obj.data.shape_keys
    data = keys.animation_data if keys is not None else None
    names = set(obj.thew.made.baked_tracks.splitlines())
    return [track for track in data.nla_tracks if track.name in names] if data is not None and names else []


def remove(obj: bpy.types.Object) -> None:
    """Removes the tracks that were made for the keys of an object."""
    for track in made_tracks(obj):
        obj.data.shape_keys.animation_data.nla_tracks.remove(track)
    if obj.thew.made.baked_tracks:
        obj.thew.made.baked_tracks = ""


def signature(data: bpy.types.AnimData | None) -> tuple:
    """Returns what the keys follow of an armature's animation data: the active action, and times and settings of all strips."""
    if data is None:
        return ()
    strips = tuple(
        (track.name, track.mute, track.is_solo, *(strip_signature(strip) for strip in track.strips))
        for track in data.nla_tracks
    )
    action = data.action.session_uid if data.action is not None else 0
    slot = animation.identifier_of(animation.active_slot(data))
    return (
        action, slot, data.use_nla, data.use_tweak_mode, data.action_blend_type, data.action_influence,
        data.action_extrapolation, strips,
    )  # fmt: skip


def strip_signature(strip: bpy.types.NlaStrip) -> tuple:
    """Returns the settings of a strip that a copy takes."""
    action = strip.action.session_uid if strip.action is not None else 0
    slot = animation.identifier_of(getattr(strip, "action_slot", None))
    curves = (
        {curve.data_path: curve for curve in strip.fcurves}
        if any(getattr(strip, each) for each in STRIP_VALUES)
        else {}
    )
    values = []
    for switch, name in STRIP_VALUES.items():
        if getattr(strip, switch):
            curve = curves.get(name)
            keyed = curve is not None and not curve.is_empty
            values.append(numbers(curve.keyframe_points, "co", 2).tobytes() if keyed else getattr(strip, name))
    return action, slot, strip.frame_start, strip.frame_end, *(getattr(strip, name) for name in STRIP_SETTINGS), *values

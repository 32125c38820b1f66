# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprints of F-curves, their drivers and the NLA strips that play them, for comparison."""

from __future__ import annotations

import bpy
import numpy as np

from . import animation
from .mesh import numbers

#: Numbers of keys that shape the way to the next one, of Sine, Bounce, Elastic and Back.
SHAPING = ("amplitude", "back", "period")
#: Settings of a strip that say when and how it acts.
STRIP_SETTINGS = (
    "mute", "frame_start", "frame_end", "action_frame_start", "action_frame_end", "scale", "repeat", "blend_type", "extrapolation",
    "use_reverse", "blend_in", "blend_out",
)  # fmt: skip
#: Values of a strip that count where their switch is on.
STRIP_VALUES = {"use_animated_influence": "influence", "use_animated_time": "strip_time"}
#: Properties of modifiers that change nothing but the interface.
SHOWN = {"show_expanded", "active"}


def curve_print(curve: bpy.types.FCurve) -> tuple:
    """Returns a fingerprint of a curve and its driver."""
    points = curve.keyframe_points
    read = [numbers(points, name, 2) for name in ("co", "handle_left", "handle_right")]
    read += [numbers(points, name) for name in SHAPING]
    read += [numbers(points, name, dtype=np.int32) for name in ("interpolation", "easing")]
    given = (curve.data_path, curve.mute, curve.extrapolation, tuple(modifier_print(m) for m in curve.modifiers))
    driver, sources = curve.driver, ()
    if driver is not None:
        sources = (driver.type, driver.expression, *(source_print(v) for v in driver.variables))
    return (*given, *(each.tobytes() for each in read), sources)


def modifier_print(modifier: bpy.types.FModifier) -> tuple:
    """Returns a fingerprint of a curve's modifier: its kind and its settings, those of the interface left out."""
    values: list = []
    for prop in modifier.bl_rna.properties:
        if prop.identifier in SHOWN or prop.type in {"POINTER", "COLLECTION", "STRING"}:
            continue
        value = getattr(modifier, prop.identifier)
        values.append(tuple(value) if getattr(prop, "is_array", False) else value)
    points = getattr(modifier, "control_points", ())  # of an envelope
    return (*values, *((point.frame, point.min, point.max) for point in points))


def source_print(variable: bpy.types.DriverVariable) -> tuple:
    """Returns a fingerprint of the targets that a driver's variable reads."""
    return variable.type, *(
        (target.id.session_uid if target.id else 0, target.bone_target, target.data_path, target.transform_type)
        + (target.transform_space, target.rotation_mode)
        for target in variable.targets
    )


def strips_print(data: bpy.types.AnimData | None) -> tuple:
    """Returns a fingerprint of the NLA strips that an ID plays, and of how its action lies on them; () without tracks.

    Keys in the actions are left out.
    """
    if data is None or not data.use_nla or not len(data.nla_tracks):
        return ()
    how = data.action_influence, data.action_blend_type, data.action_extrapolation
    tracks = [tuple(strip_print(strip) for strip in track.strips) for track in animation.playing_tracks(data)]
    return *how, *tracks


def strip_print(strip: bpy.types.NlaStrip) -> tuple:
    """Returns a fingerprint of a strip and of the strips in it.

    Blender writes the influence and the time of each frame into a strip that animates them: where they have keys, these count.
    """
    slot = animation.identifier_of(getattr(strip, "action_slot", None))
    keys = {curve.data_path: curve for curve in strip.fcurves if not curve.is_empty}
    values = []
    for switch, name in STRIP_VALUES.items():
        if getattr(strip, switch):
            values.append(curve_print(keys[name]) if name in keys else getattr(strip, name))
        else:
            values.append(None)
    inner = tuple(strip_print(each) for each in strip.strips)
    return identity(strip.action), slot, *(getattr(strip, name) for name in STRIP_SETTINGS), *values, inner


def identity(action: bpy.types.Action | None) -> int:
    """Returns a number of an action that no other one of this session has."""
    return action.session_uid if action is not None else 0

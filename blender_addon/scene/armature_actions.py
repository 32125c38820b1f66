# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions of an armature, and each of them played alone, as an exporter plays it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy

from . import animation
from .poses import silence_handlers

#: A curve of a bone's property, with the bone's name as it is written in the path.
BONE_PATH = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')

#: Values of a bone's transform at rest. Bones without keys in an action are there, wherever another action left them.
REST_VALUES = {
    "location": (0.0, 0.0, 0.0), "rotation_euler": (0.0, 0.0, 0.0), "rotation_quaternion": (1.0, 0.0, 0.0, 0.0),
    "rotation_axis_angle": (0.0, 0.0, 1.0, 0.0), "scale": (1.0, 1.0, 1.0),
}  # fmt: skip

#: Largest part of a value that is not told from its rest: curves and poses are in single precision.
REST_ROUNDING = 1e-4

#: Least share of the bones that an action names that an armature must have. Actions of another rig share few bones by accident.
MIN_KNOWN_SHARE = 0.5


@dataclass(frozen=True)
class BoneAction:
    """An action of an armature, and from Blender 4.4 on its slot for the armature."""

    action: bpy.types.Action
    slot: Any = None

    @property
    def curves(self):
        """Returns its F-curves."""
        return animation.curves_of(self.action, self.slot)


def bones_named(curves: Iterable[bpy.types.FCurve]) -> set[str]:
    """Returns the names of the bones that curves move."""
    matches = (BONE_PATH.match(curve.data_path) for curve in curves)
    return {bpy.utils.unescape_identifier(match[1]) for match in matches if match is not None}


def suits(armature: bpy.types.Object, curves: Iterable[bpy.types.FCurve]) -> bool:
    """Returns whether curves move bones of an armature, and hardly any that it lacks."""
    named = bones_named(curves)
    known = sum(name in armature.pose.bones for name in named)
    return known > 0 and known >= MIN_KNOWN_SHARE * len(named)


def used_actions(armature: bpy.types.Object) -> list[BoneAction]:
    """Returns the active action of an armature and those of its NLA strips, also of muted and stashed tracks, without repetition."""
    data = armature.animation_data
    if data is None:
        return []
    found = [BoneAction(data.action, animation.active_slot(data))] if data.action is not None else []
    left = [strip for track in data.nla_tracks for strip in track.strips]
    while left:
        strip = left.pop(0)
        if strip.action is not None:
            found.append(BoneAction(strip.action, getattr(strip, "action_slot", None)))
        left += list(strip.strips)
    return list(dict.fromkeys(each for each in found if len(each.curves)))


def suitable_action(armature: bpy.types.Object, action: bpy.types.Action) -> BoneAction | None:
    """Returns an action with the slot that suits an armature: one that it uses, or one of its name, or the first; None without one."""
    used = [each for each in used_actions(armature) if each.action == action]
    if used:
        return used[0]
    found = [BoneAction(action, slot) for slot in animation.slots_of(action, "OBJECT")]
    found = [each for each in found if suits(armature, each.curves)]
    named = [each for each in found if each.slot is not None and each.slot.identifier == f"OB{armature.name}"]
    return next(iter([*named, *found]), None)


def all_actions(armature: bpy.types.Object) -> list[BoneAction]:
    """Returns every action that suits an armature: those that it uses, then others of the file that move its bones, by name.

    Left out are those that another armature uses, and poses of a single frame.
    """
    used = used_actions(armature)
    known = {each.action for each in used}
    foreign = {
        each.action
        for other in bpy.data.objects
        if other.type == "ARMATURE" and other != armature
        for each in used_actions(other)
    }
    found = [
        each
        for action in bpy.data.actions
        if action not in known and action not in foreign and action.frame_range[1] - action.frame_range[0] >= 1.0
        if (each := suitable_action(armature, action)) is not None
    ]
    return [*used, *sorted(found, key=lambda each: each.action.name)]


# playing one alone ----------------------------------------------------------------------------------------------------


class Soloist:
    """Plays actions of an armature alone: without its NLA, from the same beginning each time. Between them all is as it was found."""

    def __init__(self, armature: bpy.types.Object, actions: list[BoneAction]):
        """Notes the values of all properties that these actions, or those in use, animate."""
        self.armature = armature
        every = [*actions, *used_actions(armature)]
        paths = dict.fromkeys(curve.data_path for each in every for curve in each.curves)
        values = {path: read_value(armature, path) for path in paths}
        self.found = {path: value for path, value in values.items() if value is not None}

    def posed_without_keys(self, each: BoneAction) -> set[str]:
        """Returns the names of the bones that were found posed by a value without keys in an action, which plays with it at rest."""
        own = {curve.data_path for curve in each.curves}
        lacking = {path: value for path, value in self.found.items() if path not in own and BONE_PATH.match(path)}
        names = {path: bpy.utils.unescape_identifier(BONE_PATH.match(path)[1]) for path in lacking}
        bones = self.armature.pose.bones
        return {name for path, name in names.items() if name in bones and is_posed(bones[name], path, lacking[path])}

    @contextmanager
    def playing(self, each: BoneAction) -> Iterator[None]:
        """Lets the armature play one action alone within the context."""
        armature = self.armature
        had = armature.animation_data is not None
        data = armature.animation_data or armature.animation_data_create()
        tweaked = data.use_tweak_mode
        with silence_handlers():
            if tweaked:
                data.use_tweak_mode = False
            settings = {name: getattr(data, name) for name in ("use_nla", *BLEND_SETTINGS)}
            played = data.action, animation.active_slot(data)
            own = {curve.data_path for curve in each.curves}
            try:
                data.use_nla = False
                animation.assign(data, each.action, each.slot)
                for name, value in BLEND_SETTINGS.items():
                    setattr(data, name, value)
                for path, value in self.found.items():
                    if path not in own:
                        rest = REST_VALUES.get(path.rpartition(".")[2]) if path.startswith("pose.bones[") else None
                        write_value(armature, path, value if rest is None else rest)
                yield
            finally:
                animation.assign(data, *played)
                for name, value in settings.items():
                    setattr(data, name, value)
                if tweaked:
                    data.use_tweak_mode = True
                for path, value in self.found.items():
                    write_value(armature, path, value)
                if not had:
                    armature.animation_data_clear()


#: How an action is blended onto the NLA where it plays as it is written.
BLEND_SETTINGS = {"action_blend_type": "REPLACE", "action_influence": 1.0, "action_extrapolation": "HOLD"}


def is_posed(bone: bpy.types.PoseBone, path: str, value: Any) -> bool:
    """Returns whether the value at a path of a bone's transform moves it from rest."""
    channel = path.rpartition(".")[2]
    modes = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    if channel.startswith("rotation_") and channel != modes.get(bone.rotation_mode, "rotation_euler"):
        return False
    if channel == "rotation_axis_angle":  # an angle of 0 turns nothing, about any axis
        return abs(value[0]) > REST_ROUNDING
    if channel == "rotation_quaternion":  # both signs stand for no rotation
        return any(abs(part) > REST_ROUNDING for part in value[1:])
    rest = REST_VALUES.get(channel)
    return rest is not None and any(abs(a - b) > REST_ROUNDING for a, b in zip(value, rest, strict=True))


def read_value(owner: bpy.types.ID, path: str) -> Any:
    """Returns a copy of the value at a path; None for a path that leads nowhere."""
    try:
        value = owner.path_resolve(path)
    except ValueError:
        return None
    return tuple(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def write_value(owner: bpy.types.ID, path: str, value: Any) -> None:
    """Sets the value at a path, where that is possible."""
    try:
        if path.endswith("]") and "[" in path:
            start = path.rindex("[")
            holder = owner.path_resolve(path[:start]) if start else owner
            holder[path[start + 1 : -1].strip("\"'")] = value
        else:
            before, _, name = path.rpartition(".")
            setattr(owner.path_resolve(before) if before else owner, name, value)
    except (ValueError, TypeError, AttributeError, KeyError):
        return

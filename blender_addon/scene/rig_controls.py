# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the rigs' controls: their keys and drivers, and whether these work."""

from __future__ import annotations

import re

import bpy
import numpy as np

from ..logic.names import describe
from . import animation, driven, pins
from .curve_prints import curve_print, strips_print

_CONTROL = re.compile(r"^thew\.rigs\[(?:(\d+)|\"((?:[^\"\\]|\\.)*)\")\]\.control$")


def path_index(path: str) -> int | None:
    """Returns the index in the path of a control; None where it has a name instead, and for other paths."""
    match = _CONTROL.match(path)
    return None if match is None or match[1] is None else int(match[1])


def rig_of_path(obj: bpy.types.Object, path: str) -> int:
    """Returns the index of the rig whose control a data path names, -1 for any other path."""
    match = _CONTROL.match(path)
    if match is None:
        return -1
    if match[1] is not None:
        return int(match[1])
    return obj.thew.rigs.find(bpy.utils.unescape_identifier(match[2]))


def are_animated(obj: bpy.types.Object) -> tuple[bool, ...]:
    """Returns for each of the object's rigs whether its control is keyed or driven."""
    count, data = len(obj.thew.rigs), obj.animation_data
    if count == 0 or data is None:
        return (False,) * count
    moved = {rig_of_path(obj, curve.data_path) for curve in animation.curves(data)}
    return tuple(i in moved for i in range(count))


def evaluated_controls(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Returns the present control of every rig, float64[r]: evaluated where it is animated, else set by hand."""
    rigs = obj.thew.rigs
    controls = np.array([rig.control for rig in rigs], dtype=np.float64)
    moved = are_animated(obj)
    if any(moved):
        evaluated = obj.evaluated_get(depsgraph).thew.rigs
        for i, is_moved in enumerate(moved):
            if is_moved and i < len(evaluated):
                controls[i] = evaluated[i].control
    return controls


def broken_drivers(obj: bpy.types.Object) -> dict[int, str]:
    """Returns faults of rigs' drivers that cannot work, by index."""
    data = obj.animation_data
    if data is None or not len(obj.thew.rigs):
        return {}
    found = {}
    for curve in data.drivers:
        index = rig_of_path(obj, curve.data_path)
        if not 0 <= index < len(obj.thew.rigs):
            continue
        name = obj.thew.rigs[index].name
        for variable in curve.driver.variables:
            if variable.type not in {"TRANSFORMS", "ROTATION_DIFF", "LOC_DIFF"}:
                continue
            for target in variable.targets:
                if target.id is None:
                    found[index] = f"The driver of the rig “{name}” has lost its object: make the driver again"
                elif is_bone_lost(target):
                    found[index] = (
                        f"The driver of the rig “{name}” looks for the bone “{target.bone_target}”, which is gone from "
                        f"{describe(target.id)}: make the driver again"
                    )
        if index not in found and not curve.driver.is_valid:
            found[index] = f"The driver of the rig “{name}” does not work: repair it, or make it again"
    return found


def is_bone_lost(target: bpy.types.DriverTarget) -> bool:
    """Returns whether a driver's target names a bone that its armature does not have."""
    return bool(target.bone_target) and target.id.type == "ARMATURE" and target.bone_target not in target.id.pose.bones


def control_animation(obj: bpy.types.Object) -> tuple:
    """Returns a fingerprint of the keys and drivers of the rigs' controls, of the pins' influences and of settings, and of force fields,
    for comparison; () without any.
    """
    moved, held, others = are_animated(obj), pins.pin_curves(obj), driven.fingerprint(obj)
    if not (any(moved) or held):
        return others
    data = obj.animation_data
    prints: list[tuple] = [(i, obj.thew.rigs[i].name) for i, is_moved in enumerate(moved) if is_moved]
    prints.append(strips_print(data))
    for curve in animation.curves(data):
        if rig_of_path(obj, curve.data_path) >= 0:
            prints.append(curve_print(curve))
    return (*prints, *(curve_print(curve) for curve in held), *others)

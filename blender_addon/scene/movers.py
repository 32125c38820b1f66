# SPDX-License-Identifier: GPL-3.0-or-later
"""A fingerprint of what moves a character, apart from the keys in its actions: which actions and strips play, constraints, drivers,
parents, and places and poses that are set by hand and stay from frame to frame.

Blender reports edited keys by itself (`handlers.after_update`). It reports all else as an update of an object, so a difference of
fingerprints tells a new motion from a pose under the hand. A fingerprint takes up to a few milliseconds, and is taken after updates alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

from . import animation
from .curve_prints import curve_print, identity, strips_print
from .mesh import numbers

#: Paths that place an object in the space of its parent.
PLACE_PATHS = ("location", "rotation", "scale", "delta_")
#: Types of properties of a constraint that are part of its fingerprint.
PLAIN_TYPES = {"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"}
#: Properties that say nothing of a constraint's effect.
IDLE_PROPERTIES = {
    "name",
    "show_expanded",
    "active",
    "is_valid",
    "error_location",
    "error_rotation",
    "is_override_data",
}

_BONE = re.compile(r'^pose\.bones\["((?:[^"\\]|\\.)*)"\]')


def fingerprint(*objects: bpy.types.Object | None) -> bytes:
    """Returns a hash of what moves objects, and everything that carries them or that they are constrained to."""
    digest = hashlib.blake2b(digest_size=16)
    found: dict[int, bpy.types.Object] = {}
    left = [obj for obj in objects if obj is not None]
    while left:
        obj = left.pop()
        if obj.session_uid in found:
            continue
        found[obj.session_uid] = obj
        left += list(carriers(obj))
    for uid in sorted(found):
        for part in prints(found[uid]):
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
            digest.update(b"|")
    return digest.digest()


def carriers(obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """Yields the objects that an object's place or pose follows directly."""
    if obj.parent is not None:
        yield obj.parent
    for constraint in constraints_of(obj):
        for name in ("target", "pole_target"):
            target = getattr(constraint, name, None)
            if isinstance(target, bpy.types.Object):
                yield target
        for each in getattr(constraint, "targets", ()):
            if each.target is not None:
                yield each.target


def constraints_of(obj: bpy.types.Object) -> Iterator[bpy.types.Constraint]:
    """Yields the constraints of an object and of its bones."""
    yield from obj.constraints
    if obj.pose is not None:
        for bone in obj.pose.bones:
            yield from bone.constraints


def prints(obj: bpy.types.Object) -> Iterator[Any]:
    """Yields what moves one object, as bytes and plain values."""
    yield obj.session_uid, obj.parent.session_uid if obj.parent is not None else 0, obj.parent_type, obj.parent_bone
    for each in (obj, obj.data if obj.type == "ARMATURE" else None):
        if each is not None:
            yield from animation_prints(each.animation_data)
    curves = {curve.data_path for curve in animation.curves(obj.animation_data)}
    keyed = {path for path in curves if "constraints[" in path}
    for constraint in constraints_of(obj):
        yield constraint_print(constraint, keyed)
    if not any(path.startswith(PLACE_PATHS) for path in curves):
        yield tuple(tuple(row) for row in obj.matrix_basis)
    if obj.pose is not None:
        yield obj.data.pose_position
        yield still_bones(obj, curves)


def still_bones(armature: bpy.types.Object, curves: set[str]) -> bytes:
    """Returns the poses of the bones that no curve of the armature moves: they stay as they are set."""
    moved = {bpy.utils.unescape_identifier(found[1]) for path in curves if (found := _BONE.match(path))}
    bones = armature.pose.bones
    rows = [index for index, bone in enumerate(bones) if bone.name not in moved]
    return np.ascontiguousarray(numbers(bones, "matrix_basis", 16)[rows]).tobytes()


def animation_prints(data: bpy.types.AnimData | None) -> Iterator[Any]:
    """Yields which actions, strips and drivers play, and how."""
    if data is None:
        return
    yield identity(data.action), animation.identifier_of(animation.active_slot(data)), strips_print(data)
    for curve in data.drivers:
        yield curve_print(curve)
        yield from (property_value(target) for one in curve.driver.variables for target in one.targets)


def property_value(target: bpy.types.DriverTarget) -> Any:
    """Returns the value of the property that a driver reads; None where curves move it or it is no plain value."""
    if target.id is None or not target.data_path or animation.animates(target.id, target.data_path):
        return None
    try:
        value = target.id.path_resolve(target.data_path)
    except (ValueError, KeyError, IndexError):
        return None
    return value if isinstance(value, (bool, int, float, str)) else None


def constraint_print(constraint: bpy.types.Constraint, keyed: set[str]) -> tuple:
    """Returns the settings of a constraint, less those at the paths `keyed`: curves change them from frame to frame."""
    found: list[Any] = [constraint.type]
    place = constraint.path_from_id() if keyed else ""
    for prop in constraint.bl_rna.properties:
        if prop.identifier in IDLE_PROPERTIES or not (prop.type in PLAIN_TYPES or prop.type == "POINTER"):
            continue
        value = getattr(constraint, prop.identifier)
        if keyed and f"{place}.{prop.identifier}" in keyed:
            value = None
        elif prop.type == "POINTER":
            value = value.session_uid if isinstance(value, bpy.types.ID) else 0
        elif getattr(prop, "is_array", False):
            value = tuple(np.ravel(value).tolist())
        found.append(value)
    found += [
        (
            each.target.session_uid if each.target is not None else 0,
            each.subtarget,
            None if f"{place}.targets[{k}].weight" in keyed else each.weight,
        )
        for k, each in enumerate(getattr(constraint, "targets", ()))
    ]
    return tuple(found)

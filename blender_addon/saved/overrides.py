# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of characters that belong to a library: all of them can be overridden, and the library's own are their defaults.

Blender compares an override with the library's object property by property when a file is saved. From 5.0 on it loses a whole group
of which the library's object has none, so `complete` makes the missing ones in memory. The library's file is never written.
"""

from __future__ import annotations

import sys

import bpy

#: Options of a property and of a list that an override may change, or add entries to.
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}
OVERRIDABLE_LIST = {"LIBRARY_OVERRIDABLE", "USE_INSERTION"}

#: Session id of an override -> that of the library's object that was completed for it; reloading a library makes new objects.
_completed: dict[int, int] = {}


def make_overridable(cls: type) -> None:
    """Lets overrides change every property of a class that is to be registered, those of its bases included."""
    for base in cls.__mro__:
        names = base.__dict__.get("__annotations__")
        if not names or not base.__module__.startswith(__package__.rpartition(".")[0]):
            continue
        space = vars(sys.modules[base.__module__])
        found = {name: eval(each, space) if isinstance(each, str) else each for name, each in names.items()}
        for each in found.values():
            if "get" not in each.keywords:
                each.keywords["override"] = OVERRIDABLE_LIST if _is_list(each) else OVERRIDABLE
        base.__annotations__ = found


def _is_list(prop) -> bool:
    return prop.function is bpy.props.CollectionProperty


def make_editable(obj: bpy.types.Object) -> None:
    """Lets the artist edit an override, of which Blender makes most for its own use at first."""
    if obj.override_library is not None:
        obj.override_library.is_system_override = False
        complete(obj)


def complete(obj: bpy.types.Object) -> None:
    """Makes the groups of settings that the library's object of an override lacks."""
    reference = obj.override_library.reference if obj.override_library is not None else None
    if reference is not None and _completed.get(obj.session_uid) != reference.session_uid:
        _complete_group(reference.thew)
        _completed[obj.session_uid] = reference.session_uid


def _complete_group(group: bpy.types.PropertyGroup) -> None:
    """Looks at every group within a group: Blender makes one when it is first looked at."""
    for prop in group.bl_rna.properties:
        if prop.identifier == "rna_type":
            continue
        if prop.type == "POINTER":
            value = getattr(group, prop.identifier)
            if isinstance(value, bpy.types.PropertyGroup):
                _complete_group(value)
        elif prop.type == "COLLECTION":
            for item in getattr(group, prop.identifier):
                _complete_group(item)


def complete_all() -> None:
    """Completes the library's objects of all overrides with settings, before Blender compares them."""
    known = {}
    for obj in bpy.data.objects:
        if obj.override_library is not None and obj.type in {"MESH", "ARMATURE"}:
            complete(obj)
            known[obj.session_uid] = _completed.get(obj.session_uid, 0)
    _completed.clear()
    _completed.update(known)

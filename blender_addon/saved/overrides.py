# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of characters that belong to a library: all of them can be overridden, and the library's own are their defaults.

Blender compares an override with the library's object property by property when a file is saved. From 5.0 on it loses a whole group
of which the library's object has none, so `follow` makes the missing ones in memory. The library's file is never written.
"""

from __future__ import annotations

import inspect
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
        names = inspect.get_annotations(base)
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
        follow(obj)


def follow(obj: bpy.types.Object) -> None:
    """Completes an override whose library was loaded, or loaded again, and finds its modifiers again."""
    reference = obj.override_library.reference if obj.override_library is not None else None
    if reference is not None and _completed.get(obj.session_uid) != reference.session_uid:
        for each in (reference, obj):
            _complete_group(each.thew)
        _completed[obj.session_uid] = reference.session_uid
        find_modifiers(obj)


def _complete_group(group: bpy.types.PropertyGroup) -> None:
    """Looks at every group within a group: Blender makes one when it is first looked at."""
    for prop in group.bl_rna.properties:
        if prop.type == "POINTER" and prop.identifier != "rna_type":
            value = getattr(group, prop.identifier)
            if isinstance(value, bpy.types.PropertyGroup):
                _complete_group(value)
        elif prop.type == "COLLECTION":
            for item in getattr(group, prop.identifier):
                _complete_group(item)


def follow_all() -> None:
    """Completes all overrides that may have settings, before Blender compares them with their libraries' objects."""
    found = [obj for obj in bpy.data.objects if obj.override_library is not None and obj.type in {"MESH", "ARMATURE"}]
    for obj in found:
        follow(obj)
    alive = {obj.session_uid for obj in found}
    for gone in set(_completed) - alive:
        del _completed[gone]


def has_entries(obj: bpy.types.Object, group: bpy.types.PropertyGroup, name: str) -> bool:
    """Returns whether a property of `Object.thew` is a list with entries of an override's library, which Blender keeps."""
    if obj.override_library is None or group.bl_rna.properties[name].type != "COLLECTION":
        return False
    return len(getattr(obj.override_library.reference.thew, name, ())) > 0


# modifiers ------------------------------------------------------------------------------------------------------------


def note_modifiers(obj: bpy.types.Object) -> None:
    """Notes the names of the modifiers that were added to an override: Blender gives them other ids when it loads the library."""
    if obj.override_library is None:
        return
    notes = "\n".join(f"{m.persistent_uid}:{m.name}" for m in obj.modifiers if not m.is_override_data)
    if obj.thew.made.added_modifiers != notes:
        obj.thew.made.added_modifiers = notes


def find_modifiers(obj: bpy.types.Object) -> None:
    """Replaces former ids of an override's own modifiers by the present ones, found by name."""
    made, present = obj.thew.made, {m.name: m.persistent_uid for m in obj.modifiers if not m.is_override_data}
    notes = (line.partition(":") for line in made.added_modifiers.splitlines())
    moved = {int(uid): present[name] for uid, _, name in notes if uid.isdecimal() and name in present}
    if all(old == new for old, new in moved.items()):
        return
    for name in ("modifier", "armature_modifier", "found_active"):
        uid = getattr(made, name)
        if uid in moved:
            setattr(made, name, moved[uid])
    entries = (entry.partition(":") for entry in made.found.split())
    made.found = " ".join(f"{moved.get(int(uid), uid) if uid.isdecimal() else uid}:{rest}" for uid, _, rest in entries)
    for clip in (clip for bake in obj.thew.bakes for clip in bake.clips):
        if clip.modifier in moved:
            clip.modifier = moved[clip.modifier]
    note_modifiers(obj)

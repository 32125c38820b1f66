# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the settings of each override, for files that are saved where Thew is not installed.

Blender keeps what an override changes only as far as it knows the properties: without the extension, a colleague's save would lose them.
The copy is a custom property of what belongs to this file: the holder of the offsets, or the override's own mesh.
"""

from __future__ import annotations

import json

import bpy

from ..logic.json_text import parse_json
from ..saved import overrides
from ..saved.samples import quiet_edits
from . import modifier, offsets
from .libraries import owns_mesh

#: Custom property with the copy, as JSON.
COPY = "thew_settings"


def keep(obj: bpy.types.Object) -> None:
    """Keeps a copy of the settings of an override on which Thew has made something."""
    made = obj.thew.made
    if obj.override_library is not None and (made.flesh or made.rides) and modifier.thew_modifiers(obj):
        keeper = _keeper(obj, make=True)
        if keeper is not None:
            keeper[COPY] = json.dumps(_read(obj.thew))


def restore(obj: bpy.types.Object) -> bool:
    """Restores the settings of an override from the copy where a save without Thew has lost them; returns whether it has."""
    if obj.override_library is None or obj.type != "MESH" or obj.thew.made.added_modifiers:
        return False
    found = modifier.thew_modifiers(obj)
    keeper = _keeper(obj, found[0]) if found else None
    try:
        kept = parse_json(keeper.get(COPY) or "{}") if keeper is not None else {}
    except (TypeError, ValueError):  # damaged: the library's settings have to do
        return False
    if not isinstance(kept, dict) or not kept:
        return False
    with quiet_edits():
        _write(obj.thew, kept)
    overrides.find_modifiers(obj)
    return True


def forget(obj: bpy.types.Object) -> None:
    """Removes the copy from an override's own mesh; that in a holder goes with the holder."""
    if owns_mesh(obj) and COPY in obj.data.keys():
        del obj.data[COPY]


def _keeper(obj: bpy.types.Object, mine: bpy.types.Modifier | None = None, make: bool = False) -> bpy.types.ID | None:
    if owns_mesh(obj):
        return obj.data
    return offsets.ensure_holder(obj) if make else offsets.holder_of(obj, mine)


def _read(group: bpy.types.PropertyGroup) -> dict:
    """Returns the settings of a group that differ from their defaults; objects by name and library."""
    found = {}
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if name == "rna_type" or (prop.is_readonly and prop.type not in {"POINTER", "COLLECTION"}) or prop.is_skip_save:
            continue
        value = getattr(group, name)
        if prop.type == "COLLECTION":
            if len(value):
                found[name] = [_read(each) for each in value]
        elif isinstance(value, bpy.types.PropertyGroup):
            found[name] = _read(value)
        elif isinstance(value, bpy.types.ID):
            found[name] = [value.id_type, value.name, value.library.filepath if value.library is not None else ""]
        elif value is not None and (group.is_property_set(name) or getattr(prop, "is_array", False)):
            found[name] = list(value) if getattr(prop, "is_array", False) else value
    return found


#: The lists of `bpy.data` in which settings refer to things.
LISTS = {"OBJECT": "objects", "ACTION": "actions", "IMAGE": "images", "COLLECTION": "collections"}


def _write(group: bpy.types.PropertyGroup, kept: dict) -> None:
    """Sets what `_read` returned; entries that the library's list has are changed, others added."""
    for prop in group.bl_rna.properties:
        name = prop.identifier
        if name not in kept:
            continue
        value, here = kept[name], getattr(group, name)
        try:
            if prop.type == "COLLECTION":
                for k, each in enumerate(value):
                    _write(here[k] if k < len(here) else here.add(), each)
            elif isinstance(here, bpy.types.PropertyGroup):
                _write(here, value)
            elif prop.type == "POINTER":
                kind, called, library = value
                setattr(group, name, getattr(bpy.data, LISTS[kind]).get((called, library or None)))
            else:
                setattr(group, name, value)
        except (TypeError, ValueError, KeyError, AttributeError):  # of another version, or damaged: the rest is good
            continue

# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters that belong to a library: what is whose, and the sentences about it."""

from __future__ import annotations

import os
from pathlib import PurePath

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe


def owns_mesh(obj: bpy.types.Object) -> bool:
    """Returns whether the object's mesh belongs to this file. That of a library takes no attributes, weights or shape keys here."""
    return obj.data.library is None and obj.data.override_library is None


def is_local_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Returns whether a modifier was added in this file, not in the library of an override."""
    return obj.override_library is None or not modifier.is_override_data


def library_of(obj: bpy.types.Object) -> bpy.types.Library | None:
    """Returns the library that an object, its mesh or its instanced collection comes from; None where all is of this file."""
    ids = [obj, obj.data, obj.instance_collection]
    ids += [each.override_library.reference for each in ids if each is not None and each.override_library is not None]
    return next((each.library for each in ids if each is not None and each.library is not None), None)


def describe_library(obj: bpy.types.Object) -> str:
    """Returns the file name of an object's library for sentences."""
    library = library_of(obj)
    return "its library" if library is None else f"“{PurePath(library.filepath.replace(chr(92), '/')).name}”"


def is_instance(obj: bpy.types.Object) -> bool:
    """Returns whether an object shows a collection with meshes."""
    return any(each.type == "MESH" for each in instanced_objects(obj))


def instanced_objects(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Returns the objects of the collection that an object shows."""
    shown = obj.instance_collection if obj.type == "EMPTY" and obj.instance_type == "COLLECTION" else None
    return [] if shown is None else list(shown.all_objects)


def can_override(obj: bpy.types.Object) -> bool:
    """Returns whether Make Override would make a character editable: it is linked, or an instance of a linked collection."""
    if obj.library is not None:
        return obj.type == "MESH"
    return is_instance(obj) and obj.override_library is None and obj.instance_collection.library is not None


def linked_text(obj: bpy.types.Object) -> str:
    """Returns the sentence about a linked object."""
    return (
        f"{describe(obj)} is linked from {describe_library(obj)} and cannot be edited here: press Make Override, which keeps it linked, "
        "or add the flesh in that file"
    )


def instance_text(obj: bpy.types.Object) -> str:
    """Returns the sentence about an object that shows a collection."""
    shown = f"{describe(obj)} is an instance of the collection “{obj.instance_collection.name}”"
    if obj.instance_collection.library is None:
        return f"{shown}, and nothing in an instance can be edited: select the mesh in the collection itself"
    if obj.library is not None or obj.override_library is not None:
        return (
            f"{shown} and comes from a library itself, so its character cannot be overridden here: link that collection from its own file "
            "instead"
        )
    return (
        f"{shown} from {describe_library(obj)}, and nothing in an instance can be edited: press Make Override, which keeps the "
        "character linked, and add the flesh to its mesh"
    )


def missing_text(obj: bpy.types.Object) -> str:
    """Returns the sentence about an object whose library is not found, of which Blender keeps an empty place; "" for others."""
    library = library_of(obj)
    reason = "" if library is None else away_text(library)
    return reason and f"{describe(obj)} comes from {describe_library(obj)}, and {reason}"


def away_text(library: bpy.types.Library) -> str:
    """Returns the sentence about a library without its file; "" where it is there."""
    path = os.path.normpath(bpy.path.abspath(library.filepath))
    if os.path.isfile(path):
        return ""
    return f"there is no file {path}: put it there, or choose its place in the Outliner (Blender File, Libraries, right click, Relocate)"


def check_own_bones(armature: bpy.types.Object) -> None:
    """Refuses an armature whose bones belong to a library."""
    if armature.data.library is not None or armature.data.override_library is not None:
        raise Refusal(
            f"The bones of {describe(armature)} belong to {describe_library(armature)}, where alone they can be edited: open that file"
        )


def is_library_entry(obj: bpy.types.Object, entries: str, index: int) -> bool:
    """Returns whether an entry of a list of settings is that of an override's library, which Blender would bring back."""
    override = obj.override_library
    if override is None or not len(getattr(obj.thew, entries)):
        return False
    return index < len(getattr(override.reference.thew, entries))


def check_own_entry(obj: bpy.types.Object, entries: str, index: int, noun: str) -> None:
    """Refuses to remove or move an entry of a list of settings that is the library's; an override only adds entries."""
    if is_library_entry(obj, entries, index):
        entry = getattr(obj.thew, entries)[index]
        name, owner = entry.name or getattr(entry, "frame", index + 1), describe_library(obj)
        if hasattr(entry, "enabled"):
            raise Refusal(
                f"The {noun} “{name}” of {describe(obj)} belongs to {owner} and would come back: switch it off here, or remove it in that file"
            )
        raise Refusal(
            f"The {noun} “{name}” of {describe(obj)} belongs to {owner} and would come back: remove it in that file"
        )


def check_own_mesh(obj: bpy.types.Object, effect: str, instead: str) -> None:
    """Refuses an object whose mesh belongs to a library; `effect`: what cannot be; `instead`: what can be done without the mesh."""
    if not owns_mesh(obj):
        raise Refusal(
            f"The mesh of {describe(obj)} belongs to {describe_library(obj)}, so {effect} here: {instead}, or press Make Mesh Local "
            "(foldout Details), which gives this character a mesh of its own"
        )

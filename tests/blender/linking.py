# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds libraries with characters, and links, instances and overrides them, for the tests of linked characters."""

from __future__ import annotations

import hashlib
from pathlib import Path

import bpy
from helpers import activate, make_character, part

#: Name of the collection in which a library holds its character.
COLLECTION = "Character"


def write_library(path: Path, build=make_character, flesh: bool = False, edit=None) -> Path:
    """Writes a library with a character in a collection: `build()` makes its objects; `edit(objects)` changes them before the save."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    bpy.context.scene.frame_end = 20
    objects = [obj for obj in build() if obj is not None]
    collection = bpy.data.collections.new(COLLECTION)
    bpy.context.scene.collection.children.link(collection)
    for obj in bpy.context.scene.objects[:]:
        bpy.context.scene.collection.objects.unlink(obj)
        collection.objects.link(obj)
    activate(objects[0])
    if edit is not None:
        edit(objects)
    if flesh:
        assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    return path


def open_shot(path: Path) -> None:
    """Opens an empty shot of 24 frames a second, frames 1 to 20, saved as `path`."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, 20
    scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))


def link(library: Path) -> bpy.types.Collection:
    """Links the collection of a library, without putting it into the scene."""
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.collections = [COLLECTION]
    return wanted.collections[0]


def override(library: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Overrides the character of a library as Blender's menu does; returns its active (mesh, armature), not yet editable by hand."""
    known = set(bpy.data.objects)
    collection, top = link(library), bpy.context.scene.collection
    top.children.link(collection)
    made = collection.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    assert made is not None
    top.children.unlink(collection)
    objects = [obj for obj in bpy.data.objects if obj not in known and obj.override_library is not None]
    mesh = max((obj for obj in objects if obj.type == "MESH"), key=lambda obj: len(obj.data.vertices))
    armature = next(obj for obj in objects if obj.type == "ARMATURE")
    bpy.context.view_layer.update()
    activate(mesh)
    return mesh, armature


def reopen(*names: str) -> list[bpy.types.Object]:
    """Saves the shot, opens it again, and returns the local objects of these names."""
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    return [local(name) for name in names]


def local(name: str) -> bpy.types.Object:
    """Returns the object of this file with a name that a linked one may have too."""
    return bpy.data.objects[(name, None)]


def holders() -> list[bpy.types.Object]:
    """Returns the objects that hold offsets."""
    return [obj for obj in bpy.data.objects if part("scene.offsets").is_holder(obj)]


def digest(path: Path) -> str:
    """Returns a hash of a file's content and its time of change."""
    return hashlib.blake2b(path.read_bytes()).hexdigest() + str(path.stat().st_mtime_ns)


def change(library, edit) -> None:
    """Changes the character of a library in its own file by `edit(mesh, armature)`, then opens the shot again."""
    shot = bpy.data.filepath
    bpy.ops.wm.open_mainfile(filepath=str(library))
    edit(local("Body"), local("Rig"))
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=shot)

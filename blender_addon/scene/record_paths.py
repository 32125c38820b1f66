# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in the records of bakes while the .blend is saved elsewhere: relative ones go on leading to the same files.

Blender does the same for the paths of its own data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import bpy

from ..saved import bakes as saved_bakes
from ..saved.bakes import ThewBake, ThewClip
from . import bake_files, cache_playing, destination, libraries, texture_nodes, texture_playing

#: Records that were changed for a save, with their former values of `file` and `owner`.
_changed: list[tuple[ThewClip, str, str]] = []


def follow(place: str) -> None:
    """Makes the paths of records relative to the place at which the .blend is about to be saved."""
    here, there = bpy.data.filepath, os.path.dirname(place)
    _changed.clear()
    for clip in own_clips():
        file, owner = clip.file, clip.owner
        if not here:
            if owner == bake_files.mark_of(""):  # the first save: its files become those of the saved file
                clip.owner = bake_files.mark_of(place)
        elif file.startswith("//") and not destination.is_same(os.path.dirname(here), there):
            clip.file = relative(bake_files.path_of(file), there)
        if (clip.file, clip.owner) != (file, owner):
            _changed.append((clip, file, owner))


def settle(place: str) -> None:
    """Takes `follow` back where the open file stays another one than the saved one: after a copy, and after a failure."""
    if not (bpy.data.filepath and destination.is_same(bpy.data.filepath, place)):
        for clip, file, owner in _changed:
            clip.file, clip.owner = file, owner
    _changed.clear()


def own_clips() -> Iterator[ThewClip]:
    """Yields the records of clips with a file that belong to this .blend, not to a library."""
    yield from (clip for _, bake in own_bakes() for clip in bake.clips if clip.file)


def own_bakes() -> Iterator[tuple[bpy.types.Object, ThewBake]]:
    """Yields the records of bakes that belong to this .blend, with their objects."""
    for obj in bpy.data.objects:
        if obj.type == "MESH" and obj.library is None:
            for index, bake in enumerate(obj.thew.bakes):
                if not libraries.is_library_entry(obj, "bakes", index):
                    yield obj, bake


def find_moved() -> None:
    """Finds files of records that came from another folder, by an append or a save without Thew, where Blender led their players to."""
    for obj, bake in own_bakes():
        lost = [
            clip for clip in bake.clips if clip.file.startswith("//") and not bake_files.path_of(clip.file).exists()
        ]
        folder = player_folder(obj, bake) if lost else None
        for clip in lost if folder is not None else ():
            path = folder / bake_files.path_of(clip.file).name
            if path.exists():
                clip.file = bake_files.saved_path(path)


def player_folder(obj: bpy.types.Object, bake: ThewBake) -> Path | None:
    """Returns the folder from which the modifier of a bake reads; None where it has none."""
    cache, texture = cache_playing.modifier_of(obj, bake), texture_playing.modifier_of(obj, bake)
    image = texture_nodes.image_of(texture.node_group) if texture is not None else None
    file = cache.filepath if cache is not None else image.filepath if image is not None else ""
    return bake_files.path_of(file).parent if file else None


def relative(path: Path, folder: str) -> str:
    """Returns a path as a .blend in `folder` saves it."""
    try:
        return bpy.path.relpath(os.path.normpath(path), start=folder)
    except ValueError:  # on another drive
        return str(path)


def files_in(blend: Path) -> set[Path]:
    """Returns the files of bakes that a saved .blend owns, by its records; none where it cannot be read.

    Its objects are linked into the open file, which is to be left.
    """
    objects = list(bpy.data.objects)
    if not destination.is_same(blend, bpy.data.filepath):
        try:
            with bpy.data.libraries.load(str(blend), link=True) as (found, wanted):
                wanted.objects = found.objects
        except (OSError, RuntimeError):
            return set()
        objects = [obj for obj in wanted.objects if obj is not None]
    files, mark, folder = set(), bake_files.mark_of(str(blend)), bake_files.folder_beside(str(blend))
    for obj in objects:
        for clip in (clip for bake in obj.thew.bakes for clip in bake.clips) if obj.type == "MESH" else ():
            if clip.file:
                path = Path(os.path.normpath(bpy.path.abspath(clip.file, library=obj.library)))
                if clip.owner == mark or destination.is_same(path.parent, folder):
                    files.add(path)
    return files | set(texture_playing.images_of(sorted(files)))


def spare_played() -> None:
    """Keeps the files that the opened .blend plays out of those that a command may replace."""
    paths = bake_files.files_of(saved_bakes.all_clips())
    destination.spare([*paths, *texture_playing.images_of(paths)])

# SPDX-License-Identifier: GPL-3.0-or-later
"""Point caches on an object: a Mesh Cache modifier in the place of the flesh, which plays the clip that the armature plays.

The modifiers whose effect a cache holds are switched off while it plays (`stack.modifiers_in_bake`). Under an action without a clip,
and where its file is gone or has another number of vertices than the mesh, they act again, and the plain skin shows.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import bpy

from ..saved import bakes as saved_bakes
from ..saved import timing
from . import bake_files, file_states, key_playing, modifier, poses, stack
from .stack import modifier_by_id, set_switches

#: Formats of Blender's modifier, and the endings of their files.
SUFFIXES = {"PC2": ".pc2", "MDD": ".mdd"}
#: Endings of the images of vertex textures.
TEXTURES = (".exr", ".png")
#: Sentence on a lost file, without full stop.
GONE = "The file of the bake is gone: Bake again, or Show Live"
#: Header of the files of each ending, the places of their vertices and samples in it, and the bytes of a sample beside its positions.
HEADERS = {".pc2": ("<12siiffi", 2, 5, 0), ".mdd": (">ii", 1, 0, 4)}


def modifier_of(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> bpy.types.Modifier | None:
    """Returns the modifier that plays a bake; None where it has none."""
    found = (modifier_by_id(obj, clip.modifier) for clip in bake.clips)
    return next((each for each in found if each is not None and each.type == "MESH_CACHE"), None)


def add_modifier(obj: bpy.types.Object, name: str, kind: str, first: bool) -> bpy.types.Modifier:
    """Makes the modifier of a bake, switched off: right behind the flesh, or before all others where `first`."""
    active = obj.modifiers.active
    active = active.persistent_uid if active is not None else 0
    uid = obj.modifiers.new(name, "MESH_CACHE").persistent_uid
    try:
        place(obj, uid, first)
    except RuntimeError as error:
        obj.modifiers.remove(modifier_by_id(obj, uid))
        raise modifier.no_place_refusal(obj) from error
    if modifier_by_id(obj, active) is not None:
        obj.modifiers.active = modifier_by_id(obj, active)
    new = modifier_by_id(obj, uid)
    set_switches(new, False, False)
    new.show_expanded = new.show_in_editmode = False
    new.cache_format, new.play_mode, new.time_mode = kind, "SCENE", "FRAME"
    new.interpolation, new.deform_mode, new.factor = "LINEAR", "OVERWRITE", 1.0
    new.forward_axis, new.up_axis = "POS_Y", "POS_Z"  # positions stay as they are
    return new


def place(obj: bpy.types.Object, uid: int, first: bool) -> None:
    """Moves a modifier right behind Thew's, or before all others."""
    ids = [other.persistent_uid for other in obj.modifiers]
    here, mine = ids.index(uid), obj.thew.made.modifier
    there = 0 if first or mine not in ids else ids.index(mine) + 1
    if here != there:
        obj.modifiers.move(here, there)


def show(obj: bpy.types.Object, bake: saved_bakes.ThewBake, on: bool) -> None:
    """Lets the cache of a bake play, or switches it off. While poses are read, another action may play."""
    player = modifier_of(obj, bake)
    if player is None:
        return
    if not on:
        set_switches(player, False, False)
    elif poses.silence_depth:
        set_switches(player, bool(player.filepath), bool(player.filepath))
    else:
        follow(obj)


def is_shown(obj: bpy.types.Object) -> bool:
    """Returns whether the bake that plays is a cache, and the object shows its bake."""
    bake = saved_bakes.playing(obj)
    if bake is None or modifier_of(obj, bake) is None:
        return False
    return (obj.thew.enabled and obj.thew.made.shows_bake) or key_playing.is_finished(obj)


def fault(obj: bpy.types.Object, clip: saved_bakes.ThewClip, look: Callable[[Path], os.stat_result] = Path.stat) -> str:
    """Returns why the file of a clip does not play, without full stop; "" where it does, and for a clip without a file.

    Of a vertex texture it looks for description and image; the number of vertices is that of a point cache. `look` reads the state of a
    file: panels take `file_states.status`.
    """
    if not clip.file:
        return ""
    path = bake_files.played_path(clip)
    try:
        status = look(path)
        if path.suffix not in HEADERS:
            return "" if any(file_states.is_file(path.with_suffix(each), look) for each in TEXTURES) else GONE
        count = read_vertex_count(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return GONE
    if count < 0:
        return "The file of the bake is damaged: Bake again, or Show Live"
    vertices = len(obj.data.vertices)
    if count == vertices:
        return ""
    return f"{vertices} vertices, {count} in the bake: Bake again, or Show Live"


@lru_cache(maxsize=256)
def read_vertex_count(path: Path, _changed: int, size: int) -> int:
    """Returns the number of vertices in a cache of `size` bytes that was last changed at a time; -1 for one that ends too early."""
    form, vertices, samples, beside = HEADERS[path.suffix]
    length = struct.calcsize(form)
    with path.open("rb") as file:
        head = file.read(length)
    if len(head) < length:
        return -1
    numbers = struct.unpack(form, head)
    count = numbers[vertices]
    return count if size >= length + numbers[samples] * (beside + 12 * count) else -1


def shown_fault(obj: bpy.types.Object) -> str:
    """Returns why the cache that an object shows does not play, without full stop; "" where it does, and where it shows none.

    It looks for the file, which costs less than Blender, which opens it in every frame.
    """
    clip = key_playing.played_clip(obj, saved_bakes.playing(obj)) if is_shown(obj) else None
    return fault(obj, clip, file_states.fresh) if clip is not None else ""


def follow(obj: bpy.types.Object) -> None:
    """Lets the cache play the clip that belongs to what the armature plays; touches only what differs."""
    bake = saved_bakes.playing(obj)
    player = modifier_of(obj, bake) if bake is not None else None
    if player is None:
        return
    clip = key_playing.played_clip(obj, bake)
    clip = clip if clip is not None and clip.file and not fault(obj, clip, file_states.fresh) else None
    switch_held(obj, bake, clip is not None)
    if clip is not None:
        step = timing.stretch(bpy.context.scene)
        path = bake_files.played_path(clip)
        file = clip.file if path == bake_files.path_of(clip.file) else bake_files.saved_path(path)
        for name, value in (("filepath", file), ("frame_start", clip.start), ("frame_scale", 1.0 / step)):
            if getattr(player, name) != value:
                setattr(player, name, value)
    elif player.filepath:
        player.filepath = ""
    set_switches(player, clip is not None, clip is not None)


def switch_held(obj: bpy.types.Object, bake: saved_bakes.ThewBake, plays: bool) -> None:
    """Switches the modifiers whose effect the cache holds off, or lets them act again."""
    armature = modifier_by_id(obj, obj.thew.made.armature_modifier)
    if armature is None:
        return
    for other in stack.modifiers_in_bake(obj, armature, bake.space):
        if plays:
            stack.switch_off(obj, other)
        else:
            stack.restore(obj, other.persistent_uid)


def remove(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> None:
    """Removes the modifier and the files of a bake."""
    player = modifier_of(obj, bake)
    if player is not None:
        obj.modifiers.remove(player)
    bake_files.remove_files(bake_files.owned_files(obj, bake.clips))
    for clip in bake.clips:
        clip.file, clip.modifier = "", 0

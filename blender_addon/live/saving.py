# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh and files: saved files hold no offsets, and files of earlier versions are brought up to date."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..logic.states import Switch
from ..saved import bakes as saved_bakes
from ..saved import overrides, rig_layouts
from ..scene import cache_files, destination, modifier, offsets, override_backup, record_paths
from . import disk_cache, jobs, keyframed, registers, riding, session, skin
from .keyframed import register as moving
from .session import register as fleshes

#: Offsets in view while a file is saved and their frame, by the object's session id.
_saved_offsets: dict[int, tuple[np.ndarray, float]] = {}


@persistent
def before_save(place: str = "", *_):
    """Removes the offsets before a save, as they would belong to another pose when the file is opened; packs caches.

    Paths of bakes become relative to the place of the saved file.
    """
    overrides.follow_all()
    offsets.remove_unused()
    for obj in all_objects():
        overrides.note_modifiers(obj)
        kept = None if obj.data.is_editmode else offsets.written(obj)
        if kept is not None:
            _saved_offsets[obj.session_uid] = kept
        override_backup.keep(obj)  # a copied override may get a holder of its own here, without offsets
    for obj in moving.all_objects():
        keyframed.hide(obj)
    for obj in fleshes.all_objects():
        session.hide(obj, fleshes.known_state(obj))
        if is_refused(obj):
            skin.switch(obj)  # what is refused today may be mended when the file is opened
        inside = obj.thew.cache == "FILE"
        content = disk_cache.cache_content(fleshes.known_state(obj)) if inside else None
        if content is not None or not inside:
            cache_files.pack(obj, content)
    if place:
        record_paths.follow(place)


@persistent
def after_save(place: str = "", *_):
    """Shows the offsets again, and writes caches beside the saved file. A command writes them itself, once the file is at its place."""
    if not destination.is_command():
        write_caches(place)
    show_saved(place)


@persistent
def after_failed_save(place: str = "", *_):
    """Shows the offsets again."""
    show_saved(place)


def write_caches(blend: str) -> None:
    """Writes the caches of all flesh beside a .blend."""
    for obj in fleshes.all_objects():
        content = disk_cache.cache_content(fleshes.known_state(obj)) if obj.thew.cache == "FOLDER" else None
        if content is not None:
            cache_files.write(obj, content, blend)


def show_saved(place: str) -> None:
    """Takes back what was changed for a save."""
    if place:
        record_paths.settle(place)
    for obj in fleshes.all_objects():
        if is_refused(obj):
            jobs.apply_state(obj)
    for obj in all_objects():
        kept = _saved_offsets.pop(obj.session_uid, None)
        if kept is not None and len(kept[0]) == len(obj.data.vertices):
            offsets.write(obj, *kept)
    _saved_offsets.clear()


def is_refused(obj: bpy.types.Object) -> bool:
    """Returns whether Thew has switched its modifier off, because the object cannot have flesh at the moment."""
    flesh = fleshes.known_state(obj)
    return flesh is not None and flesh.condition.switch is Switch.OFF


def all_objects() -> list[bpy.types.Object]:
    """Returns every object with flesh of either kind, and every rider."""
    return [obj for each in registers.REGISTERS for obj in each.all_objects()]


def hide_opened() -> None:
    """Shows the plain skin in a file that was just opened, until its flesh is built."""
    record_paths.find_moved()  # before players of lost files let go of them
    restored = [obj for obj in bpy.data.objects if override_backup.restore(obj)]
    if restored:
        registers.look_again()
    for obj in fleshes.all_objects():
        session.hide(obj, None)
        if offsets.is_held(obj) and len(obj.thew.bakes):
            jobs.apply_state(obj)  # keys of a library's mesh come as its file has them
    for obj in moving.all_objects():
        keyframed.hide(obj)
    migrate_new_data()


def migrate_new_data() -> None:
    """Migrates rigs, modifiers and node trees of earlier versions, in an opened file or after an append."""
    record_paths.find_moved()
    rig_layouts.migrate_all()
    saved_bakes.migrate_all()
    for obj in fleshes.all_objects():
        if modifier.is_former_flesh(obj):
            modifier.migrate(obj)
            jobs.apply_state(obj)
        modifier.renew_tree(obj)
        for rider in riding.riders_of(obj):
            modifier.renew_tree(rider, obj)
    registers.look_again()  # appended objects join scenes only now

# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of flesh in files: they hold no offsets, and those of earlier versions are brought up to date."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..saved import rig_layouts
from ..scene import cache_files, modifier
from . import jobs, keeping, riding, session
from .session import register as fleshes

#: What is shown while a file is saved, by the object's session id: offsets, and the frame that they are of.
_kept: dict[int, tuple[np.ndarray, float]] = {}


@persistent
def before_save(*_):
    """Take the offsets away, which would stand beside the skin of another pose when the file is opened."""
    for obj in with_riders():
        kept = None if obj.data.is_editmode else modifier.written(obj.data)
        if kept is not None:
            _kept[obj.session_uid] = kept
    for obj in fleshes.everywhere():
        session.hide(obj, fleshes.known(obj))
        inside = obj.thew.cache == "FILE"
        content = keeping.keep(obj, fleshes.known(obj)) if inside else None
        if content is not None or not inside:
            cache_files.pack(obj, content)


@persistent
def after_save(*_):
    """Show again what was shown, and keep it beside the file."""
    for obj in fleshes.everywhere():
        content = keeping.keep(obj, fleshes.known(obj)) if obj.thew.cache == "FOLDER" else None
        if content is not None:
            cache_files.write(obj, content)
    for obj in with_riders():
        kept = _kept.pop(obj.session_uid, None)
        if kept is not None and len(kept[0]) == len(obj.data.vertices):
            modifier.write(obj.data, *kept)
    _kept.clear()


def with_riders() -> list[bpy.types.Object]:
    """Every object with flesh, and what rides on it."""
    bodies = fleshes.everywhere()
    return [*bodies, *(rider for body in bodies for rider in riding.register.on(body))]


def opened() -> None:
    """Plain skin is shown in a file that was just opened, until its flesh is built."""
    for obj in fleshes.everywhere():
        session.hide(obj, None)
    brought()


def brought() -> None:
    """Rigs, modifiers and node trees of earlier versions, in a file that was opened or brought in by an append."""
    rig_layouts.migrate_all()
    for obj in fleshes.everywhere():
        if modifier.is_former(obj):
            modifier.migrate(obj)
            jobs.apply_state(obj)
        modifier.renew(obj)
        for rider in riding.register.on(obj):
            modifier.renew(rider, obj)
    fleshes.look_again()  # what was appended is put into scenes only now
    riding.register.look_again()

# SPDX-License-Identifier: GPL-3.0-or-later
"""Offsets on the skin of an object, and the switches of the modifiers and keys that show them."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.names import describe
from ..logic.sentences import join_words
from ..logic.states import Event
from ..saved import bakes as saved_bakes
from ..saved import overrides
from ..saved.additions import reset
from ..scene import bakes, modifier, override_backup, stack
from ..scene import offsets as stored
from . import registers
from .events import Life, report_event


def show(obj: bpy.types.Object, life: Life, offsets: np.ndarray, frame: float) -> None:
    """Adds `offsets` float32[n, 3], object space, to the skin at `frame`."""
    if obj.data.is_editmode:
        return  # Edit Mode, of this object or of one that shares the mesh, holds a copy of it and shows the plain skin
    if not stored.has_place(obj):
        modifier.adopt(obj)
    stored.write(obj, offsets, frame)
    if not stored.is_held(obj):
        report_event(obj, life, Event.WROTE)
    stored.update_tag(obj)


def clear(obj: bpy.types.Object, life: Life | None) -> None:
    """Shows the plain skin."""
    if obj.data.is_editmode or not stored.is_written(obj):
        return
    stored.remove(obj)
    if life is not None and not stored.is_held(obj):
        report_event(obj, life, Event.WROTE)
    stored.update_tag(obj)


def switch(obj: bpy.types.Object, can: bool = True) -> bool:
    """Switches modifiers and baked keys to match the settings; returns whether offsets are to be shown, not a bake or nothing.

    `can`: offsets could be shown. The Armature modifier stays as the artist has it, except while a bake in posed space plays, whose
    keys hold its motion.
    """
    settings, made = obj.thew, obj.thew.made
    mine, armature = modifier.modifier_by_id(obj, made.modifier), modifier.modifier_by_id(obj, made.armature_modifier)
    baked = settings.enabled and made.shows_bake
    live = settings.enabled and not baked and can
    bake = saved_bakes.playing(obj)
    held = (
        stack.modifiers_in_bake(obj, armature, bake.space)
        if baked and armature is not None and bake is not None and not bakes.moves_bones(bake)
        else []
    )
    for other in held:
        stack.switch_off(obj, other)
    for uid in set(stack.noted_ids(obj)) - {other.persistent_uid for other in held}:
        stack.restore(obj, uid)
    if mine is not None:
        stack.set_switches(mine, live, live)
    bakes.show(obj, baked)
    overrides.note_modifiers(obj)
    return live


def remove_thew(obj: bpy.types.Object, why: str, keep_settings: bool = False) -> list[str]:
    """Takes modifier and notes of Thew from an object, which keeps its rigs, and its bakes muted; returns notes for the artist.

    `why`: the reason to mute, as the end of a sentence; "": the bakes go on playing. `keep_settings`: see `additions.reset`.
    """
    kept, notes = bakes.bake_descriptions(obj), []
    if kept and why:
        bakes.show(obj, False)
        notes.append(f"{describe(obj)} keeps its {join_words(kept)}, muted, because {why}")
    modifier.remove(obj)
    override_backup.forget(obj)
    reset(obj, keep_rigs=True, keep_bake=bool(kept), keep_settings=keep_settings)
    registers.forget(obj)
    return notes

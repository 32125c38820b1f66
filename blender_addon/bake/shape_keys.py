# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake target Shape Keys: one additive key a frame, played by curves, in rest space or in posed space."""

from __future__ import annotations

import bpy

from ..logic.sentences import plural
from ..logic.tasks import Task, span
from ..scene import stack, writing
from ..scene.bakes import Kind
from ..scene.mesh import basis_positions
from . import measuring, rest_space, skinning
from .target import Content, PendingContent, Source


class ShapeKeys:
    """Keys that act before the armature, or that hold its motion too: see `BAKE_SPACES`."""

    key, label, description = "SHAPE_KEYS", "Shape Keys", "One additive key per frame, animated"

    def __init__(self) -> None:
        self.kind = Kind(key_count_text, lambda obj, on: writing.mute_baked(obj, not on), writing.remove_baked)

    def check(self, obj: bpy.types.Object) -> None:
        """Refuses an object on which the keys could not be played."""
        writing.check_bakeable(obj)

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that computes the keys. Without an armature they are in the object's own space."""
        if source.subject is None:
            return Content((yield from measuring.measure_offsets(source.scene, source.frames, source.offset)), "REST")
        if space == "POSED":
            return Content((yield from source.differences(set())), space)
        rows, miss = yield from rest_space_task(source)
        return Content(rows, space, miss / max(source.size, 1e-30))

    def write(self, pending: PendingContent) -> None:
        """Writes the keys and their curves next to those of the previous bake."""
        writing.write_keys(pending.obj, pending.start, pending.stretch, pending.content.rows, pending.made)

    def discard(self, pending: PendingContent) -> None:
        """Removes the keys written by an unfinished `write`."""
        writing.discard_keys(pending.obj, pending.made)

    def swap(self, pending: PendingContent) -> list[str]:
        """Removes the keys of the previous bake and records the new ones. Returns their names."""
        names = writing.swap_keys(pending.obj, pending.start, pending.made)
        made = pending.obj.thew.made
        made.baked_space, made.baked_miss = pending.content.space, pending.content.miss
        made.baked_of = pending.clip
        return names


def key_count_text(obj: bpy.types.Object) -> str:
    """Returns the number of keys in words."""
    keys = writing.baked_keys(obj)
    return plural(len(obj.thew.made.baked_keys.splitlines()), "baked shape key") if keys else ""


def rest_space_task(source: Source) -> Task:
    """Builds the task that returns `(keys, miss)` in rest space.

    If the keys hold modifiers before the armature, too, their effect is measured and added.
    """
    subject, scene, view_layer, frames = source.subject, source.scene, source.view_layer, source.frames
    basis = basis_positions(source.obj.data)
    if not stack.modifiers_in_bake(source.obj, subject.modifier, "REST"):
        return (yield from rest_space.keys(subject, basis, scene, view_layer, frames, source.offset))
    active = {other.persistent_uid for other in skinning.armature_modifiers(subject)}
    rows = yield from span(source.differences(active), 0.0, 0.6)
    return (yield from span(rest_space.keys(subject, basis, scene, view_layer, frames, rows.__getitem__), 0.6, 1.0))

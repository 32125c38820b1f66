# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake target Shape Keys: one additive key a frame, played by curves, in rest space or in posed space."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.keys import key_name, key_points
from ..logic.sentences import plural
from ..logic.tasks import Progress, Task, span
from ..saved.bakes import FORMER_NAME, ThewBake
from ..scene import stack
from ..scene.mesh import basis_positions
from . import measuring, rest_space, skinning
from .key_target import KeyedClip, KeyedMotion, KeyTarget
from .target import Content, PendingBake, Source


class ShapeKeys(KeyTarget):
    """Keys that act before the armature, or that hold its motion too: see `BAKE_SPACES`."""

    key, label, description = "SHAPE_KEYS", FORMER_NAME, "One additive key per frame, animated"

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that computes the keys. Without an armature they are in the object's own space."""
        return (yield from frame_offsets(source, space))

    def pack(self, pending: PendingBake) -> Task:
        """Sets a key a frame for every clip."""
        yield Progress(0.0, "Naming the keys")
        bake = "" if pending.request.name == self.label else pending.request.name
        names, clips, first = [], [], 0
        for each in pending.clips:
            plan = each.plan
            own = range(first, first + len(plan.frames))
            names += [key_name(frame, plan.name, bake) for frame in plan.frames]
            held = (plan.start, plan.end) if each.content.space == "POSED" else None
            points = {index: key_points(frame, held) for index, frame in zip(own, plan.frames, strict=True)}
            clips.append(KeyedClip(points, own))
            first = own.stop
        rows = [each.content.rows for each in pending.clips]
        pending.packed = KeyedMotion(names, rows[0] if len(rows) == 1 else np.concatenate(rows), clips)

    def describe(self, obj: bpy.types.Object, bake: ThewBake) -> str:
        return plural(len(bake.key_names), "baked shape key") if self.has_keys(obj, bake) else ""


def frame_offsets(source: Source, space: str) -> Task:
    """Builds the task that returns the `Content` of a clip: the offsets of each frame from the basis, in rest or in posed space."""
    if source.subject is None:
        return Content((yield from measuring.measure_offsets(source.scene, source.frames, source.offset)), "REST")
    if space == "POSED":
        return Content((yield from source.differences(set())), space)
    rows, worst = yield from rest_space_task(source)
    return Content(rows, space, worst.distance / max(source.size, 1e-30), worst, source.skin)


def rest_space_task(source: Source) -> Task:
    """Builds the task that returns `(keys, Miss)` in rest space.

    If the keys hold modifiers before the armature, too, their effect is measured and added.
    """
    subject, scene, view_layer, frames = source.subject, source.scene, source.view_layer, source.frames
    basis = basis_positions(source.obj.data)
    if not stack.modifiers_in_bake(source.obj, subject.modifier, "REST"):
        return (yield from rest_space.keys(subject, basis, scene, view_layer, frames, source.offset))
    active = {other.persistent_uid for other in skinning.armature_modifiers(subject)}
    rows = yield from span(source.differences(active), 0.0, 0.6)
    return (yield from span(rest_space.keys(subject, basis, scene, view_layer, frames, rows.__getitem__), 0.6, 1.0))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of what rides on a body: keys that hold what is added to it at each frame.

A rider that is skinned is baked in rest space or in posed space, as any body is; one that hangs on a bone has no skin, and
its keys are what is added, in its own space.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..live import jobs, riding
from ..live.flesh import Flesh
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.spaces import diagonal
from ..logic.tasks import Task, span
from ..scene import modifier, poses, reading, writing
from ..scene.mesh import basis_positions, evaluated_positions, modifiers_on
from . import rest_space, skinning


def of(body: bpy.types.Object) -> list[bpy.types.Object]:
    """The riders that are baked along with a body: those that are switched on. A `Refusal` tells of one that cannot be."""
    found = [obj for obj in riding.register.on(body) if obj.thew.enabled]
    for obj in found:
        check(obj)
    return found


def check(obj: bpy.types.Object) -> None:
    """Refuse a rider whose bake could not be played."""
    reading.check_editable(obj)
    writing.check_bakeable(obj)


def body_of(obj: bpy.types.Object) -> bpy.types.Object:
    """The body that a rider rides on."""
    body = obj.thew.body
    if body is None or not body.thew.made.flesh:
        raise Refusal(f"{describe(obj)} has no body to ride on any more: choose one in its panel, or press Remove")
    jobs.check_flesh(body)
    return body


def keys(
    obj: bpy.types.Object,
    body: bpy.types.Object,
    flesh: Flesh,
    scene,
    view_layer,
    frames: list[int],
    space: str,
) -> Task:
    """A task that gives `(keys float32[f, n, 3], miss, space)`; the scene and the rider are left as they were found."""
    layer = riding.bound(obj, body, flesh)
    depsgraph = view_layer.depsgraph

    def offset(i: int) -> np.ndarray:
        """What is added at the i-th frame, at which the scene stands; the rider's object space [n, 3]."""
        of_body = flesh.motion.matrices[frames[i] - flesh.motion.start]
        mine = np.array(obj.evaluated_get(depsgraph).matrix_world, dtype=np.float64)
        turn = np.linalg.solve(mine[:3, :3], of_body[:3, :3])
        return layer.offsets(flesh.offsets(frames[i])) @ turn.T

    own = modifier.by_id(obj, obj.thew.made.armature_modifier)
    with poses.shown([obj]):
        if own is None or own.object is None:
            rows = yield from played(scene, frames, offset)
            return rows, 0.0, "REST"
        found = reading.Subject(obj, own.object, own)
        if space == "POSED":
            return (yield from measured(found, scene, view_layer, frames, offset, set())), 0.0, space
        basis = basis_positions(obj.data)
        if modifier.held(obj, own, "REST"):
            left = {other.persistent_uid for other in skinning.armature_modifiers(found)}
            wanted = yield from span(measured(found, scene, view_layer, frames, offset, left), 0.0, 0.6)
            made = yield from span(
                rest_space.keys(found, basis, scene, view_layer, frames, wanted.__getitem__), 0.6, 1.0
            )
        else:
            made = yield from rest_space.keys(found, basis, scene, view_layer, frames, offset)
        return *made, space


def played(scene, frames: list[int], offset) -> Task:
    """`offset(i)` at each frame, float32[f, n, 3]; the scene's frame is put back."""

    def look(i: int, _frame: int) -> np.ndarray:
        return np.asarray(offset(i), dtype=np.float32)

    return np.stack((yield from poses.played(scene, frames, look, "Measuring frame")))


def measured(found: reading.Subject, scene, view_layer, frames: list[int], offset, left: set[int]) -> Task:
    """How far the skin with its offsets is from the mesh on which only the modifiers `left` act, float32[f, n, 3]."""
    obj, made = found.obj, found.obj.thew.made
    was = made.shows_bake, made.found

    def shape(i: int) -> np.ndarray:
        view_layer.update()
        points = evaluated_positions(obj, view_layer.depsgraph)
        if len(points) != len(obj.data.vertices):
            raise Refusal(f"{describe(obj)} could not be evaluated at frame {frames[i]}: show it and its collection")
        return points

    try:
        made.shows_bake = False
        riding.switch(obj)
        live = {other.persistent_uid for other in found.before()} | {found.modifier.persistent_uid}
        with modifiers_on(obj, live, basis=False):
            rows = yield from span(played(scene, frames, lambda i: shape(i) + offset(i)), 0.0, 0.5)
        with modifiers_on(obj, left, basis=False):
            rows -= yield from span(played(scene, frames, shape), 0.5, 1.0)
    finally:
        made.shows_bake = was[0]
        riding.switch(obj)
        made.found = was[1]
    return rows


def write(obj: bpy.types.Object, start: int, rows: np.ndarray, miss: float, space: str) -> list[str]:
    """Replace the rider's baked keys and let them play; gives their names."""
    names = writing.write_bake(obj, start, rows)
    made = obj.thew.made
    size = diagonal(basis_positions(obj.data))
    made.baked_space, made.baked_miss = space, miss / max(size, 1e-30)
    made.shows_bake = obj.thew.enabled = True
    riding.switch(obj)
    return names

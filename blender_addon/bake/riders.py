# SPDX-License-Identifier: GPL-3.0-or-later
"""Riders as sources of a bake: their offsets at each frame.

A skinned rider is baked like a body. A rider on a bone has no skin: its offsets are baked in its own space.
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
from ..scene import modifier, reading
from ..scene.mesh import basis_positions, evaluated_positions, modifiers_on
from . import measuring
from .body_source import metres_per_unit
from .target import Source, Target


def riders_to_bake(body: bpy.types.Object, target: Target) -> list[bpy.types.Object]:
    """Returns the enabled riders of a body, which are baked along with it. Raises a `Refusal` for one that cannot be baked."""
    left = left_out(body, target)
    found = [obj for obj in riding.riders_of(body) if obj.thew.enabled and obj not in left]
    for obj in found:
        check(obj, target)
    return found


def left_out(body: bpy.types.Object, target: Target) -> list[bpy.types.Object]:
    """Returns the enabled riders that a target leaves as they are."""
    if not hasattr(target, "leaves"):
        return []
    return [obj for obj in riding.riders_of(body) if obj.thew.enabled and target.leaves(obj)]


def check(obj: bpy.types.Object, target: Target) -> None:
    """Refuses a rider whose bake could not be played."""
    reading.check_editable(obj)
    target.check(obj)


def body_of(obj: bpy.types.Object) -> bpy.types.Object:
    """Returns the body of a rider. Raises a `Refusal` if the rider has lost it."""
    body = obj.thew.body
    if body is None or not body.thew.made.flesh:
        raise Refusal(
            f"{describe(obj)} has no body to ride on any more: choose one in its panel, or press Remove Flesh"
        )
    jobs.check_flesh(body)
    return body


def source(obj: bpy.types.Object, body: bpy.types.Object, flesh: Flesh, scene, view_layer, frames: list[int]) -> Source:
    """Returns a rider as a source of a bake."""
    layer = riding.binding_of(obj, body, flesh)
    depsgraph = view_layer.depsgraph

    def offset(i: int) -> np.ndarray:
        of_body = flesh.motion.matrices[frames[i] - flesh.motion.start]
        mine = np.array(obj.evaluated_get(depsgraph).matrix_world, dtype=np.float64)
        turn = np.linalg.solve(mine[:3, :3], of_body[:3, :3])
        return layer.offsets(flesh.offsets(frames[i])) @ turn.T

    own = modifier.modifier_by_id(obj, obj.thew.made.armature_modifier)
    found = None if own is None or own.object is None else reading.Subject.of(obj, own)

    def differences(active: set[int]) -> Task:
        return measure_rider(found, scene, view_layer, frames, offset, active)

    size = diagonal(basis_positions(obj.data))
    metres = metres_per_unit(flesh, np.array(obj.matrix_world, dtype=np.float64), flesh.motion_place)
    return Source(obj, found, scene, view_layer, frames, size, offset, differences, lambda: accept(obj), metres)


def accept(obj: bpy.types.Object) -> None:
    """Switches the rider to its bake."""
    obj.thew.made.shows_bake = obj.thew.enabled = True
    riding.switch(obj)


def measure_rider(subject: reading.Subject, scene, view_layer, frames: list[int], offset, active: set[int]) -> Task:
    """Measures the skin with its offsets less the mesh on which only the modifiers `active` act, float32[f, n, 3]."""
    obj, made = subject.obj, subject.obj.thew.made
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
        live = {other.persistent_uid for other in subject.modifiers_before()} | subject.posing_modifiers()
        with modifiers_on(obj, live, basis=False):
            rows = yield from span(measuring.measure_offsets(scene, frames, lambda i: shape(i) + offset(i)), 0.0, 0.5)
        with modifiers_on(obj, active, basis=False):
            rows -= yield from span(measuring.measure_offsets(scene, frames, shape), 0.5, 1.0)
    finally:
        made.shows_bake = was[0]
        riding.switch(obj)
        made.found = was[1]
    return rows

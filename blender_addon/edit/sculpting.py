# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs from shapes of the skin: a corrective shape key, or a sculpted copy of the mesh, at the present pose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..live import driving, rig_actions
from ..logic import sculpted_rigs
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.native import core
from ..logic.spaces import skin_linearly, transform
from ..rigs import drivers, pushers, rigging
from ..rigs.anchors import anchor_sculpt
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits, show_sliders
from ..saved.units import length
from ..scene import mesh, rig_controls
from ..scene.own_skin import read_groups
from ..scene.reading import armature_of
from . import rig_list
from .posed_character import PosedCharacter

#: Methods whose balance a fit follows. Others are linear or balance amplitudes: flesh at rest is warped there.
FITTED_METHODS = {"hyperelastic", "warped", "blended", "nonlinear", "linearised", "neohookean"}

#: Change of the skin of a bone, over the largest of any bone, from which it counts as changed.
MIN_CHANGE = 0.1


@dataclass(frozen=True)
class Shape:
    """A wanted shape of the skin at the present pose."""

    name: str
    offsets: np.ndarray  # [n, 3] from the skin as it is, metres


def shape_of_key(stand: PosedCharacter, name: str) -> Shape:
    """Returns what a shape key adds to the skin, carried to the present pose as the Armature modifier carries it."""
    obj, flesh = stand.obj, stand.flesh
    keys = obj.data.shape_keys
    key = None if keys is None else keys.key_blocks.get(name) if name else obj.active_shape_key
    if key is None:
        called = f"no shape key “{name}”" if name else "no shape key"
        raise Refusal(f"{describe(obj)} has {called}: sculpt one, or select a sculpted copy of the mesh too")
    if key == keys.reference_key:
        raise Refusal(f"“{key.name}” is the basis of {describe(obj)}: choose a key that differs from it")
    basis, shaped = (mesh.key_positions(k).astype(np.float64) for k in (key.relative_key, key))
    if len(shaped) != len(flesh.character.rest) or not np.isfinite(shaped).all():
        raise Refusal(f"The shape key “{key.name}” has vertices that are not numbers: make it again")
    rest = flesh.bind_pose.mesh_matrix
    still = stand.mesh @ np.linalg.inv(rest)
    before, after = (
        skin_linearly(flesh.character.weights, stand.maps, transform(rest, points), still)
        for points in (flesh.character.rest, flesh.character.rest + shaped - basis)
    )
    return Shape(key.name, stand.place.vectors(after - before))


def shape_of_mesh(stand: PosedCharacter, sculpt: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> Shape:
    """Returns the way from the displayed skin to a sculpted copy of it, vertex by vertex."""
    places = mesh.evaluated_positions(sculpt, view_layer.depsgraph).astype(np.float64)
    world, shown = transform(np.array(sculpt.matrix_world), places), stand.displayed.vertices
    if world.shape != np.shape(shown):
        raise Refusal(
            f"{describe(sculpt)} has {len(world)} vertices and {describe(stand.obj)} {len(shown)}: sculpt a copy of the "
            "mesh, with the same vertices, or press Rig from Mesh"
        )
    if not np.isfinite(world).all():
        raise Refusal(f"{describe(sculpt)} has vertices that are not numbers: make it again")
    return Shape(sculpt.name, stand.place.vectors(world - shown))


def selection(obj: bpy.types.Object, group: str, selected: bool) -> np.ndarray | None:
    """Returns the share by which each vertex takes part, [n]: its weight in a vertex group, or 1 where it is `selected` in edit
    mode. None: all of it.
    """
    if selected:
        chosen = mesh.numbers(obj.data.vertices, "select", dtype=bool).astype(np.float64)
        if not chosen.any():
            raise Refusal(
                f"No vertex of {describe(obj)} is selected: select the region in edit mode, as with the lasso"
            )
        return chosen
    if not group:
        return None
    found = obj.vertex_groups.get(group)
    if found is None:
        raise Refusal(f"{describe(obj)} has no vertex group “{group}”: choose one of its groups")
    groups, vertices, weights = read_groups(obj)
    chosen = np.zeros(len(obj.data.vertices))
    own = groups == found.index
    chosen[vertices[own]] = np.clip(weights[own], 0.0, 1.0)
    if not chosen.any():
        raise Refusal(f"No vertex is in the group “{group}” of {describe(obj)}: assign some")
    return chosen


@dataclass(frozen=True)
class RestingFlesh:
    """Flesh in balance at the present pose, to which a fit adds."""

    positions: np.ndarray  # [n, 3] skin of the lattice, metres
    rest_forces: np.ndarray | None  # [nodes, 3] of the rigs that push already
    gravity: Any
    method: str


def statics(flesh) -> tuple[str, Any]:
    """Returns the method and the gravity of the balance that a fit follows."""
    settings = flesh.build_settings
    return settings.method if settings.method in FITTED_METHODS else "warped", settings.simulation.gravity


def resting_flesh(stand: PosedCharacter, view_layer) -> RestingFlesh:
    """Returns the flesh in balance at the present pose, pushed by the rigs at their controls."""
    flesh, method, gravity = stand.flesh, statics(stand.flesh)[0], driving.gravity_at(stand.flesh, stand.place)
    controls = rig_controls.evaluated_controls(stand.obj, view_layer.depsgraph)
    others = rig_actions.forces(flesh, stand.obj, controls)
    balance = core().Equilibrium(flesh.body, method=method)
    balance.set_pose(stand.pose)
    balance.solve(rest_forces=others, gravity=gravity)
    return RestingFlesh(np.asarray(balance.positions(), dtype=np.float64), others, gravity, method)


def fit(stand: PosedCharacter, shape: Shape, steps: int, select: np.ndarray | None, view_layer) -> Any:
    """Returns the native rig that brings the flesh at rest to a shape, beside the rigs that push already."""
    resting = resting_flesh(stand, view_layer)
    return fit_target(stand, resting, resting.positions + shape.offsets, shape.name, steps, select)


def fit_target(stand: PosedCharacter, resting: RestingFlesh, wanted, name: str, steps: int, select) -> Any:
    """Returns the native rig that brings resting flesh to places [n, 3] in metres, or to a `thew.Surface`."""
    return core().fit_surface(
        stand.flesh.body, stand.pose, wanted, select=select, steps=steps, gravity=resting.gravity,
        rest_forces=resting.rest_forces, method=resting.method, name=name,
    )  # fmt: skip


def add(stand: PosedCharacter, native: Any) -> ThewRig:
    """Adds a native sculpted rig to the list, with its control at the whole shape."""
    obj, flesh = stand.obj, stand.flesh
    rig = rig_list.new_rig(obj, native.name)
    with quiet_edits():
        rig.kind, rig.strength_by = "SCULPTED", "FORCE"
        names = rigging.other_names(flesh.body.skeleton.names, flesh.character.bones)
        rig.sculpt = sculpted_rigs.saved_text(core(), native, flesh.place, names)
        anchor_sculpt(obj, rig)
        rig.control = rig.at = 1.0
    pushers.store_problems(obj, flesh)
    return rig


def add_driven(stand: PosedCharacter, native: Any, bone: str | None, view_layer, of: str) -> str:
    """Adds a fitted rig, driven by a bone unless that is None (see `drive`), and returns what it does as a sentence; of: its shape, in words."""
    rig = add(stand, native)
    driver = drive(stand, rig, bone) if bone is not None else ""
    view_layer.update()
    show_sliders(rig)
    report, unit = native.report, stand.flesh.place.metres_per_unit
    start, left, bound = (length(value / unit) for value in (report.start, report.left, report.bound))
    by = f" “{driver}” drives it." if driver else ""
    return f"“{rig.name}” brings the skin from {start} to {left} of {of}; the last {bound} are finer than Detail can shape.{by}"


def drive(stand: PosedCharacter, rig: ThewRig, bone: str) -> str:
    """Drives a rig by the turn of a bone, 0 at rest and 1 at the present pose; empty: the bone that turns most. Returns its name."""
    armature = armature_of(stand.obj)
    bone = bone or proposed_bone(stand, rig)
    if armature is None or bone not in armature.pose.bones:
        return ""
    turns = drivers.turns_of(armature, bone, None)
    axis = drivers.dominant_axis(turns)
    end = drivers.angle_of(turns[0], axis)
    if math.isclose(end, 0.0, abs_tol=drivers.MIN_TURN):
        return ""
    drivers.drive(rig, armature, bone, axis, 0.0, end)
    return bone


def proposed_bone(stand: PosedCharacter, rig: ThewRig) -> str:
    """Returns the bone that turns most in the pose of a rig, of those at the skin that it changes or next to them.

    A bone without one above turns the whole character and is taken only where no other turns.
    """
    names, parents = stand.flesh.character.bones, np.asarray(stand.flesh.skeleton.parents)
    _, offsets, bones = sculpted_rigs.whole_shape(rig.sculpt)
    lengths = np.linalg.norm(offsets, axis=1)
    changes = np.array([lengths[[bone == name for bone in bones]].sum() for name in names])
    changed = changes > MIN_CHANGE * changes.max(initial=0.0)
    near, roots = changed.copy(), parents < 0
    near[~roots] |= changed[parents[~roots]]
    near[parents[changed & ~roots]] = True
    found = [name for name in sculpted_rigs.widest_turns(rig.sculpt) if name in names]
    places = {name: i for i, name in enumerate(names)}
    return min(found, key=lambda name: (roots[places[name]], not near[places[name]]), default="")

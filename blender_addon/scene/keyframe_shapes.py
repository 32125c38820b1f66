# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh as Blender holds it: checks of the mesh, and its shape keys, vertex groups and settings as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.digests import digest_of
from ..logic.errors import Refusal
from ..logic.extents import check_coordinates
from ..logic.keyframes import Key, KeyframePlan, Velocity, check
from ..logic.names import describe
from ..logic.spaces import is_singular
from ..saved import validation
from ..saved.timing import curve_rate
from . import keyframe_times, libraries, reading
from .mesh import basis_positions, key_positions, triangles_of
from .own_skin import read_groups

#: Weight above which vertices are in a group. Half of the largest weight.
WEIGHT_THRESHOLD = 0.5


def check_mesh(obj: bpy.types.Object | None) -> None:
    """Refuses an object that cannot have keyframed flesh."""
    reading.check_editable(obj)
    libraries.check_own_mesh(obj, "its shape keys cannot move it", "add Keyframed Flesh in that file")
    name, mesh, made = describe(obj), obj.data, obj.thew.made
    if made.flesh or made.rides:
        what = "has flesh that its bones drag along" if made.flesh else "rides on a body"
        raise Refusal(f"{name} {what}, and a mesh has either that or keyframed flesh: press Remove Flesh there first")
    reading.check_unshared(obj, "move along")
    if len(mesh.polygons) == 0:
        raise Refusal(f"{name} has no faces: keyframed flesh needs a surface")
    keys = mesh.shape_keys
    if keys is None or len(keys.key_blocks) < 2:
        raise Refusal(f"{name} has no shape keys: sculpt a few shapes as shape keys first, which become its keyframes")
    if not keys.use_relative:
        raise Refusal(f"The shape keys of {name} are absolute: switch on Relative in its shape key panel")


def block_of(obj: bpy.types.Object, key) -> bpy.types.ShapeKey | None:
    """Returns the shape key that a key of the list stands for; a renamed one is found by its shape."""
    keys = obj.data.shape_keys
    if keys is None:
        return None
    block = keys.key_blocks.get(key.shape)
    if block is not None or not key.digest:
        return block
    taken = {other.shape for other in obj.thew.keyframed.keyframes}
    return next((each for each in keys.key_blocks if each.name not in taken and digest(each) == key.digest), None)


def digest(block: bpy.types.ShapeKey) -> str:
    """Returns a hash of a shape key's vertices."""
    return digest_of(key_positions(block)).hex()


def follow_names(obj: bpy.types.Object) -> None:
    """Updates the list to new names of shape keys; all keys of the list with one shape key change together."""
    for key in obj.thew.keyframed.keyframes:
        block = block_of(obj, key)
        if block is not None and block.name != key.shape:
            old = key.shape
            for other in obj.thew.keyframed.keyframes:
                if other.muted == old:
                    note_muted(other, block)
                if other.shape == old:
                    other["shape"] = block.name


def remember(obj: bpy.types.Object) -> None:
    """Updates the list to new names of shape keys, and stores their shapes' hashes and times."""
    follow_names(obj)
    known: dict[str, str] = {}

    def current_digest(name: str, before: str) -> str:
        block = obj.data.shape_keys.key_blocks.get(name)
        return before if block is None else known.setdefault(name, digest(block))

    for key in obj.thew.keyframed.keyframes if obj.data.shape_keys is not None else ():
        for name, held in (("shape", "digest"), ("muted", "muted_digest")):
            before = getattr(key, held)
            found = current_digest(getattr(key, name), before)
            if found != before:
                setattr(key, held, found)
    keyframe_times.keep(obj)


def gravity_in(obj: bpy.types.Object, scene: bpy.types.Scene) -> np.ndarray:
    """Returns the scene's gravity in the object's present space, object units per second squared."""
    world = np.array(obj.matrix_world, dtype=np.float64)
    if is_singular(world) or not scene.use_gravity:
        return np.zeros(3)
    return np.linalg.solve(world[:3, :3], np.array(scene.gravity, dtype=np.float64))


def plan_of(obj: bpy.types.Object, scene: bpy.types.Scene) -> KeyframePlan:
    """Returns the plan of the settings and the curve of times; a `Refusal` where these define no motion. Cheap enough for every
    frame.
    """
    group, name = obj.thew.keyframed, describe(obj)
    for owner in (group, *group.keyframes):
        for prop, value in validation.wrong_values(owner):
            raise Refusal(
                f"The setting “{prop.name}” of {name} is {value:g}: set it to between {prop.hard_min:g} and {prop.hard_max:g}"
            )
    keys = []
    for frame, place in keyframe_times.points(obj):
        key = group.keyframes[place]
        block = block_of(obj, key)
        if block is None:
            what = (
                f"has no shape key “{key.shape}”" if key.shape else f"has a key at frame {frame:g} without a shape key"
            )
            raise Refusal(
                f"{name} {what}: choose one of its own in the list of Keyframed Flesh, or take it off the list"
            )
        keys.append(
            Key(
                place, block.name, frame, key.kind, key.weight, key.group, Velocity(key.velocity, tuple(key.arrow)),
                Velocity(key.leaving, tuple(key.leaving_arrow)), key.cut, key.fixed,
            )
        )  # fmt: skip
    gravity = tuple(group.gravity * g for g in group.down) if group.gravity else (0.0, 0.0, 0.0)
    plan = KeyframePlan(
        tuple(keys), group.cyclic, group.fixed, group.modes, group.bending, group.ghosts, group.rest, group.stiffness,
        (group.slow_damping, group.fast_damping), gravity, group.speed, curve_rate(scene),
    )  # fmt: skip
    check(plan, name)
    for wanted in plan.groups():
        if obj.vertex_groups.get(wanted) is None:
            raise Refusal(
                f"{name} has no vertex group “{wanted}”: choose another one under Keyframed Flesh, or clear it"
            )
    return plan


@dataclass(frozen=True)
class MeshShapes:
    """The parts of a mesh that a plan names, object space."""

    basis: np.ndarray  # float32[n, 3]
    triangles: np.ndarray  # int32[t, 3]
    keys: dict[str, np.ndarray]  # float32[n, 3] by shape key
    groups: dict[str, np.ndarray]  # bool[n] by vertex group
    digest: bytes

    def stack(self, names: list[str]) -> np.ndarray:
        """Returns the shape keys of these names, float32[k, n, 3]."""
        return np.stack([self.keys[name] for name in names])


def shapes_of(obj: bpy.types.Object, plan: KeyframePlan) -> MeshShapes:
    """Reads the mesh, the plan's shape keys and vertex groups; a `Refusal` names values that are not numbers."""
    mesh, name = obj.data, describe(obj)
    basis, triangles, blocks = basis_positions(mesh), triangles_of(mesh), mesh.shape_keys.key_blocks
    check_coordinates(basis, name)
    keys = {}
    for each in dict.fromkeys(key.name for key in plan.keys):
        keys[each] = key_positions(blocks[each])
        check_coordinates(keys[each], f"the shape key “{each}” of {name}")
    groups = vertices_of(obj, plan.groups())
    return MeshShapes(basis, triangles, keys, groups, digest_of(basis, triangles, *keys.values(), *groups.values()))


def vertices_of(obj: bpy.types.Object, names: list[str]) -> dict[str, np.ndarray]:
    """Returns the vertices of vertex groups, bool[n] by name; refuses empty ones."""
    if not names:
        return {}
    found = {}
    group, vertex, weight = read_groups(obj)
    for each in names:
        mask = found[each] = np.zeros(len(obj.data.vertices), dtype=bool)
        mask[vertex[(group == obj.vertex_groups[each].index) & (weight > WEIGHT_THRESHOLD)]] = True
        if not mask.any():
            raise Refusal(f"The vertex group “{each}” of {describe(obj)} is empty: paint it, or choose another one")
    return found


# muting of the shape keys ---------------------------------------------------------------------------------------------


def muted_block(obj: bpy.types.Object, key) -> bpy.types.ShapeKey | None:
    """Returns the shape key that was muted for a key of the list; one renamed since then is found by its shape."""
    keys = obj.data.shape_keys
    if not key.muted or keys is None:
        return None
    block = keys.key_blocks.get(key.muted)
    if block is not None:
        return block
    return next((each for each in keys.key_blocks if each.mute and digest(each) == key.muted_digest), None)


def note_muted(key, block: bpy.types.ShapeKey | None) -> None:
    """Stores the shape key that was muted for a key of the list (None: no key)."""
    name, found = ("", "") if block is None else (block.name, digest(block))
    if (key.muted, key.muted_digest) != (name, found):
        key.muted, key.muted_digest = name, found


def mute(obj: bpy.types.Object, on: bool) -> None:
    """Mutes the shape keys of the list while the motion holds them, or restores their state.

    Shape keys muted for a key that has left the list, or now has another shape key, are unmuted.
    """
    keys, entries = obj.data.shape_keys, obj.thew.keyframed.keyframes
    if keys is None:
        return
    noted = {block.name for key in entries if (block := muted_block(obj, key)) is not None}
    found = {}
    for key in entries if on else ():
        block = block_of(obj, key)
        if block is not None and block != keys.reference_key:
            found.setdefault(block.name, key)
    for name in noted - set(found):
        keys.key_blocks[name].mute = False
    holders = {}
    for name, key in found.items():
        block = keys.key_blocks[name]
        if not block.mute:
            block.mute = True
            holders[key.as_pointer()] = block
        elif name in noted:
            holders[key.as_pointer()] = block
    for key in entries:
        note_muted(key, holders.get(key.as_pointer()))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests whether an ID may change from frame to frame, through everything that its evaluation depends on.

Blender reports which IDs use which others: parents, targets of constraints and drivers, data, modifiers' objects, inputs of nodes.
An ID moves if it, or any of those, has animation, physics, or a clock of its own. IDs that only may move count as moving.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import bpy

from . import animation

#: Modifiers whose result depends on time by themselves.
TIMED_MODIFIERS = {
    "CLOTH", "DYNAMIC_PAINT", "EXPLODE", "FLUID", "MESH_CACHE", "MESH_SEQUENCE_CACHE", "OCEAN", "PARTICLE_INSTANCE",
    "PARTICLE_SYSTEM", "SOFT_BODY", "WAVE",
}  # fmt: skip
#: Constraints that depend on the frame.
TIMED_CONSTRAINTS = {"CAMERA_SOLVER", "FOLLOW_PATH", "FOLLOW_TRACK", "OBJECT_SOLVER", "TRANSFORM_CACHE"}
#: Nodes that depend on the frame, or keep state from one to the next.
TIMED_NODES = {"GeometryNodeInputSceneTime", "GeometryNodeSimulationInput"}
#: Types of IDs that pass on neither shape nor place to others.
APPEARANCE_TYPES = (bpy.types.Material, bpy.types.Scene, bpy.types.World, bpy.types.Library, bpy.types.WindowManager)
#: Paths of an object's properties that do not move the object itself.
INNER_PATHS = ("pose.", "modifiers[", "thew.", "[", "particle_systems[", "hide_", "show_", "display_")


def dependencies(start: Iterable[bpy.types.ID]) -> set[bpy.types.ID]:
    """Returns these IDs and everything that their evaluation depends on."""
    uses: dict[bpy.types.ID, set[bpy.types.ID]] = {}
    for used, users in bpy.data.user_map().items():
        for user in users:
            uses.setdefault(user, set()).add(used)
    found: set[bpy.types.ID] = set()
    left = [each for each in start if each is not None]
    while left:
        each = left.pop()
        if each in found or isinstance(each, APPEARANCE_TYPES):
            continue
        found.add(each)
        left += uses.get(each, ())
    return found


def affecting_actions(*start: bpy.types.ID | None) -> set[int]:
    """Returns the session ids of the actions that affect the place or shape of these."""
    return {each.session_uid for each in dependencies(start) if isinstance(each, bpy.types.Action)}


def may_move(*start: bpy.types.ID | None) -> bool:
    """Returns whether the shape or the place of one of these may differ from frame to frame."""
    return any(moves_itself(each) for each in dependencies(start))


def moves_itself(each: bpy.types.ID) -> bool:
    """Returns whether a property of an ID moves it, apart from other IDs."""
    if next(animation.curves(getattr(each, "animation_data", None)), None) is not None:
        return True
    if isinstance(each, bpy.types.Object):
        if each.rigid_body is not None or len(each.particle_systems):
            return True
        bones = each.pose.bones if each.pose is not None else ()
        constraints = (*each.constraints, *(one for bone in bones for one in bone.constraints))
        return any(m.type in TIMED_MODIFIERS for m in each.modifiers) or any(
            c.type in TIMED_CONSTRAINTS for c in constraints
        )
    if isinstance(each, bpy.types.NodeTree):
        return any(node.bl_idname in TIMED_NODES for node in each.nodes)
    return isinstance(each, bpy.types.Image) and each.source in {"MOVIE", "SEQUENCE"}


def moves_in_parent(obj: bpy.types.Object) -> bool:
    """Returns whether an object's own animation or physics may move it in the space of its parent."""
    paths = (curve.data_path for curve in animation.curves(obj.animation_data))
    return obj.rigid_body is not None or any(not path.startswith(INNER_PATHS) for path in paths)


def is_carried(obj: bpy.types.Object) -> bool:
    """Returns whether an object's place in the world may differ from frame to frame."""
    each: bpy.types.Object | None = obj
    while each is not None:
        if moves_in_parent(each):
            return True
        targets = [getattr(one, "target", None) for one in each.constraints if not one.mute]
        if any(one.type in TIMED_CONSTRAINTS for one in each.constraints) or may_move(*targets):
            return True
        if each.parent is not None and each.parent_type in {"BONE", "VERTEX", "VERTEX_3"}:
            return may_move(each.parent)
        each = each.parent
    return False


def reshapes_each_frame(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Returns whether the effect of a modifier of `obj` on its vertices may differ from frame to frame."""
    if modifier.type in TIMED_MODIFIERS:
        return True
    if animation.animates(obj, f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'):
        return True
    asked = list(references(modifier))
    if may_move(*asked):
        return True
    placed = any(isinstance(each, (bpy.types.Object, bpy.types.Collection)) for each in asked)
    return (placed or getattr(modifier, "texture_coords", "") == "GLOBAL") and is_carried(obj)


def references(modifier: bpy.types.Modifier) -> Iterator[bpy.types.ID]:
    """Yields the IDs that a modifier refers to: in its settings, and as inputs of its nodes."""
    for prop in modifier.bl_rna.properties:
        value = getattr(modifier, prop.identifier) if prop.type == "POINTER" else None
        if isinstance(value, bpy.types.ID):
            yield value
    if modifier.type == "NODES":
        yield from (value for value in node_input_values(modifier) if isinstance(value, bpy.types.ID))


def node_input_values(modifier: bpy.types.NodesModifier) -> Iterator[Any]:
    """Yields the values of a modifier's node inputs: its own properties before Blender 5.2, named ones from then on."""
    inputs = getattr(getattr(modifier, "properties", None), "inputs", None)
    if inputs is None:
        yield from (modifier[key] for key in modifier.keys())
        return
    for prop in inputs.bl_rna.properties:
        if prop.type == "POINTER":
            yield getattr(getattr(inputs, prop.identifier), "value", None)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The artist's own bones and weights, without the helper bones of bakes.

Helper bones bear a mark, a custom property. While a bake of helper bones plays, the vertex groups hold its weights, and the artist's
wait in attributes of the mesh (`helper_weights`). All that reads a skin or a skeleton for the flesh reads it here.
"""

from __future__ import annotations

import json

import bpy
import numpy as np

from . import reading
from .bone_marks import find_marked_bone
from .mesh import Groups, numbers, read_shown_groups

#: Custom property of a helper bone: the token of its bake, and its number there.
HELPER_MARK = "thew_helper"
#: Custom property of a mesh: what bakes of helper bones keep in it, as JSON.
STATE = "thew_helpers"
#: Beginning of the names of the attributes that keep weights. A dot hides them in Blender, and from exporters.
ATTRIBUTE = ".thew_"
#: Kept weight of a vertex that the artist has not in the group.
ABSENT = -1.0


def is_helper(bone: bpy.types.Bone) -> bool:
    """Returns whether a bone of an armature was made for a bake."""
    return bone.get(HELPER_MARK) is not None


def own_bones(armature: bpy.types.Object) -> list[bpy.types.Bone]:
    """Returns the artist's bones of an armature, in its order."""
    return [bone for bone in armature.data.bones if not is_helper(bone)]


def own_pose_bones(armature: bpy.types.Object) -> list[bpy.types.PoseBone]:
    """Returns the artist's bones of an armature's pose, in its order."""
    return [bone for bone in armature.pose.bones if not is_helper(bone.bone)]


def own_rows(armature: bpy.types.Object) -> np.ndarray | None:
    """Returns the places of the artist's bones among those of an armature's pose, [b]; None where all are the artist's."""
    own = [i for i, bone in enumerate(armature.pose.bones) if not is_helper(bone.bone)]
    return None if len(own) == len(armature.pose.bones) else np.array(own, dtype=np.int64)


def own_group_names(obj: bpy.types.Object, armature: bpy.types.Object) -> dict[int, str]:
    """Returns the vertex groups that belong to the artist's bones of an armature, names by index."""
    bones = armature.data.bones
    return {g.index: g.name for g in obj.vertex_groups if g.name in bones and not is_helper(bones[g.name])}


# what a mesh keeps ------------------------------------------------------------------------------------------------------


def read_state(mesh: bpy.types.Mesh) -> dict:
    """Returns what bakes of helper bones keep in a mesh: `bakes` by token, and `shown`, the one whose weights are in the groups.

    Each bake has `own`, the artist's bones with their marks (`bone_marks`), and `helpers`, the names of the helper bones.
    """
    try:
        state = json.loads(mesh.get(STATE) or "{}")
    except (TypeError, ValueError):  # a damaged note
        state = {}
    state = state if isinstance(state, dict) else {}
    return {"bakes": state.get("bakes", {}), "shown": state.get("shown", "")}


def write_state(mesh: bpy.types.Mesh, state: dict) -> None:
    """Saves what bakes of helper bones keep in a mesh; nothing is left of a state without bakes."""
    if state["bakes"]:
        mesh[STATE] = json.dumps(state)
    elif STATE in mesh.keys():
        del mesh[STATE]


def helper_names(armature: bpy.types.Object, token: str) -> dict[int, str]:
    """Returns the present names of the helper bones of a bake, by their numbers."""
    found = {}
    for bone in armature.data.bones:
        mine, _, number = str(bone.get(HELPER_MARK, "")).partition(" ")
        if mine == token and number.isdecimal():
            found[int(number)] = bone.name
    return found


def every_helper_name() -> set[str]:
    """Returns the names of all helper bones of the file."""
    return {bone.name for armature in bpy.data.armatures for bone in armature.bones if is_helper(bone)}


def used_bone_tokens() -> set[str]:
    """Returns the marks of the artist's bones that bakes of helper bones need."""
    states = [read_state(mesh) for mesh in bpy.data.meshes if STATE in mesh.keys()]
    return {token for state in states for bake in state["bakes"].values() for _, token in bake["own"]}


def bone_columns(armature: bpy.types.Object | None, token: str, bake: dict) -> list[str]:
    """Returns the names of the bones of a bake's weights: the artist's, then the helpers. One that is gone has its last name."""
    if armature is None:
        return [*(name for name, _ in bake["own"]), *bake["helpers"]]
    helpers = helper_names(armature, token)
    own = [find_marked_bone(armature, name, mark) or name for name, mark in bake["own"]]
    return own + [helpers.get(i, name) for i, name in enumerate(bake["helpers"])]


def kept_groups(obj: bpy.types.Object) -> list[tuple[int, str]]:
    """Returns the vertex groups that hold weights of a bake at present: (index, attribute with the artist's weights).

    The attribute is "" for groups of helper bones.
    """
    if obj.data.get(STATE) is None:
        return []
    state, armature = read_state(obj.data), reading.armature_of(obj)
    bake, found = state["bakes"].get(state["shown"]), []
    if bake is None:
        return []
    for k, name in enumerate(bone_columns(armature, state["shown"], bake)):
        group = obj.vertex_groups.get(name)
        if group is not None:
            found.append((group.index, own_attribute(k) if k < len(bake["own"]) else ""))
    return found


def own_attribute(k: int) -> str:
    """Returns the name of the attribute with the artist's weights of the k-th bone."""
    return f"{ATTRIBUTE}own_{k}"


def read_groups(obj: bpy.types.Object, mesh: bpy.types.Mesh | None = None) -> Groups:
    """Returns the artist's weights of all vertex groups; `mesh`: evaluated from the object's own, in place of that."""
    mesh = mesh or obj.data
    group, vertex, weight = read_shown_groups(mesh)
    for index, attribute in kept_groups(obj):
        of_group = np.flatnonzero(group == index)
        kept = mesh.attributes.get(attribute) if attribute else None
        if attribute and kept is None:
            continue  # someone has taken it away: the group's own weights are all there is
        own = np.full(len(of_group), ABSENT, dtype=np.float32)
        if kept is not None:
            own = np.nan_to_num(numbers(kept.data, "value"))[vertex[of_group]]
        weight[of_group] = own
        gone = of_group[own == ABSENT]
        group, vertex, weight = (np.delete(each, gone) for each in (group, vertex, weight))
    return group, vertex, weight

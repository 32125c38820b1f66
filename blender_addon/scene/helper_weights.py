# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights of bakes of helper bones: kept in attributes of the mesh, and in its vertex groups while a bake plays.

Meanwhile the artist's weights wait in attributes too. Attributes follow every edit of the mesh, are saved and copied with it and come
back by undo; their numbers are those of the groups, bit by bit. Entries of a vertex keep their order.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from . import reading
from .bone_marks import mark_bone
from .mesh import keep_active_attribute, numbers, read_shown_groups
from .own_skin import ABSENT, ATTRIBUTE, bone_columns, kept_groups, own_attribute, read_state, write_state


def attribute_of(token: str, k: int) -> str:
    """Returns the name of the attribute with a bake's weights of its k-th bone."""
    return f"{ATTRIBUTE}{token}_{k}"


def keep(obj: bpy.types.Object, token: str, own: list[str], helpers: list[str], weights: np.ndarray) -> None:
    """Keeps the weights float32[n, b + N] of a bake in the mesh: of the artist's bones `own`, then of its helper bones."""
    mesh, armature = obj.data, reading.armature_of(obj)
    state = read_state(mesh)
    marks = [[name, mark_bone(armature, armature.data.bones[name])] for name in own]
    state["bakes"][token] = {"own": marks, "helpers": helpers}
    write_state(mesh, state)
    for k, column in enumerate(weights.T):
        write_attribute(mesh, attribute_of(token, k), column)


def write_attribute(mesh: bpy.types.Mesh, name: str, values: np.ndarray) -> None:
    """Writes a number for each vertex [n] into an attribute."""
    if name not in mesh.attributes:
        with keep_active_attribute(mesh):
            if mesh.attributes.new(name, "FLOAT", "POINT") is None:
                raise Refusal(f"Blender made no attribute in the mesh of {describe(mesh)}: is it of another file?")
    mesh.attributes[name].data.foreach_set("value", np.ascontiguousarray(values, dtype=np.float32))


def forget(obj: bpy.types.Object, token: str) -> None:
    """Removes everything of a bake from the mesh; the artist's weights are back in the groups first."""
    mesh, state = obj.data, read_state(obj.data)
    if state["shown"] == token:
        hide(obj)
        state = read_state(mesh)
    state["bakes"].pop(token, None)
    write_state(mesh, state)
    remove_attributes(mesh, f"{ATTRIBUTE}{token}_")


def remove_attributes(mesh: bpy.types.Mesh, start: str) -> None:
    """Removes the attributes whose names begin with `start`."""
    with keep_active_attribute(mesh):
        for name in [each.name for each in mesh.attributes if each.name.startswith(start)]:
            mesh.attributes.remove(mesh.attributes[name])


def shown_token(mesh: bpy.types.Mesh) -> str:
    """Returns the token of the bake whose weights are in the vertex groups; "" where these are the artist's."""
    return read_state(mesh)["shown"]


def rename_helpers(obj: bpy.types.Object, token: str, helpers: list[str]) -> None:
    """Notes the present names of a bake's helper bones, by which their groups are found should the armature be gone."""
    state = read_state(obj.data)
    state["bakes"][token]["helpers"] = helpers
    write_state(obj.data, state)


# showing --------------------------------------------------------------------------------------------------------------


def show(obj: bpy.types.Object, token: str) -> None:
    """Puts the weights of a bake into the vertex groups, and the artist's into attributes."""
    mesh, state = obj.data, read_state(obj.data)
    bake = state["bakes"].get(token)
    if bake is None or state["shown"] == token or mesh.is_editmode:
        return
    if state["shown"]:
        hide(obj)
    armature, active = reading.armature_of(obj), obj.vertex_groups.active_index
    names = bone_columns(armature, token, bake)
    wanted = {
        k: np.nan_to_num(numbers(mesh.attributes[attribute_of(token, k)].data, "value"))
        for k in range(len(names))
        if attribute_of(token, k) in mesh.attributes
    }
    columns = {}
    for k in wanted:
        group = obj.vertex_groups.get(names[k]) or obj.vertex_groups.new(name=names[k])
        columns[group.index] = k
    kept = fill_groups(obj, columns, wanted)
    for k, values in kept.items():
        if k < len(bake["own"]):
            write_attribute(mesh, own_attribute(k), values)
    if active >= 0:
        obj.vertex_groups.active_index = active
    write_state(mesh, state | {"shown": token})
    mesh.update_tag()


def fill_groups(obj: bpy.types.Object, columns: dict[int, int], wanted: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Sets the weights of groups, and returns their former ones, by columns: `columns` gives that of a group's index.

    Entries that a vertex has stay, be they 0; others are made where the weight is above 0.
    """
    mesh = obj.data
    group, vertex, weight = read_shown_groups(mesh, finite=False)
    entries = [entry for each in mesh.vertices for entry in each.groups]
    former = {}
    for index, k in columns.items():
        own = np.flatnonzero(group == index)
        at = vertex[own]
        former[k] = np.full(len(mesh.vertices), ABSENT, dtype=np.float32)
        former[k][at] = weight[own]
        changed = own[weight[own] != wanted[k][at]]
        for i, value in zip(changed.tolist(), wanted[k][vertex[changed]].tolist(), strict=True):
            entries[i].weight = value
    del entries  # new ones move them in memory
    for index, k in columns.items():
        new = np.flatnonzero((wanted[k] > 0.0) & (former[k] == ABSENT))
        add = obj.vertex_groups[index].add
        for i, value in zip(new.tolist(), wanted[k][new].tolist(), strict=True):
            add([i], value, "REPLACE")
    return former


def hide(obj: bpy.types.Object) -> None:
    """Puts the artist's weights back into the vertex groups, and removes those of helper bones."""
    mesh, state = obj.data, read_state(obj.data)
    if not state["shown"] or mesh.is_editmode:
        return
    active = obj.vertex_groups.active
    active = active.name if active is not None else ""
    restore_groups(obj, kept_groups(obj))
    if active in obj.vertex_groups:
        obj.vertex_groups.active_index = obj.vertex_groups[active].index
    remove_attributes(mesh, f"{ATTRIBUTE}own_")
    write_state(mesh, read_state(mesh) | {"shown": ""})
    mesh.update_tag()


def restore_groups(obj: bpy.types.Object, kept: list[tuple[int, str]]) -> None:
    """Puts the artist's weights back into the vertex groups of an object, given `own_skin.kept_groups`."""
    mesh = obj.data
    group, vertex, weight = read_shown_groups(mesh, finite=False)
    entries = [entry for each in mesh.vertices for entry in each.groups]
    gone: dict[int, list[int]] = {}
    for index, attribute in kept:
        if not attribute or attribute not in mesh.attributes:
            continue
        own = np.flatnonzero(group == index)
        values = numbers(mesh.attributes[attribute].data, "value")[vertex[own]]
        gone[index] = vertex[own[values == ABSENT]].tolist()
        changed = (values != weight[own]) & (values != ABSENT)
        for i, value in zip(own[changed].tolist(), values[changed].tolist(), strict=True):
            entries[i].weight = value
    del entries
    for index, vertices in gone.items():
        if vertices:
            obj.vertex_groups[index].remove(vertices)
    for index in sorted((index for index, attribute in kept if not attribute), reverse=True):
        obj.vertex_groups.remove(obj.vertex_groups[index])

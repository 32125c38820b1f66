# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh's vertices, triangles and weights, and a switch for its modifiers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np

from . import stack


@contextmanager
def modifiers_on(obj: bpy.types.Object, on: set[int], basis: bool) -> Iterator[None]:
    """Lets only modifiers with persistent ids in `on` act within the context, if the artist has them on; `basis`: shape keys rest
    too.
    """
    shown = [(modifier, modifier.show_viewport) for modifier in obj.modifiers]
    pinned, active = obj.show_only_shape_key, obj.active_shape_key_index
    try:
        for modifier, was in shown:
            keep = stack.artist_switches(obj, modifier)[0] and modifier.persistent_uid in on
            if keep != was:
                modifier.show_viewport = keep
        if basis and obj.data.shape_keys is not None:
            obj.active_shape_key_index = 0
            obj.show_only_shape_key = True
        yield
    finally:
        for modifier, was in shown:
            if modifier.show_viewport != was:
                modifier.show_viewport = was
        if obj.show_only_shape_key != pinned:
            obj.show_only_shape_key = pinned
        if obj.active_shape_key_index != active:
            obj.active_shape_key_index = active


def active_attribute(mesh: bpy.types.Mesh) -> str:
    """Returns the name of the active attribute, or ""."""
    active = mesh.attributes.active
    return active.name if active else ""


@contextmanager
def keep_active_attribute(mesh: bpy.types.Mesh, otherwise: str = "") -> Iterator[None]:
    """Keeps the active attribute while others are made or removed within the context; `otherwise`: if it is removed itself."""
    active = active_attribute(mesh)
    yield
    active = active if active in mesh.attributes else otherwise
    if active and active in mesh.attributes:
        mesh.attributes.active = mesh.attributes[active]


def numbers(items, name: str, width: int = 1, dtype: type = np.float32) -> np.ndarray:
    """Returns a property of all items of one of Blender's collections, [n], or [n, width] for vectors."""
    flat = np.empty(width * len(items), dtype=dtype)
    if len(flat):
        items.foreach_get(name, flat)
    return flat if width == 1 else flat.reshape(-1, width)


def evaluated_positions(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Returns the object's evaluated vertices, object space, float32[n, 3]."""
    return mesh_positions(obj.evaluated_get(depsgraph).data)


def mesh_positions(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns the vertices of a mesh that is not in edit mode, float32[n, 3]."""
    return numbers(mesh.attributes["position"].data if len(mesh.vertices) else (), "vector", 3)


def basis_positions(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns the vertices without any shape key's influence, float32[n, 3]."""
    if mesh.shape_keys is None:
        return mesh_positions(mesh)
    return key_positions(mesh.shape_keys.reference_key)


def key_positions(key: bpy.types.ShapeKey) -> np.ndarray:
    """Returns the vertices of a shape key, float32[n, 3]."""
    return numbers(key.points, "co", 3)


def triangles_of(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns every face cut into triangles, int32[t, 3]."""
    mesh.calc_loop_triangles()
    return numbers(mesh.loop_triangles, "vertices", 3, np.int32)


#: All weights of a mesh: (group int64[w], vertex int64[w], weight float32[w]).
Groups = tuple[np.ndarray, np.ndarray, np.ndarray]


def read_shown_groups(mesh: bpy.types.Mesh, finite: bool = True) -> Groups:
    """Returns the weights of all vertex groups as they are, those of a bake that plays too (see `own_skin.read_groups`).

    `finite`: 0 in place of weights that are no numbers.
    """
    each = [vertex.groups for vertex in mesh.vertices]
    flat = [entry for groups in each for entry in groups]
    # Filled number by number, without a tuple of each: saves two thirds of the time, during which the window waits.
    group = np.fromiter([entry.group for entry in flat], np.int64, len(flat))
    weight = np.fromiter([entry.weight for entry in flat], np.float32, len(flat))
    vertex = np.repeat(np.arange(len(each), dtype=np.int64), np.fromiter(map(len, each), np.int64, len(each)))
    return group, vertex, np.nan_to_num(weight) if finite else weight

# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh's vertices, triangles and weights, and a switch for its modifiers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np

from . import stack

#: Largest valid coordinate: a volume of its cube, 1e45, does not fit into single precision, in which Blender works.
FARTHEST = 1e15


@contextmanager
def modifiers_on(obj: bpy.types.Object, on: set[int], basis: bool) -> Iterator[None]:
    """Lets only modifiers with persistent ids in `on` act within the context, if the artist has them on; `basis`: shape keys rest
    too.
    """
    shown = [(modifier, modifier.show_viewport) for modifier in obj.modifiers]
    pinned, active = obj.show_only_shape_key, obj.active_shape_key_index
    try:
        for modifier, was in shown:
            keep = stack.shown(obj, modifier)[0] and modifier.persistent_uid in on
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


def evaluated_positions(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Returns the object's evaluated vertices, object space, float32[n, 3]."""
    return mesh_positions(obj.evaluated_get(depsgraph).data)


def mesh_positions(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns the vertices of a mesh that is not in edit mode, float32[n, 3]."""
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    if len(flat):
        mesh.attributes["position"].data.foreach_get("vector", flat)
    return flat.reshape(-1, 3)


def basis_positions(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns the vertices without any shape key's influence, float32[n, 3]."""
    if mesh.shape_keys is None:
        return mesh_positions(mesh)
    return key_positions(mesh.shape_keys.reference_key)


def key_positions(key: bpy.types.ShapeKey) -> np.ndarray:
    """Returns the vertices of a shape key, float32[n, 3]."""
    flat = np.empty(3 * len(key.points), dtype=np.float32)
    key.points.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def triangles_of(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns every face cut into triangles, int32[t, 3]."""
    mesh.calc_loop_triangles()
    flat = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", flat)
    return flat.reshape(-1, 3)


#: All weights of a mesh: (group int64[w], vertex int64[w], weight float32[w]).
Groups = tuple[np.ndarray, np.ndarray, np.ndarray]


def read_groups(mesh: bpy.types.Mesh) -> Groups:
    """Returns the weights of all vertex groups."""
    each = [vertex.groups for vertex in mesh.vertices]
    flat = [entry for groups in each for entry in groups]
    # Filled number by number, without a tuple of each: saves two thirds of the time, during which the window waits.
    group = np.fromiter([entry.group for entry in flat], np.int64, len(flat))
    weight = np.fromiter([entry.weight for entry in flat], np.float32, len(flat))
    vertex = np.repeat(np.arange(len(each), dtype=np.int64), np.fromiter(map(len, each), np.int64, len(each)))
    return group, vertex, np.nan_to_num(weight)

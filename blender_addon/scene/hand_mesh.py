# SPDX-License-Identifier: GPL-3.0-or-later
"""The mesh in which a lattice is edited: its vertices, and the faces of its cells, in edit mode and out of it."""

from __future__ import annotations

from contextlib import contextmanager

import bmesh
import bpy
import numpy as np

from ..logic.hand_lattice import Face


def make(
    context: bpy.types.Context, obj: bpy.types.Object, vertices: np.ndarray, faces, bone_edges
) -> bpy.types.Object:
    """Builds the editable mesh of a lattice at the place of `obj`; it becomes the active object. Bone edges are marked sharp."""
    data = bpy.data.meshes.new(f"{obj.name} Lattice")
    made = bpy.data.objects.new(data.name, data)
    context.scene.collection.objects.link(made)
    write(made, vertices, faces, bone_edges)
    follow = made.constraints.new("COPY_TRANSFORMS")
    follow.name, follow.target = "Thew", obj
    made.display_type, made.show_in_front, made.hide_render = "WIRE", True, True
    for other in context.view_layer.objects:
        other.select_set(other == made)
    context.view_layer.objects.active = made
    context.view_layer.update()
    return made


@contextmanager
def editing(made: bpy.types.Object, write_back: bool = True):
    """Gives a `bmesh` of the mesh, with vertices and faces by index, that is written back at the end."""
    own = made.mode == "EDIT"
    mesh = bmesh.from_edit_mesh(made.data) if own else bmesh.new()
    try:
        if not own:
            mesh.from_mesh(made.data)
        index(mesh)
        yield mesh
        if own:
            if write_back:
                bmesh.update_edit_mesh(made.data)
        elif write_back:
            mesh.to_mesh(made.data)
            made.data.update()
    finally:
        if not own:
            mesh.free()


def index(mesh: bmesh.types.BMesh) -> None:
    """Numbers the vertices and faces."""
    for items in (mesh.verts, mesh.faces):
        items.index_update()
        items.ensure_lookup_table()


def read(made: bpy.types.Object) -> tuple[np.ndarray, list[list[int]]]:
    """Returns the vertices [k, 3] and the faces."""
    with editing(made, write_back=False) as mesh:
        vertices = np.array([vertex.co[:] for vertex in mesh.verts], dtype=np.float64).reshape(-1, 3)
        return vertices, [[vertex.index for vertex in face.verts] for face in mesh.faces]


def selected_faces(made: bpy.types.Object) -> list[list[int]]:
    """Returns the selected faces."""
    with editing(made, write_back=False) as mesh:
        return [[vertex.index for vertex in face.verts] for face in mesh.faces if face.select]


def write(made: bpy.types.Object, vertices: np.ndarray, faces, bone_edges) -> None:
    """Replaces the whole mesh."""
    with editing(made) as mesh:
        mesh.clear()
        placed = [mesh.verts.new(place) for place in vertices.tolist()]
        mesh.verts.ensure_lookup_table()
        for face in faces:
            mesh.faces.new([placed[v] for v in face])
        index(mesh)
        mark(mesh, bone_edges)


def mark(mesh: bmesh.types.BMesh, bone_edges) -> None:
    """Marks edges on bones as sharp, which edit mode shows in colour, and no others."""
    on_bones = {frozenset(map(int, edge)) for edge in bone_edges}
    for edge in mesh.edges:
        edge.smooth = frozenset(vertex.index for vertex in edge.verts) not in on_bones


def move(made: bpy.types.Object, places: dict[int, np.ndarray]) -> None:
    """Moves vertices."""
    with editing(made) as mesh:
        for vertex, place in places.items():
            mesh.verts[vertex].co = place.tolist()


def extrude(made: bpy.types.Object, places: dict[int, np.ndarray], faces) -> None:
    """Adds the faces of an extrusion (`logic.hand_lattice.extrusion`), and selects its far faces alone."""
    with editing(made) as mesh:
        for items in (mesh.faces, mesh.edges, mesh.verts):
            for item in items:
                item.select = False
        copies = {-1 - vertex: mesh.verts.new(place.tolist()) for vertex, place in places.items()}
        mesh.verts.ensure_lookup_table()
        for face in faces:
            corners = [copies[v] if v < 0 else mesh.verts[v] for v in face]
            known = mesh.faces.get(corners)
            far = known or mesh.faces.new(corners)
            if all(v < 0 for v in face):
                far.select_set(True)
        index(mesh)


def delete(made: bpy.types.Object, doomed: set[Face]) -> None:
    """Deletes faces, and edges and vertices that no other face uses."""
    with editing(made) as mesh:
        gone = [face for face in mesh.faces if Face(vertex.index for vertex in face.verts) in doomed]
        bmesh.ops.delete(mesh, geom=gone, context="FACES")
        index(mesh)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of a lattice by hand: its mesh made, cells added and deleted, mirrored, and read back."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..live import building, lattice_faults
from ..live.build_settings import BuildSettings
from ..live.session import register as fleshes
from ..live.stages import body_place
from ..logic import hand_lattice as logic
from ..logic.errors import Refusal
from ..logic.hand_lattice import HandLattice
from ..logic.names import describe
from ..logic.native import core
from ..logic.spaces import MeshSpace
from ..saved import edit_callbacks
from ..saved.hand_lattice import edited_mesh
from ..scene import hand_mesh
from ..scene.bind_pose import BindPose
from ..scene.reading import subject


@dataclass
class Surroundings:
    """Contents of a lattice: the character at rest, in metres, and its own space."""

    surface: object  # thew.Surface
    skeleton: object  # thew.Skeleton
    weights: np.ndarray  # [n, b]
    skin: np.ndarray  # [n, 3], the mesh's own space
    space: MeshSpace


def surroundings(context: bpy.types.Context, obj: bpy.types.Object) -> Surroundings:
    """Reads what the lattice of `obj` encloses."""
    if obj is None or obj.type != "MESH" or not obj.thew.made.flesh:
        raise Refusal(f"{describe(obj) if obj else 'Nothing'} has no flesh: press Add Flesh first")
    character, bind_pose = building.read(
        fleshes.state_of(obj), subject(obj, context.view_layer), BindPose.from_saved(obj), context.scene
    )
    place = body_place(character, bind_pose, BuildSettings.from_object(obj, context.scene))
    surface, skeleton, _ = building.make_surroundings(character, bind_pose, place)
    return Surroundings(surface, skeleton, character.weights, character.rest, MeshSpace(place, bind_pose.mesh_matrix))


def present_lattice(obj: bpy.types.Object) -> HandLattice:
    """Returns the lattice that the flesh of `obj` has now; copies of cells are merged."""
    if obj.thew.hand_lattice and obj.thew.use_hand_lattice:
        return HandLattice.unpack(obj.thew.hand_lattice)
    flesh = fleshes.known_state(obj)
    if flesh is None or flesh.lattice is None:
        raise Refusal(f"{describe(obj)} has no lattice yet: press Simulate first, or begin with boxes")
    space = MeshSpace(flesh.place, flesh.bind_pose.mesh_matrix)
    lattice = flesh.lattice
    vertices, faces = lattice.face_mesh()
    ends = [np.asarray(chain)[[0, -1]] for chain in lattice.bone_edges[len(lattice.used_bones) :]]
    tips = [
        (flesh.skeleton.names[bone], *space.mesh(lattice.vertices[pair]).tolist())
        for bone, pair in zip(np.asarray(lattice.tip_bones).tolist(), ends, strict=True)
    ]
    return logic.recognise(core(), space.mesh(vertices), faces, tips)


def boxes(around: Surroundings) -> HandLattice:
    """Returns hexahedra along a chain of bones: from the root on through the bone most in line with the one before."""
    skeleton = around.skeleton
    heads, tails = around.space.mesh(skeleton.heads), around.space.mesh(skeleton.tails)
    carried = np.asarray(around.weights).sum(axis=0) > 0.0
    chain = logic.straightest_chain(heads, tails, np.asarray(skeleton.parents), carried)
    lengths = np.linalg.norm(tails - heads, axis=1)
    joints: list[np.ndarray] = []
    near = 1e-4 * max(float(lengths[chain].sum()), 1e-12)
    for bone in chain:
        for end in (heads[bone], tails[bone]):
            if not joints or np.linalg.norm(end - joints[-1]) > near:
                joints.append(end)
    if len(joints) < 2:
        raise Refusal("No bone with a length carries this mesh: boxes need one to run along")
    return logic.boxes_along(np.array(joints), around.skin)


def show(
    context: bpy.types.Context, obj: bpy.types.Object, hand: HandLattice, around: Surroundings
) -> bpy.types.Object:
    """Shows a lattice in its editable mesh, made where it is missing, and makes that the active object."""
    vertices, faces = core().Lattice(hand.vertices, hand.cells).face_mesh()
    edges = bone_edges(hand, around)
    made, active = edited_mesh(obj), context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    if made is None:
        made = hand_mesh.make(context, obj, np.asarray(vertices), faces, edges)
    else:
        hand_mesh.write(made, np.asarray(vertices), faces, edges)
        context.view_layer.objects.active = made
    made.thew.hand_lattice, made.thew.lattice_of, obj.thew.hand_mesh = hand.pack(), obj, made
    lattice_faults.forget(obj)
    return made


def bone_edges(hand: HandLattice, around: Surroundings) -> list[tuple[int, int]]:
    """Returns the edges of a lattice that lie on bones or tips."""
    skeleton, space = around.skeleton, around.space
    bones = np.stack([space.mesh(skeleton.heads), space.mesh(skeleton.tails)], axis=1)
    pieces = [*bones, *(np.array([head, tail]) for _, head, tail in hand.tips)]
    wires = logic.cell_wires(hand.cells, range(len(hand.cells)))
    lengths = np.linalg.norm(hand.vertices[wires[:, 0]] - hand.vertices[wires[:, 1]], axis=1)
    found = np.zeros(len(wires), dtype=bool)
    for head, tail in pieces:
        off = [logic.distance_to_segment(hand.vertices[wires[:, k]], head, tail) for k in (0, 1)]
        found |= np.maximum(*off) < logic.ON_BONE * lengths
    return [tuple(edge) for edge in wires[found].tolist()]


def mesh_of(obj: bpy.types.Object) -> bpy.types.Object:
    """Returns the editable mesh of a lattice; raises a `Refusal` where there is none."""
    made = None if obj is None else edited_mesh(obj)
    if made is None:
        raise Refusal(f"{describe(obj) if obj else 'Nothing'} has no lattice to edit: press Edit Lattice first")
    return made


def has_edits(obj: bpy.types.Object | None) -> bool:
    """Returns whether the editable mesh of `obj` holds edits that the flesh does not use, which another lattice would replace."""
    made = None if obj is None else edited_mesh(obj)
    if made is None or not made.thew.hand_lattice:
        return False
    vertices, faces = hand_mesh.read(made)
    kept = HandLattice.unpack(made.thew.hand_lattice)
    if vertices.shape != kept.vertices.shape:
        return True
    moved = np.abs(vertices - kept.vertices).max(initial=0.0) > 1e-6 * float(np.ptp(kept.vertices))
    return bool(moved) or {logic.Face(face) for face in faces} != set(logic.cells_at_faces(kept.cells))


def read(obj: bpy.types.Object) -> tuple[bpy.types.Object, HandLattice, list[int]]:
    """Returns the editable mesh of `obj`, the lattice it holds, and the mesh's vertex of each of the lattice's."""
    made = mesh_of(obj)
    vertices, faces = hand_mesh.read(made)
    tips = HandLattice.unpack(made.thew.hand_lattice).tips if made.thew.hand_lattice else []
    with lattice_faults.shown_at(obj):
        hand = logic.recognise(core(), vertices, faces, tips)
    return made, hand, sorted({v for face in faces for v in face})


def add_cells(obj: bpy.types.Object) -> int:
    """Extrudes the selected outer faces of the editable mesh to cells, and returns their number."""
    made, hand, numbers = read(obj)
    index = {v: i for i, v in enumerate(numbers)}
    chosen = [[index[v] for v in face] for face in hand_mesh.selected_faces(made)]
    if not chosen:
        raise Refusal(f"No face of {describe(made)} is selected: select quads or triangles on its outside")
    sides = logic.free_sides(hand.cells, chosen)
    places, faces = logic.extrusion(hand.vertices, sides)
    back = [[numbers[v] if v >= 0 else -1 - numbers[-1 - v] for v in face] for face in faces]
    hand_mesh.extrude(made, {numbers[v]: place for v, place in places.items()}, back)
    return len(sides)


def delete_cells(obj: bpy.types.Object) -> int:
    """Deletes the selected cells of the editable mesh, and returns their number."""
    made, hand, numbers = read(obj)
    index = {v: i for i, v in enumerate(numbers)}
    chosen = logic.chosen_cells(hand.cells, [[index[v] for v in face] for face in hand_mesh.selected_faces(made)])
    if not chosen:
        raise Refusal(
            f"No cell of {describe(made)} is selected: select all faces of a cell, or one of its faces on the outside"
        )
    doomed = logic.doomed_faces(hand.cells, chosen)
    hand_mesh.delete(made, {logic.Face(numbers[v] for v in face) for face in doomed})
    return len(chosen)


def symmetrize(context: bpy.types.Context, obj: bpy.types.Object, side: int) -> int:
    """Makes the editable mesh mirror symmetric about its own x = 0, from the side kept (1: x > 0), and returns its number of cells."""
    made, hand, _ = read(obj)
    around = surroundings(context, obj)
    wires = logic.cell_wires(hand.cells, range(len(hand.cells)))
    edges = np.linalg.norm(hand.vertices[wires[:, 0]] - hand.vertices[wires[:, 1]], axis=1)
    tolerance = logic.ON_PLANE * float(np.median(edges))
    vertices, cells = logic.mirrored_lattice(hand.vertices, hand.cells, tolerance, side)
    tips = logic.mirrored_tips(hand.tips, bpy.utils.flip_name, tolerance, side)
    new = HandLattice(vertices, cells, tips)
    points, faces = core().Lattice(vertices, cells).face_mesh()
    hand_mesh.write(made, np.asarray(points), faces, bone_edges(new, around))
    made.thew.hand_lattice = new.pack()
    return len(cells)


def use(context: bpy.types.Context, obj: bpy.types.Object) -> tuple[int, list[str]]:
    """Reads the editable mesh back, and lets the flesh of `obj` use its cells; returns their number, and notes.

    Raises a `Refusal` where a condition is broken: the last good lattice stays.
    """
    made, hand, numbers = read(obj)
    around = surroundings(context, obj)
    with lattice_faults.shown_at(obj):
        lattice = logic.fit(core(), hand, around.surface, around.skeleton, around.weights, around.space)
    snapped = around.space.mesh(np.asarray(lattice.vertices)[: len(hand.vertices)])
    far = np.linalg.norm(snapped - hand.vertices, axis=1) > 1e-6 * max(float(np.ptp(hand.vertices)), 1e-12)
    hand.vertices[far] = snapped[far]
    hand_mesh.move(made, {numbers[i]: snapped[i] for i in np.flatnonzero(far)})
    made.thew.hand_lattice = obj.thew.hand_lattice = hand.pack()
    if obj.thew.use_hand_lattice:
        edit_callbacks.call_on_change(obj.thew, None)
    else:
        obj.thew.use_hand_lattice = True
    return len(hand.cells), list(lattice.notes)

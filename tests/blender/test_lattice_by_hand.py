# SPDX-License-Identifier: GPL-3.0-or-later
"""A lattice by hand: shown as a mesh, edited, read back; broken conditions named and drawn; kept by files, undo and a new skin."""

from __future__ import annotations

from types import SimpleNamespace

import bmesh
import bpy
import numpy as np
import pytest
from helpers import Layout, activate, flesh_of, part, play, refusal, size_of


@pytest.fixture
def boxed(fleshed_character):
    """Builds a character with flesh, and boxes along its bones in an editable mesh: (mesh of the character, mesh of the lattice)."""
    body, _ = fleshed_character
    bpy.ops.thew.simulate()
    assert bpy.ops.thew.lattice_edit(source="BOXES") == {"FINISHED"}
    return body, body.thew.hand_mesh


def places(mesh) -> np.ndarray:
    return np.array([vertex.co[:] for vertex in mesh.data.vertices])


def corners(cells) -> list:
    return sorted(sorted(cell) for cell in cells)


def used(body):
    """Returns the lattice by hand that was saved."""
    return part("logic.hand_lattice").HandLattice.unpack(body.thew.hand_lattice)


def faults(body):
    return part("live.lattice_faults").of(body)


def test_present_lattice_round_trip(fleshed_character):
    """The automatic lattice, shown and used unedited, moves the flesh as before."""
    body, _ = fleshed_character
    bpy.ops.thew.simulate()
    before, lattice = play(body, (6, 11, 16)), flesh_of(body).lattice
    assert bpy.ops.thew.lattice_edit() == {"FINISHED"}
    made = body.thew.hand_mesh
    assert bpy.context.view_layer.objects.active == made and made.hide_render
    assert part("live.target").target_mesh(bpy.context) == body
    assert {len(polygon.vertices) for polygon in made.data.polygons} == {3}
    sharp = [edge for edge in made.data.edges if edge.use_edge_sharp]
    assert len(sharp) == sum(len(chain) - 1 for chain in lattice.bone_edges)
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    now = flesh_of(body).lattice
    assert len(now.cells) == len(lattice.cells) and list(now.tip_bones) == list(lattice.tip_bones)
    assert np.abs(play(body, (6, 11, 16)) - before).max() < 2e-3 * size_of(before[0])


def test_boxes_move_flesh(boxed):
    """Boxes along the bones hold the body: hexahedra alone, bones on their edges, and the flesh sways."""
    body, made = boxed
    assert {len(polygon.vertices) for polygon in made.data.polygons} == {4}
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    flesh = flesh_of(body)
    assert {len(cell) for cell in flesh.lattice.cells} == {8} and list(flesh.lattice.used_bones) == [0, 1, 2]
    assert flesh.defects == []
    body.thew.enabled = False
    plain = play(body, (6, 11, 16))
    body.thew.enabled = True
    assert np.abs(play(body, (6, 11, 16)) - plain).max() > 1e-3 * size_of(plain[0])


def middle_vertex(made, height: float) -> int:
    """Returns the vertex on the bones nearest to a height."""
    return int(np.argmin(np.linalg.norm(places(made) - [0.0, 0.0, height], axis=1)))


def test_bone_vertices_snap(boxed):
    """A vertex dragged a little off its bone moves back onto it when the lattice is used."""
    body, made = boxed
    vertex = middle_vertex(made, 0.9)
    made.data.vertices[vertex].co += type(made.data.vertices[vertex].co)((0.015, -0.01, 0.0))
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    assert np.abs(places(made)[vertex][:2]).max() < 1e-5
    assert np.abs(used(body).vertices[vertex][:2]).max() < 1e-6


@pytest.mark.parametrize(
    ("vertex", "to", "words"),
    [
        ("bone", (0.15, 0.0, 0.9), ("Bones run along edges", "“Spine”")),
        ("top", (0.0, 0.0, 1.82), ("The body lies inside", "the skin leaves the lattice")),
        ("corner", (-0.5, -0.5, 0.9), ("No cell is turned over",)),
    ],
)
def test_broken_condition_is_named(boxed, vertex, to, words):
    """A broken condition is named with its place and drawn in red; the last good lattice stays; mended, it is used."""
    body, made = boxed
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    good, text = places(made), body.thew.hand_lattice
    index = middle_vertex(made, 2.0 if vertex == "top" else 0.9)
    if vertex == "corner":
        level = np.abs(good[:, 2] - 0.9) < 1e-3
        index = int(np.argmax(np.where(level, np.abs(good[:, :2]).sum(axis=1), -1.0)))
    made.data.vertices[index].co = np.sign(good[index] if vertex == "corner" else 1.0) * np.array(to)
    said = refusal(bpy.ops.thew.lattice_use)
    assert all(word in said for word in words), said
    assert body.thew.hand_lattice == text and body.thew.use_hand_lattice
    (lines, colour, _), (points, _, _) = part("ui.hand_overlay").drawings(body)
    assert len(lines) + len(points) and colour[0] > 0.9 and np.isfinite(lines).all() and np.isfinite(points).all()
    layout = Layout()
    part("ui.hand_panel").draw_lattice(layout, bpy.context, body, 400)
    assert any(words[0].split()[0] in word for word in layout.read())
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}  # with the last good lattice, which says nothing about this one
    assert faults(body) is not None
    made.data.vertices[index].co = good[index]
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    assert faults(body) is None and part("ui.hand_overlay").drawings(body) == []


def test_undo_forgets_faults(boxed):
    """Undo takes the red places and their sentence away with the edit that broke the lattice."""
    body, made = boxed
    bpy.ops.ed.undo_push(message="whole")
    name = body.name
    made.data.vertices[middle_vertex(made, 0.9)].co = (0.15, 0.0, 0.9)
    bpy.ops.ed.undo_push(message="broken")
    refusal(bpy.ops.thew.lattice_use)
    assert faults(body) is not None
    bpy.ops.ed.undo()
    body = bpy.data.objects[name]
    assert faults(body) is None and part("ui.hand_overlay").drawings(body) == []
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}


def select(made, chosen) -> None:
    """Selects faces by a test of their middle and normal."""
    bpy.context.view_layer.objects.active = made
    for item in (*made.data.vertices, *made.data.edges):
        item.select = False
    for polygon in made.data.polygons:
        polygon.select = bool(chosen(polygon))


def is_top(made):
    top = places(made)[:, 2].max()
    return lambda polygon: polygon.center[2] > top - 1e-4


@pytest.mark.parametrize("mode", ["OBJECT", "EDIT"])
def test_add_and_delete_cells(boxed, mode):
    """Selected quads become hexahedra that share their sides; deleted, the lattice is as before. In both modes."""
    _, made = boxed
    before, faces = places(made), len(made.data.polygons)
    select(made, is_top(made))
    bpy.ops.object.mode_set(mode=mode)
    assert bpy.ops.thew.lattice_add_cell() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    assert len(made.data.vertices) == len(before) + 9 and len(made.data.polygons) == faces + 16
    assert sum(polygon.select for polygon in made.data.polygons) == 4
    hand = part("edit.hand_lattice").read(part("live.target").target_mesh(bpy.context))[1]
    assert all(part("logic.native").core().Lattice(hand.vertices, hand.cells).face_mesh()[1])
    bpy.ops.object.mode_set(mode=mode)
    assert bpy.ops.thew.lattice_delete_cell() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    assert len(made.data.polygons) == faces
    np.testing.assert_allclose(sorted(places(made).tolist()), sorted(before.tolist()), atol=1e-6)


def test_triangle_becomes_prism(fleshed_character):
    """A selected triangle of a lattice of tetrahedra becomes a prism, and the flesh uses both."""
    body, _ = fleshed_character
    bpy.ops.thew.simulate()
    bpy.ops.thew.lattice_edit()
    made = body.thew.hand_mesh
    hand = part("edit.hand_lattice").read(body)[1]
    free = {face for face, owners in part("logic.hand_lattice").cells_at_faces(hand.cells).items() if len(owners) == 1}
    outer = [p.index for p in made.data.polygons if frozenset(p.vertices) in free]
    highest = max(outer, key=lambda i: made.data.polygons[i].center[2])
    select(made, lambda polygon: polygon.index == highest)
    assert bpy.ops.thew.lattice_add_cell() == {"FINISHED"}
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    kinds = [len(cell) for cell in flesh_of(body).lattice.cells]
    assert kinds.count(6) == 1 and set(kinds) == {4, 6}


def sway(body, **values) -> float:
    """Simulates with settings; returns how far flesh moves from the plain skin, as a share of the body's size."""
    for name, value in values.items():
        setattr(body.thew, name, value)
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    body.thew.enabled = False
    plain = play(body, (6, 11, 16))
    body.thew.enabled = True
    shown = play(body, (6, 11, 16))
    assert np.isfinite(shown).all()
    return np.abs(shown - plain).max() / size_of(plain[0])


@pytest.mark.parametrize("method", ["linearised", "linear", "blended", "warped", "nonlinear"])
def test_methods_move_boxes(boxed, method):
    """Flesh in hexahedra made by hand sways by every method, about as far as by the default one, which is back unchanged after it."""
    body, _ = boxed
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    body.thew.rate = 48.0
    default = sway(body)
    assert default > 1e-3
    assert 0.2 * default < sway(body, method=method) < 5.0 * default
    assert {len(cell) for cell in flesh_of(body).lattice.cells} == {8}
    assert sway(body, method="hyperelastic") == default


def test_levels_on_boxes(boxed):
    """Fine Detail refines hexahedra made by hand, with Adaptive too: bones stay straight, and the flesh sways about as far."""
    body, _ = boxed
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    body.thew.rate = 48.0
    coarse = sway(body)
    nodes = flesh_of(body).body.node_count
    fine = sway(body, levels=1)
    assert flesh_of(body).body.node_count > 2 * nodes and flesh_of(body).body.basis_levels == 1
    assert 0.3 * coarse < fine < 3.0 * coarse
    assert abs(sway(body, adaptive=True) - fine) < 0.01
    assert len(flesh_of(body).clip.active_functions)


def test_cells_refused(boxed):
    """Cells are not added to inner faces, nor deleted where the hole would read as a cell, nor without a selection."""
    body, made = boxed
    select(made, lambda _polygon: False)
    assert "No face" in refusal(bpy.ops.thew.lattice_add_cell)
    assert "No cell" in refusal(bpy.ops.thew.lattice_delete_cell)
    select(made, lambda polygon: np.abs(polygon.center[2] - 0.9) < 1e-3)
    assert "both sides" in refusal(bpy.ops.thew.lattice_add_cell)
    select(made, lambda _polygon: True)
    assert "all cells" in refusal(bpy.ops.thew.lattice_delete_cell)
    made.data.clear_geometry()
    assert "no faces" in refusal(bpy.ops.thew.lattice_use)
    bpy.data.objects.remove(made)
    activate(body)
    assert "press Edit Lattice" in refusal(bpy.ops.thew.lattice_use)


def test_loose_face_is_drawn(boxed):
    """A face that closes no cell is named and drawn."""
    body, made = boxed
    mesh = bmesh.new()
    mesh.from_mesh(made.data)
    mesh.verts.ensure_lookup_table()
    mesh.faces.new([mesh.verts[0], mesh.verts[1], mesh.verts.new((2.0, 0.0, 0.0))])
    mesh.to_mesh(made.data)
    mesh.free()
    assert "closes no cell" in refusal(bpy.ops.thew.lattice_use)
    assert len(faults(body).lines) == 3 and len(faults(body).points) == 3


def test_edits_not_lost_unasked(boxed):
    """Moved vertices and added cells count as edits until they are used: another lattice replaces them only after a question."""
    body, made = boxed
    edited = part("edit.hand_lattice").has_edits
    assert not edited(body)
    made.data.vertices[0].co.x -= 0.01
    assert edited(body)
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    assert not edited(body)
    select(made, is_top(made))
    assert bpy.ops.thew.lattice_add_cell() == {"FINISHED"}
    assert edited(body)
    assert bpy.ops.thew.lattice_edit(source="BOXES") == {"FINISHED"}  # a script is not asked
    assert not edited(body)


@pytest.mark.parametrize("rest", [False, True])
def test_panel_stands_character_at_rest(boxed, rest):
    """While a lattice is edited the panel offers the rest pose, and says where the lattice is until it is taken."""
    body, _ = boxed
    part("scene.reading").armature_of(body).data.pose_position = "REST" if rest else "POSE"
    layout = Layout()
    part("ui.hand_panel").draw_lattice(layout, bpy.context, body, 400)
    words = layout.read()
    assert "[pose_position]" in words
    assert any("at rest" in text for text in words) is not rest
    calls = [call[0] for call in layout.seen]
    assert rest or {"prop", "operator"}.isdisjoint(calls[max(i for i, call in enumerate(calls) if call == "label") :])


def test_boxes_follow_the_spine():
    """Boxes run from the root through the bones most in line, not along the longest arm."""
    heads = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [0.2, 0, 2], [1.2, 0, 2]], dtype=float)
    tails = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 2.5], [1.2, 0, 2], [4, 0, 2]], dtype=float)
    parents, carried = np.array([-1, 0, 1, 1, 3]), np.ones(5, dtype=bool)
    chain = part("logic.hand_lattice").straightest_chain
    assert chain(heads, tails, parents, carried) == [0, 1, 2]
    carried[[0, 2]] = False
    assert chain(heads, tails, parents, carried) == [1, 3, 4]


def test_many_fault_points_are_small(boxed):
    """Single points of a fault are drawn large, many of them small: they show the body under them."""
    body, made = boxed
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    overlay, found = part("ui.hand_overlay"), []
    for height in (1.82, 0.95):
        for vertex in made.data.vertices:
            vertex.co.z = min(vertex.co.z, height)
        refusal(bpy.ops.thew.lattice_use)
        (_, _, _), (points, _, size) = overlay.drawings(body)
        found.append((len(points) < overlay.MANY_POINTS, size == overlay.POINT_SIZE))
    assert all(few == large for few, large in found)
    faults(body).points = np.zeros((overlay.MANY_POINTS, 3))
    assert overlay.drawings(body)[1][2] == overlay.SMALL_POINT_SIZE


@pytest.mark.parametrize("direction", ["POSITIVE_X", "NEGATIVE_X"])
def test_symmetrize(boxed, direction):
    """One side of the lattice becomes the mirror image of the other; the cells fit as before."""
    _body, made = boxed
    side = 1.0 if direction == "POSITIVE_X" else -1.0
    x = places(made)
    kept = int(np.argmax(side * x[:, 0] + 0.1 * x[:, 2]))
    made.data.vertices[kept].co.x += side * 0.05
    assert bpy.ops.thew.lattice_symmetrize(direction=direction) == {"FINISHED"}
    x = places(made)
    image = x * [-1.0, 1.0, 1.0]
    gaps = np.linalg.norm(x[:, None] - image[None], axis=2).min(axis=1)
    assert gaps.max() < 1e-5
    assert np.isclose((side * x[:, 0]).max(), (-side * x[:, 0]).max(), atol=1e-5)
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}


def test_kept_in_file_and_past_undo(boxed, tmp_path):
    """A used lattice is saved and loaded with the file; undo takes its use back, redo gives it again."""
    body, _ = boxed
    bpy.ops.ed.undo_push(message="shown")
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="used")
    text = body.thew.hand_lattice
    name = body.name
    bpy.ops.ed.undo()
    body = bpy.data.objects[name]
    assert not body.thew.use_hand_lattice and body.thew.hand_mesh is not None
    bpy.ops.ed.redo()
    body = bpy.data.objects[name]
    assert body.thew.use_hand_lattice and body.thew.hand_lattice == text
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hand.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "hand.blend"))
    body = bpy.data.objects[name]
    activate(body)
    assert body.thew.hand_lattice == text
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert {len(cell) for cell in flesh_of(body).lattice.cells} == {8}
    assert bpy.ops.thew.lattice_edit() == {"FINISHED"}
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    assert corners(used(body).cells) == corners(part("logic.hand_lattice").HandLattice.unpack(text).cells)


def subdivide(body) -> None:
    """Replaces the skin by one with four times the faces, weights carried along."""
    mesh = bmesh.new()
    mesh.from_mesh(body.data)
    bmesh.ops.subdivide_edges(mesh, edges=mesh.edges[:], cuts=1, use_grid_fill=True)
    mesh.to_mesh(body.data)
    mesh.free()


def test_survives_new_skin(boxed):
    """The lattice stays when the skin is remeshed; a skin that leaves it is named with the place, until it is back."""
    body, _ = boxed
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    activate(body)
    bpy.ops.thew.simulate()
    cells, text = flesh_of(body).lattice.cells, body.thew.hand_lattice
    subdivide(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert flesh_of(body).lattice.cells == cells and body.thew.hand_lattice == text
    count = len(body.data.vertices)
    assert len(flesh_of(body).surface.vertices) == count
    belly = max(range(count), key=lambda i: body.data.vertices[i].co.x)
    before = body.data.vertices[belly].co.copy()
    body.data.vertices[belly].co.x += 1.0
    body.data.update()
    said = refusal(bpy.ops.thew.simulate)
    assert "the skin leaves the lattice at (" in said
    assert faults(body) is not None and body.thew.hand_lattice == text
    body.data.vertices[belly].co = before
    body.data.update()
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert faults(body) is None


def test_automatic_lattice_again(boxed):
    """Automatic Lattice gives the automatic one back; the one by hand can be chosen again."""
    body, _ = boxed
    automatic = flesh_of(body).lattice.cells
    assert "no lattice by hand" in refusal(bpy.ops.thew.lattice_automatic)
    bpy.ops.thew.lattice_use()
    activate(body)
    bpy.ops.thew.simulate()
    assert flesh_of(body).lattice.cells != automatic
    assert bpy.ops.thew.lattice_automatic() == {"FINISHED"}
    bpy.ops.thew.simulate()
    assert flesh_of(body).lattice.cells == automatic
    body.thew.use_hand_lattice = True
    bpy.ops.thew.simulate()
    assert {len(cell) for cell in flesh_of(body).lattice.cells} == {8}


@pytest.mark.parametrize("text", ["", "nothing", "{}", '{"vertices": [], "cells": [], "tips": []}'])
def test_damaged_lattice_is_refused(fleshed_character, text):
    """A damaged saved lattice is refused with a sentence, and the automatic one takes over on request."""
    body, _ = fleshed_character
    body.thew.hand_lattice, body.thew.use_hand_lattice = text, True
    if text:
        assert "damaged" in refusal(bpy.ops.thew.simulate)
        assert bpy.ops.thew.lattice_automatic() == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}


def test_without_flesh(character):
    """A mesh without flesh has no lattice to edit."""
    assert "no flesh" in refusal(bpy.ops.thew.lattice_edit)


def test_tooltips_tell_both_beginnings():
    """The two buttons of one operator have tooltips of their own."""
    operator = part("operators.hand_lattice").THEW_OT_lattice_edit
    present, boxes = (operator.description(None, SimpleNamespace(source=each)) for each in ("PRESENT", "BOXES"))
    assert "boxes" in boxes and "boxes" not in present


def test_buttons_stay_in_place_when_the_lattice_is_used(boxed):
    """Use This Lattice moves no row above itself: a second click presses it again."""
    body, _ = boxed

    def rows():
        layout = Layout()
        part("ui.hand_panel").draw_lattice(layout, bpy.context, body, 400)
        seen = [call for call in layout.seen if call[0] in {"prop", "operator", "label"}]
        return seen[: [call[1] for call in seen].index("thew.lattice_use") + 1]

    before = len(rows())
    assert bpy.ops.thew.lattice_use() == {"FINISHED"}
    assert len(rows()) == before

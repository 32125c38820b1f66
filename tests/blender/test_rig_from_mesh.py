# SPDX-License-Identifier: GPL-3.0-or-later
"""Rig from Mesh: the pose of a mesh in another pose is found, the armature takes it, and what is left becomes a rig."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest
from helpers import activate, make_character, part, refusal, settle, size_of, world
from mathutils import Quaternion
from test_rig_tool_events import Hand, View, event, tool

FRAME = 5  # the spine is bent


def scan_of(places, faces, name="Scan", shift=(0.0, 0.0, 0.0)) -> bpy.types.Object:
    """Builds a mesh of places [n, 3] in the world."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata((places - np.array(shift)).tolist(), [], [list(face) for face in faces])
    obj = bpy.data.objects.new(name, mesh)
    obj.location = shift
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    return obj


def faces_of(body) -> list:
    return [tuple(face.vertices) for face in body.data.polygons]


def finer(places, faces):
    """Returns a triangle mesh with other vertices on the same surface: each face has one in its middle."""
    middles = np.array([places[list(face)].mean(axis=0) for face in faces])
    fans = [
        (a, b, len(places) + k) for k, face in enumerate(faces) for a, b in zip(face, (*face[1:], face[0]), strict=True)
    ]
    order = np.random.default_rng(3).permutation(len(places) + len(middles))
    both = np.concatenate([places, middles])
    moved = np.empty_like(both)
    moved[order] = both
    return moved, [tuple(int(order[i]) for i in fan) for fan in fans]


def swollen(places) -> np.ndarray:
    """Returns places with a belly that is 5 cm thicker all around."""
    middle = places[np.abs(places[:, 2] - 0.8) < 0.2].mean(axis=0)
    out = (places - middle) * [1.0, 1.0, 0.0]
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)
    return places + 0.05 * np.exp(-(((places[:, 2:] - 0.8) / 0.2) ** 2)) * out


@pytest.fixture
def body(fleshed_character):
    """Returns the mesh of a character with flesh that bends and hops, at a frame in which it stands straight."""
    bpy.context.scene.frame_set(1)
    return fleshed_character[0]


@pytest.fixture
def posed(body):
    """Returns (places of the resting flesh at a frame in which the spine is bent, the turn of the spine there)."""
    bpy.context.scene.frame_set(FRAME)
    settle(body)
    places, bone = world(body), body.modifiers["Armature"].object.pose.bones["Spine"]
    turn = bone.matrix_basis.to_quaternion()
    body.thew.settled = False
    bpy.context.scene.frame_set(1)
    activate(body)
    return places, turn


def turn_of(body, bone="Spine"):
    return body.modifiers["Armature"].object.pose.bones[bone].matrix_basis.to_quaternion()


def test_copy_without_clicks(body, posed):
    """A copy of the mesh in another pose needs no clicks: the spine bends as far, and the skin lies on the copy."""
    places, turn = posed
    wanted = swollen(places)
    scan_of(wanted, faces_of(body))
    assert bpy.ops.thew.rig_from_mesh(source="Scan", driven=False) == {"FINISHED"}
    assert turn_of(body).rotation_difference(turn).angle < 0.05
    rig = body.thew.rigs[-1]
    assert (rig.kind, rig.name, rig.control, rig.problem) == ("SCULPTED", "Scan", 1.0, "")
    settle(body)
    missed = np.linalg.norm(world(body) - wanted, axis=1)
    assert np.sqrt((missed**2).mean()) < 0.4 * np.sqrt(((wanted - places) ** 2).sum(axis=1).mean())


def test_same_shape_makes_no_rig(body, posed):
    """Where the mesh is the flesh in that pose, the armature is posed to a tenth of a degree and the fit has nothing to do."""
    places, turn = posed
    scan_of(places, faces_of(body), shift=(0.0, 0.0, 0.3))
    bpy.ops.thew.rig_from_mesh(source="Scan", driven=False)
    assert turn_of(body).rotation_difference(turn).angle < 0.01
    settle(body)
    assert np.abs(world(body) - places).max() < 0.01 * size_of(places)


def test_scan_with_other_vertices(body, posed):
    """Features pose the character for a mesh with other vertices, and the rig brings the skin to its surface; the pose is keyed."""
    places, turn = posed
    wanted, faces = finer(swollen(places), faces_of(body))
    scan = scan_of(wanted, faces)
    vertices = [2, 5, 8, 41, 46, 49, 72, 75, 78, 122, 125, 129]
    features = json.dumps([[v, *places[v].tolist()] for v in vertices])
    assert bpy.ops.thew.rig_from_mesh(source=scan.name, features=features) == {"FINISHED"}
    assert turn_of(body).rotation_difference(turn).angle < 0.05
    rig = body.thew.rigs[-1]
    driver = part("rigs.drivers").driver_of(rig)
    assert driver.driver.variables[0].targets[0].bone_target == "Spine"
    bpy.context.scene.frame_set(3)
    bpy.context.scene.frame_set(1)  # the keys hold the pose
    assert turn_of(body).rotation_difference(turn).angle < 0.05
    settle(body)
    surface = part("logic.native").core().Surface(wanted, np.array(faces, dtype=np.int32))
    _, missed, _ = surface.closest_point(world(body))
    _, before, _ = surface.closest_point(places)
    assert np.sqrt((missed**2).mean()) < 0.6 * np.sqrt((before**2).mean())


def test_rough_clicks_turn_no_bone_far(body, posed):
    """Clicks that are off by 2 cm leave each bone within 20 degrees of its true turn, also where a few of them tell of it."""
    places, turn = posed
    scan = scan_of(*finer(places, faces_of(body)))
    vertices = [2, 8, 41, 49, 72, 78, 122, 129]
    clicks = places[vertices] + np.random.default_rng(4).normal(scale=0.012, size=(len(vertices), 3))
    features = json.dumps([[v, *click.tolist()] for v, click in zip(vertices, clicks, strict=True)])
    assert bpy.ops.thew.rig_from_mesh(source=scan.name, features=features, driven=False) == {"FINISHED"}
    for bone in body.modifiers["Armature"].object.pose.bones:
        true = turn if bone.name == "Spine" else Quaternion()
        assert turn_of(body, bone.name).rotation_difference(true).angle < np.radians(20.0), bone.name


def test_pose_is_taken_back(body, posed):
    """Whatever is refused leaves pose and rigs as they were."""
    places, _ = posed
    scan, refused = scan_of(places, faces_of(body)), bpy.ops.thew.rig_from_mesh
    other = scan_of(*finer(places, faces_of(body)), name="Other")
    before = world(body)
    rows = [[v, *places[v].tolist()] for v in (2, 49, 75)]
    assert "posed mesh in addition" in refusal(refused)
    assert "no mesh “Nowhere”" in refusal(refused, source="Nowhere")
    assert "itself is no other pose" in refusal(refused, source="Body")
    assert "tool" not in refusal(refused, source="Other") and "features" in refusal(refused, source="Other")
    assert "too few" in refusal(refused, source="Other", features=json.dumps(rows[:2]))
    assert "too few" in refusal(refused, source="Other", features=json.dumps([rows[0]] * 3))
    line = [[v, 0.0, 0.0, float(v)] for v in (2, 49, 75)]
    assert "line" in refusal(refused, source="Other", features=json.dumps(line))
    for bad in ("nothing", "[[1, 2]]", "[[9999, 0, 0, 0]]", "[[0.5, 0, 0, 0]]", "[[0, 0, 0, NaN]]"):
        assert "Features" in refusal(refused, source="Other", features=bad)
    assert "no vertex group" in refusal(refused, source="Scan", group="Nose")
    scan.scale = (0.2, 0.2, 0.2)
    bpy.context.view_layer.update()
    assert "size of both" in refusal(refused, source="Scan")
    scan.scale, scan.location = (1.0, 1.0, 1.0), (50.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert "move it beside" in refusal(refused, source="Scan")
    other.data.clear_geometry()
    assert "no faces" in refusal(refused, source="Other")
    np.testing.assert_array_equal(world(body), before)
    assert len(body.thew.rigs) == 0


def test_constrained_bone_is_named(body, posed):
    """An armature that something else poses is left alone, and the sentence names the bone."""
    scan_of(posed[0], faces_of(body))
    bone = body.modifiers["Armature"].object.pose.bones["Spine"]
    bone.constraints.new("LIMIT_ROTATION").use_limit_x = True
    before = turn_of(body)
    text = refusal(bpy.ops.thew.rig_from_mesh, source="Scan")
    assert "“Spine”" in text and "constraint" in text
    assert turn_of(body) == before


def test_clicks(scene, monkeypatch):
    """Clicks on both meshes make pairs of one colour each; Ctrl+Z takes one back; Enter finds the pose; Esc leaves nothing."""
    body, _ = make_character()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    scene.frame_set(FRAME)
    settle(body)
    places = world(body)
    body.thew.settled = False
    scene.frame_set(1)
    wanted, faces = finer(places, faces_of(body))
    scan = scan_of(wanted, faces)
    shift = np.array([1.5, 0.0, 0.0])
    scan.location = shift
    activate(body)
    scan.select_set(True)
    bpy.context.view_layer.update()
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    hand = Hand(monkeypatch)
    context, said = hand.context(), []
    context.workspace.status_text_set = said.append
    context.view_layer, context.selected_objects = bpy.context.view_layer, [body, scan]
    made = tool("posed_mesh", "THEW_OT_rig_from_mesh", driven=False)
    hand.view = View((9.0, 0.0, 0.0))
    assert made.invoke(context, event("MOUSEMOVE")) <= {"RUNNING_MODAL", "PASS_THROUGH"}

    def click(point):
        hand.view = View(point)
        return made.modal(context, event("LEFTMOUSE"))

    rest = world(body)
    front = [v for v in (4, 6, 46, 48, 74, 76, 124, 126) if rest[v, 1] < 0.0]
    made_pairs = made.pairs
    assert click((9.0, 0.0, 0.0)) == {"RUNNING_MODAL"}
    assert "neither" in made.reported[-1][1] and made_pairs.waiting is None
    for v in front:
        assert click(rest[v] * 0.999) == {"RUNNING_MODAL"}
        assert made_pairs.waiting is not None and "other mesh" in said[-1]
        assert click(places[v] + shift) == {"RUNNING_MODAL"}
    assert len(made_pairs.pairs) == len(front) and len(made_pairs.drawings()) == 2 * len(front)
    made.modal(context, event("Z", ctrl=True))
    made.modal(context, event("Z", ctrl=True))
    for _ in range(len(front) - 3):
        made.modal(context, event("Z", ctrl=True))
    assert len(made_pairs.pairs) == 1
    assert made.modal(context, event("RET")) == {"RUNNING_MODAL"}
    assert "too few" in made.reported[-1][1]
    for v in front[1:]:
        click(rest[v] * 0.999)
        click(places[v] + shift)
    assert made.modal(context, event("RET")) == {"FINISHED"}
    hips = body.modifiers["Armature"].object.pose.bones["Hip"]
    assert hips.matrix.translation.x == pytest.approx(shift[0], abs=0.1)
    assert (hand.timers, hand.drawn, said[-1]) == (0, 0, None)
    again = tool("posed_mesh", "THEW_OT_rig_from_mesh")
    again.invoke(context, event("MOUSEMOVE"))
    assert again.modal(context, event("ESC")) == {"CANCELLED"}
    assert (hand.timers, hand.drawn, said[-1]) == (0, 0, None)

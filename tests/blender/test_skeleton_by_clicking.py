# SPDX-License-Identifier: GPL-3.0-or-later
"""A skeleton by clicking: joints midway through the body, mirrored, taken back, bound with weights; then flesh is added."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, make_armature, make_body, part, refusal
from test_rig_tool_events import Hand, View, event, tool


def make_figure() -> bpy.types.Object:
    """Builds a closed body of boxes in one piece: a trunk with two legs and two arms, mirror symmetric about x = 0, without bones."""
    cells = {(0, k) for k in range(4, 9)} | {(i, 7) for i in range(-4, 5)} | {(s, k) for s in (-1, 1) for k in range(5)}
    return build_cells("Figure", cells | {(s, 4) for s in (-1, 1)})


def build_cells(name: str, cells) -> bpy.types.Object:
    """Builds the outside of unit cubes at (x, z), 0.2 m wide and deep."""
    sides = [((1, 0), 1), ((-1, 0), 0), ((0, 1), 3), ((0, -1), 2)]
    quads = []
    for x, z in sorted(cells):
        low, high = (x - 0.5, z), (x + 0.5, z + 1.0)
        for y in (-0.5, 0.5):
            quad = [(low[0], y, low[1]), (high[0], y, low[1]), (high[0], y, high[1]), (low[0], y, high[1])]
            quads.append(quad if y < 0 else quad[::-1])
        for (dx, dz), side in sides:
            if (x + dx, z + dz) in cells:
                continue
            ends = {
                0: [(low[0], low[1]), (low[0], high[1])],
                1: [(high[0], high[1]), (high[0], low[1])],
                2: [(high[0], low[1]), (low[0], low[1])],
                3: [(low[0], high[1]), (high[0], high[1])],
            }[side]
            (a, b), (c, d) = ends
            quads.append([(a, -0.5, b), (a, 0.5, b), (c, 0.5, d), (c, -0.5, d)][::-1])
    places, faces = {}, []
    for quad in quads:
        faces.append([places.setdefault(corner, len(places)) for corner in quad])
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(0.2 * x, 0.2 * y, 0.2 * z) for x, y, z in places], [], faces)
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    activate(obj)
    bpy.context.view_layer.update()
    return obj


@pytest.fixture
def hand(scene, monkeypatch):
    """Builds a figure without bones, and a hand over it."""
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    made = Hand(monkeypatch)
    made.body = make_figure()
    yield made
    assert (made.timers, made.drawn) == (0, 0)  # nothing of the tool is left


class Clicking:
    """The tool in the hand."""

    def __init__(self, hand, **properties):
        self.hand, self.context = hand, hand.context()
        self.tool = tool("skeleton", "THEW_OT_skeleton_click", **properties)
        self.status: list = []
        self.context.workspace.status_text_set = self.status.append
        self.context.collection = bpy.context.scene.collection
        hand.view = View((50.0, 0.0, 0.0))
        assert self.tool.invoke(self.context, event("MOUSEMOVE")) <= {"RUNNING_MODAL", "PASS_THROUGH"}

    def click(self, x, z, **keys) -> set:
        self.hand.view = View((x, 0.0, z))
        return self.tool.modal(self.context, event("LEFTMOUSE", **keys))

    def press(self, key, **keys) -> set:
        return self.tool.modal(self.context, event(key, **keys))

    @property
    def places(self) -> np.ndarray:
        return np.array(self.tool._stand.clicks.joints.places)


def bones(body) -> dict:
    """Returns (parent, head, tail) by the names of the bones of the armature that moves a mesh, world space."""
    armature = part("scene.reading").armature_of(body)
    matrix = armature.matrix_world
    return {
        bone.name: (
            bone.parent.name if bone.parent else "",
            np.array(matrix @ bone.head_local),
            np.array(matrix @ bone.tail_local),
        )
        for bone in armature.data.bones
    }


def test_clicks_make_bones(hand):
    """Joints lie midway through the body, each click adds a bone, and Enter makes an armature that moves the mesh."""
    body = hand.body
    clicking = Clicking(hand, mirror=False)
    for z in (0.9, 1.2, 1.7):
        assert clicking.click(0.03, z) == {"RUNNING_MODAL"}
    np.testing.assert_allclose(clicking.places, [[0.03, 0, 0.9], [0.03, 0, 1.2], [0.03, 0, 1.7]], atol=1e-6)
    lines, joints, active = clicking.tool.marks()
    assert len(lines[0]) == 2 and len(joints[0]) == 3 and len(active[0]) == 1
    assert clicking.press("RET") == {"FINISHED"}
    found = bones(body)
    assert list(found) == ["Bone", "Bone.001"]
    assert found["Bone.001"][0] == "Bone"
    np.testing.assert_allclose(found["Bone"][2], [0.03, 0, 1.2], atol=1e-6)
    assert bpy.context.view_layer.objects.active == body
    assert clicking.status[-1] is None


def test_mirrored_figure_gets_flesh(hand):
    """A mirrored skeleton has a bone on each side with names of sides, one root, weights everywhere; flesh is added and moves."""
    body = hand.body
    clicking = Clicking(hand)
    for x, z in ((0.01, 0.95), (-0.01, 1.5), (0.0, 1.78)):
        clicking.click(x, z)
    clicking.click(0.0, 1.5)  # goes on from the chest
    clicking.click(0.45, 1.5)
    clicking.click(0.85, 1.5)
    clicking.click(0.0, 0.95)  # goes on from the hip
    clicking.click(0.2, 0.85)
    clicking.click(0.2, 0.1)
    assert clicking.press("RET") == {"FINISHED"}
    found = bones(body)
    assert len(found) == 2 + 2 * 2 + 2 * 2
    assert [name for name, bone in found.items() if not bone[0]] == ["Bone"]
    for name, (parent, head, tail) in found.items():
        image = found[bpy.utils.flip_name(name)]
        np.testing.assert_allclose(image[1], head * [-1, 1, 1], atol=1e-6)
        np.testing.assert_allclose(image[2], tail * [-1, 1, 1], atol=1e-6)
        assert image[0] == bpy.utils.flip_name(parent)
        assert (tail[0] > 1e-3) == name.endswith(".L") and (tail[0] < -1e-3) == name.endswith(".R")
    groups = {group.index for group in body.vertex_groups}
    assert all(sum(g.weight for g in v.groups if g.group in groups) > 0.0 for v in body.data.vertices)
    bpy.context.scene.frame_end = 4
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert len(flesh_of(body).lattice.used_bones) == len(found)


def test_take_back_and_escape(hand):
    """Ctrl+Z takes back a click with its image, and the choice of a joint; Escape makes nothing."""
    before = set(bpy.data.objects.keys()), set(bpy.data.armatures.keys()), len(hand.body.modifiers)
    clicking = Clicking(hand)
    clicking.click(0.0, 1.0)
    clicking.click(0.45, 1.5)
    assert len(clicking.places) == 3
    clicking.press("Z", ctrl=True)
    assert len(clicking.places) == 1
    clicking.click(0.0, 1.5)
    clicking.click(0.0, 1.0)  # chooses the first joint
    assert clicking.tool._stand.clicks.joints.active == 0
    clicking.press("Z", ctrl=True)
    assert clicking.tool._stand.clicks.joints.active == 1
    for _ in range(5):  # more than there are
        clicking.press("Z", ctrl=True)
    assert len(clicking.places) == 0
    clicking.click(0.0, 1.0)
    clicking.click(0.0, 1.5)
    assert clicking.press("ESC") == {"CANCELLED"}
    assert (set(bpy.data.objects.keys()), set(bpy.data.armatures.keys()), len(hand.body.modifiers)) == before


def test_click_outside(hand):
    """A click beside the body is reported and makes nothing; Enter before two joints too."""
    clicking = Clicking(hand)
    assert clicking.click(3.0, 1.0) == {"RUNNING_MODAL"}
    assert "no body under the mouse" in clicking.tool.reported[-1][1]
    assert len(clicking.places) == 0
    clicking.click(0.0, 1.0)
    assert clicking.press("RET") == {"RUNNING_MODAL"}
    assert "at least twice" in clicking.tool.reported[-1][1]
    clicking.click(0.0, 1.0)  # chooses the joint: no bone without a length
    assert len(clicking.places) == 1
    clicking.press("ESC")


def test_mirror_key(hand):
    """X switches the mirror off and on within the tool."""
    clicking = Clicking(hand)
    clicking.click(0.0, 1.5)
    clicking.press("X")
    clicking.click(0.45, 1.5)
    assert len(clicking.places) == 2
    clicking.press("X")
    clicking.click(0.0, 1.5)
    clicking.click(0.85, 1.5)
    assert len(clicking.places) == 4
    clicking.press("ESC")


def test_redo_and_script(hand):
    """The joints of a finished tool, given to a script, make the same bones on another mesh; bad ones are refused."""
    body = hand.body
    clicking = Clicking(hand)
    for x, z in ((0.0, 0.95), (0.0, 1.5), (0.45, 1.5)):
        clicking.click(x, z)
    clicking.press("RET")
    made, text = bones(body), clicking.tool.joints
    other = make_figure()
    assert bpy.ops.thew.skeleton_click("EXEC_DEFAULT", joints=text) == {"FINISHED"}
    again = bones(other)
    assert again.keys() == made.keys()
    for name in made:
        np.testing.assert_allclose(again[name][2], made[name][2], atol=1e-6)
    third = make_figure()
    for bad in ("nothing", "[[0, 0]]", "[[0, 0, 0, 0]]", "[[0, 0, null, -1]]", "{}", json.dumps([[0, 0, 1, -1]])):
        assert refusal(bpy.ops.thew.skeleton_click, joints=bad)
    assert len(third.modifiers) == 0
    assert "tool for the mouse" in refusal(bpy.ops.thew.skeleton_click)


def test_refused_meshes(scene):
    """A mesh with bones, one without faces and an armature are refused."""
    body = make_body(make_armature())
    assert "has bones already" in refusal(bpy.ops.thew.skeleton_click, joints="[[0,0,0,-1],[0,0,1,0]]")
    mesh = bpy.data.meshes.new("Empty")
    empty = bpy.data.objects.new("Empty", mesh)
    scene.collection.objects.link(empty)
    activate(empty)
    assert "no faces" in refusal(bpy.ops.thew.skeleton_click, joints="[[0,0,0,-1],[0,0,1,0]]")
    assert body.modifiers


def test_failed_heat_weights(scene):
    """Where Blender's automatic weights fail, as on doubled faces inside others, distances give weights."""
    body = make_figure()
    inner = build_cells("Inner", {(0, 6), (0, 5)})
    inner.data.transform(inner.matrix_world.Scale(0.3, 4))
    inner.location.z = 0.9
    bpy.context.view_layer.update()
    inner.data.transform(inner.matrix_world)
    inner.location.z = 0.0
    for each in (inner, body):
        each.select_set(True)
    bpy.context.view_layer.objects.active = body
    bpy.ops.object.join()
    joints = [[0, 0, 0.9, -1], [0, 0, 1.4, 0], [0, 0, 1.78, 1]]
    assert bpy.ops.thew.skeleton_click(joints=json.dumps(joints)) == {"FINISHED"}
    for vertex in body.data.vertices:
        assert sum(each.weight for each in vertex.groups) > 0.0


def test_symmetrize_skeleton(scene):
    """Bones of one side are mirrored to the other with names of sides and weights."""
    body = make_figure()
    joints = [[0, 0, 0.95, -1], [0, 0, 1.5, 0], [0.45, 0, 1.5, 1], [0.85, 0, 1.5, 2]]
    assert bpy.ops.thew.skeleton_click(joints=json.dumps(joints), mirror=False) == {"FINISHED"}
    assert len(bones(body)) == 3
    assert bpy.ops.thew.skeleton_symmetrize() == {"FINISHED"}
    found = bones(body)
    assert len(found) == 5
    for name, (_, head, tail) in found.items():
        image = found[bpy.utils.flip_name(name)]
        np.testing.assert_allclose(image[1], head * [-1, 1, 1], atol=1e-6)
        np.testing.assert_allclose(image[2], tail * [-1, 1, 1], atol=1e-6)
    hands = [v for v in body.data.vertices if v.co.x < -0.7]
    right = body.vertex_groups[next(name for name in found if name.endswith(".R") and found[name][2][0] < -0.8)]
    assert all(any(g.group == right.index and g.weight > 0.3 for g in v.groups) for v in hands)


def test_distance_weights():
    """Weights by distance sum to one, are largest at the nearest bone, and name at most four bones."""
    logic = part("logic.skeleton_clicks")
    heads = np.arange(6.0)[:, None] * [1.0, 0, 0]
    tails = heads + [0.9, 0, 0]
    points = np.random.default_rng(2).uniform(-1, 7, (50, 3))
    weights = logic.distance_weights(points, heads, tails)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert ((weights > 0).sum(axis=1) <= 4).all()
    off = np.abs(points[:, None, 0] - np.clip(points[:, None, 0], heads[None, :, 0], tails[None, :, 0]))
    nearest = off.argmin(axis=1)
    assert (weights[np.arange(50), nearest] >= weights.max(axis=1) - 1e-12).all()
    on_bone = logic.distance_weights(heads + [0.4, 0, 0], heads, tails)
    np.testing.assert_allclose(on_bone, np.eye(6), atol=1e-9)

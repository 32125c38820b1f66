# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape Key to Rig: a corrective key, or a sculpt at a pose, becomes a rig of the flesh."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, add_rig, evaluated_positions, flesh_of, part, play, refusal, settle, size_of, world

FRAME = 5  # the spine is bent


def add_key(body, name="Swell", size=0.06):
    """Adds a shape key that swells the belly of the body by `size`, and returns its wanted offsets, [n, 3]."""
    if body.data.shape_keys is None:
        body.shape_key_add(name="Basis")
    key = body.shape_key_add(name=name)
    rest = np.array([v.co for v in body.data.vertices])
    out = rest * [1.0, 1.0, 0.0]
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)
    offsets = size * np.exp(-(((rest[:, 2:] - 0.8) / 0.25) ** 2)) * out
    key.points.foreach_set("co", (rest + offsets).astype(np.float32).ravel())
    body.active_shape_key_index = len(body.data.shape_keys.key_blocks) - 1
    return offsets


@pytest.fixture
def body(fleshed_character):
    """Returns the mesh of a character with flesh, at a frame in which its spine is bent."""
    bpy.context.scene.frame_set(FRAME)
    return fleshed_character[0]


def shown_with(body, control):
    """Returns the flesh at rest at a control of the active rig, as the artist sees it."""
    body.thew.rigs[body.thew.active_rig].control = control
    return settle(body).astype(np.float64)


def test_key_becomes_rig(body):
    """The flesh at rest takes the shape of the key at control 1 and none of it at 0; the key no longer acts."""
    offsets = add_key(body)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    rig = body.thew.rigs[-1]
    assert (rig.kind, rig.name, rig.control, rig.problem) == ("SCULPTED", "Swell", 1.0, "")
    assert body.data.shape_keys.key_blocks["Swell"].mute
    moved = shown_with(body, 1.0) - shown_with(body, 0.0)
    turned = np.linalg.norm(moved, axis=1) - np.linalg.norm(offsets, axis=1)
    assert np.sqrt((turned**2).mean()) < 0.35 * np.sqrt((offsets**2).sum(axis=1).mean())
    swollen = np.linalg.norm(offsets, axis=1) > 0.04
    assert np.linalg.norm(moved[swollen], axis=1).min() > 0.02


def test_dialog_names_active_key(body):
    """The dialog shows the name of the key that becomes a rig: the active one, unless it is the basis."""
    active_key = part("operators.sculpt").active_key
    assert active_key(None) == active_key(body) == ""
    add_key(body)
    assert active_key(body) == "Swell"
    body.active_shape_key_index = 0
    assert active_key(body) == ""


def test_sculpt_at_pose_becomes_rig(body):
    """A sculpted copy of the skin at the pose gives the same rig as its way from the skin."""
    settle(body)
    places = world(body)
    belly = np.exp(-(((places[:, 2:] - places[:, 2].mean()) / 0.2) ** 2))
    mesh = bpy.data.meshes.new("Sculpt")
    mesh.from_pydata((places + belly * [0.0, 0.05, 0.0]).tolist(), [], [])
    sculpt = bpy.data.objects.new("Sculpt", mesh)
    bpy.context.scene.collection.objects.link(sculpt)
    activate(body)
    assert bpy.ops.thew.rig_from_shape(sculpt="Sculpt", driven=False) == {"FINISHED"}
    rig = body.thew.rigs[-1]
    assert rig.name == "Sculpt" and rig.problem == ""
    shown_with(body, 1.0)
    missed = world(body) - (places + belly * [0.0, 0.05, 0.0])
    assert np.sqrt((missed**2).mean()) < 0.4 * np.sqrt(((belly * 0.05) ** 2).mean() / 3.0)


def test_bone_that_turns_drives(body):
    """The bone that turns most drives the control: 1 at the pose of the shape, 0 at rest."""
    add_key(body)
    assert bpy.ops.thew.rig_from_shape(steps=2) == {"FINISHED"}
    rig = body.thew.rigs[-1]
    driver = part("rigs.drivers").driver_of(rig)
    assert driver.driver.variables[0].targets[0].bone_target == "Spine"
    bpy.context.view_layer.update()
    assert body.evaluated_get(bpy.context.evaluated_depsgraph_get()).thew.rigs[-1].control == pytest.approx(
        1.0, abs=1e-4
    )
    armature = body.modifiers["Armature"].object
    bpy.context.scene.frame_set(1)
    assert armature.pose.bones["Spine"].rotation_euler[0] == pytest.approx(0.0, abs=1e-6)
    assert body.evaluated_get(bpy.context.evaluated_depsgraph_get()).thew.rigs[-1].control == pytest.approx(
        0.0, abs=1e-4
    )


@pytest.mark.parametrize("region", ["group", "selected"])
def test_region_limits_shape(body, region):
    """Skin outside a vertex group, or outside what is selected, holds still."""
    add_key(body, size=0.04)
    heights = np.array([v.co[2] for v in body.data.vertices])
    low = [int(i) for i in np.flatnonzero(heights < 0.8)]
    if region == "group":
        body.vertex_groups.new(name="Low").add(low, 1.0, "REPLACE")
    body.data.vertices.foreach_set("select", heights < 0.8)
    options = {"group": "Low"} if region == "group" else {"selected": True}
    assert bpy.ops.thew.rig_from_shape(**options, driven=False) == {"FINISHED"}
    moved = np.linalg.norm(shown_with(body, 1.0) - shown_with(body, 0.0), axis=1)
    assert moved[heights > 1.2].max() < 0.5 * moved[(heights > 0.5) & (heights < 0.8)].max()


def test_rig_is_saved_and_moves(body, tmp_path):
    """The rig acts in the motion, is saved with the file, and goes through a rig file."""
    add_key(body)
    plain = play(body, range(1, 11))
    assert bpy.ops.thew.rig_from_shape() == {"FINISHED"}
    shapes = play(body, range(1, 11))
    assert np.abs(shapes - plain).max() > 0.01
    path = tmp_path / "rigs.toml"
    activate(body)
    assert bpy.ops.thew.rig_export(filepath=str(path)) == {"FINISHED"}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "sculpted.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "sculpted.blend"))
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(play(body, range(1, 11)), shapes)
    activate(body)
    assert bpy.ops.thew.rig_import(filepath=str(path)) == {"FINISHED"}
    settle(body)
    first, second = body.thew.rigs[0], body.thew.rigs[1]
    assert (second.kind, second.problem, second.control) == ("SCULPTED", "", 1.0)
    flesh = flesh_of(body)
    forces = [flesh.pushing.natives[i].forces(flesh.body, 1.0) for i in (0, 1)]
    assert np.linalg.norm(forces[0] - forces[1]) < 0.02 * np.linalg.norm(forces[0])
    assert first.name != second.name


def test_rig_follows_real_height(body):
    """The shape keeps its size in the scene when the character's real height changes."""
    add_key(body)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    before = shown_with(body, 1.0) - shown_with(body, 0.0)
    body.thew.real_height *= 1.5
    after = shown_with(body, 1.0) - shown_with(body, 0.0)
    assert np.linalg.norm(after - before) < 0.1 * np.linalg.norm(before)


def test_lost_bone_is_named(body):
    """A rig whose bone was renamed says so, and nothing else breaks."""
    add_key(body)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    rig = body.thew.rigs[-1]
    rig.sculpt = rig.sculpt.replace('"Spine"', '"Tail"')
    settle(body)
    assert "Tail" in body.thew.rigs[-1].problem
    rig.sculpt = "{"
    settle(body)
    assert "damaged" in body.thew.rigs[-1].problem


def test_template_tools_refuse_sculpted_rig(body):
    """Tools of templates say that a sculpted rig has none."""
    add_key(body)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    assert "no template" in refusal(bpy.ops.thew.rig_record)
    assert "no template" in refusal(bpy.ops.thew.rig_measure, by="YIELD")
    assert bpy.ops.thew.rig_duplicate() == {"FINISHED"}
    assert [rig.kind for rig in body.thew.rigs] == ["SCULPTED", "SCULPTED"]
    rig = add_rig(body, bone="Spine")
    assert rig.kind == "FORCE" and rig.problem == ""


def test_shapes_that_cannot_be_fitted_are_refused(body):
    """Each bad shape is refused with a sentence, and no rig is left."""
    refused = bpy.ops.thew.rig_from_shape
    assert "no shape key" in refusal(refused)
    add_key(body, size=0.0)
    assert "already" in refusal(refused)
    assert "no shape key “Nose”" in refusal(refused, key="Nose")
    assert "basis" in refusal(refused, key="Basis")
    assert "no vertex group" in refusal(refused, group="Nose")
    empty = body.vertex_groups.new(name="Empty").name
    assert "No vertex" in refusal(refused, group=empty)
    body.data.vertices.foreach_set("select", np.zeros(len(body.data.vertices), dtype=bool))
    assert "is selected" in refusal(refused, selected=True)
    assert "no mesh" in refusal(refused, sculpt="Nowhere")
    mesh = bpy.data.meshes.new("Few")
    mesh.from_pydata([(0.0, 0.0, 0.0)], [], [])
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Few", mesh))
    activate(body)
    assert "same vertices" in refusal(refused, sculpt="Few")
    add_key(body, "Away", size=50.0)
    assert "farther than the body" in refusal(refused, key="Away")
    assert len(body.thew.rigs) == 0 and np.isfinite(evaluated_positions(body)).all()


def test_rig_follows_renamed_bones(body):
    """Bones that are renamed after the rig was made are found again, also where two swap their names; the skin is as before."""
    add_key(body)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    bpy.context.scene.frame_set(FRAME)
    before = settle(body)
    bones = body.modifiers["Armature"].object.data.bones
    bones["Spine"].name, bones["Hip"].name = "Rückgrat", "x"
    bones["Head"].name = "Hip"
    bones["x"].name = "Head"
    bpy.context.scene.frame_set(FRAME)
    after = settle(body)
    rig = body.thew.rigs[-1]
    assert rig.problem == "" and set(part("logic.sculpted_rigs").bone_names(rig.sculpt)) == {"Rückgrat", "Hip", "Head"}
    np.testing.assert_allclose(after, before, atol=1e-5)
    assert bpy.ops.thew.rig_remove() == {"FINISHED"}
    assert all(bone.get("thew_bone") is None for bone in bones)


def test_overlay_shows_points(body):
    """The view draws what the active sculpted rig holds: its points on the skin, and their offsets at the control."""
    add_key(body)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    overlay, depsgraph = part("ui.rig_overlay"), bpy.context.evaluated_depsgraph_get()
    (needles, _, _), (points, _, _) = overlay.drawings(body, depsgraph)
    assert points.ndim == 2 and len(points) > 20
    skin, shown = world(body), np.linalg.norm(needles[:, 1] - needles[:, 0], axis=1)
    triangles = part("scene.mesh").triangles_of(body.data)
    _, apart, _ = part("logic.native").core().Surface(skin, triangles).closest_point(points)
    gaps = np.linalg.norm(points[:, None] - points, axis=2) + size_of(skin) * np.eye(len(points))
    assert (apart < gaps.min(axis=1)).all() and 0.05 < shown.max() < 0.12  # longer where flesh resists
    body.thew.rigs[-1].control = 0.5
    (half, _, _), _ = overlay.drawings(body, depsgraph)
    np.testing.assert_allclose(half[:, 1] - half[:, 0], 0.5 * (needles[:, 1] - needles[:, 0]), atol=1e-9)
    add_rig(body, bone="Spine")
    bpy.context.view_layer.update()
    found = overlay.drawings(body, bpy.context.evaluated_depsgraph_get())
    assert all(lines.ndim == 3 for lines, _, _ in found)  # another rig is active
    body.thew.rigs[0].sculpt = "{"
    assert overlay.drawings(body, depsgraph) is not None


def test_selected_region_becomes_group(body):
    """Select Region opens edit mode; pressed again it keeps the selection as a group, and begins with that the next time."""
    press = bpy.ops.thew.rig_region
    assert press() == {"FINISHED"} and body.mode == "EDIT"
    assert "lasso" in refusal(press) and body.mode == "EDIT"
    bpy.ops.object.mode_set(mode="OBJECT")
    body.data.vertices.foreach_set("select", np.abs(np.arange(len(body.data.vertices)) - 45) < 7)
    bpy.ops.object.mode_set(mode="EDIT")
    assert press() == {"FINISHED"} and body.mode == "OBJECT"
    group = body.vertex_groups["Rig Region"]
    assert [v.index for v in body.data.vertices if any(g.group == group.index for g in v.groups)] == list(range(39, 52))
    assert press() == {"FINISHED"}
    body.update_from_editmode()
    assert [v.index for v in body.data.vertices if v.select] == list(range(39, 52))
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "other weights" in refusal(press, group="Spine")
    add_key(body)
    assert bpy.ops.thew.rig_from_shape(group="Rig Region", driven=False) == {"FINISHED"}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Helper Bones: bones that play the flesh of all clips, within the error that the bake tells, and leave nothing behind."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from boning import (
    NAME,
    ROUNDING,
    assert_within,
    bake,
    entries,
    everything,
    helpers_of,
    make_carried_dancer,
)
from dancing import ACTIONS, add_action, clip_shapes, frames_of, live_shapes, make_dancer, use
from helpers import activate, flesh_of, make_body, part, play, refusal, size_of


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature above it) with the actions Run (active), Walk and Turn."""
    return make_carried_dancer()


# what is played -------------------------------------------------------------------------------------------------------


def test_helper_bones_play_every_clip(dancer):
    """In each frame of each action the mesh is as far from the live flesh as the record says."""
    body, rig = dancer
    live = live_shapes(body, rig)
    record = bake(body)
    assert body.thew.made.shows_bake and part("scene.bakes").describe_bake(body, record) == "6 helper bones"
    assert sorted((clip.label, clip.start, clip.end) for clip in record.clips) == sorted(
        (name, frames_of(name)[0], frames_of(name)[-1]) for name in ACTIONS
    )
    for clip in record.clips:
        assert_within(clip_shapes(body, rig, clip.label), live[clip.label], clip)
    plain = clip_shapes(body, rig, "Run") * 0.0
    assert all(np.abs(clip_shapes(body, rig, name)).max() > plain.max() for name in ACTIONS)


def test_helper_bones_are_bones_of_the_armature(dancer):
    """They deform, hang on the artist's bones, are named after these and lie in a hidden collection; curves are linear and grouped."""
    body, rig = dancer
    own = {bone.name for bone in rig.data.bones}
    bake(body)
    made = [rig.data.bones[name] for name in helpers_of(rig)]
    assert len(made) == 6
    for bone in made:
        assert bone.parent.name in own and bone.name.startswith(f"flesh.{bone.parent.name}.")
        assert bone.use_deform and not bone.use_connect and bone.use_inherit_rotation and bone.inherit_scale == "FULL"
        assert [each.name for each in bone.collections] == ["Flesh"] and not bone.collections[0].is_visible
    for name in ACTIONS:
        use(rig, name)
        moving = part("scene.animation").curves_in(rig.animation_data)
        mine = [curve for curve in moving if "flesh." in curve.data_path]
        assert len(mine) == 6 * 7 and all(curve.group.name in curve.data_path for curve in mine)
        assert all(point.interpolation == "LINEAR" for curve in mine for point in curve.keyframe_points)
        frames, beyond = frames_of(name), 0.0 if body.thew.bakes[NAME].holds else 1.0
        assert {tuple(curve.range()) for curve in mine} == {(frames[0] - beyond, frames[-1] + beyond)}
        turns = {}
        for curve in mine:
            if curve.data_path.endswith("rotation_quaternion"):
                turns.setdefault(curve.data_path, []).append([point.co.y for point in curve.keyframe_points])
        for rows in turns.values():
            quaternions = np.array(rows).T
            assert ((quaternions[1:] * quaternions[:-1]).sum(axis=1) > 0.5).all()
        assert tuple(bpy.data.actions[name].frame_range) == pytest.approx(ACTIONS[name][:2], abs=1e-4)


def local_poses(rig) -> np.ndarray:
    """Returns how the helper bones are turned and moved against their parents, [N, 4, 4]."""
    return np.array([rig.pose.bones[name].matrix_basis for name in helpers_of(rig)])


@pytest.mark.parametrize("holds", [False, True])
def test_helper_bones_beside_clips(dancer, monkeypatch, holds):
    """Beside a clip helper bones rest, or hold its end poses where that is nearer to it; in an action without a clip they rest."""
    body, rig = dancer
    fit = part("bake.helper_fit").HelperMotion
    monkeypatch.setattr(fit, "holds", property(lambda _self: holds))
    idle = bpy.data.actions["Walk"].copy()
    idle.name = "Idle"
    bake(body, clips="CHOSEN", actions="Run;Walk")
    ends = {}
    for frame in (1, 10, 20):
        use(rig, "Run")
        bpy.context.scene.frame_set(frame)
        ends[frame] = local_poses(rig)
    assert np.abs(ends[10] - np.eye(4)).max() > 1e-3
    for frame, end in ((40, 20), (-3, 1)):
        bpy.context.scene.frame_set(frame)
        np.testing.assert_allclose(local_poses(rig), ends[end] if holds else ends[end] * 0.0 + np.eye(4), atol=1e-6)
    bpy.context.scene.frame_set(10)
    use(rig, "Idle")
    bpy.context.scene.frame_set(13)
    np.testing.assert_allclose(local_poses(rig), np.tile(np.eye(4), (len(helpers_of(rig)), 1, 1)), atol=1e-6)
    record = body.thew.bakes[NAME]
    shown = play(body, frames_of("Walk"))
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    body.thew.enabled = False
    plain = play(body, frames_of("Walk"))
    assert np.linalg.norm(shown - plain, axis=2).max() <= record.resting_error + ROUNDING * size_of(plain[0])


def plain_shapes(body, rig, name: str, frames) -> np.ndarray:
    """Returns the plain skin in an action; the bake plays again afterwards."""
    activate(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    body.thew.enabled = False
    found = clip_shapes(body, rig, name, frames)
    body.thew.enabled = True
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    return found


def test_helper_bones_at_rest_show_plain_skin(dancer):
    """With an error at rest of 0, the plain skin shows in an action without a clip that is unlike all clips, and in any pose."""
    body, rig = dancer
    add_action(rig, "Fall", 1.0, 20.0, 0.3, 1.4)
    use(rig, "Run")
    live = live_shapes(body, rig)
    record = bake(body, clips="CHOSEN", actions="Run;Walk", rest_error=0.0)
    metres = part("bake.body_source").metres_per_unit(
        part("live.session").register.state_of(body), np.array(body.matrix_world)
    )
    assert record.rest_tolerance == 0.0 and not record.holds
    assert record.resting_error <= ROUNDING * metres * size_of(live["Run"][0])
    assert part("bake.helper_bones").resting_remark(record) == ""
    for clip in record.clips:
        assert_within(clip_shapes(body, rig, clip.label), live[clip.label], clip)
    shown, plain = clip_shapes(body, rig, "Fall", range(1, 21)), plain_shapes(body, rig, "Fall", range(1, 21))
    assert np.abs(shown - plain).max() <= ROUNDING * size_of(plain[0])
    baked = clip_shapes(body, rig, "Run")
    assert np.abs(baked - plain_shapes(body, rig, "Run", frames_of("Run"))).max() > 1e-3 * size_of(plain[0])


def test_helper_bones_keep_their_error_at_rest(dancer):
    """By default the skin stays within 3 mm of the plain one while helper bones rest in poses of the clips; the panel tells how far."""
    body, rig = dancer
    idle = bpy.data.actions["Walk"].copy()
    idle.name = "Idle"
    record = bake(body, clips="CHOSEN", actions="Run;Walk")
    assert record.rest_tolerance == pytest.approx(3e-3) and record.resting_error <= 3e-3 * 1.001
    assert part("bake.remaking").values_of(record)["rest_error"] == pytest.approx(3.0)
    metres = part("bake.body_source").metres_per_unit(
        part("live.session").register.state_of(body), np.array(body.matrix_world)
    )
    shown, plain = (shapes(body, rig, "Idle", frames_of("Walk")) for shapes in (clip_shapes, plain_shapes))
    away = metres * np.linalg.norm(shown - plain, axis=2).max()
    assert away <= record.resting_error + ROUNDING * metres * size_of(plain[0])


@pytest.mark.parametrize("scaled", [False, True])
def test_helper_bones_of_placed_characters(scene, scaled):
    """Armature and mesh may be turned, moved and scaled, each by itself."""
    body, rig = make_dancer(("Run",))
    rig.location, rig.rotation_euler = (3.0, -2.0, 1.0), (0.3, -0.5, 1.2)
    rig.scale = (1.7, 1.7, 1.7) if scaled else (1.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    body.matrix_world = rig.matrix_world.copy()
    body.location.x += 0.05
    bpy.context.view_layer.update()
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    live = live_shapes(body, rig)
    record = bake(body)
    assert_within(clip_shapes(body, rig, "Run"), live["Run"], record.clips[0])


def test_helper_bones_of_scaled_bones(scene):
    """A bone that grows carries helper bones that do not; one that grows along one axis alone is refused."""
    body, rig = make_dancer(("Run",))
    hip = rig.pose.bones["Hip"]
    for frame, size in ((1, 1.0), (20, 1.3)):
        hip.scale = (size, size, size)
        hip.keyframe_insert("scale", frame=frame)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    live = live_shapes(body, rig)
    record = bake(body)
    assert_within(clip_shapes(body, rig, "Run"), live["Run"], record.clips[0])
    moving = part("scene.animation").curves_in(rig.animation_data)
    assert any("flesh." in curve.data_path and curve.data_path.endswith("scale") for curve in moving)
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    hip.scale = (1.0, 3.0, 1.0)
    hip.keyframe_insert("scale", frame=20)
    assert "scaled unevenly" in refusal(bpy.ops.thew.bake, target="HELPER_BONES", clips="ALL", bones=6)


def test_helper_bones_of_moving_meshes(scene):
    """A mesh that moves against its armature by itself plays its flesh too."""
    body, _ = make_dancer(("Run",))
    for frame, where in ((1, 0.0), (20, 0.1)):
        body.location = (where, 0.0, 0.0)
        body.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    live = play(body, range(1, 21))
    record = bake(body, clips="SCENE")
    assert_within(play(body, range(1, 21)), live, record.clips[0])


def test_weights_undone(dancer):
    """Undo takes a bake away with its bones, and brings the artist's weights back; redo plays it again."""
    body, rig = dancer
    before = entries(body)
    bpy.ops.ed.undo_push(message="before")
    bake(body)
    shown = clip_shapes(body, rig, "Walk")
    use(rig, "Run")
    bpy.ops.ed.undo_push(message="baked")
    bpy.ops.ed.undo()
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    assert entries(body) == before and not helpers_of(rig)
    bpy.ops.ed.redo()
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    np.testing.assert_allclose(clip_shapes(body, rig, "Walk"), shown, atol=1e-6)
    activate(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert entries(body) == before


def test_helper_bones_of_scene_range(scene):
    """An armature that nothing animates gets an action, which goes with the bake; one with an action keeps its curves there."""
    body, rig = make_dancer(("Run",))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    live = play(body, range(1, 21))
    record = bake(body, clips="SCENE")
    assert record.clips[0].is_scene and set(bpy.data.actions.keys()) == {"Run"}
    assert_within(play(body, range(1, 21)), live, record.clips[0])
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    rig.animation_data_clear()
    bpy.data.actions.remove(bpy.data.actions["Run"])
    rig.location = (0.0, 0.0, 0.0)
    before = set(bpy.data.actions.keys())
    bake(body, clips="SCENE")
    assert len(set(bpy.data.actions.keys()) - before) == 1 and rig.animation_data.action is not None
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    assert set(bpy.data.actions.keys()) == before and rig.animation_data is None


def test_helper_bones_with_time_stretching(scene):
    """Clips of a scene with Time Stretching play as the live flesh."""
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 200
    body, rig = make_dancer(("Run",))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.simulate(frame_start=2, frame_end=40) == {"FINISHED"}
    live = play(body, range(2, 41))
    record = bake(body)
    assert_within(clip_shapes(body, rig, "Run", range(2, 41)), live, record.clips[0])


# the artist's own -----------------------------------------------------------------------------------------------------


def test_weights_come_back(dancer, tmp_path):
    """Hidden or removed, a bake leaves the artist's weights to the bit, in their order; also after a reload, and on a copy."""
    body, rig = dancer
    body.vertex_groups["Spine"].add([3, 4], 0.123456789, "REPLACE")
    body.vertex_groups["Head"].add([3], 0.0, "REPLACE")
    body.vertex_groups.new(name="Mine").add([1, 2, 3], 0.7, "REPLACE")
    body.vertex_groups.active_index = 1
    before = everything(body, rig)
    bake(body)
    assert entries(body) != before[1]
    for _ in range(2):
        assert bpy.ops.thew.show_live() == {"FINISHED"}
        assert entries(body) == before[1] and body.vertex_groups.active_index == 1
        assert not any(rig.data.bones[name].use_deform for name in helpers_of(rig))
        assert bpy.ops.thew.show_bake() == {"FINISHED"}
        assert entries(body) != before[1]
    copy = body.copy()
    copy.data, copy.name = body.data.copy(), "Copy"
    bpy.context.scene.collection.objects.link(copy)
    shown = clip_shapes(body, rig, "Walk")
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    assert entries(body) == before[1] and len(helpers_of(rig)) == 6
    np.testing.assert_array_equal(clip_shapes(copy, rig, "Walk"), shown)
    activate(copy)
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    assert entries(copy) == before[1]
    bpy.data.meshes.remove(copy.data)
    use(rig, "Run")
    bpy.context.scene.frame_set(1)
    activate(body)
    assert everything(body, rig)[1:] == before[1:]
    bake(body)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"), load_ui=False)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    np.testing.assert_array_equal(clip_shapes(body, rig, "Walk"), shown)
    activate(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert entries(body) == before[1]
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    assert everything(body, rig)[1:] == before[1:]


def test_weights_survive_renamed_bones_and_cut_meshes(dancer):
    """A bone that was renamed, and vertices that were deleted, while a bake played, do not keep weights from coming back."""
    body, rig = dancer
    before = entries(body)
    bake(body)
    rig.data.bones["Spine"].name = "Torso"
    rig.data.bones[helpers_of(rig)[0]].name = "Renamed"
    mesh = body.data
    activate(body)
    bpy.ops.object.mode_set(mode="EDIT")
    edited = bmesh.from_edit_mesh(mesh)
    bmesh.ops.delete(edited, geom=list(edited.verts)[-10:], context="VERTS")
    bmesh.update_edit_mesh(mesh)
    bpy.ops.object.mode_set(mode="OBJECT")
    part("scene.helper_weights").hide(body)
    renamed = [[("Torso" if name == "Spine" else name, weight) for name, weight in row] for row in before]
    assert entries(body) == renamed[: len(mesh.vertices)]
    assert [group.name for group in body.vertex_groups][:3] == ["Hip", "Torso", "Head"]
    assert not any(group.name.startswith(("flesh.", "Renamed")) for group in body.vertex_groups)


def test_flesh_does_not_see_helper_bones(dancer):
    """Reading, live flesh, another bake of keys and one of bones are as if there were no helper bones."""
    body, rig = dancer
    live = live_shapes(body, rig)
    keys = {}
    bake(body, target="SHAPE_KEYS", actions="Run;Walk", clips="CHOSEN", name="Before")
    for name in ("Run", "Walk"):
        keys[name] = clip_shapes(body, rig, name)
    flesh = flesh_of(body)
    digest, lattice, raw = flesh.character.digest, flesh.lattice, flesh.motion.raw.shape
    bake(body)
    reading, character = part("scene.reading"), part("scene.character")
    again = character.read_character(
        reading.subject(body, bpy.context.view_layer), bpy.context.scene, bpy.context.evaluated_depsgraph_get
    )
    assert again.digest == digest and again.bones == flesh.character.bones
    assert character.bones_elsewhere(reading.subject(body, bpy.context.view_layer), bpy.context.scene) == ()
    bake(body, target="SHAPE_KEYS", actions="Run;Walk", clips="CHOSEN", name="After")
    for name, shapes in keys.items():
        np.testing.assert_allclose(clip_shapes(body, rig, name), shapes, atol=1e-6)
    again = live_shapes(body, rig)
    for name, shapes in live.items():
        np.testing.assert_array_equal(again[name], shapes)
    assert flesh_of(body).lattice is lattice and flesh_of(body).motion.raw.shape[1] == raw[1]


def test_other_meshes_are_untouched(dancer):
    """A mesh on the same armature without flesh keeps its weights and its shape."""
    body, rig = dancer
    other = make_body(rig, name="Other", rings=9)
    before, shapes = entries(other), clip_shapes(other, rig, "Run")
    bake(body)
    assert entries(other) == before
    np.testing.assert_array_equal(clip_shapes(other, rig, "Run"), shapes)


def test_two_bodies_on_one_armature(dancer):
    """Two bodies of an armature have helper bones of their own, and each takes only its own away."""
    body, rig = dancer
    second = make_body(rig, name="Second", rings=9)
    activate(second)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    before = everything(second, rig)[1:3]
    bake(body, clips="CHOSEN", actions="Run")
    shown = clip_shapes(body, rig, "Run")
    bake(second, clips="CHOSEN", actions="Run", bones=3)
    assert len(helpers_of(rig)) == 9
    np.testing.assert_allclose(clip_shapes(body, rig, "Run"), shown, atol=1e-6)
    activate(body)
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    assert len(helpers_of(rig)) == 3
    activate(second)
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    assert everything(second, rig)[1:3] == before


def test_still_flesh_needs_no_bones(scene):
    """Flesh that does not move is told in a sentence."""
    body, rig = make_dancer(("Run",))
    rig.animation_data_clear()
    bpy.data.actions.remove(bpy.data.actions["Run"])
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert "needs no helper bones" in refusal(bpy.ops.thew.bake, target="HELPER_BONES", frame_end=4)
    assert not helpers_of(rig) and not len(body.thew.bakes)

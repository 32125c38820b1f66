# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs in Blender: the list, samples, controls by hand, key and driver, anchors, files, and flesh at rest."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from characters import armature as armature_here
from characters import clips, load, meshes, play_clip
from conftest import data_folder
from helpers import activate, evaluated, make_character, part, play, refused, size_of

FRAMES = range(1, 21)
PARTS = ("rig_properties", "rigging", "anchors", "rig_drivers", "session", "jobs", "reading", "poses", "handlers")


@pytest.fixture
def character(scene):
    body, armature = make_character()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, armature


def add_rig(obj, **options):
    """A rig made by the artist's operator; the property group."""
    activate(obj)
    assert bpy.ops.thew.rig_add(**options) == {"FINISHED"}
    return obj.thew.rigs[obj.thew.active_rig]


def flesh_of(obj):
    return part("session").register.flesh(obj)


def settled(obj) -> np.ndarray:
    """The flesh at rest as the artist sees it."""
    activate(obj)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    return evaluated(obj)


def moved_by(shape, other) -> float:
    return float(np.abs(np.asarray(shape) - np.asarray(other)).max())


def curve_keys(rig, *keys) -> None:
    for frame, control in keys:
        rig.control = control
        rig.keyframe_insert("control", frame=frame)


# the list -------------------------------------------------------------------------------------------------------------


def test_a_new_rig_works_at_once(character):
    body, _ = character
    plain = settled(body)
    rig = add_rig(body, template="BULGE", bone="Spine")
    assert (rig.name, rig.bone, rig.guide, rig.problem) == ("Bulge", "Spine", "BONE", "")
    assert [(s.control, s.values[3]) for s in rig.samples] == [(0.0, 0.0), (1.0, pytest.approx(rig.strength))]
    assert rig.control == 1.0
    full = settled(body)
    rig.control = 0.5
    half = settled(body)
    rig.control = 0.0
    none = settled(body)
    size = size_of(plain)
    assert 0.003 * size < moved_by(full, plain) < 0.1 * size
    assert moved_by(none, plain) < 1e-6 * size
    np.testing.assert_allclose(half - plain, 0.5 * (full - plain), atol=0.02 * moved_by(full, plain))


def test_rigs_add_up_and_can_be_switched(character):
    body, _ = character
    plain = settled(body)
    one = add_rig(body, template="BULGE", bone="Spine", name="One")
    first = settled(body) - plain
    two = add_rig(body, template="RADIAL", bone="Head", name="Two")
    one = body.thew.rigs["One"]
    both = settled(body) - plain
    one.enabled = False
    second = settled(body) - plain
    one.enabled, two.solo = True, True
    soloed = settled(body) - plain
    two.solo = False
    size = size_of(plain)
    assert min(moved_by(first, 0), moved_by(second, 0), moved_by(first, second)) > 1e-3 * size
    assert moved_by(both, first + second) < 0.02 * max(moved_by(first, 0), moved_by(second, 0))
    np.testing.assert_array_equal(soloed, second)
    assert moved_by(settled(body) - plain, both) < 1e-6 * size


def test_the_list_is_edited_and_animation_keeps_up(character):
    body, armature = character
    for name in "ABC":
        add_rig(body, bone="Spine", name=name)
    rigs = body.thew.rigs
    curve_keys(rigs["A"], (1, 0.1), (20, 0.2))
    curve_keys(rigs["C"], (1, 0.7), (20, 0.9))
    body.thew.active_rig = 1
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}

    def controls():
        bpy.context.scene.frame_set(20)
        armature.pose.bones["Head"].rotation_mode = "XYZ"
        armature.pose.bones["Head"].rotation_euler.x = 0.5
        bpy.context.view_layer.update()
        return {rig.name: round(rig.control, 4) for rig in rigs}

    before = {"A": 0.2, "B": 0.5, "C": 0.9}
    assert controls() == before
    assert bpy.ops.thew.rig_move(index=2, direction="UP") == {"FINISHED"}
    assert [rig.name for rig in rigs] == ["A", "C", "B"] and body.thew.active_rig == 1
    assert controls() == before
    assert bpy.ops.thew.rig_move(index=0, direction="UP") == {"FINISHED"}  # already the first
    assert bpy.ops.thew.rig_move(index=0, direction="DOWN") == {"FINISHED"}
    assert [rig.name for rig in rigs] == ["C", "A", "B"]
    assert controls() == before
    assert bpy.ops.thew.rig_duplicate(index=2) == {"FINISHED"}
    assert [rig.name for rig in rigs] == ["C", "A", "B", "B.001"]
    assert controls() == before | {"B.001": 0.5}
    assert bpy.ops.thew.rig_remove(index=1) == {"FINISHED"}
    assert controls() == {"B": 0.5, "C": 0.9, "B.001": 0.5}
    curves = part("reading").curves_in(body.animation_data)
    assert [curve.data_path for curve in curves] == ["thew.rigs[0].control"]
    assert sorted(curve.data_path for curve in body.animation_data.drivers) == [
        "thew.rigs[1].control",
        "thew.rigs[2].control",
    ]
    copy = rigs["B.001"]
    assert (copy.bone, copy.strength, len(copy.samples)) == ("Spine", rigs["B"].strength, 2)


def test_names_stay_apart(character):
    body, _ = character
    add_rig(body, bone="Spine")
    rig = add_rig(body, bone="Spine")
    assert rig.name == "Bulge.001"
    rig.name = "Bulge"
    assert rig.name == "Bulge.001"
    rig.name = "Belly"
    assert [each.name for each in body.thew.rigs] == ["Bulge", "Belly"]


def test_wrong_places_in_the_list_are_refused(character):
    body, _ = character
    assert "has no rig 0" in refused(bpy.ops.thew.rig_record)
    add_rig(body, bone="Spine")
    for operator in ("rig_remove", "rig_record", "rig_duplicate", "rig_move", "rig_driver", "rig_sample_remove"):
        assert "has no rig 5" in refused(getattr(bpy.ops.thew, operator), index=5)
    assert "no bone “Tail”" in refused(bpy.ops.thew.rig_add, bone="Tail")
    assert "no triangle 99999" in refused(bpy.ops.thew.rig_add, guide="SKIN", face=99999)
    assert len(body.thew.rigs) == 1
    assert "thew_face" not in body.data.attributes


def test_without_flesh_there_is_no_rig(scene):
    make_character()
    assert "has no flesh" in refused(bpy.ops.thew.rig_add, bone="Spine")


# samples --------------------------------------------------------------------------------------------------------------


def test_samples_are_recorded_replaced_and_removed(character):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    strength = rig.strength
    rig.control = 0.5
    assert (rig.strength, rig.draft) == (pytest.approx(0.5 * strength), False)
    rig.strength = 7e3
    assert rig.draft and len(rig.samples) == 2
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    assert not rig.draft
    assert [s.control for s in rig.samples] == [0.0, 0.5, 1.0] and rig.active_sample == 1
    assert [s.values[3] for s in rig.samples] == [0.0, 7e3, pytest.approx(strength)]
    rig.strength = 9e3  # at a recorded value the sample follows
    assert rig.samples[1].values[3] == 9e3 and not rig.draft
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    assert [s.values[3] for s in rig.samples] == [0.0, 9e3, pytest.approx(strength)]
    rig.control = 2.0
    assert rig.strength == pytest.approx(strength)
    rig.along = 0.8
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    assert [s.control for s in rig.samples] == [0.0, 0.5, 1.0, 2.0]
    rig.control = 1.5
    assert rig.along == pytest.approx(0.65)
    assert bpy.ops.thew.rig_sample_remove(sample=1) == {"FINISHED"}
    assert [s.control for s in rig.samples] == [0.0, 1.0, 2.0]
    rig.control = 0.5
    assert rig.strength == pytest.approx(0.5 * strength)
    for _ in range(3):
        assert bpy.ops.thew.rig_sample_remove() == {"FINISHED"}
    assert len(rig.samples) == 0
    assert "has no sample" in refused(bpy.ops.thew.rig_sample_remove)
    assert np.isfinite(settled(body)).all()


def test_a_draft_is_seen_at_rest_but_not_in_motion(character):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    rig.control = 0.5
    recorded, moving = settled(body), None
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    moving = play(body, (4,))
    rig.strength = 3.0 * rig.strength
    np.testing.assert_array_equal(play(body, (4,)), moving)
    bpy.context.scene.frame_set(1)
    draft = settled(body)
    assert moved_by(draft, recorded) > 1e-3 * size_of(recorded)
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    np.testing.assert_allclose(settled(body), draft, atol=1e-6 * size_of(draft))
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert moved_by(play(body, (4,)), moving) > 1e-3 * size_of(recorded)


def test_a_draft_is_lost_when_the_control_moves(character):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    rig.control = 0.5
    half = rig.strength
    rig.strength = 7.0
    rig.control = 0.6
    rig.control = 0.5
    assert rig.strength == pytest.approx(half) and not rig.draft


def test_sliders_follow_a_keyed_control_from_frame_to_frame(character):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (1, 0.0), (11, 1.0))
    full = rig.samples[1].values[3]
    play(body, (1,))
    shown = []
    for frame in (1, 6, 11):
        bpy.context.scene.frame_set(frame)
        shown.append(rig.strength)
    np.testing.assert_allclose(shown, [0.0, 0.5 * full, full], rtol=1e-3, atol=1e-3)
    assert [s.values[3] for s in rig.samples] == [0.0, full]


# controls -------------------------------------------------------------------------------------------------------------


def test_rigs_act_in_motion_and_re_simulate_at_once(character):
    body, _ = character
    plain = play(body, FRAMES)
    size = size_of(plain[0])
    rig = add_rig(body, bone="Spine")
    pushed = play(body, FRAMES)
    assert moved_by(pushed, plain) > 3e-3 * size and np.isfinite(pushed).all()
    rig.control = 0.5
    less = play(body, FRAMES)
    assert 1e-3 * size < moved_by(less, plain) < moved_by(pushed, plain)
    rig.strength *= 2.0
    assert moved_by(play(body, FRAMES), less) < 1e-6 * size  # a draft
    rig.control = 1.0
    rig.samples[1].values = [2.0 * v if i == 3 else v for i, v in enumerate(rig.samples[1].values)]
    assert moved_by(play(body, FRAMES), pushed) > 1e-3 * size
    rig.enabled = False
    np.testing.assert_array_equal(play(body, FRAMES), plain)


def test_a_rig_does_not_change_how_stiff_the_flesh_is(character):
    body, _ = character
    play(body, (1,))
    firmness = flesh_of(body).firmness
    rig = add_rig(body, bone="Spine")
    rig.samples[1].values = [30.0 * v if i == 3 else v for i, v in enumerate(rig.samples[1].values)]
    shapes = play(body, FRAMES)
    assert np.isfinite(shapes).all()
    assert flesh_of(body).firmness == firmness


def test_keyed_controls_arrive(character):
    body, _ = character
    plain = play(body, FRAMES)
    size = size_of(plain[0])
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (5, 0.0), (10, 1.0))
    keyed = play(body, FRAMES)
    controls = flesh_of(body).motion.controls[:, 0]
    assert controls[4] == 0.0 and controls[9] == 1.0 and 0.2 < controls[6] < 0.8
    distance = np.abs(keyed - plain).max(axis=(1, 2)) / size
    assert distance[:4].max() < 1e-6 and distance[9:].min() > 2e-3
    # The curve is edited: the motion follows.
    curve = next(iter(part("reading").curves_in(body.animation_data)))
    curve.keyframe_points[0].interpolation = "LINEAR"
    curve.keyframe_points[1].co.y = 0.0
    np.testing.assert_allclose(play(body, FRAMES), plain, atol=1e-6 * size)


def test_driven_controls_arrive_without_scripts(character):
    body, armature = character
    plain = play(body, FRAMES)
    add_rig(body, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    (curve,) = body.animation_data.drivers
    assert curve.driver.type != "SCRIPTED" and curve.driver.is_valid
    target = curve.driver.variables[0].targets[0]
    assert (target.id, target.bone_target, target.transform_type) == (armature, "Spine", "ROT_X")
    driven = play(body, FRAMES)
    controls = flesh_of(body).motion.controls[:, 0]
    assert controls.min() == pytest.approx(0.0, abs=0.02) and controls.max() == pytest.approx(1.0, abs=0.02)
    assert moved_by(driven, plain) > 1e-3 * size_of(plain[0])
    bends = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        bends.append(armature.pose.bones["Spine"].rotation_euler.x)
    correlation = abs(np.corrcoef(bends, controls[: len(bends)])[0, 1])
    assert correlation > 0.99


@pytest.mark.parametrize(
    ("axis", "turn"), [("X", (1.0, 0, 0)), ("Y", (0, -1.0, 0)), ("Z", (0, 0, 2.9)), ("SWING", (0, 0, -1.2))]
)
def test_a_driver_reads_the_turn_it_was_made_for(character, axis, turn):
    body, armature = character
    rig = add_rig(body, bone="Spine")
    angle = abs(sum(turn)) if axis == "SWING" else sum(turn)
    assert bpy.ops.thew.rig_driver(bone="Head", axis=axis, from_angle=0.0, to_angle=angle) == {"FINISHED"}
    head = armature.pose.bones["Head"]
    head.rotation_mode = "XYZ"
    for part_of, control in ((0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (1.05, 1.0), (-0.2, 0.2 if axis == "SWING" else 0.0)):
        head.rotation_euler = [part_of * t for t in turn]
        bpy.context.view_layer.update()
        assert rig.control == pytest.approx(control, abs=1e-3)


@pytest.mark.parametrize(
    ("turn", "kind", "channel"),
    [((0.9, 0.1, 0), "SWING_TWIST_X", "ROT_X"), ((0, 0.8, 0), "SWING_TWIST_Y", "ROT_Y")],
)
def test_the_axis_is_found(character, turn, kind, channel):
    body, armature = character
    add_rig(body, bone="Spine")
    head = armature.pose.bones["Head"]
    head.rotation_mode = "XYZ"
    head.rotation_euler = turn
    assert bpy.ops.thew.rig_driver(bone="Head", axis="AUTO") == {"FINISHED"}
    target = body.animation_data.drivers[0].driver.variables[0].targets[0]
    assert (target.rotation_mode, target.transform_type) == (kind, channel)
    bpy.context.view_layer.update()
    assert body.thew.rigs[0].control == pytest.approx(1.0, abs=1e-3)


def test_a_driver_whose_bone_is_gone_says_so(character):
    body, _armature = character
    rig = add_rig(body, bone="Spine", name="Driven")
    other = add_rig(body, bone="Head", name="Other")
    rig = body.thew.rigs["Driven"]
    assert bpy.ops.thew.rig_driver(index=0, bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    assert "no bone “Tail”" in refused(bpy.ops.thew.rig_driver, index=0, bone="Tail")
    assert "two different angles" in refused(bpy.ops.thew.rig_driver, index=0, bone="Head", from_angle=1, to_angle=1)
    body.animation_data.drivers[0].driver.variables[0].targets[0].bone_target = "Tail"
    shapes = play(body, (1, 2))
    assert np.isfinite(shapes).all()
    assert "“Tail”" in rig.problem and rig.enabled and other.problem == ""
    assert bpy.ops.thew.rig_driver(index=0, bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    play(body, (1, 2))
    assert rig.problem == ""


def test_baked_is_live_with_rigs(character):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert moved_by(play(body, FRAMES), live) < 1e-5 * size_of(live[0])
    assert len(rig.samples) == 2


def test_scrubbing_in_any_order_shows_the_same_with_rigs(character):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (1, 0.0), (15, 1.0))
    shapes = play(body, FRAMES)
    order = list(FRAMES)
    np.random.default_rng(3).shuffle(order)
    for frame, shape in zip(order, play(body, order), strict=True):
        np.testing.assert_array_equal(shape, shapes[frame - 1])


# flesh at rest --------------------------------------------------------------------------------------------------------


def test_settled_playback_shows_equilibrium_and_simulate_returns_to_motion(character):
    body, _ = character
    moving = play(body, FRAMES)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    assert body.thew.settled
    still = play(body, FRAMES)
    np.testing.assert_allclose(still[0], moving[0], atol=1e-4 * size_of(moving[0]))  # a clip begins settled
    assert moved_by(still, moving) > 1e-3 * size_of(moving[0])
    backwards = play(body, reversed(FRAMES))[::-1]
    np.testing.assert_array_equal(backwards, still)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert not body.thew.settled
    np.testing.assert_array_equal(play(body, FRAMES), moving)


def test_settle_heeds_an_unkeyed_pose(character):
    body, armature = character
    play(body, (1,))
    before = settled(body)
    armature.animation_data_clear()
    spine = armature.pose.bones["Spine"]
    spine.rotation_mode = "XYZ"
    spine.rotation_euler.x = 1.2
    bent = settled(body)
    size = size_of(before)
    assert moved_by(bent, before) > 0.2 * size
    add_rig(body, bone="Head")
    assert moved_by(settled(body), bent) > 1e-3 * size


def test_settled_is_not_baked(character):
    body, _ = character
    moving = play(body, FRAMES)
    settled(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert moved_by(play(body, FRAMES), moving) < 1e-5 * size_of(moving[0])


def test_a_rig_edited_at_rest_does_not_simulate_until_motion_is_wanted(character):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    play(body, (1,))
    settled(body)
    play(body, (1,))
    clip = flesh_of(body).clip
    rig.strength *= 2.0
    play(body, (3, 4))
    flesh = flesh_of(body)
    assert flesh.clip is clip and flesh.behind
    body.thew.settled = False
    play(body, (3, 4))
    assert flesh.clip is not clip and not flesh.behind


@pytest.mark.parametrize("angle", [170.0, -170.0])
def test_far_turned_bones_stay_finite(character, angle):
    body, armature = character
    for template in ("BUMP", "RADIAL", "BULGE", "TORUS"):
        add_rig(body, template=template, bone="Spine")
    spine = armature.pose.bones["Spine"]
    for axis in range(3):
        spine.rotation_euler = (0.0, 0.0, 0.0)
        spine.keyframe_insert("rotation_euler", frame=1)
        spine.rotation_euler[axis] = math.radians(angle)
        spine.keyframe_insert("rotation_euler", frame=10)
        spine.keyframe_insert("rotation_euler", frame=19)
        bpy.context.scene.frame_set(10)
        shape = settled(body)
        assert np.isfinite(shape).all() and np.abs(shape).max() < 10.0
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        shapes = play(body, FRAMES)
        assert np.isfinite(shapes).all() and np.abs(shapes).max() < 10.0


# anchors --------------------------------------------------------------------------------------------------------------


def test_a_renamed_bone_and_renamed_objects_are_found_again(character):
    body, armature = character
    rig = add_rig(body, bone="Spine")
    before = settled(body)
    armature.data.bones["Spine"].name = "Rückgrat"
    armature.name, body.name, body.data.name = "Gerippe", "Leib", "Haut"
    after = settled(body)
    assert (rig.bone, rig.problem) == ("Rückgrat", "")
    np.testing.assert_allclose(after, before, atol=1e-6 * size_of(before))
    shapes = play(body, FRAMES)
    assert np.isfinite(shapes).all() and rig.problem == ""


def test_bones_that_swap_names_are_told_apart(character):
    body, armature = character
    rig = add_rig(body, bone="Spine")
    add_rig(body, bone="Head")
    bones = armature.data.bones
    bones["Spine"].name = "x"
    bones["Head"].name = "Spine"
    bones["x"].name = "Head"
    settled(body)
    assert [each.bone for each in body.thew.rigs] == ["Head", "Spine"]
    assert rig.problem == ""


def test_a_deleted_bone_switches_the_rig_off_and_its_return_on(character):
    body, armature = character
    rig = add_rig(body, bone="Head")
    other = add_rig(body, bone="Spine")
    rig = body.thew.rigs[0]
    settled(body)
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    bones.remove(bones["Head"])
    bpy.ops.object.mode_set(mode="OBJECT")
    shape = settled(body)
    assert np.isfinite(shape).all()
    assert "“Head”" in rig.problem and "gone" in rig.problem and rig.enabled and other.problem == ""
    assert np.isfinite(play(body, FRAMES)).all() and "gone" in rig.problem
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("Head")
    bone.head, bone.tail = (0.0, 0.0, 1.2), (0.0, 0.0, 1.8)
    bone.parent = armature.data.edit_bones["Spine"]
    bpy.ops.object.mode_set(mode="OBJECT")
    settled(body)
    assert rig.problem == ""


def skin_face(body, triangle: int = 101) -> np.ndarray:
    """The middle of a triangle at rest."""
    corners = part("anchors").triangles_and_faces(body.data)[0][triangle]
    return np.array([body.data.vertices[i].co for i in corners]).mean(axis=0)


def edit_mesh(body, change) -> None:
    """Change a mesh through bmesh, as editing does."""
    import bmesh

    made = bmesh.new()
    made.from_mesh(body.data)
    made.faces.ensure_lookup_table()
    made.verts.ensure_lookup_table()
    change(made, bmesh)
    made.to_mesh(body.data)
    made.free()
    body.data.update()


def test_a_face_is_found_again_after_other_edits(character):
    body, _ = character
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    place = skin_face(body)
    np.testing.assert_allclose(rig.face_place, place, atol=1e-6)
    settled(body)

    def cut(made, bmesh):
        bmesh.ops.poke(made, faces=made.faces[5:15])

    edit_mesh(body, cut)
    settled(body)
    assert rig.problem == "" and rig.face != 101
    np.testing.assert_allclose(skin_face(body, rig.face), place, atol=1e-6)


def test_a_face_that_was_cut_keeps_its_rig_at_the_place(character):
    body, _ = character
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    polygon = int(part("anchors").triangles_and_faces(body.data)[1][101])
    place = skin_face(body)

    def cut(made, bmesh):
        bmesh.ops.poke(made, faces=[made.faces[polygon]])

    edit_mesh(body, cut)
    settled(body)
    assert rig.problem == ""
    corners = part("anchors").triangles_and_faces(body.data)[0][rig.face]
    there = np.array(rig.barycentric) @ np.array([body.data.vertices[i].co for i in corners])
    np.testing.assert_allclose(there, place, atol=1e-2)


def test_a_deleted_face_switches_the_rig_off(character):
    body, _ = character
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    polygon = int(part("anchors").triangles_and_faces(body.data)[1][101])

    def cut(made, bmesh):
        bmesh.ops.delete(made, geom=[made.faces[polygon]], context="FACES")

    edit_mesh(body, cut)
    assert np.isfinite(settled(body)).all()
    assert "face" in rig.problem and "gone" in rig.problem and rig.enabled
    part("anchors").anchor_face(body, rig, 30)
    settled(body)
    assert rig.problem == ""


def test_a_skin_guide_pushes_where_it_is(character):
    body, _ = character
    plain = settled(body)
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    place = skin_face(body)
    shape = settled(body)
    moved = np.linalg.norm(shape - plain, axis=1)
    nearest = np.argsort(np.linalg.norm(plain - place, axis=1))[:8]
    farthest = np.argsort(np.linalg.norm(plain - place, axis=1))[-30:]
    assert moved[nearest].max() > 5.0 * moved[farthest].max()
    outward = place * (1.0, 1.0, 0.0)
    assert ((shape - plain)[nearest] @ outward).max() > 0.0  # a bump pushes along the skin's outward direction
    rig.strength = -rig.strength
    assert ((settled(body) - plain)[nearest] @ outward).min() < 0.0


def test_a_mirrored_object_has_its_skin_rigs_in_the_same_place(scene):
    body, armature = make_character()
    body.scale.x = armature.scale.x = -1.0
    bpy.context.view_layer.update()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    plain = settled(body)
    part("anchors")
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    part("anchors").anchor_face(body, rig, 101, (0.8, 0.15, 0.05))
    flesh = flesh_of(body)
    native = part("rigging").native_rig(body, flesh, rig)
    frame = native.frame(flesh.body)
    world = np.array(body.matrix_world)
    place = world[:3, :3] @ np.array(rig.face_place) + world[:3, 3]
    np.testing.assert_allclose(frame[:3, 3], flesh.place.points(place), atol=1e-5)
    assert moved_by(settled(body), plain) > 1e-3 * size_of(plain)


def test_a_free_rig_stands_in_the_body(character):
    body, _ = character
    plain = settled(body)
    rig = add_rig(body, guide="FREE", template="RADIAL")
    assert rig.problem == ""
    first = settled(body)
    assert moved_by(first, plain) > 1e-3 * size_of(plain)
    rig.z = 0.3
    assert moved_by(settled(body), first) > 1e-3 * size_of(plain)
    rig.z = 30.0
    shape = settled(body)
    assert "outside" in rig.problem and rig.enabled
    assert moved_by(shape, plain) < 1e-6 * size_of(plain)
    rig.z = 0.0
    np.testing.assert_allclose(settled(body), first, atol=1e-6 * size_of(plain))
    assert rig.problem == ""


# bad numbers ----------------------------------------------------------------------------------------------------------


def spoil(rig, name):
    names = part("rig_properties").SLIDERS
    row = list(rig.samples[1].values)
    if name == "equal":
        rig.samples[0].control = 1.0
    elif name == "control":
        rig.control = math.nan
    elif name == "zero":
        row[names.index("radius")] = 0.0
    else:
        row[names.index(name)] = math.inf if name == "along" else math.nan
    rig.samples[1].values = row


@pytest.mark.parametrize("what", ["radius", "strength", "along", "zero", "equal", "control"])
def test_bad_numbers_switch_a_rig_off_and_keep_it(character, what):
    body, _ = character
    plain = play(body, (1, 5))
    rig = add_rig(body, bone="Spine")
    other = body.thew.rigs
    spoil(rig, what)
    shapes = play(body, (1, 5))
    np.testing.assert_allclose(shapes, plain, atol=1e-6)
    assert rig.problem.endswith(".") and "Bulge" in rig.problem and rig.enabled and len(other) == 1
    still = settled(body)
    assert np.isfinite(still).all() and rig.problem
    if what == "equal":
        rig.samples[0].control = 0.0
    rig.control = 1.0
    rig.samples[1].values = [0.1, 0.1, 0.05, 2e4, *([0.5] + 11 * [0.0])]
    play(body, (1,))
    assert rig.problem == ""


# the life of the file -------------------------------------------------------------------------------------------------


def rig_states(obj) -> list:
    return [
        (rig.name, rig.bone, rig.guide, rig.template, round(rig.control, 6), rig.enabled, round(rig.strength, 2))
        + tuple((s.control, tuple(s.values)) for s in rig.samples)
        for rig in obj.thew.rigs
    ]


def test_rigs_survive_save_and_reload(character, tmp_path):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    add_rig(body, guide="SKIN", face=33, template="BUMP")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    assert bpy.ops.thew.rig_driver(index=1, bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    shapes, states = play(body, FRAMES), rig_states(body)
    path = tmp_path / "rigs.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    body = bpy.data.objects["Body"]
    assert rig_states(body) == states
    np.testing.assert_array_equal(play(body, FRAMES), shapes)


def test_rigs_are_copied_with_the_object(character):
    body, armature = character
    rig = add_rig(body, bone="Spine")
    add_rig(body, guide="SKIN", face=33, template="BUMP")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    shapes = play(body, FRAMES)
    copy = body.copy()
    copy.data = body.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    assert rig_states(copy) == rig_states(body)
    np.testing.assert_allclose(play(copy, FRAMES), shapes, atol=1e-6)
    activate(copy)
    assert bpy.ops.thew.rig_remove(index=0) == {"FINISHED"}
    assert [rig.name for rig in body.thew.rigs] == ["Bulge", "Bump"]
    assert [rig.name for rig in copy.thew.rigs] == ["Bump"]
    np.testing.assert_array_equal(play(body, FRAMES), shapes)
    assert [r.problem for r in body.thew.rigs] == ["", ""] and armature.data.bones["Spine"].get("thew_bone")


def test_rigs_are_appended_with_the_object(character, tmp_path):
    body, _ = character
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    shapes = play(body, FRAMES)
    path = tmp_path / "rigs.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False, load_ui=False)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base, scene.frame_start, scene.frame_end = 24, 1.0, 1, 20
    with bpy.data.libraries.load(str(path), link=False) as (_source, target):
        target.objects = ["Body"]
    body = bpy.data.objects["Body"]
    scene.collection.objects.link(body)
    scene.collection.objects.link(part("reading").armature_modifier(body).object)
    assert len(body.thew.rigs) == 1
    np.testing.assert_allclose(play(body, FRAMES), shapes, atol=1e-5)
    assert body.thew.rigs[0].problem == ""


def test_removing_the_flesh_keeps_the_rigs_unless_asked(character):
    body, armature = character
    rig = add_rig(body, bone="Spine")
    add_rig(body, guide="SKIN", face=33, template="BUMP")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    shapes, states = play(body, FRAMES), rig_states(body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert not body.thew.made.flesh and rig_states(body) == states
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), shapes, atol=1e-6)
    assert bpy.ops.thew.remove(remove_rigs=True) == {"FINISHED"}
    assert len(body.thew.rigs) == 0 and "thew_face" not in body.data.attributes
    assert not any("thew_bone" in bone.keys() for bone in armature.data.bones)
    assert not list(part("reading").curves_in(body.animation_data))


def test_undo_brings_a_rig_back(character):
    body, _ = character
    add_rig(body, bone="Spine")
    before = settled(body)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.thew.rig_remove() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    without = settled(bpy.data.objects["Body"])
    try:
        bpy.ops.ed.undo()
    except RuntimeError:
        pytest.skip("no undo without a window here")
    body = bpy.data.objects["Body"]
    assert [rig.name for rig in body.thew.rigs] == ["Bulge"]
    np.testing.assert_allclose(settled(body), before, atol=1e-6)
    assert moved_by(before, without) > 1e-4


def test_an_object_without_rigs_costs_nothing(character, monkeypatch):
    body, _ = character
    play(body, FRAMES)
    rigging = part("rigging")

    def never(*_):
        raise AssertionError("asked")

    for name in ("animated", "evaluated_controls", "broken_drivers", "found_bone", "resolved"):
        monkeypatch.setattr(rigging, name, never)
    play(body, FRAMES)


# files ----------------------------------------------------------------------------------------------------------------


def test_rigs_travel_in_files(character, tmp_path):
    body, _ = character
    rig = add_rig(body, bone="Spine", template="TORUS", name="Ring")
    rig.control = 0.4
    rig.angle, rig.distance = 0.3, 0.02
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    add_rig(body, guide="SKIN", face=33, template="BUMP", name="Skin")
    add_rig(body, guide="FREE", template="RADIAL", name="Free")
    before = settled(body)
    path = str(tmp_path / "rigs.toml")
    assert bpy.ops.thew.rig_export(filepath=path) == {"FINISHED"}
    text = (tmp_path / "rigs.toml").read_text()
    assert "Spine" in text and "Ring" in text
    states = [state[:4] for state in rig_states(body)]
    samples = [[(s.control, tuple(s.values)) for s in rig.samples] for rig in body.thew.rigs]
    for _ in range(3):
        bpy.ops.thew.rig_remove(index=0)
    assert bpy.ops.thew.rig_import(filepath=path) == {"FINISHED"}
    assert [state[:4] for state in rig_states(body)] == states
    for rig, then in zip(body.thew.rigs, samples, strict=True):
        names = part("rig_properties").SLIDERS
        used = [names.index(name) for name in part("rig_properties").sliders_of(rig)]
        assert [s.control for s in rig.samples] == pytest.approx([control for control, _ in then])
        for sample, (_, values) in zip(rig.samples, then, strict=True):
            np.testing.assert_allclose(np.array(sample.values)[used], np.array(values)[used], rtol=1e-5, atol=1e-6)
    body.thew.rigs["Ring"].control = 0.4
    np.testing.assert_allclose(settled(body), before, atol=1e-5 * size_of(before))


def test_what_does_not_resolve_on_another_character_is_off_but_kept(character, scene, tmp_path):
    body, _armature = character
    add_rig(body, bone="Head", name="Head rig")
    add_rig(body, bone="Spine", name="Spine rig")
    path = str(tmp_path / "rigs.toml")
    settled(body)
    assert bpy.ops.thew.rig_export(filepath=path) == {"FINISHED"}
    other, bones = make_character(name="Other", scale=2.0)
    bones.data.bones["Head"].name = "Kopf"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    plain = settled(other)
    activate(other)
    assert bpy.ops.thew.rig_import(filepath=path) == {"FINISHED"}
    assert [rig.name for rig in other.thew.rigs] == ["Head rig", "Spine rig"]
    lost, found = other.thew.rigs
    assert "“Head”" in lost.problem and lost.enabled and found.problem == ""
    shape = settled(other)
    assert "“Head”" in lost.problem and moved_by(shape, plain) > 1e-3 * size_of(plain)
    # Twice as large in scene units, in metres the same.
    unit, unit_there = (flesh_of(obj).place.metres_per_unit for obj in (body, other))
    assert found.radius * unit_there == pytest.approx(body.thew.rigs["Spine rig"].radius * unit, rel=1e-4)
    part("anchors").anchor_bone(other, lost, "Kopf")
    settled(other)
    assert lost.problem == ""


def test_bad_files_are_refused_and_nothing_is_half_made(character, tmp_path):
    body, _ = character
    assert "rigs to export" in refused(bpy.ops.thew.rig_export, filepath=str(tmp_path / "none.toml"))
    add_rig(body, bone="Spine")
    path = tmp_path / "rigs.toml"
    settled(body)
    assert bpy.ops.thew.rig_export(filepath=str(path)) == {"FINISHED"}
    good = path.read_text()
    for bad in (good.replace("radius", "radios", 1), good.replace("strength = ", "strength = nan #", 1), "[[", "\x00"):
        path.write_text(bad)
        assert refused(bpy.ops.thew.rig_import, filepath=str(path)).endswith((".", ")"))
        assert len(body.thew.rigs) == 1
    assert refused(bpy.ops.thew.rig_import, filepath=str(tmp_path / "missing.toml"))
    assert "Which file" in refused(bpy.ops.thew.rig_export, filepath="")
    assert "Which file" in refused(bpy.ops.thew.rig_import, filepath="")


# scale ----------------------------------------------------------------------------------------------------------------


def test_the_same_character_at_another_scale_is_pushed_the_same(scene):
    pushes = []
    for scale in (1.0, 100.0):
        body, armature = make_character(scale=scale)
        body.thew.real_height = 1.8
        assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
        plain = settled(body)
        add_rig(body, bone="Spine")
        pushes.append((settled(body) - plain) / scale)
        for obj in (body, armature):
            bpy.data.objects.remove(obj)
    assert moved_by(pushes[0], 0.0) > 1e-3
    np.testing.assert_allclose(pushes[1], pushes[0], atol=2e-3 * moved_by(pushes[0], 0.0))


# methods --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "modal"])
def test_rigs_push_with_every_method(scene, method):
    body, _ = make_character()
    body.thew.modes = 12
    assert bpy.ops.thew.add(cells_across=6, method=method) == {"FINISHED"}
    plain = play(body, FRAMES)
    add_rig(body, bone="Spine")
    pushed = play(body, FRAMES)
    assert np.isfinite(pushed).all() and moved_by(pushed, plain) > 1e-3 * size_of(plain[0])
    assert np.isfinite(settled(body)).all()


# panels ---------------------------------------------------------------------------------------------------------------


class Layout:
    """Stands in for a panel's layout: takes every call and notes what was asked for."""

    def __init__(self, seen):
        self.__dict__["seen"] = seen

    def __getattr__(self, name):
        def call(*args, **options):
            if name == "prop":
                assert args[1] in args[0].bl_rna.properties.keys(), args[1]
            if name == "prop_search":
                assert args[1] in args[0].bl_rna.properties.keys() and hasattr(args[2], args[3])
            self.seen.append((name, *(a for a in args if isinstance(a, str)), options.get("text", "")))
            return Layout(self.seen)

        return call

    def __setattr__(self, name, value):
        pass


def test_the_panel_draws_what_there_is(character):
    body, _ = character
    panel = part("rig_panel")
    add_rig(body, bone="Spine")
    rig = body.thew.rigs[0]
    for template in ("BUMP", "RADIAL", "BULGE", "TORUS"):
        for guide in ("BONE", "SKIN", "FREE"):
            seen: list = []
            with part("rig_properties").quietly():
                rig.template, rig.guide = template, guide
                rig.problem = "Something is wrong with it."
            panel.draw_list(Layout(seen), body)
            panel.draw_rig(Layout(seen), body, rig, 30)
            shown = {entry[1] for entry in seen if entry[0] == "prop"}
            assert set(part("rig_properties").sliders_of(rig)) <= shown
            assert any(entry[-1] == "Something is wrong with it." for entry in seen)


def test_every_setting_has_a_name_a_range_and_a_description(addon):
    properties = part("rig_properties")
    for group in properties.CLASSES:
        for name, setting in group.bl_rna.properties.items():
            if name == "rna_type":
                continue
            assert setting.description, name
            if not setting.is_hidden:
                assert setting.name, name
    for name in properties.LENGTHS:
        assert properties.ThewRig.bl_rna.properties[name].unit == "LENGTH", name
    for name in ("angle", "tilt", "roll", "rx", "ry", "rz"):
        assert properties.ThewRig.bl_rna.properties[name].unit == "ROTATION", name


# real characters ------------------------------------------------------------------------------------------------------

CHARACTERS = ("Fox", "q_bull", "mh_male_heavy")


@pytest.fixture(params=CHARACTERS)
def real(request, addon):
    folder = data_folder("characters")
    if folder is None or not (folder / f"{request.param}.glb").is_file():
        pytest.skip("no such character in THEW_DATA")
    load(folder / f"{request.param}.glb")
    actions = clips()
    if actions:
        play_clip(actions[0], 30)
    obj = meshes()[0]
    activate(obj)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    return obj


def test_a_driven_bulge_is_baked_over_a_real_clip(real):
    body, scene = real, bpy.context.scene
    frames = range(scene.frame_start, scene.frame_end + 1)
    if len(frames) < 2 or not clips():
        scene.frame_start, scene.frame_end = 1, 12
        swing_a_bone(body)
        frames = range(1, 13)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    without = play(body, frames)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    rig = add_rig(body, template="BULGE")
    bone = busiest_bone(body)
    assert bpy.ops.thew.rig_driver(bone=bone) == {"FINISHED"}
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert rig.problem == ""
    driven = play(body, frames)
    assert np.isfinite(driven).all()
    controls = flesh_of(body).motion.controls[:, 0]
    assert np.ptp(controls) > 0.5
    assert moved_by(driven, without) > 1e-4 * size_of(without[0])
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    np.testing.assert_allclose(play(body, frames), driven, atol=1e-5 * size_of(without[0]))


def swing_a_bone(body) -> None:
    """A clip for a character that has none."""
    bone = armature_here().pose.bones[flesh_of(body).character.bones[3]]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (6, 0.7), (12, 0.0)):
        bone.rotation_euler.x = angle
        bone.keyframe_insert("rotation_euler", frame=frame)


def busiest_bone(body) -> str:
    """The bone of the body that turns most in the clip."""
    flesh, bones = flesh_of(body), part("rig_drivers")
    armature = armature_here()

    def turned(name):
        turns = bones.turns_of(armature, name, flesh.motion.raw)
        return np.ptp([turn.to_exponential_map() for turn in turns], axis=0).max()

    return max(flesh.character.bones, key=turned)


def test_far_turned_bones_of_real_characters_stay_finite(real):
    body, scene = real, bpy.context.scene
    add_rig(body, template="BULGE")
    add_rig(body, template="BUMP", guide="SKIN", face=7)
    armature = armature_here()
    armature.animation_data_clear()
    names = flesh_of(body).character.bones
    scene.frame_start, scene.frame_end = 1, 8
    size = size_of(evaluated(body))
    for name in (names[len(names) // 3], names[len(names) // 2]):
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, angle in ((1, 0.0), (6, math.radians(170.0)), (8, math.radians(170.0))):
            bone.rotation_euler = (angle, 0.0, 0.0)
            bone.keyframe_insert("rotation_euler", frame=frame)
        scene.frame_set(8)
        shape = settled(body)
        assert np.isfinite(shape).all() and np.abs(shape).max() < 100.0 * size
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        shapes = play(body, range(1, 9))
        assert np.isfinite(shapes).all() and np.abs(shapes).max() < 100.0 * size


def test_a_bone_or_face_that_is_typed_in_counts(character):
    body, armature = character
    rig = add_rig(body, bone="Spine")
    rig.bone = "Head"
    settled(body)
    assert (rig.bone, rig.problem) == ("Head", "")
    armature.data.bones["Head"].name = "Kopf"
    settled(body)
    assert rig.bone == "Kopf"
    rig.guide, rig.face = "SKIN", 101
    rig.barycentric = (0.5, 0.25, 0.25)
    settled(body)
    assert (rig.guide, rig.face, rig.problem) == ("SKIN", 101, "")
    rig.face = 44
    settled(body)
    assert (rig.face, rig.problem) == (44, "")
    rig.barycentric = (math.nan, 0.0, 0.0)
    settled(body)
    assert "not a number" in rig.problem
    rig.face = 99999
    settled(body)
    assert "gone" in rig.problem


def test_a_bone_that_moves_no_flesh_is_named(character):
    body, armature = character
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("Target")
    bone.head, bone.tail = (1.0, 0.0, 0.0), (1.0, 0.0, 0.5)
    bpy.ops.object.mode_set(mode="OBJECT")
    rig = add_rig(body, bone="Spine")
    rig.bone = "Target"
    assert np.isfinite(settled(body)).all()
    assert "moves no flesh" in rig.problem

# SPDX-License-Identifier: GPL-3.0-or-later
"""Controls of rigs by hand, key and driver, in motion and baked."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from helpers import activate, add_rig, curve_keys, flesh_of, largest_difference, part, play, refusal, settle, size_of
from mathutils import Quaternion

FRAMES = range(1, 21)


def test_rig_setting_resimulates(fleshed_character):
    """Rigs act in motion, and a changed rig simulates anew at once."""
    body, _ = fleshed_character
    plain = play(body, FRAMES)
    size = size_of(plain[0])
    rig = add_rig(body, bone="Spine")
    pushed = play(body, FRAMES)
    assert largest_difference(pushed, plain) > 3e-3 * size and np.isfinite(pushed).all()
    rig.control = 0.5
    less = play(body, FRAMES)
    assert 1e-3 * size < largest_difference(less, plain) < largest_difference(pushed, plain)
    rig.strength *= 2.0
    assert largest_difference(play(body, FRAMES), less) < 1e-6 * size  # a draft
    rig.control = 1.0
    rig.samples[1].sliders.strength *= 2.0
    assert largest_difference(play(body, FRAMES), pushed) > 1e-3 * size
    rig.enabled = False
    np.testing.assert_array_equal(play(body, FRAMES), plain)


def test_rig_keeps_softness(fleshed_character):
    """A rig does not change the stiffness of the flesh."""
    body, _ = fleshed_character
    play(body, (1,))
    softness = flesh_of(body).body.softness()
    rig = add_rig(body, bone="Spine")
    rig.samples[1].sliders.strength *= 30.0
    shapes = play(body, FRAMES)
    assert np.isfinite(shapes).all()
    assert flesh_of(body).body.softness() == softness


@pytest.mark.parametrize("then", ["add", "settle", "simulate", "play", "bake"])
def test_later_keyed_rig_is_read(fleshed_character, then):
    """The keys of a rig that is added after the motion was read are read by every job."""
    body, _ = fleshed_character
    curve_keys(add_rig(body, bone="Spine"), (1, 0.0), (20, 0.1))
    before = play(body, FRAMES)
    second = add_rig(body, bone="Head")
    curve_keys(second, (1, 0.0), (10, 1.0))
    activate(body)
    jobs = {
        "add": lambda: bpy.ops.thew.add(cells_across=6),
        "settle": bpy.ops.thew.settle,
        "simulate": bpy.ops.thew.simulate,
        "bake": bpy.ops.thew.bake,
    }
    if then in jobs:
        assert jobs[then]() == {"FINISHED"}
    body.thew.settled = False
    after = play(body, FRAMES)
    assert np.isfinite(after).all() and largest_difference(after, before) > 1e-3 * size_of(before[0])
    assert flesh_of(body).motion.controls.shape[1] == 2


def test_control_keyed(fleshed_character):
    """A keyed control acts as its curve says."""
    body, _ = fleshed_character
    body.thew.motion_start = "SETTLED"  # a rig that does not repeat would make a loop something else
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
    curve = next(iter(part("scene.animation").curves_in(body.animation_data)))
    curve.keyframe_points[0].interpolation = "LINEAR"
    curve.keyframe_points[1].co.y = 0.0
    np.testing.assert_allclose(play(body, FRAMES), plain, atol=1e-6 * size)


def test_later_keyed_rig_in_preview(fleshed_character):
    """A rig that is keyed later shows in the rest pose preview before its keys are read."""
    body, _ = fleshed_character
    add_rig(body, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    play(body, FRAMES)
    flesh = flesh_of(body)
    before = flesh.settled_offsets(body, 5)
    rig = add_rig(body, bone="Head", name="Later")
    curve_keys(rig, (5, 1.0))
    assert flesh.motion.controls.shape[1] == 1
    assert largest_difference(flesh.settled_offsets(body, 5), before) > 0.0
    bpy.ops.thew.rig_remove()
    np.testing.assert_allclose(flesh.settled_offsets(body, 5), before, atol=1e-6 * size_of(before))


def test_control_driven_without_scripts(fleshed_character):
    """A driven control follows its bone without Python scripts."""
    body, armature = fleshed_character
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
    assert largest_difference(driven, plain) > 1e-3 * size_of(plain[0])
    bends = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        bends.append(armature.pose.bones["Spine"].rotation_euler.x)
    correlation = abs(np.corrcoef(bends, controls[: len(bends)])[0, 1])
    assert correlation > 0.99


@pytest.mark.parametrize(
    ("axis", "turn"), [("X", (1.0, 0, 0)), ("Y", (0, -1.0, 0)), ("Z", (0, 0, 2.9)), ("SWING", (0, 0, -1.2))]
)
def test_driver_reads_its_axis(fleshed_character, axis, turn):
    """A driver gives the part of its turn that the bone has made."""
    body, armature = fleshed_character
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
def test_driver_axis_found(fleshed_character, turn, kind, channel):
    """The driver finds the axis about which its bone is turned."""
    body, armature = fleshed_character
    add_rig(body, bone="Spine")
    head = armature.pose.bones["Head"]
    head.rotation_mode = "XYZ"
    head.rotation_euler = turn
    assert bpy.ops.thew.rig_driver(bone="Head", axis="AUTO") == {"FINISHED"}
    target = body.animation_data.drivers[0].driver.variables[0].targets[0]
    assert (target.rotation_mode, target.transform_type) == (kind, channel)
    bpy.context.view_layer.update()
    assert body.thew.rigs[0].control == pytest.approx(1.0, abs=1e-3)


def test_driver_without_bone(fleshed_character):
    """A rig whose driver lost its bone reports it, until it gets a new driver."""
    body, _armature = fleshed_character
    rig = add_rig(body, bone="Spine", name="Driven")
    other = add_rig(body, bone="Head", name="Other")
    rig = body.thew.rigs["Driven"]
    assert bpy.ops.thew.rig_driver(index=0, bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    assert "no bone “Tail”" in refusal(bpy.ops.thew.rig_driver, index=0, bone="Tail")
    assert "two different angles" in refusal(
        bpy.ops.thew.rig_driver, index=0, bone="Head", axis="X", from_angle=1, to_angle=1
    )
    body.animation_data.drivers[0].driver.variables[0].targets[0].bone_target = "Tail"
    shapes = play(body, (1, 2))
    assert np.isfinite(shapes).all()
    assert "“Tail”" in rig.problem and rig.enabled and other.problem == ""
    assert bpy.ops.thew.rig_driver(index=0, bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    play(body, (1, 2))
    assert rig.problem == ""


def test_bake_with_rigs_matches_live(fleshed_character):
    """A bake with rigs plays as the live flesh."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert largest_difference(play(body, FRAMES), live) < 1e-5 * size_of(live[0])
    assert len(rig.samples) == 2


def test_scrub_with_rigs_any_order(fleshed_character):
    """Frames with rigs look the same in any order of scrubbing."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (1, 0.0), (15, 1.0))
    shapes = play(body, FRAMES)
    order = list(FRAMES)
    np.random.default_rng(3).shuffle(order)
    for frame, shape in zip(order, play(body, order), strict=True):
        np.testing.assert_array_equal(shape, shapes[frame - 1])


def test_nan_key_disables_rig(fleshed_character):
    """A key that is not a number switches its rig off until it is mended."""
    body, _ = fleshed_character
    plain = play(body, FRAMES)
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (1, 0.0), (10, 1.0))
    (curve,) = part("scene.animation").curves_in(body.animation_data)
    curve.keyframe_points[1].co.y = math.nan
    np.testing.assert_allclose(play(body, FRAMES), plain, atol=1e-6)
    assert "not a number at frame" in rig.problem and rig.enabled
    assert np.isfinite(settle(body)).all()
    body.thew.settled = False
    curve.keyframe_points[1].co.y = 1.0
    assert largest_difference(play(body, FRAMES), plain) > 1e-3
    assert rig.problem == ""


def test_broken_driver_disables_rig(fleshed_character):
    """A broken driver switches its rig off until it is replaced."""
    body, armature = fleshed_character
    plain = play(body, FRAMES)
    rig = add_rig(body, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    (curve,) = body.animation_data.drivers
    variable = curve.driver.variables[0]
    variable.type = "SINGLE_PROP"
    variable.targets[0].id = armature
    variable.targets[0].data_path = '["nothing"]'
    play(body, (1, 2, 3))
    assert "does not work" in rig.problem and rig.enabled
    assert np.isfinite(settle(body)).all()
    body.thew.settled = False
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    assert largest_difference(play(body, FRAMES), plain) > 1e-3
    assert rig.problem == ""


# which axis varies ----------------------------------------------------------------------------------------------------


def turn_about(axis: str, angle: float):
    return Quaternion([float(axis == each) for each in "XYZ"], angle)


@pytest.mark.parametrize("held", ["X", "Y", "Z"])
@pytest.mark.parametrize("moves", ["X", "Y", "Z"])
@pytest.mark.parametrize("before", [True, False])
def test_chosen_axis_prefers_variation(scene, held, moves, before):
    """An axis whose turn varies by 40 degrees wins over one that stays at 80."""
    drivers = part("rigs.drivers")
    constant = turn_about(held, math.radians(80.0))
    motion = [turn_about(moves, math.radians(20.0 * (1.0 - math.cos(0.3 * k)))) for k in range(21)]
    turns = [constant @ each if before else each @ constant for each in motion]
    axis = drivers.dominant_axis(turns)
    assert axis == moves
    start, end = drivers.usual_range(turns, axis)
    assert abs(end - start) == pytest.approx(math.radians(40.0), rel=0.02)


def test_chosen_axis_of_circling_bone(scene):
    """A circling bone is driven by one swing axis, and not by its swing angle, which stays constant."""
    drivers = part("rigs.drivers")
    turns = [
        Quaternion((math.cos(a), 0.0, math.sin(a)), math.radians(30.0)) for a in np.linspace(0.0, 2.0 * math.pi, 25)
    ]
    axis = drivers.dominant_axis(turns)
    start, end = drivers.usual_range(turns, axis)
    assert axis in {"X", "Z"} and abs(end - start) > math.radians(50.0)


def test_chosen_axis_swing(scene):
    """A turn about both swing axes together is a swing."""
    drivers = part("rigs.drivers")
    turns = [Quaternion((0.7, 0.0, 0.7), math.radians(angle)) for angle in range(0, 60, 3)]
    assert drivers.dominant_axis(turns) == "SWING"


def test_control_driven_by_twisted_bone(fleshed_character):
    """A control that a strongly twisted bone drives covers its whole range."""
    body, armature = fleshed_character
    armature.animation_data_clear()
    spine = armature.pose.bones["Spine"]
    spine.rotation_mode = "YXZ"
    for frame in (1, 10, 20):
        spine.rotation_euler = (0.6 * (frame == 10), 1.4, 0.0)
        spine.keyframe_insert("rotation_euler", frame=frame)
    play(body, FRAMES)
    add_rig(body, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    play(body, FRAMES)
    controls = flesh_of(body).motion.controls[:, 0]
    assert controls.min() == pytest.approx(0.0, abs=0.02) and controls.max() == pytest.approx(1.0, abs=0.02)

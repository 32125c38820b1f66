# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of a range that is simulated alone has the frames of the whole: the motion before it is used."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, make_armature, make_body, part, play, size_of


def make_jolted(first: int, last: int, hold: int = 0):
    """Builds a character that stands still, then is shaken in an irregular rhythm in frames `first` to `last`."""
    rig = make_armature()
    body = make_body(rig)
    hip, spine = rig.pose.bones["Hip"], rig.pose.bones["Spine"]
    spine.rotation_mode = "XYZ"
    for frame in range(first, last + 1, 2):
        t = (frame - first) / 24.0
        hip.location = (0.0, 0.1 * math.sin(7.0 * t + t * t), 0.08 * math.sin(5.0 * t))
        spine.rotation_euler = (0.4 * math.sin(4.0 * t + 0.5 * t * t), 0.0, 0.2 * math.sin(3.1 * t))
        hip.keyframe_insert("location", frame=frame)
        spine.keyframe_insert("rotation_euler", frame=frame)
    activate(body)
    bpy.context.view_layer.update()
    return body, rig


def simulate(body, start: int, end: int) -> np.ndarray:
    activate(body)
    assert bpy.ops.thew.simulate(frame_start=start, frame_end=end) == {"FINISHED"}
    return play(body, range(start, end + 1))


@pytest.fixture
def shaken_character(scene):
    scene.frame_end = 160
    body, rig = make_jolted(1, 161)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


@pytest.mark.parametrize(("start", "end"), [(30, 60), (100, 120)])
def test_lead_reproduces_whole_range(shaken_character, start, end):
    """A range simulated alone has the frames that a simulation of the whole clip has there."""
    body, _ = shaken_character
    whole = simulate(body, 1, end)
    alone = simulate(body, start, end)
    size = size_of(whole[0])
    assert np.abs(whole[start - 1 :] - alone).max() < 2e-3 * size
    body.thew.motion_start = "PREROLL"  # as it was
    assert np.abs(whole[start - 1 :] - simulate(body, start, end)).max() > 5e-3 * size


def test_lead_from_motion_start(shaken_character):
    """A lead that reaches back to the start of the motion gives the whole clip's frames to rounding."""
    body, _ = shaken_character
    whole = simulate(body, 1, 50)
    alone = simulate(body, 40, 50)
    np.testing.assert_allclose(alone, whole[39:], atol=1e-6)
    assert flesh_of(body).clip.lead == 39 and "39 frames before frame 40" in body.thew.made.notes


def test_lead_absent_without_earlier_motion(shaken_character):
    """A range with no motion before it begins with the usual run-in and has no lead."""
    body, _ = shaken_character
    simulate(body, 1, 20)
    flesh = flesh_of(body)
    assert flesh.beginning.preroll == 4 and not hasattr(flesh.clip, "lead")


def test_lead_ignores_rest_pose_key(scene):
    """The jump from a rest pose at frame 0 to a distant first pose at frame 1 does not count as motion."""
    body, rig = make_jolted(1, 41)
    for name, path in (("Hip", "location"),):
        bone = rig.pose.bones[name]
        bone.location = (4.0, 0.0, 0.0)
        bone.keyframe_insert(path, frame=0)
    curves = part("scene.animation").curves_in(rig.animation_data)
    for curve in curves:
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    simulate(body, 1, 20)
    assert not hasattr(flesh_of(body).clip, "lead")


def test_lead_keeps_loop(character):
    """A loop is still simulated as a loop and gets no lead."""
    body, _ = character
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    simulate(body, 1, 20)
    assert flesh_of(body).beginning.period == 20 or flesh_of(body).beginning.preroll


def test_lead_in_bake_and_file(shaken_character, tmp_path):
    """A bake and a reopened file show the same frames as the live simulation with its lead."""
    body, _ = shaken_character
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 40, 60
    live = simulate(body, 40, 60)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "hero.blend"))
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(play(body, range(40, 61)), live)
    activate(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, range(40, 61)) - live).max() < 1e-5 * size_of(live[0])


def test_lead_includes_rigs(shaken_character):
    """A rig that pushes only before the range leaves its swing in it."""
    body, _ = shaken_character
    assert bpy.ops.thew.rig_add(bone="Spine") == {"FINISHED"}
    rig = body.thew.rigs[0]
    for frame, control in ((1, 0.0), (50, 0.0), (56, 1.0), (58, 0.0)):
        rig.control = control
        rig.keyframe_insert("control", frame=frame)
    whole, alone = simulate(body, 1, 80), simulate(body, 60, 80)
    assert np.abs(whole[59:] - alone).max() < 2e-3 * size_of(alone[0])


def test_lead_includes_colliders(scene):
    """A collider that moves before the range acts from the places that it had there."""
    from colliding import add_box

    scene.frame_end = 60
    body, _ = make_jolted(1, 61)
    box = add_box("Bar", moves=False, half=0.15)
    for frame, y in ((20, -0.9), (30, -0.4), (38, -0.9)):
        box.location = (0.0, y, 0.75)
        box.keyframe_insert("location", frame=frame)
    body.thew.use_contact = True
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    whole, alone = simulate(body, 1, 50), simulate(body, 40, 50)
    assert np.abs(whole[39:] - alone).max() < 2e-3 * size_of(alone[0])

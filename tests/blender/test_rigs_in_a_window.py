# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs that are edited and driven in a window: updates by the timer, and what is seen at once."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import evaluated_positions, flesh_of, part, play
from ticking import FRAMES, tick


@pytest.fixture
def rigged_character(window):
    """Builds the same with a rig, settled down again."""
    body, armature, handlers = window
    assert bpy.ops.thew.rig_add(bone="Spine") == {"FINISHED"}
    tick()
    return body, armature, handlers, body.thew.rigs[0]


def test_rig_updates_by_timer(rigged_character):
    """A changed rig shows in motion after one update."""
    body, _, _, rig = rigged_character
    before = evaluated_positions(body)
    rig.control = 0.3
    np.testing.assert_array_equal(evaluated_positions(body), before)
    tick()
    after = evaluated_positions(body)
    assert np.abs(after - before).max() > 1e-3
    rig.enabled = False
    tick()
    assert np.abs(evaluated_positions(body) - after).max() > 1e-4
    assert not part("live.updates").state.waiting


def test_rig_sliders_immediate_in_preview(rigged_character):
    """The sliders of a rig show at once in the rest pose preview."""
    body, _, _, rig = rigged_character
    body.thew.settled = True
    tick()
    before = evaluated_positions(body)
    rig.strength *= 2.0
    at_once = evaluated_positions(body)
    assert np.abs(at_once - before).max() > 1e-3
    tick()
    np.testing.assert_array_equal(evaluated_positions(body), at_once)
    assert flesh_of(body).condition.clip.name == "BEHIND"
    body.thew.settled = False
    tick()
    assert flesh_of(body).condition.clip.name == "CURRENT"
    moving = evaluated_positions(body)
    play(body, (9, 4))
    np.testing.assert_array_equal(evaluated_positions(body), moving)


def test_control_curve_edit_updates(scene, rigged_character):
    """An edited curve of a control shows after one update."""
    body, _, _, rig = rigged_character
    for frame, control in ((1, 0.0), (4, 1.0)):
        rig.control = control
        rig.keyframe_insert("control", frame=frame)
    bpy.context.view_layer.update()
    tick()
    scene.frame_set(4)
    before = evaluated_positions(body)
    (curve,) = part("scene.animation").curves_in(body.animation_data)
    curve.keyframe_points[1].interpolation = "CONSTANT"
    curve.keyframe_points[1].co.y = 0.2
    body.update_tag()
    bpy.context.view_layer.update()
    assert part("live.updates").state.waiting
    tick()
    assert np.abs(evaluated_positions(body) - before).max() > 1e-3
    assert flesh_of(body).motion.controls[3, 0] == pytest.approx(0.2)


def test_driven_rig_follows_pose(rigged_character):
    """A driven rig and its sliders follow the pose."""
    body, armature, _, rig = rigged_character
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    tick()
    full = rig.samples[1].sliders.strength
    head = armature.pose.bones["Head"]
    head.rotation_mode = "XYZ"
    shapes = []
    for angle in (0.01, 0.5, 1.0):
        head.rotation_euler.x = angle
        bpy.context.view_layer.update()
        assert rig.control == pytest.approx(angle, abs=1e-4)
        assert rig.strength == pytest.approx(angle * full, rel=1e-3)
        shapes.append(evaluated_positions(body))
    assert not rig.draft and [s.control for s in rig.samples] == [0.0, 1.0]
    rig.strength = 0.5 * full  # at a sample: it follows
    assert rig.samples[1].sliders.strength == pytest.approx(0.5 * full)


def test_preview_switch_keeps_pose(rigged_character):
    """Rest Pose Preview, switched on or off in a pose without keys, shows that pose and its rigs, and not those of the frame."""
    body, armature, *_ = rigged_character
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    tick()
    before = evaluated_positions(body)
    head = armature.pose.bones["Head"]
    head.rotation_mode = "XYZ"
    head.rotation_euler.x = 1.0
    bpy.context.view_layer.update()
    posed = evaluated_positions(body)
    assert flesh_of(body).condition.pose.name == "OTHER" and np.abs(posed - before).max() > 1e-3
    for settled in (True, False):
        body.thew.settled = settled
        np.testing.assert_allclose(evaluated_positions(body), posed, atol=1e-5)
        assert flesh_of(body).condition.pose.name == "OTHER"


def test_playback_with_rig_edits_nothing(rigged_character, monkeypatch):
    """Playback with a keyed rig edits nothing and requests no update."""
    body, _, _, rig = rigged_character
    for frame, control in ((1, 0.0), (18, 1.0)):
        rig.control = control
        rig.keyframe_insert("control", frame=frame)
    bpy.context.view_layer.update()
    tick()
    play(body, FRAMES)
    bpy.context.view_layer.update()
    tick()
    told = []
    part("saved.rigs").on_rig.append(told.append)
    try:
        for settled in (False, True):
            body.thew.settled = settled
            tick()
            play(body, FRAMES)
            bpy.context.view_layer.update()
            assert not part("live.updates").state.waiting and not told
        monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: True)
        sliders = part("saved.samples").slider_values(rig)
        play(body, FRAMES)
        assert part("saved.samples").slider_values(rig) == sliders  # they stand still while it plays
    finally:
        part("saved.rigs").on_rig.remove(told.append)
    assert [s.control for s in rig.samples] == [0.0, 1.0] and not told


def test_render_shows_motion_in_preview(scene, rigged_character):
    """A render shows the motion while the view shows the rest pose preview."""
    body, _, handlers, _rig = rigged_character
    moving = play(body, (4, 9))
    body.thew.settled = True
    tick()
    still = play(body, (4, 9))
    assert np.abs(still - moving).max() > 1e-4
    scene.render.use_lock_interface = True
    handlers.before_render(scene)
    try:
        np.testing.assert_array_equal(play(body, (4, 9)), moving)
    finally:
        handlers.after_render(scene)
    np.testing.assert_array_equal(play(body, (4, 9)), still)

# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake reads no frames again that are current, reads all that may be others, and its redo panel shows what was done."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, part, play, size_of

FRAMES = range(1, 21)


@pytest.fixture
def reads(monkeypatch) -> list:
    """The ranges of frames that were read."""
    poses, found = part("scene.poses"), []
    real = poses.read_motions
    monkeypatch.setattr(poses, "read_motions", lambda all_, *given: found.append(given[2:4]) or real(all_, *given))
    return found


def bake() -> None:
    assert bpy.ops.thew.bake() == {"FINISHED"}


def test_a_motion_that_is_current_is_not_read_again(fleshed, reads):
    body, _ = fleshed
    live = play(body, FRAMES)
    assert len(reads) == 1
    bake()
    assert len(reads) == 1
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert bpy.context.scene.frame_current == 20


def edit_key(armature):
    curve = next(iter(part("scene.animation").curves_in(armature.animation_data)))
    for point in curve.keyframe_points:
        point.co.y += 0.05
    curve.update()


def add_constraint(armature):
    bone = armature.pose.bones["Spine"].constraints.new("LIMIT_ROTATION")
    bone.use_limit_x, bone.owner_space = True, "LOCAL"


def move(armature):
    armature.location.z += 0.5


def mute_its_curves(armature):
    for curve in part("scene.animation").curves_in(armature.animation_data):
        curve.mute = True


@pytest.mark.parametrize("change", [edit_key, add_constraint, move, mute_its_curves])
def test_what_is_another_motion_is_read(fleshed, reads, change):
    body, armature = fleshed
    play(body, FRAMES)
    change(armature)
    bake()
    assert len(reads) >= 2
    baked = play(body, FRAMES)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    live = play(body, FRAMES)
    assert np.abs(baked - live).max() < 1e-5 * size_of(live[0])


def test_a_longer_range_is_read(fleshed, reads):
    body, _ = fleshed
    play(body, FRAMES)
    assert bpy.ops.thew.bake(frame_end=30) == {"FINISHED"}
    assert reads[-1][1] == 30 and flesh_of(body).clip_end == 30


def test_the_redo_panel_tells_what_was_done(fleshed, monkeypatch):
    body, _ = fleshed
    seen = []
    operator = part("operators.bake").THEW_OT_bake
    monkeypatch.setattr(operator, "done", lambda self, _obj, _result: seen.append(shown(self)) or {"FINISHED"})
    body.thew.bake_space = "POSED"
    bake()
    assert seen[-1] == {"frame_start": 1, "frame_end": 20, "space": "POSED"}
    body.thew.use_scene_range = False
    body.thew.frame_start, body.thew.frame_end, body.thew.bake_space = 3, 9, "REST"
    bake()
    assert seen[-1] == {"frame_start": 3, "frame_end": 9, "space": "REST"}
    assert bpy.ops.thew.bake(frame_end=7) == {"FINISHED"}
    assert seen[-1] == {"frame_start": 3, "frame_end": 7, "space": "REST"}
    for name in ("frame_start", "frame_end", "space", "target"):
        assert bpy.ops.thew.bake.get_rna_type().properties[name].is_skip_save, name  # the next press begins anew


def shown(operator) -> dict:
    return {name: getattr(operator, name) for name in ("frame_start", "frame_end", "space")}


def test_what_add_and_simulate_did_is_shown_too(character, monkeypatch):
    body, _ = character
    seen = []
    for kind in ("add.THEW_OT_add", "simulate.THEW_OT_simulate"):
        module, name = kind.split(".")
        monkeypatch.setattr(
            getattr(part(f"operators.{module}"), name),
            "done",
            lambda self, *_: seen.append(self.as_keywords()) or {"FINISHED"},
        )
    body.thew.cells_across, body.thew.method = 7, "warped"
    activate(body)
    assert bpy.ops.thew.add() == {"FINISHED"}
    assert (seen[-1]["cells_across"], seen[-1]["method"]) == (7, "warped")
    assert bpy.ops.thew.simulate(frame_end=9) == {"FINISHED"}
    assert (seen[-1]["frame_start"], seen[-1]["frame_end"]) == (1, 9)

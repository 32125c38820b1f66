# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake does not read current frames again, reads all that may have changed, and its redo panel shows the values used."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, part, play, size_of

FRAMES = range(1, 21)


@pytest.fixture
def reads(monkeypatch) -> list:
    """Records the ranges of frames that are read."""
    poses, found = part("scene.poses"), []
    real = poses.read_motions
    monkeypatch.setattr(poses, "read_motions", lambda all_, *given: found.append(given[2:4]) or real(all_, *given))
    return found


def bake() -> None:
    assert bpy.ops.thew.bake() == {"FINISHED"}


def test_bake_current_motion(fleshed_character, reads):
    """A bake does not read again a motion that is current."""
    body, _ = fleshed_character
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
def test_bake_changed_motion(fleshed_character, reads, change):
    """A bake reads a motion that an edit of the armature may have changed."""
    body, armature = fleshed_character
    play(body, FRAMES)
    change(armature)
    bake()
    assert len(reads) >= 2
    baked = play(body, FRAMES)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    live = play(body, FRAMES)
    assert np.abs(baked - live).max() < 1e-5 * size_of(live[0])


def test_bake_longer_range_read(fleshed_character, reads):
    """A bake of a longer range reads its frames."""
    body, _ = fleshed_character
    play(body, FRAMES)
    assert bpy.ops.thew.bake(frame_end=30) == {"FINISHED"}
    assert reads[-1][1] == 30 and flesh_of(body).clip_end == 30


def test_bake_redo_panel(fleshed_character, monkeypatch):
    """The redo panel of Bake shows the frames and the space that were baked."""
    body, _ = fleshed_character
    seen = []
    operator = part("operators.bake").THEW_OT_bake
    monkeypatch.setattr(
        operator, "report_success", lambda self, _obj, _result: seen.append(operator_values(self)) or {"FINISHED"}
    )
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


def operator_values(operator) -> dict:
    return {name: getattr(operator, name) for name in ("frame_start", "frame_end", "space")}


def test_add_simulate_redo_panel(character, monkeypatch):
    """The redo panels of Add and Simulate show the values that were used."""
    body, _ = character
    seen = []
    for kind in ("add.THEW_OT_add", "simulate.THEW_OT_simulate"):
        module, name = kind.split(".")
        monkeypatch.setattr(
            getattr(part(f"operators.{module}"), name),
            "report_success",
            lambda self, *_: seen.append(self.as_keywords()) or {"FINISHED"},
        )
    body.thew.cells_across, body.thew.method = 7, "warped"
    activate(body)
    assert bpy.ops.thew.add() == {"FINISHED"}
    assert (seen[-1]["cells_across"], seen[-1]["method"]) == (7, "warped")
    assert bpy.ops.thew.simulate(frame_end=9) == {"FINISHED"}
    assert (seen[-1]["frame_start"], seen[-1]["frame_end"]) == (1, 9)


@pytest.mark.parametrize(
    "target",
    [{}, {"clips": "ALL"}, {"target": "COMPRESSED", "clips": "ALL"}, {"target": "HELPER_BONES", "bones": 4}],
    ids=str,
)
def test_own_curves_are_no_edit(fleshed_character, reads, target):
    """The curves of a bake, written or removed, do not count as an edit of the motion that was read; a key of the artist does."""
    body, armature = fleshed_character
    play(body, FRAMES)
    assert bpy.ops.thew.bake(**target) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert not flesh_of(body).condition.is_behind
    bpy.ops.thew.show_live()
    read = len(reads)
    play(body, FRAMES)
    assert len(reads) == read
    assert bpy.ops.thew.bake_remove(name=body.thew.bakes[0].name) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert not flesh_of(body).condition.is_behind
    edit_key(armature)
    bpy.context.view_layer.update()
    assert flesh_of(body).condition.is_behind

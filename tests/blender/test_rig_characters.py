# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs on real characters: a driven bulge is baked over a clip, far turned bones stay finite."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from characters import armature as armature_here
from characters import clips, load, meshes, play_clip
from conftest import FAST, data_folder
from helpers import activate, add_rig, evaluated_positions, flesh_of, largest_difference, part, play, settle, size_of

CHARACTERS = ("q_bull",) if FAST else ("Fox", "q_bull", "mh_male_heavy")


@pytest.fixture(params=CHARACTERS)
def real_character(request, addon):
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


def test_driven_bulge_bake_matches_live(real_character):
    """A driven bulge acts over a real clip, and its bake plays as the live flesh."""
    body, scene = real_character, bpy.context.scene
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
    assert largest_difference(driven, without) > 1e-4 * size_of(without[0])
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    np.testing.assert_allclose(play(body, frames), driven, atol=1e-5 * size_of(without[0]))


def swing_a_bone(body) -> None:
    """Keys a clip for a character that has none."""
    bone = armature_here().pose.bones[flesh_of(body).character.bones[3]]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (6, 0.7), (12, 0.0)):
        bone.rotation_euler.x = angle
        bone.keyframe_insert("rotation_euler", frame=frame)


def busiest_bone(body) -> str:
    """Returns the bone of the body that turns most in the clip."""
    flesh, bones = flesh_of(body), part("rigs.drivers")
    armature = armature_here()

    def turn_range(name):
        turns = bones.turns_of(armature, name, flesh.motion.raw)
        return np.ptp([turn.to_exponential_map() for turn in turns], axis=0).max()

    return max(flesh.character.bones, key=turn_range)


def test_rig_finite_in_extreme_pose(real_character):
    """Rigs on real characters stay finite when bones are turned far."""
    body, scene = real_character, bpy.context.scene
    add_rig(body, template="BULGE")
    add_rig(body, template="BUMP", guide="SKIN", face=7)
    armature = armature_here()
    armature.animation_data_clear()
    names = flesh_of(body).character.bones
    scene.frame_start, scene.frame_end = 1, 8
    size = size_of(evaluated_positions(body))
    for name in (names[len(names) // 3], names[len(names) // 2]):
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, angle in ((1, 0.0), (6, math.radians(170.0)), (8, math.radians(170.0))):
            bone.rotation_euler = (angle, 0.0, 0.0)
            bone.keyframe_insert("rotation_euler", frame=frame)
        scene.frame_set(8)
        shape = settle(body)
        assert np.isfinite(shape).all() and np.abs(shape).max() < 100.0 * size
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        shapes = play(body, range(1, 9))
        assert np.isfinite(shapes).all() and np.abs(shapes).max() < 100.0 * size

# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that follow their flesh in Blender: keyed rotations that swing, joints that hold, undo, and sentences for mistakes."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import activate, play, refusal

FRAMES = range(1, 21)


def simulate(body):
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}


def bone_matrices(armature, name):
    """Returns a bone's world matrices over the frames."""
    return play(armature, FRAMES, lambda rig: np.array(rig.matrix_world @ rig.pose.bones[name].matrix))


def turn_between(a, b):
    """Returns the angle between rotations [f, 3, 3], radians."""
    both = a[:, :3, :3].transpose(0, 2, 1) @ b[:, :3, :3]
    return np.arccos(np.clip((np.trace(both, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0))


def test_bones_swing_and_joints_hold(fleshed_character):
    """The head swings about its animation, is keyed in every frame, stays on the spine, and the spine is as before."""
    body, armature = fleshed_character
    simulate(body)
    before = {name: bone_matrices(armature, name) for name in ("Spine", "Head")}
    activate(body)
    assert bpy.ops.thew.follow_bones(bones="Head", firmness=8.0) == {"FINISHED"}
    after = {name: bone_matrices(armature, name) for name in ("Spine", "Head")}
    np.testing.assert_allclose(after["Spine"], before["Spine"], atol=1e-6)
    np.testing.assert_allclose(after["Head"][:, :3, 3], before["Head"][:, :3, 3], atol=1e-4)
    swing = turn_between(before["Head"], after["Head"])
    assert swing.max() > 0.002
    simulate(body)  # flesh sways on the moved bones


def test_limit_is_kept(fleshed_character):
    body, armature = fleshed_character
    simulate(body)
    before = bone_matrices(armature, "Head")
    assert bpy.ops.thew.follow_bones(bones="Head", firmness=2.0, limit=0.001) == {"FINISHED"}
    assert turn_between(before, bone_matrices(armature, "Head")).max() < 0.0012


def test_following_survives_undo(fleshed_character):
    """Undo takes the keys away and brings the former motion back."""
    body, armature = fleshed_character
    simulate(body)
    name = armature.name
    before = bone_matrices(armature, "Head")
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.thew.follow_bones(bones="Head") == {"FINISHED"}
    bpy.ops.ed.undo_push(message="follow")
    bpy.ops.ed.undo()
    np.testing.assert_allclose(bone_matrices(bpy.data.objects[name], "Head"), before, atol=1e-6)


def test_mistakes_are_sentences(fleshed_character):
    """Missing simulation, unknown bones, the root and constrained bones are refused, and nothing is keyed."""
    body, armature = fleshed_character
    simulate(body)
    before = bone_matrices(armature, "Head")
    assert "no bone “Tail”" in refusal(bpy.ops.thew.follow_bones, bones="Tail")
    assert "hang on" in refusal(bpy.ops.thew.follow_bones, bones="Hip")
    constraint = armature.pose.bones["Head"].constraints.new("COPY_ROTATION")
    assert "constraints" in refusal(bpy.ops.thew.follow_bones, bones="Head")
    armature.pose.bones["Head"].constraints.remove(constraint)
    body.thew.method = "blended"
    simulate(body)
    assert "choose Hyperelastic" in refusal(bpy.ops.thew.follow_bones, bones="Head")
    np.testing.assert_allclose(bone_matrices(armature, "Head"), before, atol=1e-6)
    bpy.ops.mesh.primitive_cube_add()
    assert "no armature" in refusal(bpy.ops.thew.follow_bones, bones="Head")

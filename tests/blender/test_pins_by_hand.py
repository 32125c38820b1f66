# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins edited by hand in a window: what is not animated is followed; an edit without a key waits for its key and is not lost."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, part, world
from ticking import tick, window_of

BELLY = 50
FRAME = 6


@pytest.fixture
def pinned(scene, monkeypatch):
    """Builds a character with a pin at its belly, in a Blender that believes it has a window: (body, armature)."""
    yield from window_of(monkeypatch, pin)


def pin(body):
    scene = bpy.context.scene
    scene.frame_set(FRAME)
    activate(body)
    assert bpy.ops.thew.pin_point(vertex=BELLY) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    scene.frame_set(FRAME)


def settle():
    """Lets Blender evaluate, and the timer do what is due."""
    bpy.context.view_layer.update()
    tick()


def held(body) -> float:
    """Returns the distance of the pinned vertex from its target."""
    target = body.thew.pins[0].target.matrix_world.translation
    return float(np.linalg.norm(world(body)[BELLY] - np.array(target)))


def test_moved_target_is_followed(pinned):
    """An Empty without keys that is moved takes the flesh along."""
    body, _ = pinned
    body.thew.pins[0].target.location.y -= 0.03
    settle()
    assert held(body) < 1e-4


def test_influence_without_key_waits(pinned):
    """An edit of an influence that has keys stays until it is keyed, and is keyed as it was typed."""
    body, _ = pinned
    held_by = body.thew.pins[0]
    body.keyframe_insert("thew.pins[0].influence", frame=1)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    bpy.context.scene.frame_set(FRAME)
    held_by.influence = 0.0
    settle()
    assert held_by.influence == 0.0
    former = flesh_of(body).clip
    body.keyframe_insert("thew.pins[0].influence", frame=FRAME)
    settle()
    flesh = flesh_of(body)
    assert held_by.influence == 0.0 and (flesh.condition.is_behind or flesh.clip is not former)
    bpy.context.scene.frame_set(FRAME)
    assert held_by.influence == 0.0


def test_other_influence_is_followed(pinned):
    """Keys of one pin's influence do not keep the flesh from following another's."""
    body, _ = pinned
    bpy.context.scene.frame_set(FRAME)
    activate(body)
    assert bpy.ops.thew.pin_point(vertex=BELLY + 30) == {"FINISHED"}
    body.keyframe_insert("thew.pins[1].influence", frame=1)
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    bpy.context.scene.frame_set(FRAME)
    body.thew.pins[0].target.location.y -= 0.03
    settle()
    assert held(body) < 1e-4
    body.thew.pins[0].influence = 0.0
    settle()
    assert held(body) > 0.01


def test_target_moved_without_key_stays_until_the_next_frame(pinned):
    """An Empty that has keys stays where it was put, to be keyed there, while another one is followed."""
    body, _ = pinned
    target = body.thew.pins[0].target
    target.keyframe_insert("location", frame=1)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    bpy.context.scene.frame_set(FRAME)
    target.location.y -= 0.05
    there = tuple(target.location)
    settle()
    assert tuple(target.location) == there


def test_pose_without_keys_is_not_lost(pinned):
    """While the character is posed without keys, a moved Empty waits: the pose stays."""
    body, armature = pinned
    bone = armature.pose.bones["Spine"]
    bone.rotation_euler.x += 0.4
    posed = tuple(bone.rotation_euler)
    settle()
    body.thew.pins[0].target.location.y -= 0.03
    settle()
    assert tuple(bone.rotation_euler) == posed
    bpy.context.scene.frame_set(FRAME)
    assert part("scene.poses").silence_depth == 0


@pytest.mark.parametrize("bone", ["", "Spine"])
def test_another_target_takes_points_as_they_lie(pinned, bone):
    """Another target or bone chosen in the panel holds the points where they are: nothing jumps, and they go along with it."""
    body, armature = pinned
    before = world(body)
    held_by = body.thew.pins[0]
    other = armature
    if not bone:
        other = bpy.data.objects.new("Other", None)
        other.location, other.rotation_euler, other.scale = (0.5, 0.2, 0.1), (0.3, 0.2, 1.0), (2.0, 2.0, 2.0)
        bpy.context.scene.collection.objects.link(other)
        bpy.context.view_layer.update()
    held_by.target = other
    held_by.bone = bone
    settle()
    # The panel goes on showing the character, and what was chosen stays when the pin goes.
    assert part("live.target").target_mesh(bpy.context) == body and not held_by.made
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    bpy.context.scene.frame_set(FRAME)
    np.testing.assert_allclose(world(body)[BELLY], before[BELLY], atol=1e-4)
    if not bone:
        other.location.z += 0.02
        settle()
        np.testing.assert_allclose(world(body)[BELLY], before[BELLY] + [0.0, 0.0, 0.02], atol=1e-4)


def test_missing_bone_leaves_points(pinned):
    """A bone that the target lacks leaves the points as they are; the right one takes them over."""
    body, _ = pinned
    held_by = body.thew.pins[0]
    points = held_by.points
    held_by.bone = "Tail"
    assert held_by.points == points
    held_by.target = None
    assert held_by.points == points


def test_carried_target_that_is_moved_is_followed(pinned):
    """An Empty that a moving bone carries is moved by hand: the flesh follows at once, as it stays there. Posing the bone is no such move."""
    body, armature = pinned
    target = body.thew.pins[0].target
    place = target.matrix_world.copy()
    target.parent, target.parent_type, target.parent_bone = armature, "BONE", "Spine"
    target.matrix_world = place
    settle()
    assert held(body) < 1e-4
    target.matrix_world.translation.y -= 0.03
    settle()
    assert held(body) < 1e-4
    bone = armature.pose.bones["Spine"]
    bone.rotation_euler.x += 0.3
    posed = tuple(bone.rotation_euler)
    settle()
    assert tuple(bone.rotation_euler) == posed

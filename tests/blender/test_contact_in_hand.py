# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact while a hand is at work: poses that were not simulated, and pulls, are parted where the skin folds into itself."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, add_rig, buried_count, evaluated_positions, flesh_of, make_folding, part, size_of

#: How far the hand bends a joint, radians, and how far the animation did.
FOLDED, ANIMATED = 1.6, 0.4


@pytest.fixture
def hand_pose(scene, monkeypatch):
    """Builds (mesh, how to bend it by hand) as in a window; it was simulated hardly bent, with contact."""
    body, armature = make_folding(ANIMATED)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    body.thew.use_contact = True
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    bpy.context.scene.frame_set(5)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    monkeypatch.setattr(part("live.updates"), "wait", lambda _obj: None)

    def bend(angle: float, **settings) -> np.ndarray:
        for name, value in settings.items():
            setattr(body.thew, name, value)
        if settings:
            activate(body)
            assert bpy.ops.thew.simulate() == {"FINISHED"}
        for name in ("Spine", "Head"):
            armature.pose.bones[name].rotation_euler = (angle, 0.0, 0.0)
        bpy.context.view_layer.update()
        assert flesh_of(body).condition.pose.name == "OTHER"
        return evaluated_positions(body)

    return body, bend


def record_settling(monkeypatch) -> list[bool]:
    """Records, for each later simulation that comes to rest, whether it has contact."""
    core, found = part("logic.native").core(), []

    class RecordingSimulation:
        def __init__(self, body, **options):
            self.simulation, self.touches = core_simulation(body, **options), "contact" in options

        def reset(self, pose, settled=True, **options):
            if settled:
                found.append(self.touches)
            self.simulation.reset(pose, settled=settled, **options)

        def __getattr__(self, name):
            return getattr(self.simulation, name)

    core_simulation = core.Simulation
    monkeypatch.setattr(core, "Simulation", RecordingSimulation)
    return found


def test_hand_pose_parts_folds(hand_pose, monkeypatch):
    """A pose under the hand is parted where the skin folds, without settling flesh that touches."""
    body, bend = hand_pose
    with monkeypatch.context() as here:
        found = record_settling(here)
        touching = bend(FOLDED)
    assert found and not any(found), "nothing that touches comes to rest under the hand: that takes seconds"
    free = bend(FOLDED, use_contact=False)
    assert buried_count(body, touching) < 0.8 * buried_count(body, free)
    assert np.abs(touching - free).max() > 1e-2 * size_of(free)


def test_hand_pose_no_history(hand_pose):
    """The shape depends on the pose alone, and not on the poses before it."""
    _body, bend = hand_pose
    first = bend(FOLDED)
    between = [bend(angle) for angle in (0.3, 2.0, 1.1)]
    np.testing.assert_array_equal(bend(FOLDED), first)
    assert all(np.abs(shape - first).max() > 1e-3 for shape in between)


def test_hand_pose_without_folds(hand_pose):
    """A pose without folds looks the same as without contact."""
    _body, bend = hand_pose
    straight = bend(0.2)
    np.testing.assert_array_equal(straight, bend(0.2, use_contact=False))


@pytest.mark.parametrize("how", ["whole joints", "not itself", "many vertices"])
def test_hand_pose_parts_nothing(hand_pose, monkeypatch, how):
    """With whole joints, without self-contact, or with a heavy skin the pose looks the same as without contact."""
    body, bend = hand_pose
    whole = {"elastic_joints": 1.0, "method": "warped"}
    settings = whole if how == "whole joints" else {"self_contact": how != "not itself"}
    if how == "many vertices":
        monkeypatch.setattr(part("live.contact"), "MAX_FOLD_VERTICES", len(body.data.vertices) - 1)
    touching = bend(FOLDED, **settings)
    np.testing.assert_array_equal(touching, bend(FOLDED, use_contact=False))


def test_pull_equals_pose(hand_pose):
    """With a rig that hardly pushes, the skin that is pulled is the one that was posed."""
    body, bend = hand_pose
    add_rig(body, bone="Spine")
    body.thew.rigs[0].strength *= 1e-6
    shapes = {}
    for use in (True, False):
        shown = bend(FOLDED, use_contact=use, elastic_joints=0.25)
        pulling = part("edit.pulling").SkinPull(
            part("edit.posed_character").read(body, bpy.context.scene, bpy.context.view_layer), bpy.context.view_layer
        )
        stand = pulling.stand
        pulled = (stand.world(pulling.fitted_skin) - np.array(body.matrix_world)[:3, 3]) @ np.array(body.matrix_world)[
            :3, :3
        ]
        shapes[use] = pulled
        # A pull is of the corotated balance, a pose of the method in force.
        assert np.abs(pulled - shown).max() < 2e-2 * size_of(shown)
    assert buried_count(body, shapes[True]) < 0.9 * buried_count(body, shapes[False])

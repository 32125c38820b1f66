# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bones that follow their flesh."""

import numpy as np
import pytest
import thew

from examples.python import shapes


@pytest.fixture(scope="module")
def body():
    return shapes.body()


def thrown(frames=20):
    """The whole arm stands still, turns about y within four frames, and stands still again."""
    angles = 0.6 * np.clip((np.arange(frames) - 3.0) / 4.0, 0.0, 1.0)
    poses = np.tile(np.eye(4), (frames, 2, 1, 1))
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    poses[..., 0, 0], poses[..., 0, 2], poses[..., 2, 0], poses[..., 2, 2] = c, s, -s, c
    return poses


def angle(poses):
    return np.arctan2(poses[:, 1, 0, 2], poses[:, 1, 2, 2])


def test_bone_swings_and_joint_holds(body):
    """The freed forearm lags, overshoots, and its head stays on the upper arm; the upper arm is as animated."""
    poses = thrown()
    followed = thew.follow_bones(body, poses, 24.0, ["lower"])
    assert followed.shape == poses.shape
    np.testing.assert_array_equal(followed[:, 0], poses[:, 0])
    swing = angle(followed) - angle(poses)
    assert swing[:8].min() < -0.01 and swing[8:].max() > 0.01
    elbow = np.append(shapes.ELBOW, 1.0)
    np.testing.assert_allclose(followed[:, 0] @ elbow, followed[:, 1] @ elbow, atol=1e-12)
    turn = followed[:, 1, :3, :3]
    np.testing.assert_allclose(turn @ turn.transpose(0, 2, 1), np.tile(np.eye(3), (len(poses), 1, 1)), atol=1e-9)
    held = thew.follow_bones(body, poses, 24.0, [1], limit=0.01)
    assert np.abs(angle(held) - angle(poses)).max() < 0.0101
    # The flesh then sways on the moved bones.
    clip = thew.simulate(body, followed, 24.0)
    assert len(clip) == len(poses)


def test_still_bones_stay(body):
    poses = np.tile(np.eye(4), (4, 2, 1, 1))
    np.testing.assert_allclose(thew.follow_bones(body, poses, 24.0, ["lower"]), poses, atol=1e-8)


def test_fields_blow_bones(body):
    """Wind turns the freed bone, as gravity of its direction does; without it nothing moves.

    Both give each node the same acceleration to the last bit, as the field's axis has the length 1, so the bone has the same bits.
    """
    poses = np.tile(np.eye(4), (8, 2, 1, 1))
    wind = thew.ForceField("wind", 9.81, [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]])
    still = {"gravity": (0.0, 0.0, 0.0)}
    blown = thew.follow_bones(body, poses, 24.0, ["lower"], fields=[wind], **still)
    assert np.abs(blown - poses).max() > 1e-4
    np.testing.assert_allclose(thew.follow_bones(body, poses, 24.0, ["lower"], **still), poses, atol=1e-8)
    heavy = thew.follow_bones(body, poses, 24.0, ["lower"], gravities=np.tile([9.81, 0.0, 0.0], (8, 1)), **still)
    np.testing.assert_array_equal(heavy, blown)


def swaying(frames, times=1):
    """The whole arm turns about y to and fro, and ends as it begins."""
    angles = 0.4 * np.sin(2.0 * np.pi * times * np.arange(frames) / (frames - 1))
    poses = np.tile(np.eye(4), (frames, 2, 1, 1))
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    poses[..., 0, 0], poses[..., 0, 2], poses[..., 2, 0], poses[..., 2, 2] = c, s, -s, c
    return poses


def test_cycle_closes(body):
    """In a cycle the bone ends as it begins, as after many rounds; without, it begins at rest."""
    once = swaying(13)
    cycle = thew.follow_bones(body, once, 24.0, ["lower"], cyclic=True)
    np.testing.assert_allclose(cycle[-1], cycle[0], atol=1e-6)
    many = thew.follow_bones(body, swaying(12 * 20 + 1, times=20), 24.0, ["lower"])
    np.testing.assert_allclose(cycle, many[-13:], atol=5e-3)
    plain = thew.follow_bones(body, once, 24.0, ["lower"])
    assert np.abs(cycle - plain).max() > 0.02


def test_rigs_lead_bones(body):
    """A rig turns the bone as it pushes the flesh; at control 0 the poses are those without it, also of a rig that makes flesh firm."""
    poses = thrown()
    bump, place = thew.Template("bump", radius=0.12, strength=4e4), thew.BoneGuide("lower", along=0.7, distance=0.02)
    push = thew.Rig(bump, place, [(0.0, {"strength": 0.0}), (1.0, {})])
    plain = thew.follow_bones(body, poses, 24.0, ["lower"])
    controls = np.zeros((len(poses), 1))
    idle = thew.follow_bones(body, poses, 24.0, ["lower"], rigs=[push], controls=controls)
    np.testing.assert_allclose(idle, plain, atol=1e-5)
    pushed = thew.follow_bones(body, poses, 24.0, ["lower"], rigs=[push], controls=controls + 1.0)
    turns = pushed[:, 1, :3, :3] @ plain[:, 1, :3, :3].transpose(0, 2, 1)
    assert np.arccos(np.clip((np.trace(turns[-1]) - 1.0) / 2.0, -1.0, 1.0)) > 0.01
    free = thew.Rig(
        thew.Template("radial", radius=0.6, strength=0.0), thew.BoneGuide("lower", along=0.5)
    ).with_firmness(8.0)
    ease = thew.follow_bones(body, poses, 24.0, ["lower"], rigs=[free], controls=controls)
    np.testing.assert_allclose(ease, plain, atol=1e-5)
    stiff = thew.follow_bones(body, poses, 24.0, ["lower"], rigs=[free], controls=controls + 1.0)
    assert np.abs(stiff - plain).max() > 0.05


def test_pins_and_run_in(body):
    """A pin that stays behind holds the bone back, and a run-in begins without a jolt."""
    poses = np.tile(np.eye(4), (12, 2, 1, 1))
    tip = int(np.argmax(body.surface.vertices[:, 0]))
    target = body.surface.vertices[tip] + np.linspace(0.0, 1.0, 12)[:, None] * [0.0, 0.0, 0.15]
    pinned = thew.follow_bones(body, poses, 24.0, ["lower"], pins=[thew.PinTrack(tip, target)])
    assert angle(pinned).min() < -0.05
    moved = thew.follow_bones(body, thrown(), 24.0, ["lower"], preroll=6)
    np.testing.assert_allclose(
        moved, thew.follow_bones(body, thrown(), 24.0, ["lower"]), atol=1e-4
    )  # it stands still before


@pytest.mark.parametrize(
    ("bones", "keywords", "what"),
    [
        (["tail"], {}, "no bone 'tail'"),
        ([9], {}, "no bone 9"),
        (["upper"], {}, "hang on"),
        ([], {}, "no bone is to follow"),
        (["lower"], {"firmness": 0.0}, "firmness"),
        (["lower"], {"limit": -1.0}, "limit"),
        (["lower"], {"method": "modal"}, "bones cannot follow flesh that moves by the method 'modal'"),
        (
            ["lower"],
            {"method": "blended", "firmness": 1.0},
            "bones cannot follow flesh that moves by the method 'blended'",
        ),
        (3, {}, "list of names"),
        ([None], {}, "the name or the number of a bone, got None"),
    ],
)
def test_mistakes_are_refused(body, bones, keywords, what):
    with pytest.raises(thew.InputError, match=what):
        thew.follow_bones(body, thrown(3), 24.0, bones, **keywords)

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


@pytest.mark.parametrize(
    ("bones", "keywords", "what"),
    [
        (["tail"], {}, "no bone 'tail'"),
        ([9], {}, "no bone 9"),
        (["upper"], {}, "hang on"),
        ([], {}, "no bone is to follow"),
        (["lower"], {"firmness": 0.0}, "firmness"),
        (["lower"], {"limit": -1.0}, "limit"),
        (["lower"], {"method": "modal"}, "'modal'"),
        (3, {}, "list of names"),
    ],
)
def test_mistakes_are_refused(body, bones, keywords, what):
    with pytest.raises(thew.InputError, match=what):
        thew.follow_bones(body, thrown(3), 24.0, bones, **keywords)

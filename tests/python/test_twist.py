# SPDX-License-Identifier: MIT OR Apache-2.0
"""Twist of single bones from Python: settings by bone, checks, tubes, and flesh that follows."""

import numpy as np
import pytest
import shapes
import thew
from scipy.sparse import csr_array


def matrix(csr, n):
    """Returns a scipy array of what the core returns."""
    return csr_array(csr, shape=(n, n))


def arm_body(arm, **settings):
    """Builds the body of the arm with further settings."""
    return thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), arm.weights, **settings)


def rolled(arm, angle):
    """Returns the pose with the second bone rolled about itself."""
    return np.stack([np.eye(4), shapes.turn_about([angle, 0.0, 0.0], arm.skeleton.heads[1])])


def test_twist_by_name_and_by_bone(arm):
    """Twists by name and one per bone are the same; the radius is that of the tube; strength scales the stiffness."""
    names = list(arm.skeleton.names)
    plain = arm_body(arm)
    one = {"radius": 0.05, "strength": 3.0}
    by_name = arm_body(arm, twist={names[0]: one})
    by_bone = arm_body(arm, twist=[one, None])
    n = 3 * plain.node_count
    twists = [matrix(b.stiffness(twist=True), n) - matrix(b.stiffness(), n) for b in (plain, by_name, by_bone)]
    assert abs(twists[1] - twists[2]).max() == 0.0 and abs(twists[1] - twists[0]).max() > 0.0
    tubes = {bone: (radius, stiffness) for bone, _, _, radius, stiffness in by_name.twist_tubes}
    assert tubes[names[0]] == pytest.approx((0.05, 3.0 * thew.Material().young / 0.05**2))
    usual = {bone: (radius, stiffness) for bone, _, _, radius, stiffness in plain.twist_tubes}
    assert tubes[names[1]] == usual[names[1]]
    default = arm_body(arm, twist={names[0]: {}})
    twist = matrix(default.stiffness(twist=True), n) - matrix(default.stiffness(), n)
    assert abs(twist - twists[0]).max() == 0.0


@pytest.mark.parametrize(
    ("twist", "words"),
    [
        ({"elbow": {}}, "the twist names bone 'elbow'"),
        ({"upper": {"radius": 0.0}}, "is 0 m, but must be above 0"),
        ({"upper": {"radius": 100.0}}, "at most the body's size"),
        ({"upper": {"radius": float("nan")}}, "twist radius of bone 'upper' is NaN"),
        ({"upper": {"strength": -1.0}}, "twist strength of bone 'upper' is -1"),
        ({"upper": {"strength": float("inf")}}, "between 0, off, and 1e6"),
        ({"upper": {"stiffness": 1.0}}, "a twist has 'radius' and 'strength', not 'stiffness'"),
        ({"upper": 0.1}, r"twist\['upper'\]: expected"),
        ([{}], "expected 2 items, one per bone, but there are 1"),
        ([{}, 3.0], r"twist\[1\]: expected"),
        ("upper", "expected a list"),
    ],
)
def test_bad_twist_refused(arm, twist, words):
    """Bad twists get a sentence with the bone and the fault."""
    with pytest.raises(thew.InputError, match=words):
        arm_body(arm, twist=twist)


def test_settings_keep_twist():
    """The settings return what was given."""
    given = {"upper": {"radius": None, "strength": 2.0}}
    settings = thew.BodySettings(twist=given)
    assert settings.twist == given and "strength" in repr(settings)
    assert thew.BodySettings(twist=None).twist is None
    assert settings.replace(twist={}) == thew.BodySettings()


@pytest.mark.parametrize("method", ["hyperelastic", "warped", "linearised", "modal"])
def test_skin_follows_bone_as_strength_grows(arm, method):
    """The stronger the twist of the bone that stays, the less the skin at the joint rolls with the other one."""
    pose = rolled(arm, 0.6)
    joint = np.abs(arm.weights[:, 0] - 0.5) < 0.35
    assert joint.sum() > 8
    away = []
    for strength in (0.0, 1.0, 20.0):
        body = arm_body(arm, twist={"upper": {"radius": 0.08, "strength": strength}})
        clip = thew.simulate(
            body, np.stack([pose, pose]), 24.0, method=method, gravity=(0.0, 0.0, 0.0), elastic_joints=0.0
        )
        away.append(np.linalg.norm(clip.positions(0)[joint] - arm.surface.vertices[joint], axis=1).mean())
    assert away[2] < away[1] < away[0]


def test_twist_kept_in_files(arm, tmp_path):
    """A body read from a file moves as the one that was written."""
    body = arm_body(arm, twist={"lower": {"radius": 0.06, "strength": 5.0}})
    body.save(tmp_path / "body.thew")
    again = thew.Body.load(tmp_path / "body.thew")
    for (bone, head, tail, *numbers), (bone2, head2, tail2, *numbers2) in zip(
        body.twist_tubes, again.twist_tubes, strict=True
    ):
        assert bone == bone2 and numbers == numbers2
        np.testing.assert_array_equal([head, tail], [head2, tail2])
    poses = np.stack([rolled(arm, 0.2 * frame) for frame in range(3)])
    moved = [np.asarray(thew.simulate(b, poses, 24.0)) for b in (body, again)]
    np.testing.assert_array_equal(*moved)


def test_twist_pull(arm):
    """The pull of a bone's own twist is zero in a rigid pose, and without such bones; as a load of the opposite sign it cancels."""
    body, pose = arm_body(arm, twist={"upper": {"strength": 4.0}}), rolled(arm, 0.7)
    plain, own = thew.Equilibrium(arm_body(arm)), thew.Equilibrium(body)
    for balance in (plain, own):
        balance.set_pose(pose)
    assert not plain.twist_pull.any() and np.abs(own.twist_pull).max() > 0.0
    largest = np.abs(own.twist_pull).max()
    free = own.solve(gravity=(0.0, 0.0, 0.0), forces=-own.twist_pull)
    pulled = own.solve(gravity=(0.0, 0.0, 0.0))
    assert np.abs(pulled - free).max() > 1e-3
    turn = shapes.turn_about([0.3, 0.7, -1.0], shift=[0.5, 0.0, 0.0])
    own.set_pose(np.stack([turn, turn]))
    assert np.abs(own.twist_pull).max() < 1e-9 * largest

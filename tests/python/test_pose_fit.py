# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.Skeleton.fit_pose and thew.fit_pose: poses out of points of the skin, on clips of real characters and with flesh."""

import glb
import numpy as np
import pytest
import shapes
import thew
from test_correspond import demo

#: Characters with clips whose joints hold, and instants of each as parts of it.
CLIPS = [
    ("Fox", [0.2, 0.5]),
    ("m2m_human", [0.2, 0.6]),
    ("m2m_horse", [0.1, 0.4]),
    ("m2m_spider", [0.2, 0.5]),
    ("kaykit_manny", [0.1, 0.6]),
    ("mh_male_heavy", [0.3, 0.7]),
    ("q_bull", [0.2, 0.6]),  # its feet are roots
]


def angle(a, b):
    """Returns the largest angle between the rotations of two poses without stretch, degrees."""
    turns = np.einsum("bij,bik->bjk", a[:, :3, :3], b[:, :3, :3])
    skew = turns - turns.transpose(0, 2, 1)
    return np.degrees(np.arcsin(np.clip(np.linalg.norm(skew, axis=(1, 2)) / np.sqrt(8), 0, 1))).max()


def three_features(weights, vertices):
    """Returns three vertices far from each other for each bone, among those that it carries about as firmly as any."""
    chosen = []
    for bone in range(weights.shape[1]):
        own = np.flatnonzero(weights[:, bone] > max(0.5 * weights[:, bone].max(), 0.02))
        if len(own) == 0:
            continue
        found = [own[0]]
        for _ in range(3):
            far = np.linalg.norm(vertices[own, None] - vertices[found], axis=2).min(axis=1)
            found.append(own[far.argmax()])
        chosen += found[1:]
    return np.array(chosen)


def joint_error(skeleton, pose, weights):
    """Returns the largest distance of a joint on its bone from that on the bone above; roots hang on none.

    A bone that carries all the skin, with the bones below it, may move as the whole does.
    """
    above = np.where(skeleton.parents >= 0, skeleton.parents, np.arange(len(skeleton)))
    link = np.eye(len(above))[above] * (above != np.arange(len(above)))[:, None]
    carried = weights @ np.linalg.inv(np.eye(len(above)) - link)  # with those of the bones below
    part = (carried.min(axis=0) < 1 - 1e-6) & (carried.max(axis=0) > 0)
    heads = np.concatenate([skeleton.heads, np.ones((len(skeleton), 1))], axis=1)
    apart = np.einsum("bij,bj->bi", pose - pose[above], heads)
    return np.linalg.norm(apart[part], axis=1).max()


@pytest.mark.parametrize(("name", "shares"), CLIPS)
def test_clip_of_character(name, shares):
    """Three features per bone give the pose of a clip whose joints hold: the whole skin to a thousandth of the size."""
    found = glb.character(name)
    size = np.linalg.norm(np.ptp(found.vertices, axis=0))
    features = three_features(found.weights, found.vertices)
    checked = 0
    for animation in found.file.animation_names()[:4]:
        first, last = found.file.span(animation)
        for share in shares:
            pose = glb.pose(found, animation, first + share * (last - first))
            if joint_error(found.skeleton, pose, found.weights) > 1e-4 * size:
                continue
            wanted = found.skeleton.skin(found.vertices, found.weights, pose)
            fitted = found.skeleton.fit_pose(found.vertices[features], found.weights[features], wanted[features])
            off = np.linalg.norm(found.skeleton.skin(found.vertices, found.weights, fitted) - wanted, axis=1)
            assert off.max() < 1e-3 * size, (animation, share, off.max() / size)
            checked += 1
    assert checked


def arm_pose(bend=0.8, twist=0.3):
    """Returns the arm's pose with the forearm bent and twisted, and the whole turned and moved."""
    pose = shapes.bend(bend).copy()
    elbow = np.append(shapes.arm_bones()[2][1], 1.0)
    turned = shapes.turn_about([twist, 0.0, 0.0], elbow[:3])
    pose[1] = pose[1] @ turned
    return shapes.turn_about([0.2, -0.4, 0.9], [0.1, 0.0, 0.2], shift=[1.0, 2.0, 3.0]) @ pose


@pytest.fixture
def arm_features(arm):
    """Returns three vertices on each bone of the arm."""
    return three_features(arm.weights, arm.vertices)


@pytest.mark.parametrize("method", ["warped", "hyperelastic"])
def test_flesh_in_the_loop(arm, arm_features, method):
    """Features of flesh under its weight give its pose to a hundredth of a degree, where the skin alone is much farther off."""
    pose = arm_pose()
    balance = thew.Equilibrium(arm.body, method)
    balance.set_pose(pose)
    balance.solve()
    places = balance.positions().astype(float)
    points = [(int(v), places[v]) for v in arm_features]
    skin = arm.skeleton.fit_pose(arm.vertices[arm_features], arm.weights[arm_features], places[arm_features])
    fitted = thew.fit_pose(arm.body, points, method=method)
    assert angle(fitted, pose) < 0.02 < 0.2 < angle(skin, pose)
    # Another weight, another pose.
    assert angle(thew.fit_pose(arm.body, points, gravity=[0.0, 0.0, 20.0], method=method), pose) > 0.02


def test_start_and_bones(arm, arm_features):
    """A start with the pose itself stays there; bones that may not turn stay as at the start, by name or index."""
    rest, weights, pose = arm.vertices[arm_features], arm.weights[arm_features], arm_pose()
    targets = arm.skeleton.skin(rest, weights, pose)
    assert abs(arm.skeleton.fit_pose(rest, weights, targets, start=pose) - pose).max() < 1e-9
    name = arm.skeleton.names[1]
    for bones in ([name], [1]):
        found = arm.skeleton.fit_pose(rest, weights, targets, bones=bones)
        assert abs(found - pose).max() < 1e-4
    stiff = arm.skeleton.fit_pose(rest, weights, targets, bones=[])
    assert abs(stiff[0] - stiff[1]).max() < 1e-12


def turns_off(found, true):
    """Returns by how many degrees each bone's turn differs from the true one."""
    trace = np.einsum("bij,bij->b", found[:, :3, :3], true[:, :3, :3])
    return np.degrees(np.arccos(np.clip((trace - 1.0) / 2.0, -1.0, 1.0)))


def test_rough_features_cost_of_turns():
    """Noise of 3 mm turns a person's bones far where they move little flesh; a larger cost of turns keeps them within degrees of the start."""
    who = demo("biped")
    features = three_features(who.weights, who.vertices)
    pose = shapes.turned_branch(who.skeleton, who.names.index("upperarm.L"), [0.5, 0.2, 0.3])
    places = np.asarray(who.body.shown(thew.equilibrium(who.body, pose)))[features]
    noise = np.random.default_rng(1).normal(scale=0.003 / np.sqrt(3), size=places.shape)
    points = list(zip(features.tolist(), places + noise, strict=True))
    costs = (1e-7, 1e-4, 1e-3)
    off = [turns_off(thew.fit_pose(who.body, points, start=pose, turn_cost=cost), pose).max() for cost in costs]
    assert off[0] > 40.0 and off[1] < 20.0 and off[2] < 4.0, off
    # Exact features stay exact, whatever turns cost, at their own pose.
    exact = list(zip(features.tolist(), places, strict=True))
    assert turns_off(thew.fit_pose(who.body, exact, start=pose, turn_cost=1e-2), pose).max() < 1e-2


def test_metrics_slide_along_planes(arm, arm_features):
    """Places that slid along their planes give the pose back with the planes' normals as metrics; alike metrics change nothing."""
    pose, rng = arm_pose(), np.random.default_rng(2)
    many = np.unique(np.concatenate([arm_features, np.arange(0, len(arm.vertices), 40)]))
    rest, weights = arm.vertices[many], arm.weights[many]
    targets = arm.skeleton.skin(rest, weights, pose)
    normals = rng.normal(size=targets.shape)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    slid = targets + 0.02 * np.cross(normals, rng.normal(size=targets.shape))
    across = normals[:, :, None] * normals[:, None]
    assert angle(arm.skeleton.fit_pose(rest, weights, slid, metrics=across), pose) < 0.05
    assert angle(arm.skeleton.fit_pose(rest, weights, slid), pose) > 0.2
    alike = arm.skeleton.fit_pose(rest, weights, slid, metrics=np.tile(7.0 * np.eye(3), (len(rest), 1, 1)))
    np.testing.assert_allclose(alike, arm.skeleton.fit_pose(rest, weights, slid), atol=1e-6)


def test_bad_costs_and_metrics_refused(arm, arm_features):
    """A cost that is no weight, and metrics that are none, are refused with a sentence, with flesh and without."""
    rest, weights = arm.vertices[arm_features], arm.weights[arm_features]
    points = [(int(v), arm.vertices[v]) for v in arm_features]
    planes = np.tile(np.eye(3), (len(rest), 1, 1))
    holes = planes.copy()
    holes[2, 0, 1] = np.nan
    for given, words in [
        *(({"turn_cost": cost}, "cost of turns") for cost in (0.0, -1.0, np.nan, np.inf)),
        ({"metrics": planes[1:]}, "features and"),
        ({"metrics": holes}, "metric 2 is not finite, symmetric"),
        ({"metrics": -planes}, "metric 0"),
        ({"metrics": 0.0 * planes}, "all metrics"),
        ({"metrics": np.eye(3)}, "metrics: expected an array"),
    ]:
        with pytest.raises(thew.InputError, match=words):
            arm.skeleton.fit_pose(rest, weights, rest, **given)
        with pytest.raises(thew.InputError, match=words):
            thew.fit_pose(arm.body, points, **given)


def test_bad_features_refused(arm, arm_features):
    """Features that no pose follows from are refused with a sentence."""
    rest, weights = arm.vertices[arm_features], arm.weights[arm_features]
    fit = arm.skeleton.fit_pose
    line = np.outer(np.arange(len(rest)), [1.0, 2.0, 3.0])
    holes = rest.copy()
    holes[1, 2] = np.nan
    for arguments, words in [
        ((rest[:2], weights[:2], rest[:2]), "at least three features"),
        ((rest, weights * 0, rest), "there are 0"),
        ((line, weights, rest), "the features lie in a line"),
        ((rest, weights, line), "the targets lie in a line"),
        ((holes, weights, rest), "points"),
        ((rest, weights, holes), "targets"),
        ((rest, weights[1:], rest), "skin_weights"),
        ((rest, weights, rest[1:]), "features and"),
        ((rest, weights, rest, np.eye(4)), "pose"),
        ((rest, weights, rest, None, ["nobody"]), "no bone 'nobody'"),
        ((rest, weights, rest, None, [7]), "no bone 7"),
        ((rest, weights, rest, None, 7), "bones: expected a list"),
        ((rest, weights, rest, None, [1.5]), "the number of a bone, got 1.5"),
    ]:
        with pytest.raises(thew.InputError, match=words):
            fit(*arguments)
    good = [(int(v), arm.vertices[v]) for v in arm_features]
    for points, words in [
        ([], "no points"),
        (good[:2], "at least three features"),
        ([*good, (10**6, [0.0, 0.0, 0.0])], "vertex 1000000"),
        (
            [good[0], (-3, [0.0, 0.0, 0.0])],
            r"points\[1\]: the vertex must be a whole number that is not negative, but is -3",
        ),
        ([("hand", [0.0, 0.0, 0.0])], r"points\[0\]: the vertex must be"),
        ([*good, (0, [np.nan, 0.0, 0.0])], "finite"),
        ([good[0]] * 4, "in one place"),
    ]:
        with pytest.raises(thew.InputError, match=words):
            thew.fit_pose(arm.body, points)


def test_fit_can_be_cancelled(arm, arm_features):
    """A fit with flesh stops where its progress says so."""
    points = [(int(v), arm.vertices[v]) for v in arm_features]
    with pytest.raises(thew.Cancelled):
        thew.fit_pose(arm.body, points, progress=lambda fraction, stage: False)

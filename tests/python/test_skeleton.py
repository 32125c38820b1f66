# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.Skeleton: input, tails of imported rigs, and the skinned place against scipy's rotations."""

import numpy as np
import pytest
import shapes
import thew
from scipy.spatial.transform import Rotation

ONE = [[0.0, 0, 0]]


def test_skeleton_from_arrays():
    """A skeleton returns its names, parents, heads and tails."""
    names, parents, heads, tails = shapes.arm_bones()
    skeleton = thew.Skeleton(names, parents, heads, tails)
    assert skeleton.names == names and len(skeleton) == 2
    assert np.array_equal(skeleton.parents, parents) and skeleton.parents.dtype == np.int32
    assert np.array_equal(skeleton.heads, heads) and np.array_equal(skeleton.tails, tails)


def test_skeleton_odd_input():
    """Empty skeletons, doubled names, several roots and bones without length are accepted."""
    assert len(thew.Skeleton([], [], [], [])) == 0
    points = np.zeros((3, 3))
    skeleton = thew.Skeleton(["a", "a", "b"], [2, -1, -1], points, points)  # child first, two roots, no length
    assert list(skeleton.parents) == [2, -1, -1]


def test_skeleton_elsewhere(arm):
    """Bones that carry other meshes keep the bone of this mesh on which they hang."""
    names, parents, heads, tails = shapes.arm_bones()
    skeleton = thew.Skeleton(names, parents, heads, tails, elsewhere=[-1, 0, 1, 1])
    assert list(skeleton.elsewhere) == [-1, 0, 1, 1] and len(skeleton) == 2
    assert list(skeleton.refit_tails(arm.surface, arm.weights).elsewhere) == [-1, 0, 1, 1]
    assert len(thew.Skeleton(names, parents, heads, tails).elsewhere) == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((["a"], [-1], ONE, [[0, np.nan, 0]]), "tail of bone 'a'"),
        ((["a"], [0], ONE, ONE), "cycle"),
        ((["a"], [7], ONE, ONE), "'a' has index 7"),
        ((["a"], [-1, -1], ONE, ONE), "2 parents"),
        ((["a"], [-1], [[0, 0]], ONE), "heads"),
        ((["a"], [-1], ONE, ONE, [-2]), r"elsewhere\[0\] is -2"),
        ((["a"], [-1], ONE, ONE, [1]), "hangs on bone 1"),
    ],
)
def test_skeleton_refuses_bad_input(arguments, word):
    """Bad skeletons are refused by the bone's name."""
    with pytest.raises(thew.InputError, match=word):
        thew.Skeleton(*arguments)


def test_refit_tails(arm):
    """Tails of an imported rig are refitted, and good tails stay."""
    names, parents, heads, tails = shapes.arm_bones()
    wild = thew.Skeleton(names, parents, heads, tails + [0, 0, 3.0])
    fitted = wild.refit_tails(arm.surface, arm.weights)
    np.testing.assert_allclose(fitted.tails[0], heads[1], atol=1e-12)
    assert np.array_equal(fitted.heads, heads)
    # The leaf points along the arm and stays inside it.
    assert fitted.tails[1][0] > 0.75
    assert arm.surface.winding_number([fitted.tails[1]])[0] > 0.5
    # Good tails stay.
    assert np.array_equal(arm.skeleton.refit_tails(arm.surface, arm.weights).tails, tails)


def dual_quaternion_place(skeleton, weights, pose, x):
    """Returns the skinned position by hand: 4-vectors (x, y, z, w), stretch about each head, rotations and translations blended."""

    def product(p, q):
        v = p[3] * q[:3] + q[3] * p[:3] + np.cross(p[:3], q[:3])
        return np.array([*v, p[3] * q[3] - p[:3] @ q[:3]])

    real, dual, stretched = np.zeros(4), np.zeros(4), np.zeros(3)
    pivot = None
    for b in np.argsort(-weights, kind="stable"):
        linear, shift = pose[b][:3, :3], pose[b][:3, 3]
        u, _, vt = np.linalg.svd(linear)
        rotation = u @ vt
        head = skeleton.heads[b]
        stretched += weights[b] * (rotation.T @ linear @ (x - head) + head)
        move = linear @ head + shift - rotation @ head
        q = Rotation.from_matrix(rotation).as_quat()
        pivot = q if pivot is None else pivot
        w = weights[b] if q @ pivot >= 0 else -weights[b]
        real += w * q
        dual += w * 0.5 * product(np.array([*move, 0.0]), q)
    norm = np.linalg.norm(real)
    real, dual = real / norm, dual / norm
    shift = 2.0 * product(dual, real * [-1, -1, -1, 1])[:3]
    return Rotation.from_quat(real).apply(stretched) + shift


def test_skin_dual_quaternions():
    """The skinned position is the blend of dual quaternions."""
    rng = np.random.default_rng(3)
    heads = rng.normal(size=(4, 3))
    skeleton = thew.Skeleton(list("abcd"), [-1, 0, 1, 2], heads, heads + 1.0)
    pose = np.tile(np.eye(4), (4, 1, 1))
    for b in range(4):
        stretch = np.eye(3) + 0.1 * (lambda s: s + s.T)(rng.normal(size=(3, 3)))
        pose[b, :3, :3] = Rotation.from_rotvec(rng.normal(size=3) * 0.6).as_matrix() @ stretch
        pose[b, :3, 3] = rng.normal(size=3)
    points = rng.normal(size=(50, 3))
    weights = rng.dirichlet(np.ones(4), 50)
    places = skeleton.skin(points, weights, pose)
    by_hand = [dual_quaternion_place(skeleton, w, pose, x) for w, x in zip(weights, points, strict=True)]
    np.testing.assert_allclose(places, by_hand, atol=1e-10)
    # Moving the world moves the result.
    by = shapes.turn_about([0.3, -2.0, 1.0], shift=[5.0, 1.0, -2.0])
    np.testing.assert_allclose(skeleton.skin(points, weights, by @ pose), shapes.apply(by, places), atol=1e-10)
    # Linear blending, for comparison.
    linear = np.einsum("nb,bij,nj->ni", weights, pose[:, :3, :3], points) + weights @ pose[:, :3, 3]
    np.testing.assert_allclose(skeleton.skin(points, weights, pose, blend="linear"), linear, atol=1e-12)


def test_skin_unweighted_points_stay():
    """Points without weight stay, and bad weights are refused."""
    skeleton = thew.Skeleton(*shapes.arm_bones())
    points = np.array([[1.0, 2, 3], [4, 5, 6]])
    weights = np.array([[0.0, 0.0], [3.0, 0.0]])
    pose = np.tile(shapes.turn_about([0, 0, 1.0], shift=[1, 0, 0]), (2, 1, 1))
    placed = skeleton.skin(points, weights, pose)
    assert np.array_equal(placed[0], points[0])
    np.testing.assert_allclose(placed[1], shapes.apply(pose[0], points[1]), atol=1e-12)
    with pytest.raises(thew.InputError, match="'dual', 'linear'"):
        skeleton.skin(points, weights, pose, blend="cubic")
    with pytest.raises(thew.InputError, match="vertex 1 for bone 0 is -1"):
        skeleton.skin(points, [[0, 0], [-1, 2]], pose)


def test_skin_degenerate_bones_finite():
    """Mirrored, flat and vanished bones give finite positions."""
    skeleton = thew.Skeleton(*shapes.arm_bones())
    points = np.random.default_rng(4).normal(size=(20, 3))
    weights = np.random.default_rng(5).dirichlet(np.ones(2), 20)
    for scale in ([-1, 1, 1], [1, 1, 0], [0, 0, 0], [-2, -2, -2]):
        pose = np.stack([np.eye(4), np.diag([*scale, 1.0])])
        assert np.isfinite(skeleton.skin(points, weights, pose)).all()
    # A mirrored bone still carries its own points by its whole map.
    mirror = np.tile(np.diag([-1.0, 1, 1, 1]), (2, 1, 1))
    np.testing.assert_allclose(skeleton.skin(points, weights, mirror), points * [-1, 1, 1], atol=1e-6)

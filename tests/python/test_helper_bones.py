# SPDX-License-Identifier: MIT OR Apache-2.0
"""Helper bones through the wheel, against plain numpy."""

import numpy as np
import pytest
import thew
from scipy.spatial.transform import Rotation


def limb(rings=24, sides=12):
    """Returns rest [n, 3] of a tube along x of 1 m, and skin weights [n, 2] of two bones that meet in its middle."""
    x, angle = np.meshgrid(np.linspace(0, 1, rings), np.linspace(0, 2 * np.pi, sides, endpoint=False), indexing="ij")
    rest = np.stack([x, 0.1 * np.cos(angle), 0.1 * np.sin(angle)], axis=-1).reshape(-1, 3)
    second = np.clip((rest[:, 0] - 0.35) / 0.3, 0, 1)
    return rest, np.stack([1 - second, second], axis=1)


def bends(angles):
    """Returns poses [f, 2, 4, 4]: the second bone turns about the middle of the limb, and the whole limb moves away."""
    poses = np.tile(np.eye(4), (len(angles), 2, 1, 1))
    turns = Rotation.from_euler("z", np.asarray(angles)).as_matrix()
    poses[:, 1, :3, :3] = turns
    poses[:, 1, :3, 3] = [0.5, 0, 0] - turns @ [0.5, 0, 0]
    poses[:, :, :3, 3] += np.linspace(0, 2, len(angles))[:, None, None] * [0.3, 1.0, 0]
    return poses


def blend(rest, weights, matrices):
    """Returns positions [f, n, 3] by linear blend skinning."""
    each = np.einsum("nb,fbij->fnij", weights, matrices)
    return np.einsum("fnij,nj->fni", each[..., :3, :3], rest) + each[..., :3, 3]


def swaying(frames=24, lively=1.0):
    """Returns rest, posed frames, poses and skin weights of a limb with flesh that sways below it."""
    rest, weights = limb()
    t = np.arange(frames) * 0.3 * lively
    poses = bends(0.7 * np.sin(t))
    share = np.exp(-(((rest[:, 0] - 0.25) / 0.12) ** 2)) + 0.7 * np.exp(-(((rest[:, 0] - 0.75) / 0.15) ** 2))
    below = np.clip(0.5 - 5 * rest[:, 2], 0, 1)
    way = np.stack([0.03 * np.sin(3 * t), 0.02 * np.cos(2 * t) - 0.02, 0.04 * np.sin(2 * t + 0.5) - 0.02], axis=1)
    posed = blend(rest, weights, poses) + (share * below)[None, :, None] * way[:, None]
    return rest, posed, poses, weights


def shown(bones, rest, poses, transforms):
    """Returns the positions that the stored weights and matrices show."""
    everything = np.concatenate([np.asarray(poses, np.float32), transforms], axis=1).astype(float)
    return blend(np.asarray(rest, np.float32).astype(float), bones.weights.astype(float), everything)


def test_helper_bones_follow_flesh():
    """Four helpers leave less than a fifth of the flesh's motion; errors are those of numpy's blend of what is stored."""
    rest, posed, poses, weights = swaying()
    bones = thew.helper_bones(rest, posed, poses, weights, 4)
    assert 1 <= bones.count <= 4 and bones.transforms.shape == (24, bones.count, 4, 4)
    assert bones.weights.shape == (len(rest), 2 + bones.count)
    away = np.linalg.norm(shown(bones, rest, poses, bones.transforms) - posed.astype(np.float32), axis=2)
    assert away.max() == pytest.approx(bones.max_error, abs=1e-6)
    assert np.sqrt((away**2).mean()) == pytest.approx(bones.rms, abs=1e-6)
    assert np.allclose(away.max(axis=1), bones.errors, atol=1e-6)
    clip, frame, vertex = bones.worst
    assert clip == 0 and away[frame, vertex] == pytest.approx(bones.max_error, abs=1e-6)
    flesh = np.linalg.norm(posed - blend(rest, weights, poses), axis=2)
    assert bones.max_error < 0.2 * flesh.max()


def test_helper_bones_are_rigid():
    """Matrices of helpers are rotations with translations, without scale or reflection."""
    rest, posed, poses, weights = swaying()
    m = thew.helper_bones(rest, posed, poses, weights, 3).transforms.astype(float)
    turned = np.einsum("fhji,fhjk->fhik", m[..., :3, :3], m[..., :3, :3])
    assert np.abs(turned - np.eye(3)).max() < 1e-5 and np.linalg.det(m[..., :3, :3]).min() > 0.999
    assert np.array_equal(m[..., 3, :], np.broadcast_to([0, 0, 0, 1], m[..., 3, :].shape))


@pytest.mark.parametrize("influences", [1, 2, 4, 8])
def test_helper_bones_keep_influences_and_proportions(influences):
    """Rows add up to 1 with few weights, none negative; own weights that stay keep their proportions."""
    rest, posed, poses, weights = swaying()
    bones = thew.helper_bones(rest, posed, poses, weights, 6, influences=influences)
    w = bones.weights.astype(float)
    assert w.min() >= 0 and np.abs(w.sum(axis=1) - 1).max() < 1e-6
    assert (w > 0).sum(axis=1).max() <= influences
    own = w[:, :2]
    both = (own > 0).all(axis=1)
    assert np.allclose(own[both, 0] * weights[both, 1], own[both, 1] * weights[both, 0], atol=1e-6)


def test_more_helpers_and_influences_are_better():
    """The error falls with the number of helpers, and with that of influences."""
    of = swaying(lively=2.0)
    few, many = (thew.helper_bones(*of, count) for count in (1, 8))
    assert many.rms < 0.5 * few.rms and many.max_error < few.max_error
    assert thew.helper_bones(*of, 8, influences=1).rms > many.rms


def test_helper_bones_of_several_clips():
    """A list of clips gives lists, one set of bones for all; the worst place names its clip."""
    rest, walk, walk_poses, weights = swaying()
    _, run, run_poses, _ = swaying(16, 2.0)
    bones = thew.helper_bones(rest, [walk, run], [walk_poses, run_poses], weights, 5)
    assert [t.shape for t in bones.transforms] == [(24, bones.count, 4, 4), (16, bones.count, 4, 4)]
    assert [e.shape for e in bones.errors] == [(24,), (16,)]
    clip, frame, _ = bones.worst
    assert bones.errors[clip][frame] == pytest.approx(bones.max_error)
    for posed, poses, transforms in zip((walk, run), (walk_poses, run_poses), bones.transforms, strict=True):
        assert np.linalg.norm(shown(bones, rest, poses, transforms) - posed, axis=2).max() < bones.max_error + 1e-5


def test_helper_bones_of_clips_by_name():
    """A dictionary of clips gives what a list of them gives, by name."""
    rest, walk, walk_poses, weights = swaying(8)
    _, run, run_poses, _ = swaying(6, 2.0)
    poses = {"run": run_poses, "walk": walk_poses}
    named = thew.helper_bones(rest, {"walk": walk, "run": run}, poses, weights, 2)
    listed = thew.helper_bones(rest, [walk, run], [walk_poses, run_poses], weights, 2)
    assert list(named.transforms) == ["walk", "run"] == list(named.errors)
    assert all(np.array_equal(a, b) for a, b in zip(named.transforms.values(), listed.transforms, strict=True))


def test_flesh_at_rest_needs_no_helpers():
    """Plain skin gives no helpers, and its own weights."""
    rest, _, poses, weights = swaying()
    bones = thew.helper_bones(rest, blend(rest, weights, poses), poses, weights, 4)
    assert bones.count == 0 and bones.transforms.shape == (24, 0, 4, 4) and bones.max_error < 1e-6
    assert np.allclose(bones.weights, weights, atol=1e-6)
    assert bones.heads.shape == (0, 3) and bones.parents.shape == (0,)


def test_helpers_lie_in_their_skin():
    """A helper's parent is the own bone of its skin; its head is in the box around the mesh, its tail elsewhere."""
    rest, posed, poses, weights = swaying()
    bones = thew.helper_bones(rest, posed, poses, weights, 4)
    carried = bones.weights[:, 2:].T.astype(float) @ weights
    assert np.array_equal(carried.argmax(axis=1), bones.parents)
    assert (bones.heads >= rest.min(axis=0)).all() and (bones.heads <= rest.max(axis=0)).all()
    lengths = np.linalg.norm(bones.tails - bones.heads, axis=1)
    assert lengths.min() > 1e-3 and lengths.max() < 1.0


def resting(bones, rest, poses):
    """Returns the positions while all helpers rest on their parents."""
    return shown(bones, rest, poses, np.asarray(poses, np.float32)[:, bones.parents])


@pytest.mark.parametrize("influences", [2, 3, 4, 8])
def test_helpers_at_rest_show_plain_skin(influences):
    """With a tolerance of 0, helpers at rest show the plain skin in any pose; each takes weight from its parent alone."""
    rest, posed, poses, weights = swaying()
    bones = thew.helper_bones(rest, posed, poses, weights, 6, influences=influences, rest_tolerance=0.0)
    w = bones.weights.astype(float)
    shares = w[:, :2].copy()
    np.add.at(shares.T, bones.parents, w[:, 2:].T)
    assert np.abs(shares - weights).max() < 1e-6
    assert w.min() >= 0 and (w > 0).sum(axis=1).max() <= influences
    random = np.random.default_rng(3)
    others = np.tile(np.eye(4), (20, 2, 1, 1))
    others[..., :3, :3] = Rotation.random(40, random_state=5).as_matrix().reshape(20, 2, 3, 3)
    others[..., :3, 3] = random.normal(size=(20, 2, 3))
    assert np.abs(resting(bones, rest, others) - blend(rest, weights, others)).max() < 1e-5
    free = thew.helper_bones(rest, posed, poses, weights, 6, influences=influences)
    assert np.abs(resting(free, rest, others) - blend(rest, weights, others)).max() > 1e-2
    if influences > 2:
        assert bones.rms < 1.3 * free.rms + 1e-4


def test_tolerance_at_rest():
    """Flesh at a joint finds more room for helpers where light bones may leave; the skin at rest stays within the tolerance."""
    rest, posed, poses, weights = swaying()
    sway = 0.05 * np.sin(np.arange(len(posed)))[:, None] * np.exp(-(((rest[:, 0] - 0.5) / 0.15) ** 2))
    posed[..., 2] += sway
    skin, bones = blend(rest, weights, poses), []
    for tolerance in (0.0, 0.005, 0.02):
        bones.append(thew.helper_bones(rest, posed, poses, weights, 6, influences=2, rest_tolerance=tolerance))
        away = np.linalg.norm(resting(bones[-1], rest, poses) - skin, axis=2).max()
        assert away < tolerance + 1e-5
    assert max(bones[1].max_error, bones[2].max_error) <= bones[0].max_error + 1e-6


def test_helper_bones_do_not_depend_on_place_and_scale():
    """A character that is elsewhere, turned and of another size has the same errors in its own size."""
    rest, posed, poses, weights = swaying()
    turn, shift, scale = Rotation.from_euler("xyz", [0.4, -1.0, 2.0]).as_matrix(), np.array([3.0, -2.0, 1.0]), 2.5
    there = np.eye(4)
    there[:3, :3], there[:3, 3] = scale * turn, shift
    moved = thew.helper_bones(
        scale * rest @ turn.T + shift,
        scale * posed @ turn.T + shift,
        there @ poses @ np.linalg.inv(there),
        weights,
        3,
    )
    plain = thew.helper_bones(rest, posed, poses, weights, 3)
    assert moved.count == plain.count and np.array_equal(moved.parents, plain.parents)
    assert moved.rms == pytest.approx(scale * plain.rms, rel=0.02)
    assert np.allclose(moved.heads, scale * plain.heads @ turn.T + shift, atol=0.02)


def test_helper_bones_are_repeatable():
    """The same input gives the same bits."""
    of = swaying()
    one, other = (thew.helper_bones(*of, 4) for _ in range(2))
    assert np.array_equal(one.weights, other.weights) and np.array_equal(one.transforms, other.transforms)


REST, POSED, POSES, WEIGHTS = swaying(6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": 0}, r"number of helper bones must be from 1 to 256 .*, not 0"),
        ({"count": 257}, r"number of helper bones must be from 1 to 256 .*, not 257"),
        ({"influences": 0}, "influences of a vertex must be from 1 to 8"),
        ({"influences": 9}, "influences of a vertex must be from 1 to 8"),
        ({"rest_tolerance": -0.1}, "tolerance at rest must be at least 0"),
        ({"rest_tolerance": np.nan}, "tolerance at rest must be at least 0"),
        ({"rest": REST[1:]}, "rest has 287 vertices, and the frames have 288"),
        ({"rest": REST.T}, r"rest: expected an array of shape \(any, 3\)"),
        ({"rest": np.full_like(REST, np.nan)}, "rest has no usable position for vertex 0"),
        ({"poses": POSES[1:]}, "poses of clip 0 has 5 frames, and the clip has 6"),
        ({"poses": [POSES, POSES]}, "poses are of 2 clips, and the frames have 1"),
        ({"poses": np.full_like(POSES, np.inf)}, "frame 0 of clip 0 has no usable matrix"),
        ({"poses": POSES[:, :, :3]}, "poses"),
        ({"skin_weights": WEIGHTS[1:]}, "skin_weights has 287 vertices, and the frames have 288"),
        ({"skin_weights": WEIGHTS[:, :1]}, "skin_weights has 1 bones, and the poses have 2"),
        ({"skin_weights": -WEIGHTS}, "weight"),
        ({"skin_weights": 0 * WEIGHTS}, "vertex 0 has no skin weight"),
        ({"frames": []}, "no frames"),
        ({"frames": POSED[:0], "poses": POSES[:0]}, "no frames"),
        ({"frames": POSED[..., :2]}, "frames"),
        ({"frames": np.where(POSED[3, 5, 1] == POSED, np.nan, POSED)}, r"frame 3 of clip 0 .* vertex 5"),
    ],
)
def test_helper_bones_refuse_bad_arguments(arguments, words):
    """Each bad argument is refused by its name."""
    good = {"rest": REST, "frames": POSED, "poses": POSES, "skin_weights": WEIGHTS, "count": 2}
    with pytest.raises(thew.InputError, match=words):
        thew.helper_bones(**{**good, **arguments})


def test_helper_bones_stop():
    """A caller sees growing fractions, and can stop."""
    seen = []
    thew.helper_bones(REST, POSED, POSES, WEIGHTS, 2, progress=lambda fraction, stage: seen.append(fraction) or True)
    assert seen == sorted(seen) and seen[0] >= 0 and seen[-1] <= 1
    with pytest.raises(thew.Cancelled):
        thew.helper_bones(REST, POSED, POSES, WEIGHTS, 2, progress=lambda fraction, stage: False)

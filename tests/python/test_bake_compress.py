# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compressed bakes and rest space through the wheel, against plain numpy."""

import warnings

import numpy as np
import pytest
import thew


def waves(frames, vertices, lively=2.0):
    """Returns offsets float32[f, n, 3]: a bulge that runs along a strip."""
    t, s = np.arange(frames)[:, None] * 0.21, np.arange(vertices)[None] / vertices
    way = s - (0.13 * lively * t) % 1.4 + 0.2
    bump = 0.03 * np.exp(-70.0 * way**2)
    return np.stack([bump, 0.02 * np.cos(1.7 * t + 3.0 * s * lively) * s**2, 0.3 * bump], axis=2).astype(np.float32)


def shown_error(frames, keys, curves, maps=None):
    """Returns the largest distance of `curves @ keys` from `frames`, after linear maps [f, n, 3, 3]."""
    left = frames - np.einsum("fk,knd->fnd", curves, keys)
    if maps is not None:
        left = np.einsum("fnij,fnj->fni", maps, left)
    return np.linalg.norm(left, axis=2).max()


@pytest.mark.parametrize("quantise", [None, "int16", "half"])
def test_compress_unpacks_and_keeps_tolerance(quantise):
    """Keys, curves and the largest error come back; the error is that of numpy's product of what is stored."""
    walk, run = waves(30, 90), waves(20, 90, 3.0)
    packed = thew.compress([walk, run], 1e-3, quantise=quantise)
    keys, curves, max_error = packed
    assert isinstance(curves, list) and [c.shape for c in curves] == [(30, len(keys)), (20, len(keys))]
    errors = [shown_error(clip, keys, c) for clip, c in zip((walk, run), curves, strict=True)]
    assert max(errors) == pytest.approx(max_error, abs=1e-6) and max_error <= 1e-3
    clip, frame, vertex = packed.worst
    assert packed.errors[clip][frame] == pytest.approx(max_error) and 0 <= vertex < 90
    if quantise == "int16":
        assert np.array_equal(packed.integers * packed.steps[:, None, None], keys)
    else:
        assert packed.integers is None
    if quantise == "half":
        assert np.array_equal(keys.astype(np.float16).astype(np.float32), keys)


def test_compress_of_one_clip_returns_arrays():
    """One array of frames gives one array of curves."""
    packed = thew.compress(waves(25, 40), tolerance=2e-3)
    assert packed.curves.shape == (25, len(packed.keys)) and packed.errors.shape == (25,)
    assert packed.worst_vertices.shape == (25,)


def test_errors_have_their_place():
    """The error of each frame is that of its worst vertex, and no vertex of the frame misses by more."""
    clips = [waves(20, 60), waves(15, 60, 3.0)]
    packed = thew.compress(clips, 1e-3)
    places = zip(clips, packed.curves, packed.errors, packed.worst_vertices, strict=True)
    for frames, curves, errors, vertices in places:
        missed = np.linalg.norm(frames - np.einsum("fk,knd->fnd", curves, packed.keys), axis=2)
        assert np.allclose(missed.max(axis=1), errors, atol=1e-7)
        assert np.allclose(missed[np.arange(len(frames)), vertices], errors, atol=1e-7)
    clip, frame, vertex = packed.worst
    assert packed.worst_vertices[clip][frame] == vertex


def test_compress_beats_singular_vectors():
    """A tolerance needs fewer keys than the fewest singular vectors that keep it."""
    frames = waves(90, 160, 3.0)
    flat = frames.reshape(90, -1)
    u, s, v = np.linalg.svd(flat, full_matrices=False)
    plain = next(
        k
        for k in range(1, 91)
        if np.linalg.norm((flat - (u[:, :k] * s[:k]) @ v[:k]).reshape(90, -1, 3), axis=2).max() <= 1e-3
    )
    assert len(thew.compress(frames, 1e-3).keys) <= 0.9 * plain


def test_compress_measures_after_skinning():
    """Errors are measured on the posed skin: by poses and weights as by the matrices that these make."""
    frames = waves(20, 30)
    turn = np.stack([[[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]] for a in np.linspace(0, 2, 20)])
    poses = np.tile(np.eye(4), (20, 2, 1, 1))
    poses[:, 1, :3, :3] = 1.5 * turn
    weights = np.stack([np.linspace(1, 0, 30), np.linspace(0, 1, 30)], axis=1)
    matrices = np.einsum("nb,fbij->fnij", weights, poses)
    by_poses = thew.compress(frames, 1e-3, matrices=(poses, weights))
    by_matrices = thew.compress(frames, 1e-3, matrices=matrices)
    assert by_poses.max_error == pytest.approx(by_matrices.max_error, rel=1e-3)
    seen = shown_error(frames, by_poses.keys, by_poses.curves, matrices[:, :, :3, :3])
    assert seen == pytest.approx(by_poses.max_error, abs=1e-6) and seen <= 1e-3


def test_regions_make_sparse_keys():
    """Keys of regions move only their own vertices, and files become smaller."""
    frames = waves(60, 200, 3.0)
    labels = np.arange(200) // 25
    packed = thew.compress(frames, 1e-3, regions=labels)
    for key in packed.keys:
        assert len(set(labels[np.abs(key).max(axis=1) > 0])) <= 1
    assert packed.nbytes < thew.compress(frames, 1e-3).nbytes
    rest = np.stack([np.arange(200), np.zeros(200), np.zeros(200)], axis=1)
    assert thew.compress(frames + rest, 1e-3, rest=rest, regions=8).max_error <= 1.01e-3


def test_rest_space_inverts_skinning():
    """Posed positions come back to rest, and compress with the maps keeps its tolerance on the posed skin."""
    rest = np.stack([np.linspace(0, 1, 40), np.zeros(40), 0.1 * np.ones(40)], axis=1)
    before = rest + waves(15, 40)
    poses = np.tile(np.eye(4), (15, 1, 1, 1))
    poses[:, 0, :2, :2] = [[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in np.linspace(0, 3, 15)]
    poses[:, 0, :3, 3] = [1.0, 2.0, 3.0]
    posed = np.einsum("fij,fnj->fni", poses[:, 0, :3, :3], before) + poses[:, None, 0, :3, 3]
    frames, miss = thew.to_rest_space(posed, (poses, np.ones((40, 1))), rest)
    assert miss < 1e-6 and np.abs(frames - before).max() < 1e-6
    listed, _ = thew.to_rest_space([posed[:5], posed[5:]], ([poses[:5], poses[5:]], np.ones((40, 1))), rest)
    assert np.array_equal(np.concatenate(listed), frames)


def test_compress_takes_clips_by_name():
    """Clips by name give what a list of them gives, by name; poses by name may have another order."""
    clips = {"walk": waves(12, 10), "run": waves(8, 10, 3.0)}
    poses = {name: np.tile(POSES[:1], (len(clip), 1, 1, 1)) for name, clip in clips.items()}
    turned = dict(reversed(poses.items()))
    named = thew.compress(clips, 1e-3, matrices=(turned, WEIGHTS))
    listed = thew.compress([*clips.values()], 1e-3, matrices=([*poses.values()], WEIGHTS))
    assert np.array_equal(named.keys, listed.keys) and named.worst == listed.worst
    for of_name, of_list in [(named.curves, listed.curves), (named.errors, listed.errors)]:
        assert list(of_name) == ["walk", "run"]
        assert all(np.array_equal(one, other) for one, other in zip(of_name.values(), of_list, strict=True))
    frames, _ = thew.to_rest_space(clips, (turned, WEIGHTS), np.zeros((10, 3)))
    assert list(frames) == ["walk", "run"] and np.abs(frames["run"] - clips["run"]).max() < 1e-6
    for other, words in [
        ({"walk": poses["walk"]}, "poses: there is none of the clip “run”"),
        ({**poses, "jump": POSES}, "poses: it has 3 clips, and there are 2"),
    ]:
        with pytest.raises(thew.InputError, match=words):
            thew.compress(clips, 1e-3, matrices=(other, WEIGHTS))
    with pytest.raises(thew.InputError, match=r'frames\["run"\] has 9 where frames\["walk"\] has 10'):
        thew.compress({"walk": clips["walk"], "run": waves(8, 9)}, 1e-3)


def test_compress_warns_of_a_tolerance_beyond_the_motion():
    """A tolerance above the largest motion gives no keys, with a warning that has both figures; one below it, and skin at rest, none."""
    frames = waves(12, 10)
    largest = np.linalg.norm(frames, axis=2).max()
    told = f"tolerance, 2 m, exceeds the largest motion of the frames, {1e3 * largest:.3f} mm"
    with pytest.warns(RuntimeWarning, match=told):
        packed = thew.compress(frames, tolerance=2)
    assert len(packed.keys) == 0 and packed.max_error == pytest.approx(largest)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(thew.compress(frames, 0.5 * float(largest)).keys) > 0
        assert len(thew.compress(0 * frames, 2).keys) == 0
        with pytest.raises(RuntimeWarning):
            thew.compress(frames, tolerance=2)


#: Poses of two bones for 5 frames, and their weights of 10 vertices.
POSES, WEIGHTS = np.tile(np.eye(4), (5, 2, 1, 1)), np.stack([np.linspace(1, 0, 10), np.linspace(0, 1, 10)], axis=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "tolerance"),
        ({"tolerance": 0.0}, "tolerance must be a positive"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"keys": 0}, "number of keys"),
        ({"tolerance": 1e-3, "quantise": "int8"}, "int16"),
        (
            {"tolerance": 1e-3, "rest": np.zeros((11, 3))},
            "rest has 11 vertices, and the frames have 10: give both of the",
        ),
        ({"tolerance": 1e-3, "rest": np.zeros((1, 3))}, "rest has 1 vertex, and"),
        ({"tolerance": 1e-3, "rest": np.zeros((3, 10))}, r"rest: expected an array of shape \(any, 3\), got \(3, 10\)"),
        ({"tolerance": 1e-3, "regions": 4}, "rest"),
        ({"tolerance": 1e-3, "regions": [0, 1]}, "list of regions has 2 vertices, and the frames have 10"),
        ({"tolerance": 1e-3, "matrices": np.zeros((5, 9, 3, 3))}, "matrices: there are 9 in a frame, .* 10 vertices"),
        ({"tolerance": 1e-3, "matrices": POSES}, r"the pair \(poses, skin_weights\)"),
        (
            {"tolerance": 1e-3, "matrices": np.zeros((4, 10, 3, 3))},
            "clip 0 has 4 frames, and the clip has 5: give as many",
        ),
        ({"tolerance": 1e-3, "matrices": (POSES[:1], WEIGHTS)}, "poses of clip 0 has 1 frame, and the clip has 5"),
        (
            {"tolerance": 1e-3, "matrices": ([POSES] * 2, WEIGHTS)},
            "poses are of 2 clips, and the frames have 1: give as",
        ),
        ({"tolerance": 1e-3, "matrices": (POSES, WEIGHTS[1:])}, "skin_weights has 9 vertices, and the frames have 10"),
        ({"tolerance": 1e-3, "matrices": (POSES, WEIGHTS[:, :1])}, "skin_weights has 1 bones, and the poses have 2"),
        ({"tolerance": 1e-3, "matrices": ({"walk": POSES}, WEIGHTS)}, "poses: a dictionary goes with clips by name"),
        ({"tolerance": 1e-3, "matrices": np.zeros((5, 10, 2, 3))}, "last two sizes"),
    ],
)
def test_compress_refuses_bad_arguments(arguments, words):
    """Each bad argument is refused by its name."""
    with pytest.raises(thew.InputError, match=words):
        thew.compress(waves(5, 10), **arguments)


def test_compress_refuses_bad_frames():
    """Frames that are none, of two meshes or not numbers are refused with their place; a caller can stop."""
    with pytest.raises(thew.InputError, match="no frames"):
        thew.compress([], 1e-3)
    with pytest.raises(thew.InputError, match="one mesh"):
        thew.compress([waves(4, 5), waves(4, 6)], 1e-3)
    bad = waves(4, 5)
    bad[2, 3, 1] = np.nan
    with pytest.raises(thew.InputError, match=r"frame 2 of clip 1 .* vertex 3"):
        thew.compress([waves(4, 5), bad], 1e-3)
    with pytest.raises(thew.Cancelled):
        thew.compress(waves(40, 50), 1e-3, progress=lambda fraction, stage: False)

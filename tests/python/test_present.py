# SPDX-License-Identifier: MIT OR Apache-2.0
"""Offsets, positions and velocities in other spaces than the world's (`to`), and added onto arrays (`onto`)."""

import numpy as np
import pytest
import shapes
import thew

METHODS = ["hyperelastic", "warped", "modal"]
FAR = np.array([1e5, -6e4, 8e4])


def swings(count):
    """Returns poses of a swinging elbow."""
    return np.stack([shapes.bend(0.6 * np.sin(0.5 * i)) for i in range(count)])


def shift_matrix(shift):
    """Returns a shift as a matrix."""
    matrix = np.eye(4)
    matrix[:3, 3] = shift
    return matrix


def matrices(place):
    """Returns matrices that scale, shear and mirror, that are flat, and in very large units; with the origin near `place`."""
    rng = np.random.default_rng(5)
    sheared = np.eye(4)
    sheared[:3, :3] = 40.0 * (np.eye(3) + 0.5 * rng.normal(size=(3, 3)))
    mirrored = sheared @ np.diag([1.0, -1.0, 1.0, 1.0])
    flat = np.diag([3.0, 0.0, 3.0, 1.0])
    tiny = np.diag([1e-3, 1e-3, 1e-3, 1.0])
    return [each @ shift_matrix(-place) for each in (sheared, mirrored, flat, tiny)]


def map_points(matrix, points):
    """Moves points by a matrix."""
    return np.asarray(points, dtype=np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


@pytest.fixture(scope="module", params=[(method, far) for method in METHODS for far in (False, True)], ids=str)
def case(request, arm):
    """Returns a clip near the world's origin or far from it, and its place."""
    method, far = request.param
    place = FAR if far else np.zeros(3)
    options = {"modes": 6, "engine": "cpu"} if method == "modal" else {}
    poses = shift_matrix(place) @ swings(5)
    return thew.simulate(arm.body, poses, 24, method=method, elastic_joints=0.4, max_offset=0.05, **options), place


def test_offsets_in_other_space(case):
    """Offsets in another space are those of the world, mapped."""
    clip, place = case
    near = clip.offsets(3, to=shift_matrix(-place)).astype(np.float64)
    # Those of modes are, in the world, the difference of two places, each rounded where it is.
    farthest = np.abs(clip.positions(3)).max()
    np.testing.assert_allclose(near, clip.offsets(3), atol=2.4e-7 * farthest)
    for matrix in matrices(place):
        scale = np.linalg.norm(matrix[:3, :3], 2)
        found = clip.offsets(3, to=matrix)
        assert found.dtype == np.float32 and found.flags.c_contiguous
        np.testing.assert_allclose(found, near @ matrix[:3, :3].T, atol=1e-6 * scale * np.abs(near).max())


def test_positions_in_other_space(case):
    """Positions in another space keep the precision of the body's own."""
    clip, place = case
    near = clip.positions(3, to=shift_matrix(-place)).astype(np.float64)
    np.testing.assert_allclose(near + place, clip.positions(3), atol=1e-6 + 1e-7 * np.abs(place).max())
    for matrix in matrices(place):
        scale = np.linalg.norm(matrix[:3, :3], 2)
        expected = map_points(matrix @ shift_matrix(place), near)
        np.testing.assert_allclose(clip.positions(3, to=matrix), expected, atol=1e-6 * scale)


def test_velocities_central_differences(case):
    """Velocities are central differences of the shown positions."""
    clip, place = case
    shown = [clip.positions(f, to=shift_matrix(-place)).astype(np.float64) for f in range(5)]
    for frame, (before, after) in {0: (0, 1), 2: (1, 3), 4: (3, 4)}.items():
        expected = (shown[after] - shown[before]) * 24 / (after - before)
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(clip.velocities(frame), expected, atol=2e-5)
        matrix = matrices(place)[0]
        turned = expected @ matrix[:3, :3].T
        np.testing.assert_allclose(clip.velocities(frame, to=matrix), turned, atol=2e-5 * np.abs(matrix[:3, :3]).sum())


def test_onto_adds_in_place(case):
    """Values are added onto an array in place."""
    clip, place = case
    matrix = matrices(place)[0]
    share = np.diag([0.25, 0.25, 0.25, 1.0]) @ matrix
    rest = np.diag([0.75, 0.75, 0.75, 1.0]) @ matrix
    first = clip.offsets(2, to=share)
    both = clip.offsets(3, to=rest, onto=first)
    assert both is first
    expected = 0.25 * clip.offsets(2, to=matrix) + 0.75 * clip.offsets(3, to=matrix)
    np.testing.assert_allclose(both, expected, atol=1e-5 * np.abs(expected).max())
    ones = np.ones_like(first)
    np.testing.assert_allclose(clip.positions(1, onto=ones), 1.0 + clip.positions(1), rtol=1e-6, atol=1e-6)


def test_every_reader_takes_space(arm):
    """Every method that shows positions or offsets takes the same space."""
    pose, matrix = shapes.bend(0.5), matrices(np.zeros(3))[0]
    sleeve = arm.body.embed_surface(thew.Surface(arm.vertices * [0.9, 1.1, 1.1], arm.triangles))
    sim = thew.Simulation(arm.body)
    sim.reset(pose)
    balance = thew.Equilibrium(arm.body)
    balance.set_pose(pose)
    q = balance.solve()
    modes = thew.modes(arm.body, 4)
    deformer = thew.Deformer(modes, arm.surface, engine="cpu", max_offset=0.05)
    amplitudes = np.array([0.2, -0.1, 0.05, 0.1])
    for call, vectors in (
        (lambda **to: sim.positions(sleeve, **to), False),
        (lambda **to: sim.offsets(sleeve, **to), True),
        (lambda **to: balance.positions(sleeve, **to), False),
        (lambda **to: arm.body.shown(q, pose, 0.1, sleeve, 0.5, **to), False),
        (lambda **to: arm.body.shown(q, **to), False),
        (lambda **to: deformer.positions(amplitudes, pose, **to), False),
        (lambda **to: deformer.positions(amplitudes, **to), False),
        (lambda **to: deformer.offsets(amplitudes, pose, **to), True),
        (lambda **to: deformer.offsets(amplitudes, **to), True),
        (lambda **to: deformer.displacements(amplitudes, **to), True),
    ):
        world = call().astype(np.float64)
        assert np.abs(world).max() > 1e-3
        expected = world @ matrix[:3, :3].T if vectors else map_points(matrix, world)
        np.testing.assert_allclose(call(to=matrix), expected, atol=1e-6 * np.linalg.norm(matrix[:3, :3]))
        added = np.full_like(call(), 2.0)
        np.testing.assert_allclose(call(to=matrix, onto=added), 2.0 + expected, atol=1e-4)


def test_deformer_offsets(arm):
    """The offsets of a deformer are differences of its positions."""
    pose = shift_matrix(FAR) @ shapes.bend(0.5)
    deformer = thew.Deformer(thew.modes(arm.body, 4), arm.surface, form="embedded", engine="cpu")
    amplitudes = np.array([0.2, -0.1, 0.05, 0.1])
    to = shift_matrix(-FAR)
    moves = deformer.positions(amplitudes, pose, to=to) - deformer.positions(np.zeros(4), pose, to=to)
    np.testing.assert_allclose(deformer.offsets(amplitudes, pose), moves, atol=1e-6)


@pytest.mark.parametrize(
    "bad",
    [
        np.eye(3),
        np.eye(4)[None],
        np.full((4, 4), np.nan),
        1e13 * np.eye(4),
        np.diag([1.0, 1, 1, 2]),
        "up",
        [[1], [2, 3]],
    ],
)
def test_to_refuses_bad_spaces(arm, bad):
    """A matrix that is no space is refused."""
    clip = thew.simulate(arm.body, swings(2), 24)
    with pytest.raises(thew.InputError, match="to"):
        clip.offsets(0, to=bad)


def test_onto_refuses_unfit_arrays(arm):
    """An array that does not fit is refused and stays as it was."""
    clip = thew.simulate(arm.body, swings(2), 24)
    n = len(arm.vertices)
    locked = np.zeros((n, 3), dtype=np.float32)
    locked.flags.writeable = False
    for bad in (
        np.zeros((n, 3)),
        np.zeros((n - 1, 3), dtype=np.float32),
        np.zeros((3, n), dtype=np.float32).T,
        np.zeros(3 * n, dtype=np.float32),
        [[0.0, 0.0, 0.0]] * n,
        locked,
    ):
        with pytest.raises(thew.InputError, match="onto"):
            clip.offsets(0, onto=bad)
        assert not np.any(bad)


def test_saved_body_keeps_carried(arm, tmp_path):
    """A saved body keeps its carried surfaces."""
    body = arm.body.stiffened(1.0)
    sleeve = body.embed_surface(thew.Surface(arm.vertices * [0.9, 1.1, 1.1], arm.triangles))
    clip = thew.simulate(body, swings(3), 24)
    later = body.embed_surface(arm.surface)  # known to the clip as well
    body.save(tmp_path / "arm.thew")
    again = thew.simulate(thew.Body.load(tmp_path / "arm.thew"), swings(3), 24)
    firm = thew.simulate(body.stiffened(1.0), swings(3), 24)
    for surface in (None, sleeve, later):
        expected = clip.offsets(2, surface)
        np.testing.assert_array_equal(again.offsets(2, surface), expected)
        np.testing.assert_array_equal(firm.offsets(2, surface), expected)
    for other in (clip, again):
        with pytest.raises(thew.InputError, match="no surface with id 99"):
            other.offsets(0, 99)

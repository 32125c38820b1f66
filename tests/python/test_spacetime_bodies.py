# SPDX-License-Identifier: MIT OR Apache-2.0
"""Spacetime motions of bodies of any size and of their own material, and keyframes that are added later."""

import numpy as np
import pytest
import thew


def sheet(n, size=10.0):
    """Builds a slightly twisted square sheet."""
    u = np.linspace(-0.5, 0.5, n)
    x, y = np.meshgrid(u, u, indexing="ij")
    at = np.arange(n * n).reshape(n, n)
    a, b, c, d = (s.ravel() for s in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    vertices = np.stack([x, y, 0.2 * x * y], axis=-1).reshape(-1, 3) * size / np.sqrt(2)
    return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def roll_up(x, angle):
    """Returns the sheet rolled up about y by an angle from end to end, and shifted along y."""
    length = np.ptp(x[:, 0])
    turn, radius = angle * x[:, 0] / length, length / angle
    rolled = [(radius - x[:, 2]) * np.sin(turn), x[:, 1], radius - (radius - x[:, 2]) * np.cos(turn)]
    return np.stack(rolled, 1) + [0.0, 0.1 * angle * length, 0.0]


TIMES = np.array([0.0, 0.7, 1.0, 1.8])
T = np.linspace(0.0, 1.8, 37)


def make(shell, keys, times=TIMES, **options):
    """Builds a motion through keyframes."""
    given = {"stiffness": 40.0, "damping": (0.4, 1e-3), "start_velocity": 0.0, "end_velocity": 0.0}
    return thew.Spacetime(shell, keys, times, **(given | options))


@pytest.mark.parametrize("size", [0.01, 0.6, 10.0, 300.0])
@pytest.mark.parametrize("rest", ["body", "keyframes"])
def test_cloth_size_independent(size, rest):
    """A cloth moves alike, in proportion, at every size."""

    def relative_motion(size):
        vertices, triangles = sheet(9, size)
        keys = np.stack([vertices, roll_up(vertices, 0.8), roll_up(vertices, -0.4), vertices])
        motion = make(thew.Shell(vertices, triangles), keys, gravity=(0.0, 0.0, -0.3 * size), rest=rest)
        return motion(T) / size, motion.reach

    (found, reach), (wanted, other) = relative_motion(size), relative_motion(10.0)
    np.testing.assert_allclose(found, wanted, atol=3e-6)
    assert reach == pytest.approx(other, rel=1e-5)


def test_gravity_in_metres():
    """Every cloth that is free to fall falls by g t²/2, whatever its size."""
    for size in (0.6, 10.0):
        vertices, triangles = sheet(6, size)
        drop = np.array([0.0, 0.0, -0.5 * 9.81 * 1.0])
        motion = thew.Spacetime(
            thew.Shell(vertices, triangles),
            np.stack([vertices, vertices + drop]),
            [0.0, 1.0],
            gravity=(0.0, 0.0, -9.81),
            start_velocity=0.0,
        )
        np.testing.assert_allclose(motion(0.5)[0], vertices + 0.25 * drop, atol=1e-5)
        assert motion.cost < 1e-9


def test_tets_material():
    """Tetrahedra take a material; shells and bodies have their own."""
    tets = thew.TetMesh.grid([4, 1, 1], [0.4, 0.1, 0.1])
    x = tets.vertices
    keys = np.stack([x, x + np.array([0.0, 0.0, 1.0]) * x[:, :1] ** 2, x])
    fixed = np.flatnonzero(x[:, 0] == 0.0)
    base = {"times": [0.0, 0.1, 0.2], "fixed": fixed, "damping": (2.0, 0.0)}
    soft = thew.Material(young=2e4, poisson=0.3, density=900.0)
    t = np.linspace(0.0, 0.2, 21)

    def motion_with(**options):
        return thew.Spacetime(tets, keys, **(base | options))(t)

    found = motion_with(material=soft)
    np.testing.assert_allclose(
        motion_with(material=thew.Material(young=8e4, poisson=0.3, density=900.0), stiffness=0.25), found, atol=1e-6
    )
    np.testing.assert_allclose(
        motion_with(material=thew.Material(young=2e4, poisson=0.3, density=450.0), stiffness=0.5), found, atol=1e-6
    )
    assert np.abs(motion_with() - found).max() > 1e-3
    np.testing.assert_array_equal(motion_with(material=thew.Material()), motion_with())
    vertices, triangles = sheet(4)
    with pytest.raises(thew.InputError, match="material: a Shell and a Body have their own"):
        make(thew.Shell(vertices, triangles), np.stack([vertices] * 4), material=soft)


def test_unit_centimetres():
    """A motion in centimetres is a hundred times that in metres."""

    def moved(length, **options):
        tets = thew.TetMesh.grid([4, 1, 1], np.array([0.4, 0.1, 0.1]) / length)
        x = tets.vertices * length
        keys = np.stack([x, x + np.array([0.0, 0.0, 1.0]) * x[:, :1] ** 2]) / length
        fixed = np.flatnonzero(x[:, 0] == 0.0)
        common = {"fixed": fixed, "gravity": np.array([0.0, 0.0, -9.81]) / length, "end_velocity": 0.0}
        return thew.Spacetime(tets, keys, [0.0, 0.3], 1.0, (2.0, 0.0), start_velocity=0.0, **common, **options)

    metres, centimetres = moved(1.0), moved(0.01, unit=0.01)
    t = np.linspace(0.0, 0.3, 11)
    np.testing.assert_allclose(centimetres(t), 100.0 * metres(t), atol=1e-4)  # f32
    assert centimetres.cost == pytest.approx(1e4 * metres.cost, rel=1e-6)
    # Without its unit the same numbers are those of a larger body, which swings more slowly.
    assert np.abs(moved(0.01)(t) - centimetres(t)).max() > 0.1
    vertices, triangles = sheet(4)
    with pytest.raises(thew.InputError, match="unit: a Shell has its own"):
        make(thew.Shell(vertices, triangles), np.stack([vertices] * 4), unit=0.01)
    with pytest.raises(thew.InputError, match="the unit must be a length from"):
        moved(0.01, unit=0.0)


@pytest.mark.parametrize(("n", "dimension"), [(6, 108), (26, None)])
@pytest.mark.parametrize("rigid", [True, False])
def test_insert_equals_fresh_motion(n, dimension, rigid):
    """An inserted keyframe gives the motion that was made with it."""
    vertices, triangles = sheet(n)
    shell = thew.Shell(vertices, triangles)
    keys = np.stack([vertices, roll_up(vertices, 0.8), roll_up(vertices, -0.6), roll_up(vertices, 0.3)])
    fresh = make(shell, keys, modes=6, rigid=rigid, velocities={3: [0.0, 0.0, 2.0]})
    rest = [0, 1, 3]
    motion = make(shell, keys[rest], TIMES[rest], modes=6, rigid=rigid, velocities={2: [0.0, 0.0, 2.0]})
    before = motion.dimension
    assert motion.insert(1.0, keys[2]) == 2
    assert motion.times.tolist() == TIMES.tolist()
    assert motion.dimension == fresh.dimension == (dimension or fresh.dimension)
    assert (motion.dimension > before) == (dimension is None)
    np.testing.assert_allclose(motion(TIMES), keys, atol=1e-5)
    np.testing.assert_allclose(motion(T), fresh(T), atol=2e-4)
    assert motion.cost == pytest.approx(fresh.cost, rel=1e-5)
    # It goes on as any other.
    motion.set(stiffness=90.0)
    fresh.set(stiffness=90.0)
    np.testing.assert_allclose(motion(T), fresh(T), atol=2e-4)
    assert motion.move(2, keys[1]) < 1e-5


def test_insert_keeps_earlier_changes():
    """Earlier changes stay when a keyframe is inserted."""
    vertices, triangles = sheet(8)
    keys = np.stack([vertices, roll_up(vertices, 0.8), roll_up(vertices, -0.6), roll_up(vertices, 0.3)])
    shell = thew.Shell(vertices, triangles)
    motion, fresh = make(shell, keys[[0, 1, 3]], TIMES[[0, 1, 3]]), make(shell, keys)
    for each, key in ((motion, 2), (fresh, 3)):
        each.soften(key, 50.0)
        each.move(key, keys[3] + [0.0, 0.4, 0.1])
        each.partial(1.4, [3], keys[3][[3]] + 0.5)
    motion.insert(1.0, keys[2])
    np.testing.assert_allclose(motion(T), fresh(T), atol=2e-4)
    # A shape that is there already needs nothing new.
    motion.insert(1.6, keys[1])
    np.testing.assert_allclose(motion(1.6)[0], keys[1], atol=1e-5)


def test_insert_into_cycles_and_ghosts():
    """Keyframes are inserted into cycles and between ghosts."""
    vertices, triangles = sheet(8)
    shell = thew.Shell(vertices, triangles)
    keys = np.stack([vertices, roll_up(vertices, 0.8), roll_up(vertices, -0.6), vertices])
    cycle, fresh = make(shell, keys[[0, 1, 3]], TIMES[[0, 1, 3]], cyclic=True), make(shell, keys, cyclic=True)
    cycle.insert(1.0, keys[2])
    np.testing.assert_allclose(cycle(T), fresh(T), atol=2e-4)
    far = make(shell, np.stack([vertices, roll_up(vertices, 5.0)]), [0.0, 1.0], ghosts="auto")
    for time, angle in ((0.5, 2.5), (0.25, 1.0)):
        far.insert(time, roll_up(vertices, angle))
        np.testing.assert_allclose(far(time)[0], roll_up(vertices, angle), atol=1e-5)
    assert np.isfinite(far(np.linspace(0.0, 1.0, 33))).all()


def test_insert_refusal_changes_nothing():
    """An insertion that is refused or cancelled changes nothing."""
    vertices, triangles = sheet(8)
    keys = np.stack([vertices, roll_up(vertices, 0.8), vertices])
    keys[:, :8] = vertices[:8]
    motion = make(thew.Shell(vertices, triangles), keys, [0.0, 1.0, 2.0], fixed=np.arange(8))
    motion.partial(0.5, [20], vertices[[20]])
    t = np.linspace(0.0, 2.0, 9)
    before = motion(t)
    for time, shape, words in (
        (0.0, keys[1], "a keyframe at 0 s"),
        (2.5, keys[1], "a keyframe at 2.5 s"),
        (1.0, keys[1], "not after"),
        (1.5, keys[1][1:], "keyframe 2 has 63 vertices"),
        (1.5, roll_up(vertices, 0.8), "keyframe 2 has the fixed vertex"),
        (0.5, keys[1], "vertex 20"),
        (np.nan, keys[1], "nan|NaN"),
    ):
        with pytest.raises(thew.InputError, match=words):
            motion.insert(time, shape)
    with pytest.raises(thew.Cancelled):
        motion.insert(1.5, keys[1] + np.where(np.arange(64)[:, None] < 8, 0.0, 0.1), progress=lambda *_: False)
    np.testing.assert_array_equal(motion(t), before)
    assert motion.times.tolist() == [0.0, 1.0, 2.0]

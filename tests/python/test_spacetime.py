# SPDX-License-Identifier: MIT OR Apache-2.0
"""Motions through keyframes: against a solution assembled with numpy and scipy, through everything that can be prescribed."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import thew


def sheet(n=5, size=4.0):
    """Builds a square sheet with curved corners."""
    u = np.linspace(-0.5, 0.5, n)
    x, y = np.meshgrid(u, u, indexing="ij")
    vertices = size * np.stack([x, y, 0.3 * x * y], axis=-1).reshape(-1, 3)
    at = np.arange(n * n).reshape(n, n)
    a, b, c, d = (s.ravel() for s in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def roll_up(vertices, angle):
    """Returns the sheet rolled up about y by an angle from end to end."""
    length = np.ptp(vertices[:, 0])
    turn = angle * vertices[:, 0] / length
    x = vertices.copy()
    if angle:
        radius = length / angle
        x[:, 0] = (radius - vertices[:, 2]) * np.sin(turn)
        x[:, 2] = radius - (radius - vertices[:, 2]) * np.cos(turn)
    return x


def rotation(axis, angle):
    """Returns the rotation about an axis by an angle."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    k = np.cross(np.eye(3), -axis)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


VERTICES, TRIANGLES = sheet()
SHELL = thew.Shell(VERTICES, TRIANGLES, unit=1.0)
KEYS = np.stack([roll_up(VERTICES, a) for a in (0.0, 0.8, -0.3, 0.4)])
TIMES = np.array([0.0, 0.7, 1.0, 1.8])
N = len(VERTICES)


def make(keys=KEYS, times=TIMES, shell=SHELL, **options):
    """Builds a motion through keyframes, of the sheet unless given."""
    return thew.Spacetime(
        shell, keys, times, **{"stiffness": 20.0, "start_velocity": 0.0, "end_velocity": 0.0, **options}
    )


def test_motion_meets_keyframes():
    """A motion goes through all keyframes and rests at its ends."""
    motion = make(damping=(0.3, 0.002), gravity=(0, 0, -3.0))
    assert motion(TIMES).dtype == np.float32 and motion(TIMES).shape == KEYS.shape
    assert np.abs(motion(TIMES) - KEYS).max() < 1e-5
    assert np.abs(motion([-1.0, 9.0]) - KEYS[[0, -1]]).max() < 1e-5
    h = 1e-3
    assert np.abs(motion([h])[0] - motion([0.0])[0]).max() < 60 * h * h * np.abs(KEYS).max() * 20
    assert np.array_equal(motion([1.3, 0.2]), np.stack([motion(1.3)[0], motion(0.2)[0]]))


def test_motion_near_keyframe():
    """Near a keyframe the motion solves the full linearised problem, decoupled by scipy from the shell's own matrices."""
    alpha, beta, stiffness, gravity = 0.2, 0.003, 20.0, np.array([0.0, 0.5, -2.0])
    motion = make(damping=(alpha, beta), gravity=gravity, rigid=False)
    assert motion.dimension == 3 * N
    x = KEYS[1]
    k = stiffness * scipy.sparse.csr_matrix(SHELL.hessian(x), shape=(3 * N, 3 * N)).toarray()
    m = np.repeat(SHELL.mass, 3)
    values, modes = scipy.linalg.eigh(k, np.diag(m))
    force = modes.T @ (stiffness * SHELL.gradient(x).ravel() - m * np.tile(gravity, N))
    wanted = (KEYS - x).reshape(len(KEYS), -1) @ (m[:, None] * modes)
    spline = thew.WigglySpline(TIMES, wanted, values, 0.5 * (alpha + beta * values), force)
    at = np.array([0.55, 0.6, 0.7, 0.75])
    assert np.abs(motion(at) - (x + (spline(at) @ modes.T).reshape(-1, N, 3))).max() < 2e-4


def test_velocities_and_cuts():
    """Prescribed velocities are met, and a cut makes two motions."""
    rng = np.random.default_rng(2)
    before, behind, start = rng.normal(size=(3, N, 3))
    motion = make(start_velocity=start, velocities={1: before, 2: (before, behind)}, rigid=False)
    h = 1e-3

    def slope(t, side):
        near, far = motion([t + side * h])[0], motion([t + 2 * side * h])[0]
        return (4 * near - far - 3 * motion([t])[0]) / (2 * side * h)

    for t, side, wanted in ((0.0, 1, start), (0.7, 1, before), (0.7, -1, before), (1.0, -1, before), (1.0, 1, behind)):
        assert np.abs(slope(t, side) - wanted).max() < 0.05, (t, side)
    halves = [
        make(KEYS[:3], TIMES[:3], start_velocity=start, end_velocity=before, velocities={1: before}, rigid=False),
        make(KEYS[2:], TIMES[2:], start_velocity=behind, rigid=False),
    ]
    both = thew.composite(halves)
    t = np.linspace(0, 1.8, 25)
    assert np.allclose(both.times, [0.0, 1.0, 1.8])
    # Whatever is on the far side of the cut has no say, but for what stations it blends with.
    assert np.abs(both(t) - motion(t)).max() < 1e-4
    with pytest.raises(thew.InputError, match="segment 1 begins"):
        thew.composite(halves[::-1])


def test_half_turn_keeps_size():
    """A motion through half a turn does not swell."""
    turned = np.stack([VERTICES, VERTICES @ rotation([1, 2, 3], np.pi - 0.05).T + [3.0, 0, 0]])
    t = np.linspace(0, 1, 21)

    def length_change(motion):
        x = motion(t).astype(float)
        d = np.linalg.norm(x[:, TRIANGLES[:, 0]] - x[:, TRIANGLES[:, 1]], axis=-1)
        return np.abs(d / d[0] - 1).max()

    assert length_change(make(turned, [0.0, 1.0])) < 1e-4
    assert length_change(make(turned, [0.0, 1.0], rigid=False)) > 0.5


def test_ghosts_keep_lengths():
    """Ghosts keep lengths where a sheet rolls up."""
    keys = np.stack([roll_up(VERTICES, 0.0), roll_up(VERTICES, 5.0)])
    t = np.linspace(0, 1, 21)

    def strain(motion):
        x = motion(t).astype(float)
        d = np.linalg.norm(x[:, TRIANGLES[:, 0]] - x[:, TRIANGLES[:, 1]], axis=-1)
        return np.abs(d / d[0] - 1).max()

    plain, ghosts = make(keys, [0.0, 1.0]), make(keys, [0.0, 1.0], ghosts="auto")
    assert any("ghost" in note for note in ghosts.notes)
    assert strain(ghosts) < 0.5 * strain(plain)
    given = make(keys, [0.0, 1.0], ghosts=[(0.5, roll_up(VERTICES, 2.5))])
    assert strain(given) < 0.8 * strain(plain)
    assert np.abs(given([0.0, 1.0]) - keys).max() < 1e-5


def test_ghosts_of_poses_reversible():
    """Ghosts keep lengths between poses, and the motion runs alike backwards."""
    vertices, triangles = sheet(15)
    shell, poses = thew.Shell(vertices, triangles, unit=1.0), {"rest": "keyframes"}
    keys, t = np.stack([roll_up(vertices, 0.0), roll_up(vertices, 5.0)]), np.linspace(0, 1, 21)

    def strain(motion):
        x = motion(t).astype(float)
        d = np.linalg.norm(x[:, triangles[:, 0]] - x[:, triangles[:, 1]], axis=-1)
        return np.abs(d / d[0] - 1).max()

    ghosts = make(keys, [0.0, 1.0], shell, ghosts="auto", **poses)
    assert strain(ghosts) < 0.5 * strain(make(keys, [0.0, 1.0], shell, **poses))
    back = make(keys[::-1], [0.0, 1.0], shell, ghosts="auto", **poses)
    assert np.abs(back(1.0 - t) - ghosts(t)).max() < 1e-3


def test_ghosts_strength_invariant():
    """Ghosts draw as firmly at any stiffness, damping and length of time."""
    keys, middle = np.stack([roll_up(VERTICES, 0.0), roll_up(VERTICES, 2.5)]), roll_up(VERTICES, 1.25)

    def distance_from_middle(ghosts, length, stiffness, damping):
        options = {
            "damping": (damping, 0.0),
            "rest": "keyframes",
            "ghosts": [(0.5 * length, middle)] if ghosts else None,
        }
        motion = make(keys, [0.0, length], stiffness=stiffness, **options)
        return np.abs(motion([0.5 * length])[0] - middle).max()

    for length, stiffness, damping in [
        (1.0, 1.0, 0.0),
        (0.1, 10.0, 0.0),
        (1.0, 1e4, 0.0),
        (3.0, 100.0, 5.0),
        (1.0, 1.0, 50.0),
    ]:
        assert distance_from_middle(True, length, stiffness, damping) < 0.3 * distance_from_middle(
            False, length, stiffness, damping
        )


def test_rest_keyframes_hold_stiff():
    """Keyframes as their own rest shapes hold stiff flesh near them."""
    keys = np.stack([VERTICES, roll_up(VERTICES, 1.2), VERTICES])
    t = np.linspace(0, 2, 81)
    size = np.abs(keys[1] - keys[0]).max()

    def reach(stiffness, rest):
        motion = make(keys, [0.0, 1.0, 2.0], stiffness=stiffness, damping=(1.0, 0.0), rest=rest)
        assert np.abs(motion([0.0, 1.0, 2.0]) - keys).max() < 1e-5
        return np.abs(motion(t) - keys[0]).max() / size

    assert all(reach(10.0**e, "keyframes") < 1.1 for e in range(6))
    # As strains they throw it about: no test of the other could fail.
    assert max(reach(10.0**e, "body") for e in range(6)) > 1.3
    # Where keyframes are the body's rest there is nothing to tell apart.
    moved = np.stack([VERTICES, VERTICES + [0.0, 0.0, 0.5]])
    a, b = (make(moved, [0.0, 1.0], rest=rest)(t) for rest in ("body", "keyframes"))
    assert np.abs(a - b).max() < 1e-5


def test_runaway_motion_refused():
    """A change that would let the motion run away is refused, and nothing is lost."""
    options = {"stiffness": 120.0, "start_velocity": None, "end_velocity": None}
    motion = make(KEYS[:2], [0.0, 2.0], **options, damping=(60.0, 0.0))
    motion.soften(0, 1.0)
    before = motion([0.7])
    # Neither a place nor a speed is left to hold the start, and damped motion backwards in time grows without bounds.
    with pytest.raises(thew.MotionError, match=r"leaves keyframe 0 at an absurd speed.*prescribe a velocity"):
        motion.soften(1, 2.0)
    assert (motion([0.7]) == before).all()


def test_loose_parts_limit():
    """Eight loose parts can move, and nine are refused unless a vertex is fixed."""
    one, triangles = sheet(13)

    def motion(count, **options):
        many = np.concatenate([one + [0, 0, 6.0 * i] for i in range(count)])
        faces = np.concatenate([triangles + i * len(one) for i in range(count)])
        lifted = many + np.repeat(np.arange(count), len(one))[:, None] * [0.1, 0.0, 0.2]
        return make(np.stack([many, lifted, many]), [0.0, 1.0, 2.0], thew.Shell(many, faces), modes=4, **options)

    eight = motion(8)
    assert (
        any("has 8 separate parts" in note for note in eight.notes) and np.isfinite(eight(np.linspace(0, 2, 9))).all()
    )
    with pytest.raises(thew.InputError, match="has 9 separate parts that nothing holds, and at most 8"):
        motion(9)
    # What is fixed at a vertex is held.
    assert motion(9, fixed=[0]).dimension > 0


def test_composite_and_free_velocity():
    """Segments must meet in shape, and a velocity of None prescribes nothing."""
    first = make(KEYS[:2], TIMES[:2])
    with pytest.raises(thew.InputError, match="segment 1 begins with a different shape"):
        thew.composite([first, make(KEYS[2:], [TIMES[1], TIMES[3]])])
    with pytest.raises(thew.InputError, match="twice"):
        thew.composite([first, first])
    t = np.linspace(0, 1.8, 13)
    assert (make(velocities={1: None})(t) == make()(t)).all()
    assert np.abs(make(velocities={1: (None, None)})(t) - make()(t)).max() > 1e-3


def test_motion_of_huge_body():
    """A body of a huge size has a finite motion."""
    vertices, triangles = sheet(25)
    shell = thew.Shell(1e6 * vertices, triangles)
    motion = make(1e6 * np.stack([vertices, roll_up(vertices, 0.8)]), [0.0, 1.0], shell)
    assert np.isfinite(motion([0.0, 0.3, 1.0])).all()


def test_reach_beyond_plain_curves():
    """The reach is how far a motion goes beyond plain curves."""
    keys = np.stack([VERTICES, roll_up(VERTICES, 1.2), VERTICES])
    motion = make(keys, [0.0, 1.0, 2.0], stiffness=1e4, damping=(1.0, 0.0), rigid=False)
    t = np.linspace(0.0, 2.0, 33)
    mean, mass = keys.mean(axis=0), SHELL.mass[None, :, None]
    far = [np.sqrt((mass * (x - mean) ** 2).sum(axis=(1, 2))).max() for x in (motion(t), motion.plain(t))]
    assert motion.reach == pytest.approx(far[0] / far[1], rel=1e-3) and motion.reach > 1.2
    assert make(keys, [0.0, 1.0, 2.0], stiffness=1e4, damping=(1.0, 0.0), rest="keyframes").reach < 1.1
    assert make(np.stack([VERTICES, VERTICES]), [0.0, 1.0]).reach == 1.0


def test_model_changes_pose_least():
    """Modelling at held points leaves a pose unchanged where keyframes are rest shapes."""
    pose = roll_up(VERTICES, 1.2)
    ends = [0, N - 1]
    for rest in ("body", "keyframes"):
        motion = make(np.stack([VERTICES, pose]), [0.0, 1.0], rest=rest)
        # Held where it is nothing moves; as a strain the rest springs back.
        moved = np.abs(motion.model(pose, ends, pose[ends]) - pose).max()
        assert moved < 1e-9 if rest == "keyframes" else moved > 0.05


def test_motion_rigid_invariant():
    """The motion of a turned, moved or renumbered world is turned, moved or renumbered."""
    r, t = rotation([1, -2, 0.5], 1.1), np.linspace(0, 1.8, 19)
    options = {"damping": (0.2, 0.001), "modes": 6}
    here = make(gravity=(0, 0, -2.0), **options)(t)
    there = make(
        KEYS @ r.T + [5.0, -3.0, 2.0],
        shell=thew.Shell(VERTICES @ r.T + [5.0, -3.0, 2.0], TRIANGLES, unit=1.0),
        gravity=r @ [0, 0, -2.0],
        **options,
    )(t)
    assert np.abs(there - (here @ r.T + [5.0, -3.0, 2.0])).max() < 2e-4
    order = np.random.default_rng(3).permutation(N)
    inverse = np.argsort(order)
    mixed = make(
        KEYS[:, order], shell=thew.Shell(VERTICES[order], inverse[TRIANGLES], unit=1.0), gravity=(0, 0, -2.0), **options
    )(t)
    assert np.abs(mixed[:, inverse] - here).max() < 2e-4


def test_undamped_motion_reversible():
    """Undamped motion runs backwards."""
    t = np.linspace(0, 1.8, 19)
    back = make(KEYS[::-1], 1.8 - TIMES[::-1])(1.8 - t)
    assert np.abs(back - make()(t)).max() < 2e-4


def test_cycle_closes():
    """A cyclic motion closes in shape and velocity."""
    keys = np.concatenate([KEYS[:3], KEYS[:1]])
    motion = make(keys, cyclic=True, damping=(0.2, 0.0))
    t = np.linspace(0, 1.8, 37)
    assert np.abs(motion(t + 1.8) - motion(t)).max() < 1e-5
    h = 1e-3
    jump = (motion([h])[0] - motion([0.0])[0]) - (motion([1.8])[0] - motion([1.8 - h])[0])
    assert np.abs(jump).max() / h < 0.05 * np.abs(motion([h])[0] - motion([1.8 - h])[0]).max() / (2 * h) + 0.2
    with pytest.raises(thew.InputError, match="keyframe 0 at the end"):
        make(cyclic=True)


def test_partial_of_all_vertices():
    """A partial keyframe of all vertices acts as a keyframe."""
    t = np.linspace(0, 1.8, 19)
    exact = make(modes=4)
    partial = make(modes=4)
    partial.soften(1, 1e-9)
    number = partial.partial(0.7, np.arange(N), KEYS[1])
    assert np.abs(partial(t) - exact(t)).max() < 1e-5
    partial.drop(number)
    assert np.abs(partial([0.7]) - KEYS[1]).max() > 0.05
    partial.soften(1, None)
    assert np.abs(partial(t) - exact(t)).max() < 1e-6


def test_partial_keyframes_and_weights():
    """Few vertices are prescribed at any time and weight, and conflicts are refused."""
    motion = make(rigid=False)
    cost = motion.cost
    wanted = KEYS[1][:2] + [0.3, 0.1, 0.5]
    number = motion.partial(0.85, [0, 1], wanted)
    assert np.abs(motion([0.85])[0][:2] - wanted).max() < 1e-4
    assert np.abs(motion(TIMES) - KEYS).max() < 1e-5 and motion.cost > cost
    with pytest.raises(thew.InputError, match=r"vertex 1 .* at 0.85 s"):
        motion.partial(0.85, [1, 4], KEYS[1][[1, 4]] + 1.0)
    with pytest.raises(thew.InputError, match="soften it"):
        motion.partial(1.0, [3], KEYS[2][[3]] + 0.1)
    motion.drop(number)
    assert motion.cost == pytest.approx(cost)
    # From nothing to exactness.
    distances = []
    for weight in (1e-6, 1e2, 1e8):
        motion.soften(1, weight)
        distances.append(np.abs(motion([0.7])[0] - KEYS[1]).max())
        assert motion.cost < cost
    assert distances[0] > distances[1] > distances[2] and distances[2] < 1e-3
    soft = motion.partial(0.4, [7], KEYS[1][[7]] + 1.0, weight=1e9)
    assert np.abs(motion([0.4])[0][7] - KEYS[1][7] - 1.0).max() < 0.05
    motion.drop(soft)


def test_fixed_vertices_stay():
    """Fixed vertices stay, and keyframes that move them are refused."""
    fixed = np.arange(5)
    keys = KEYS.copy()
    keys[:, fixed] = KEYS[0, fixed]
    motion = make(keys, fixed=fixed, modes=5)
    t = np.linspace(0, 1.8, 19)
    assert np.abs(motion(t)[:, fixed] - keys[0, fixed]).max() < 1e-6
    mask = np.zeros(N, bool)
    mask[fixed] = True
    assert np.array_equal(make(keys, fixed=mask, modes=5)(t), motion(t))
    with pytest.raises(thew.InputError, match="keyframe 1 has the fixed vertex"):
        make(fixed=fixed)
    with pytest.raises(thew.InputError, match="all 25 vertices"):
        make(KEYS[[0, 0]], [0.0, 1.0], fixed=np.ones(N, bool))


def test_set_equals_fresh_motion():
    """Changed numbers give the motion that a fresh one has, and bad ones change nothing."""
    t = np.linspace(0, 2.0, 21)
    motion = make(rigid=False)
    motion.set(
        stiffness=90.0, damping=(0.4, 0.001), gravity=(0, 0, -1.0), times=[0.0, 0.6, 1.2, 2.0], end_velocity=None
    )
    fresh = make(
        times=[0.0, 0.6, 1.2, 2.0],
        stiffness=90.0,
        damping=(0.4, 0.001),
        gravity=(0, 0, -1.0),
        end_velocity=None,
        rigid=False,
    )
    assert np.abs(motion(t) - fresh(t)).max() < 1e-5
    shown = motion(t)
    with pytest.raises(thew.InputError, match="not after"):
        motion.set(times=[0.0, 1.0, 0.5, 2.0])
    with pytest.raises(thew.InputError, match="no 'speed'"):
        motion.set(speed=2.0)
    assert np.array_equal(motion(t), shown)
    assert motion.move(1, KEYS[1] + 0.05) < 1e-5
    assert np.abs(motion([0.6])[0] - KEYS[1] - 0.05).max() < 1e-5


def test_stiff_motion_rings():
    """Stiff motion rings, and plain splines do not."""
    t = np.linspace(0, 1.8, 200)
    ours, plain = make(stiffness=400.0).curves(t, 1)
    turns = [np.sum(np.diff(np.sign(np.diff(c[:, 0]))) != 0) for c in (ours, plain)]
    assert turns[0] > turns[1]
    assert np.abs(make().plain(TIMES) - KEYS).max() < 1e-5


def test_model_drags_points():
    """Points are dragged within the space of shapes."""
    motion = make()
    corner = VERTICES[-1] + [0.2, 0.0, 1.0]
    shape = motion.model(VERTICES, [N - 1, 0], [corner, VERTICES[0]])
    assert np.abs(shape[[N - 1, 0]] - [corner, VERTICES[0]]).max() < 1e-6
    pulled = VERTICES.copy()
    pulled[-1] = corner
    assert SHELL.energy(shape) < 0.5 * SHELL.energy(pulled)
    assert np.abs(motion.model(VERTICES, [0], VERTICES[:1], weight=5.0) - VERTICES).max() < 1e-6


def test_reduced_meshes_and_tets():
    """Large meshes are reduced, and tetrahedra move too."""
    vertices, triangles = sheet(30)
    keys = np.stack([roll_up(vertices, a) for a in (0.0, 0.6, 0.2)])
    motion = make(keys, [0.0, 0.5, 1.0], thew.Shell(vertices, triangles), modes=5)
    assert motion.dimension < 60
    assert np.abs(motion([0.0, 0.5, 1.0]) - keys).max() < 1e-5
    tets = thew.TetMesh.grid([3, 1, 1], [0.3, 0.1, 0.1])
    keys = np.stack([tets.vertices, tets.vertices * [1.2, 0.95, 0.95]])
    assert np.abs(thew.Spacetime(tets, keys, [0.0, 1.0])([0.0, 1.0]) - keys).max() < 1e-6


def test_motion_progress():
    """A motion reports its progress and can be cancelled."""
    vertices, triangles = sheet(30)
    keys = np.stack([roll_up(vertices, a) for a in (0.0, 0.6, 0.2)])
    seen = []
    make(keys, [0.0, 0.5, 1.0], thew.Shell(vertices, triangles), progress=lambda f, stage: seen.append((f, stage)))
    assert seen[-1][0] == pytest.approx(1.0) and {stage for _, stage in seen} >= {
        "Modes of the keyframes",
        "Linearisations",
    }
    with pytest.raises(thew.Cancelled):
        make(keys, [0.0, 0.5, 1.0], thew.Shell(vertices, triangles), progress=lambda f, stage: f < 0.3)


def broken_keys(change):
    """Returns the keyframes after a change."""
    keys = KEYS.copy()
    change(keys)
    return keys


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keys": KEYS[:1], "times": [0.0]}, "at least two keyframes"),
        ({"times": [0.0, 1.0]}, "2 times were given for 4"),
        ({"times": [0.0, 1.0, 1.0, 2.0]}, "keyframe 2 is at 1 s"),
        ({"times": [0.0, 2.0, 1.0, 3.0]}, "keyframe 2"),
        ({"keys": KEYS[:, :-1]}, "keyframe 0 has 24 vertices"),
        ({"keys": broken_keys(lambda k: k.__setitem__((2, 3, 1), np.nan))}, "vertex 3 of keyframe 2"),
        ({"stiffness": 0.0}, "stiffness"),
        ({"stiffness": np.nan}, "stiffness"),
        ({"damping": (-1.0, 0.0)}, "damping alpha"),
        ({"gravity": (0, 0, np.inf)}, "gravity"),
        ({"velocities": {9: np.zeros(3)}}, "no keyframe 9"),
        ({"start_velocity": np.zeros((7, 3))}, "velocity at keyframe 0 has 7"),
        ({"ghosts": [(5.0, VERTICES)]}, "a ghost at 5 s"),
        ({"rest": "floor"}, r"rest: expected .* not 'floor'"),
        ({"fixed": [99]}, "no vertex 99"),
    ],
)
def test_motion_refuses_bad_input(options, words):
    """Bad input is refused with a sentence."""
    with pytest.raises(thew.InputError, match=words):
        make(**options)


@pytest.mark.parametrize(
    "change",
    [
        lambda k: k.__setitem__((1, slice(None), 2), 0.0),
        lambda k: k.__setitem__(1, 0.0),
        lambda k: k.__setitem__((1, slice(None), 0), -k[1, :, 0]),
    ],
)
def test_flat_sculpts_survived(change):
    """Flat and folded keyframes give a finite motion or an error that names the keyframe."""
    try:
        shown = make(broken_keys(change))(np.linspace(0, 1.8, 19))
    except thew.ThewError as error:
        assert "keyframe" in str(error)
    else:
        assert np.isfinite(shown).all()


@pytest.mark.parametrize("rigid", [True, False])
@pytest.mark.parametrize("key", [0, 1, 2])
@pytest.mark.parametrize("how", ["shifted", "turned", "bent", "shifted and turned"])
def test_move_keyframe(rigid, key, how):
    """A moved keyframe is met and the others stay, even the first, onto which the others are aligned; moved back, it restores the motion."""
    u, v = np.meshgrid(np.linspace(0, 8, 17), np.linspace(0, 3, 7), indexing="ij")
    flat = np.stack([u, v, 0 * u], -1).reshape(-1, 3)
    at = np.arange(17 * 7).reshape(17, 7)
    a, b, c, d = (each.ravel() for each in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    shell = thew.Shell(flat, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]))

    def bend(curvature):
        t = curvature * flat[:, 0] / 8
        return np.stack([8 / curvature * np.sin(t), flat[:, 1], 8 / curvature * (1 - np.cos(t))], 1)

    def turn_about_mean(x, angle):
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
        return (x - x.mean(axis=0)) @ turn.T + x.mean(axis=0)

    keys = np.stack([flat, turn_about_mean(bend(0.3), 0.6) + [2, 0, 0], flat + [4, 0, 0]])
    times = [0.0, 1.0, 2.0]
    motion = thew.Spacetime(shell, keys, times, stiffness=40.0, damping=(0.5, 0.0), rigid=rigid)
    before = motion(np.linspace(0.0, 2.0, 9))
    new = {
        "shifted": keys[key] + [1.0, 0.5, 0.0],
        "turned": turn_about_mean(keys[key], 0.5),
        "bent": bend(0.3) + keys[key].mean(axis=0) - bend(0.3).mean(axis=0),
        "shifted and turned": turn_about_mean(keys[key], -1.0) + [0.0, 0.0, 2.0],
    }[how]
    assert motion.move(key, new) < 1e-6
    for k, time in enumerate(times):
        np.testing.assert_allclose(motion(time)[0], new if k == key else keys[k], atol=2e-5)
    assert motion.move(key, keys[key]) < 1e-6
    np.testing.assert_allclose(motion(np.linspace(0.0, 2.0, 9)), before, atol=2e-5)

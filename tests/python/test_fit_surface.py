# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigs from shapes: how near the skin comes, what the rig keeps, and where it acts."""

import copy
import pickle
import tomllib

import numpy as np
import pytest
import shapes
import thew

ANGLE = np.radians(95.0)
POSE = shapes.bend(ANGLE)
OFF = (0.0, 0.0, 0.0)


def skin_of(body, q):
    """Returns the places of the skin at displacements of the lattice, by the embedding alone."""
    indices, weights = body.lattice.embed_surface(body.surface)
    return np.einsum("ij,ijk->ik", weights, (body.lattice.vertices + q)[indices])


def balanced(body, forces=None, pose=POSE):
    """Returns the places of the skin in balance."""
    return skin_of(body, thew.equilibrium(body, pose, gravity=OFF, rest_forces=forces))


def areas(arm):
    """Returns the share of each vertex in the area of the skin."""
    a, b, c = (arm.vertices[arm.triangles[:, k]] for k in range(3))
    thirds = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0
    whole = np.zeros(len(arm.vertices))
    np.add.at(whole, arm.triangles.ravel(), np.repeat(thirds, 3))
    return whole / whole.sum()


def rms(arm, offsets):
    """Returns the root of the mean square of offsets over the skin."""
    return float(np.sqrt(areas(arm) @ (offsets**2).sum(axis=1)))


@pytest.fixture(scope="module")
def swelling(arm):
    """Returns the wish of a swelling above the upper arm, 3 cm high, [n,3]."""
    away = np.linalg.norm(arm.vertices - [0.3, 0.0, 0.1], axis=1)
    return 0.03 * np.exp(-((away / 0.12) ** 2))[:, None] * [0.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def start(arm):
    """Returns the skin in balance at the pose."""
    return balanced(arm.body)


@pytest.fixture(scope="module")
def rig(arm, start, swelling):
    """Returns the rig of the swelling, with samples on the way."""
    return thew.fit_surface(arm.body, POSE, start + swelling, gravity=OFF, steps=3, name="Swelling")


def nearest_moves(arm, wish, weights):
    """Returns the moves of the skin that come nearest to a wish, of all that the lattice can show, by dense algebra."""
    indices, shares = arm.lattice.embed_surface(arm.surface)
    embedding = np.zeros((len(arm.vertices), arm.body.dofs))
    np.add.at(embedding, (np.arange(len(indices))[:, None], np.maximum(indices, 0)), shares)
    embedding = np.delete(embedding, arm.body.bone_vertices, axis=1)
    root = np.sqrt(weights)[:, None]
    return embedding @ np.linalg.lstsq(root * embedding, root * wish, rcond=None)[0]


def test_left_is_near_least_squares_bound(arm, rig, swelling):
    """What is left is within 0.02 of the least-squares bound of the lattice, found by dense algebra."""
    bound = rms(arm, nearest_moves(arm, swelling, areas(arm)) - swelling)
    report = rig.report
    assert abs(report.bound - bound) < 1e-3 * report.start
    assert report.left < bound + 0.02 * report.start
    assert report.inverted == 0 and 1e-6 < report.smoothness < 1.0
    assert "SurfaceFitReport" in repr(report) and "sculpted" in repr(rig)


def test_report_is_what_the_balance_does(arm, rig, start, swelling):
    """Distances of the report are those of the balance with the rig's forces, in metres."""
    target = start + swelling
    assert rig.report.start == pytest.approx(rms(arm, swelling), rel=1e-9)
    reached = balanced(arm.body, rig.forces(arm.body, 1.0))
    assert rig.report.left == pytest.approx(rms(arm, reached - target), rel=1e-6)
    assert not rig.forces(arm.body, 0.0).any()


def test_balance_needs_no_force(arm, start):
    """A target that is the balance gives a rig without force."""
    rig = thew.fit_surface(arm.body, POSE, start, gravity=OFF)
    assert not rig.forces(arm.body, 1.0).any()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_shape_is_held_on_the_way(arm, rig, start, share):
    """At a share of the pose the rig holds that share of its shape, in the axes of the skin there."""
    turns = {}
    for s in (share, 1.0):
        balance = thew.Equilibrium(arm.body)
        balance.set_pose(shapes.bend(ANGLE * s))
        q = balance.solve(gravity=OFF)
        u = balance.solve(gravity=OFF, rest_forces=rig.forces(arm.body, s)) - q
        turns[s] = np.einsum("nji,nj->ni", balance.turns, u)
    missed = skin_of(arm.body, turns[share]) - skin_of(arm.body, share * turns[1.0])
    whole = skin_of(arm.body, turns[1.0]) - arm.vertices
    assert rms(arm, missed) < 0.08 * rms(arm, whole)


def test_rig_serves_finer_lattice(arm, rig, start, swelling):
    """On a finer lattice the rig makes the same shape, as near as that one's own fit within a twentieth."""
    lattice = thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, cells_across=14)
    fine = thew.Body(arm.surface, arm.skeleton, lattice, thew.Material(), region_weights=arm.weights)
    before = balanced(fine)
    carried = balanced(fine, rig.forces(fine, 1.0)) - before
    own = thew.fit_surface(fine, POSE, before + swelling, gravity=OFF)
    fitted = balanced(fine, own.forces(fine, 1.0)) - before
    assert rms(arm, carried - fitted) < 0.05 * rms(arm, fitted)
    assert rms(arm, carried - swelling) < 0.1 * rig.report.start


def test_surface_target_needs_no_correspondence(arm, start, swelling):
    """The skin comes as near to a coarser mesh of the shape as with true points."""
    places = start + swelling
    order = np.random.default_rng(1).permutation(len(places))
    scan = thew.Surface(places[order], np.argsort(order)[arm.triangles])
    rig = thew.fit_surface(arm.body, POSE, scan, gravity=OFF)
    reached = balanced(arm.body, rig.forces(arm.body, 1.0))
    _, distances, _, _ = thew.closest_points(places, arm.triangles, reached)
    assert np.sqrt(areas(arm) @ distances**2) < 0.2 * rig.report.start
    assert rig.report.left < 0.2 * rig.report.start


def test_selection_holds_the_rest(arm, start):
    """Skin that is not selected hardly moves."""
    select = (arm.vertices[:, 0] < 0.4).astype(float)
    rig = thew.fit_surface(arm.body, POSE, start + [0.0, 0.01, 0.0], select=select, gravity=OFF)
    moved = np.linalg.norm(balanced(arm.body, rig.forces(arm.body, 1.0)) - start, axis=1)
    assert moved[arm.vertices[:, 0] > 0.55].max() < 0.003
    assert moved[arm.vertices[:, 0] < 0.3].mean() > 0.005


def test_skin_beside_a_selection_moves_by_what_the_lattice_cannot_show(arm, start):
    """Unselected skin moves hardly more than in the lattice's own least squares, which has no step at the selection's rim."""
    select = (arm.vertices[:, 0] < 0.4).astype(float)
    wish = np.tile([0.0, 0.01, 0.0], (len(select), 1))
    rest = select == 0.0

    def moved(offsets):
        return np.sqrt(areas(arm)[rest] @ (offsets[rest] ** 2).sum(axis=1) / areas(arm)[rest].sum()) / 0.01

    for hold in (0.05, 1.0):
        rig = thew.fit_surface(arm.body, POSE, start + wish, select=select, hold=hold, gravity=OFF)
        nearest = nearest_moves(arm, select[:, None] * wish, areas(arm) * (select + hold * rest))
        assert moved(balanced(arm.body, rig.forces(arm.body, 1.0)) - start) < moved(nearest) + 0.02
    assert moved(nearest) > 0.02


def test_clip_and_shot_hold_the_shape(arm, rig, start, swelling, tmp_path):
    """A clip that rests at the pose shows the shape; a stored shot makes the same clip."""
    poses, settings = np.stack([POSE] * 3), thew.SimulationSettings(method="warped", gravity=OFF)
    controls = np.ones((3, 1))
    clip = thew.simulate(arm.body, poses, 24.0, rigs=[rig], controls=controls, settings=settings)
    q = thew.equilibrium(arm.body, POSE, gravity=OFF, rest_forces=rig.forces(arm.body, 1.0))
    np.testing.assert_allclose(clip.lattice_positions(2), arm.lattice.vertices + q, atol=1e-6)
    shot = thew.Shot(arm.body, poses, 24.0, rigs=[rig], controls=controls, settings=settings)
    shot.save(tmp_path / "shot")
    again = thew.Shot.load(tmp_path / "shot")
    assert again.rigs == [rig]
    np.testing.assert_array_equal(np.asarray(again.simulate()), np.asarray(clip))


def test_default_method_moves_towards_target(arm, start, swelling):
    """Flesh of the default method, which is not linear, comes near too, and the report says how near."""
    before = skin_of(arm.body, thew.equilibrium(arm.body, POSE, gravity=OFF, method="hyperelastic"))
    rig = thew.fit_surface(arm.body, POSE, before + swelling, gravity=OFF, method="hyperelastic")
    forces = rig.forces(arm.body, 1.0)
    after = thew.equilibrium(arm.body, POSE, gravity=OFF, rest_forces=forces, method="hyperelastic")
    left = rms(arm, skin_of(arm.body, after) - before - swelling)
    assert rig.report.left == pytest.approx(left, rel=1e-6) and left < 0.4 * rig.report.start


def test_file_keeps_the_rig(arm, rig, tmp_path):
    """Text keeps every bit; a file has five digits and the same effect; copies and pickles are equal."""
    (again,) = thew.parse_rigs(thew.format_rigs([rig]))
    assert again == rig and again.report is None
    assert pickle.loads(pickle.dumps(rig)) == rig == copy.copy(rig)
    path = tmp_path / "rigs.toml"
    thew.save_rigs(path, [rig], arm.body)
    (kept,) = thew.load_rigs(path, arm.body)
    own, other = rig.forces(arm.body, 1.0), kept.forces(arm.body, 1.0)
    assert np.linalg.norm(own - other) < 0.02 * np.linalg.norm(own)
    samples = tomllib.loads(path.read_text())["rigs"][0]["samples"]
    assert [s["control"] for s in samples] == [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]
    assert list(samples[-1]["turns"]) == ["lower"]
    assert samples[-1]["turns"]["lower"][1] == pytest.approx(ANGLE, abs=1e-4)
    assert len(samples[-1]["points"]) < len(arm.vertices)


def test_damaged_files_are_refused(rig, tmp_path):
    """A damaged file raises an error that names the line."""
    text = thew.format_rigs([rig])
    for damaged in (
        text.replace("areas = [", "areas = [1.0,", 1),
        text.replace("smoothness = ", "smoothness = -", 1),
        text.replace('kind = "sculpted"', 'kind = "carved"'),
        text[: len(text) // 2],
    ):
        path = tmp_path / "rigs.toml"
        path.write_text(damaged)
        with pytest.raises(thew.RigFileError, match="line"):
            thew.load_rigs(path)


def test_foreign_rig_names_the_bone(arm, rig):
    """On a skeleton without one of its bones a rig is refused, everywhere, with the bone's name."""
    other = thew.Skeleton(["upper", "tail"], *shapes.arm_bones()[1:])
    lattice = thew.Lattice.enclose(arm.surface, other, arm.weights, cells_across=6)
    body = thew.Body(arm.surface, other, lattice, thew.Material(), region_weights=arm.weights)
    with pytest.raises(thew.RigError, match="'lower'"):
        rig.forces(body, 1.0)
    assert "'lower'" in rig.check(body)[0]
    with pytest.raises(thew.RigError, match="'lower'"):
        thew.simulate(body, POSE[None], 24.0, rigs=[rig])


def test_template_of_sculpted_rig_is_none(arm, rig):
    """A sculpted rig has one parameter, and nothing of a template."""
    assert rig.kind == "sculpted" and rig.template is None and rig.guide is None
    assert rig.parameter_names == ("strength",) and rig.parameters() == {"strength": 1.0}
    assert rig.units == {"strength": ""}
    half = rig.forces(arm.body, 1.0, {"strength": 0.5})
    np.testing.assert_allclose(2.0 * half, rig.forces(arm.body, 1.0), rtol=1e-12)
    with pytest.raises(thew.RigError, match="sculpted"):
        rig.frame(arm.body)
    with pytest.raises(thew.RigError, match="of the kind 'sculpted', but a fit to points"):
        thew.RigFit(arm.body, rig, POSE)  # before any points
    with pytest.raises(thew.RigError, match="sculpted"):
        thew.fit_rig(arm.body, rig, POSE, [(0, [0.0, 0.0, 0.0])])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": np.zeros((5, 3))}, "5 vertices"),
        ({"target": np.full((1106, 3), np.nan)}, "vertex 0 is not finite"),
        ({"select": np.zeros(1106)}, "no skin is selected"),
        ({"select": np.ones(7)}, "selection has 7"),
        ({"select": np.full(1106, 2.0)}, "between 0 and 1"),
        ({"shift": 100.0}, "farther than the body"),
        ({"hold": 2.0}, "hold"),
        ({"smoothness": -1.0}, "smoothness"),
        ({"steps": 0}, "steps"),
        ({"control": 0.0}, "control"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"method": "linear"}, "linear"),
        ({"method": "modal"}, "modal"),
        ({"rest_forces": np.zeros((3, 3))}, "rest_forces"),
    ],
)
def test_bad_input_is_a_sentence(arm, start, change, words):
    """Bad input raises an error that says what is wrong."""
    n = len(arm.vertices)
    change = {k: np.resize(v, (n, *v.shape[1:])) if np.shape(v)[:1] == (1106,) else v for k, v in change.items()}
    given = {"target": start + change.pop("shift", 0.0), **change}
    with pytest.raises(thew.InputError, match=words):
        thew.fit_surface(arm.body, POSE, **given)


def test_scan_of_other_skin_is_refused(arm, start):
    """A scan of the hand alone serves skin of the hand; of the shoulder, which it does not show, no rig is made."""
    along = arm.vertices[:, 0]
    hand = np.flatnonzero((along > 0.8)[arm.triangles].all(axis=1))
    used, index = np.unique(arm.triangles[hand], return_inverse=True)
    scan = thew.Surface(start[used] * 1.01, index.reshape(-1, 3))
    with pytest.raises(thew.InputError, match=r"misses the selected skin: the nearest of it is 0\.\d+ m away"):
        thew.fit_surface(arm.body, POSE, scan, select=along < 0.3)
    assert thew.fit_surface(arm.body, POSE, scan, select=along > 0.85).kind == "sculpted"
    # Skin that hardly counts must not be wanted elsewhere either.
    with pytest.raises(thew.InputError, match="farther than the body"):
        thew.fit_surface(arm.body, POSE, start + 1000.0, select=np.full(len(along), 1e-6))


def test_far_scan_and_cancelled_fit(arm, start):
    """A scan elsewhere is refused, and a fit stops where its progress says so."""
    scan = thew.Surface(start + 50.0, arm.triangles)
    with pytest.raises(thew.InputError, match="farther than the body"):
        thew.fit_surface(arm.body, POSE, scan)
    with pytest.raises(thew.Cancelled):
        thew.fit_surface(arm.body, POSE, start + 0.01, progress=lambda fraction, stage: False)

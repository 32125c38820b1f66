# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.MRep: medial models, their coordinates, fits to surfaces and volumes, families."""

import pickle

import numpy as np
import pytest
import thew

AXES = np.array([2.0, 1.2, 0.6])
SIZE = 2 * np.linalg.norm(AXES)


def rotation(vector):
    """Returns the rotation about a vector by its length."""
    angle = np.linalg.norm(vector)
    x, y, z = np.asarray(vector) / angle
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def ellipsoid_atoms(m, n, axes=AXES, reach=0.8, kappa=0.6):
    """Returns the atoms of an ellipsoid's medial sheet, with exact spokes and end spokes."""
    a, b, c = axes
    s, t = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, m))
    x, y = reach * s * np.sqrt(1 - kappa * t**2 / 2), reach * t * np.sqrt(1 - kappa * s**2 / 2)
    hubs = np.stack([x * (a * a - c * c) / a, y * (b * b - c * c) / b, 0 * x], -1)
    spokes = np.stack([x * a, y * b, c * np.sqrt(1 - x**2 - y**2)], -1) - hubs
    radii = np.linalg.norm(spokes, axis=-1)
    b_axis = spokes * [1, 1, 0]
    norm = np.linalg.norm(b_axis, axis=-1, keepdims=True)
    b_axis = np.where(norm > 1e-9, b_axis / np.maximum(norm, 1e-30), [1.0, 0, 0])
    normal = np.broadcast_to([0.0, 0, 1], b_axis.shape)
    frames = np.stack([b_axis, np.cross(normal, b_axis), normal], -1)
    angles = np.arcsin(np.clip(spokes[..., 2] / radii, -1, 1))
    h, d = hubs / axes, b_axis / axes
    hd, dd = (h * d).sum(-1), (d * d).sum(-1)
    ends = (-hd + np.sqrt(hd**2 + dd * (1 - (h * h).sum(-1)))) / dd / radii
    return hubs, radii, frames, angles, ends


def ellipsoid(m, n, **settings):
    """Builds a slab of an ellipsoid's atoms."""
    hubs, radii, frames, angles, ends = ellipsoid_atoms(m, n, **settings)
    return thew.MRep.slab(hubs, radii, frames, angles, ends)


def straight_tube(n=7, k=8, radius=0.3, length=3.0):
    """Builds a straight tube along x."""
    hubs = np.zeros((n, 3))
    hubs[:, 0] = np.linspace(0, length, n)
    frame = np.stack([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], -1)
    return thew.MRep.tube(hubs, np.full(n, radius), np.tile(frame, (n, 1, 1)), np.full(n, np.pi / 2), np.ones((n, k)))


def bent_superquadric(n=48):
    """Returns vertices and triangles of a superquadric, twisted and bent."""
    theta, phi = np.meshgrid(np.linspace(0, np.pi, n + 1)[1:-1], np.arange(2 * n) * np.pi / n, indexing="ij")
    ring = np.stack([np.cos(theta), np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi)], -1).reshape(-1, 3)
    p = np.concatenate([[[1.0, 0, 0]], ring, [[-1.0, 0, 0]]])
    p = np.sign(p) * np.abs(p) ** 0.8 * [2.0, 1.0, 0.5]
    twist = 0.25 * p[:, 0]
    y, z = p[:, 1].copy(), p[:, 2].copy()
    p[:, 1], p[:, 2] = y * np.cos(twist) - z * np.sin(twist), y * np.sin(twist) + z * np.cos(twist)
    bend, r = 0.3 * p[:, 0], 1 / 0.3 + p[:, 2]
    p[:, 0], p[:, 2] = r * np.sin(bend), r * np.cos(bend) - 1 / 0.3
    m, rows = 2 * n, n - 1
    at = lambda i, j: 1 + i * m + j % m  # noqa: E731
    t = []
    for j in range(m):
        t += [[0, at(0, j), at(0, j + 1)], [len(p) - 1, at(rows - 1, j + 1), at(rows - 1, j)]]
        for i in range(rows - 1):
            t += [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
    return p, np.array(t)


def template():
    """Builds the slab of an ellipsoid that fits begin from."""
    return ellipsoid(3, 7, axes=np.array([2.0, 1.0, 0.5]))


def ellipsoid_distances(points):
    """Returns distances of points from the ellipsoid, over its size."""
    scaled = points / AXES
    return np.abs((scaled**2).sum(1) - 1) / (2 * np.linalg.norm(scaled / AXES, axis=1)) / SIZE


def test_boundary_converges_to_ellipsoid():
    """The boundary of an ellipsoid's model meets the ellipsoid, and better with more atoms."""
    errors = []
    for m, n in [(5, 9), (9, 17)]:
        model = ellipsoid(m, n)
        assert model.legality() > 0.03 and model.check() == []
        far = ellipsoid_distances(model.boundary(3).vertices)
        errors.append((far.max(), far.mean()))
    assert errors[0][0] < 4e-3 and errors[0][1] < 5e-4
    assert errors[1][0] < errors[0][0] / 4 and errors[1][1] < errors[0][1] / 4


def test_mrep_arrays_round_trip():
    """A model returns the arrays that it was made of, and is pickled exactly."""
    hubs, radii, frames, angles, ends = ellipsoid_atoms(3, 5)
    lengths = np.random.default_rng(0).uniform(0.9, 1.1, (3, 5, 2))
    model = thew.MRep.slab(hubs, radii, frames, angles, ends, lengths)
    assert model.kind == "slab" and model.shape == (3, 5)
    for given, found in zip(
        (hubs, radii, frames, angles, ends, lengths),
        (model.hubs, model.radii, model.frames, model.angles, model.ends, model.lengths),
        strict=True,
    ):
        assert found.dtype == np.float64 and found.flags.c_contiguous
        np.testing.assert_allclose(found, given, atol=1e-15)
    assert model.knots.shape == (0,) and model.joints.shape == (0,)
    tube = straight_tube(5, 6)
    assert tube.kind == "tube" and tube.shape == (5, 6) and tube.lengths.shape == (5, 6)
    np.testing.assert_allclose(tube.knots, np.linspace(0, 1, 5))
    assert tube.ends.tolist() == [1, 1]
    for one in (model, tube):
        again = pickle.loads(pickle.dumps(one))
        assert again == one and repr(again) == repr(one)


def test_tube_cylinder_coordinates():
    """A straight tube has the coordinates of a cylinder, and points far away have none."""
    tube = straight_tube()
    rng = np.random.default_rng(1)
    u, angle, depth = rng.random(500), rng.uniform(0, 2 * np.pi, 500), rng.uniform(0.05, 1.6, 500)
    # From n (z) towards b⊥ (y).
    places = np.stack([3 * u, 0.3 * depth * np.sin(angle), 0.3 * depth * np.cos(angle)], -1)
    found = tube.coordinates(places)
    # Splines through eight spokes are a circle to some 1e-3.
    np.testing.assert_allclose(found[:, 0], u, atol=1e-9)
    np.testing.assert_allclose(found[:, 3], depth, rtol=5e-3)
    assert np.abs(np.angle(np.exp(1j * (found[:, 2] - angle)))).max() < 5e-3
    np.testing.assert_allclose(tube.points(found), places, atol=1e-12)
    boundary = tube.boundary(3)
    assert boundary.report().closed
    np.testing.assert_allclose(tube.points(tube.boundary_coordinates(3)), boundary.vertices, atol=1e-12)
    np.testing.assert_allclose(tube.tolerance(3, ratio=0.2), 0.06)
    far = tube.coordinates([[0.0, 5.0, 0.0], [0.0, -5.0, 1.0]])
    assert np.isnan(far).all()
    assert np.isnan(tube.points(far)).all()


def test_transformed_moves_everything():
    """A similarity moves boundary and coordinates along."""
    model, turn = ellipsoid(3, 5), rotation([0.4, -1.1, 2.0])
    moved = model.transformed(2.5, turn, [3.0, 2, 1])
    there = lambda p: 2.5 * p @ turn.T + [3.0, 2, 1]  # noqa: E731
    np.testing.assert_allclose(moved.boundary(2).vertices, there(model.boundary(2).vertices), atol=1e-12)
    inside = model.points(model.boundary_coordinates(1) * [1, 1, 1, 0.6])
    np.testing.assert_allclose(moved.coordinates(there(inside)), model.coordinates(inside), atol=1e-9)
    assert abs(moved.legality() - model.legality()) < 1e-9


def test_correspond_round_trip():
    """Points go to another model of the same kind and back."""
    a = straight_tube(7, 8)
    b = straight_tube(9, 10, radius=0.5, length=2.0).transformed(1.0, rotation([0.1, 2.0, 0.3]), [1.0, 0, 0])
    inside = a.points(a.boundary_coordinates(2) * [1, 1, 1, 0.7])
    there = a.correspond(b, inside)
    np.testing.assert_allclose(b.correspond(a, there), inside, atol=1e-12)
    np.testing.assert_allclose(b.coordinates(there)[:, 3], 0.7, atol=1e-9)
    with pytest.raises(thew.MRepError, match="slab"):
        a.correspond(template(), inside)


def test_fit_surface():
    """A fit meets its surface, and its energy falls in every stage."""
    surface = thew.Surface(*bent_superquadric())
    stages = []
    fit = template().fit(surface, progress=lambda _, stage: stages.append(stage))
    assert list(fit.posterior) == list(fit.stages) == ["similarity", "atoms", "boundary"]
    for energies in fit.posterior.values():
        assert len(energies) > 1 and (np.diff(energies) < 0).all()
    assert fit.stages["atoms"].mean < 3e-3 * surface.size
    assert fit.report.mean < 7e-4 * surface.size and fit.report.dice > 0.99
    assert fit.report.mean <= fit.report.percentile_99 <= fit.report.largest
    assert fit.mrep.legality() > 0.03 and fit.levels is None and stages
    assert fit.surface.vertices.shape[0] == fit.surface_coordinates.shape[0]
    assert "Dice" in str(fit.report)


def test_fit_similarity_invariant():
    """A fit to moved and renumbered input is the same fit, moved."""
    p, t = bent_superquadric(24)
    rng, turn = np.random.default_rng(3), rotation([0.4, -1.1, 2.0])
    order = rng.permutation(len(p))
    moved = np.empty_like(p)
    moved[order] = 0.3 * p @ turn.T + [3.0, -2, 1]
    here = template().fit(thew.Surface(p, t)).mrep
    there = template().transformed(0.3, turn, [3, -2, 1]).fit(thew.Surface(moved, order[t[::-1]])).mrep
    expected = here.transformed(0.3, turn, [3, -2, 1])
    np.testing.assert_allclose(there.hubs, expected.hubs, atol=1e-9)
    np.testing.assert_allclose(there.radii, expected.radii, atol=1e-9)
    np.testing.assert_allclose(there.frames, expected.frames, atol=1e-9)


def picture(surface, voxel, inside, outside, noise, dtype=float):
    """Returns a noisy volume of a surface, and its mask."""
    margin = 8 * np.asarray(voxel)
    low, high = surface.vertices.min(0) - margin, surface.vertices.max(0) + margin
    shape = np.ceil((high - low) / voxel).astype(int)
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1) * voxel + low
    wound = surface.winding_number(grid.reshape(-1, 3)).reshape(shape) > 0.5
    rng = np.random.default_rng(5)
    values = outside + (inside - outside) * (wound + noise * rng.standard_normal(shape))
    return thew.Volume(values.astype(dtype), voxel, low), wound


def dice(model, surface, seed=0):
    """Returns the Dice coefficient of two surfaces, by random points."""
    rng = np.random.default_rng(seed)
    low, high = surface.vertices.min(0), surface.vertices.max(0)
    x = low - 0.05 * (high - low) + 1.1 * (high - low) * rng.random((20_000, 3))
    a, b = model.winding_number(x) > 0.5, surface.winding_number(x) > 0.5
    return 2 * (a & b).sum() / (a.sum() + b.sum())


@pytest.mark.parametrize(
    ("voxel", "inside", "outside", "noise", "dtype"),
    [
        ((0.08, 0.08, 0.08), 1.0, 0.0, 0.4, float),
        ((0.08, 0.08, 0.08), 3000, 12000, 0.1, np.uint16),
        ((0.06, 0.06, 0.18), 1.0, 0.0, 0.1, np.float32),
        ((0.08, 0.08, 0.08), 1, 0, 0.0, bool),
    ],
)
def test_fit_volume(voxel, inside, outside, noise, dtype):
    """A fit finds the body in a volume, at any contrast and voxel size."""
    surface = thew.Surface(*bent_superquadric(24))
    volume, _ = picture(surface, voxel, inside, outside, noise, dtype)
    fit = template().fit(volume)
    assert dice(fit.surface, surface) > 0.97
    found, step = np.array(fit.levels), abs(inside - outside)
    assert np.abs(found - [inside, outside]).max() < 0.15 * step
    assert all((np.diff(e) < 0).all() for e in fit.posterior.values())


def test_family_typicality():
    """A family of models recognises its members and rates an odd one as untypical."""
    rng = np.random.default_rng(2)

    def member(a):
        hubs = np.zeros((6, 3))
        hubs[:, 0] = np.linspace(0, 3, 6)
        hubs[:, 1] = a * (hubs[:, 0] - 1.5) ** 2
        frame = np.tile(np.eye(3), (6, 1, 1))
        radii = 0.4 * np.exp(a * np.linspace(-1, 1, 6))
        one = thew.MRep.tube(hubs, radii, frame, np.full(6, np.pi / 2), np.ones((6, 6)))
        return one.transformed(rng.uniform(0.5, 2), rotation(rng.normal(size=3)), rng.normal(size=3))

    family = thew.MRepFamily([member(a) for a in (-0.3, -0.1, 0.05, 0.2, 0.3)])
    assert family.deviations.shape[0] == family.modes.shape[0] >= 1
    np.testing.assert_allclose(family.modes @ family.modes.T, np.eye(len(family.modes)), atol=1e-9)
    scores, rest = family.typicality(member(0.15))
    assert np.abs(scores).max() < 2.5 and rest < 2
    scores, rest = family.typicality(family.sample([1.5]))
    assert abs(scores[0] - 1.5) < 0.1
    odd = member(0.1)
    lengths = odd.lengths
    lengths[2, 1] = 3
    other = thew.MRep.tube(odd.hubs, odd.radii, odd.frames, odd.angles, lengths)
    assert family.typicality(other)[1] > 2
    again = pickle.loads(pickle.dumps(family))
    np.testing.assert_allclose(again.deviations, family.deviations)
    with pytest.raises(thew.MRepError, match="2 or more"):
        thew.MRepFamily([odd])


def test_join_several_figures():
    """Several figures make one model with one boundary, and coordinates are those of a single figure."""
    both = thew.MRep.join([template(), straight_tube()], names=["body", "tail"])
    assert both.names == ["body", "tail"] and [f.kind for f in both.figures] == ["slab", "tube"]
    assert both.check() == [] and pickle.loads(pickle.dumps(both)) == both
    with pytest.raises(thew.MRepError, match=r"2 figures \(body, tail\): choose one"):
        both.coordinates([[0.0, 0, 0]])
    # One boundary around both, larger where they meet than creases would make it.
    volumes = [both.boundary(1, blend=blend).volume for blend in (0.0, 1.0)]
    report = both.boundary(1).report()
    assert report.closed and report.manifold and report.components == 1 and volumes[0] < volumes[1] < 1.2 * volumes[0]
    with pytest.raises(thew.MRepError, match="two figures are called"):
        thew.MRep.join([template(), straight_tube()], names=["a", "a"])
    with pytest.raises(thew.InputError, match="one for each of 2"):
        thew.MRep.join([template(), straight_tube()], names=["a"])


def change(index, value):
    """Returns the arguments of a slab with one number changed."""
    hubs, radii, frames, angles, ends = (np.array(x) for x in ellipsoid_atoms(3, 5))
    arrays = {"hubs": hubs, "radii": radii, "frames": frames, "angles": angles, "ends": ends}
    arrays[index][1, 2] = value
    return arrays


@pytest.mark.parametrize(
    ("index", "value", "said"),
    [
        ("hubs", np.nan, r"hub of atom \[1, 2\]"),
        ("radii", 0.0, r"radius of atom \[1, 2\] is 0"),
        ("frames", np.ones((3, 3)), r"frame of atom \[1, 2\] is not a rotation"),
        ("angles", 2.0, r"object angle of atom \[1, 2\] is 2"),
        ("ends", -1.0, r"end factor of atom \[1, 2\] is -1"),
    ],
)
def test_slab_names_bad_atom(index, value, said):
    """A number that makes no atom is refused by its index."""
    with pytest.raises(thew.MRepError, match=said):
        thew.MRep.slab(**change(index, value))


def test_mrep_refuses_bad_input():
    """Bad input of models and fits is refused with a sentence."""
    model, surface = template(), thew.Surface(*bent_superquadric(12))
    hubs, radii, frames, angles, _ = ellipsoid_atoms(3, 5)
    with pytest.raises(thew.InputError, match="radii"):
        thew.MRep.slab(hubs, radii[:2], frames, angles)
    with pytest.raises(thew.MRepError, match="rows"):
        thew.MRep.slab(hubs[:1], radii[:1], frames[:1], angles[:1])
    with pytest.raises(thew.MRepError, match="lower level"):
        model.boundary(11)
    with pytest.raises(thew.InputError, match="level"):
        model.boundary(-1)
    with pytest.raises(thew.MRepError, match="coordinates 0"):
        model.points([[0.5, 0.5, 0.5, 0.5]])
    with pytest.raises(thew.InputError, match="no 'skin'"):
        model.fit(surface, stages=["skin"])
    with pytest.raises(thew.InputError, match=r"a thew\.Volume, got int"):
        model.fit(3)
    with pytest.raises(thew.InputError, match="no atom 21"):
        model.fit(surface, held=[21])
    with pytest.raises(thew.InputError, match="mask"):
        model.fit(surface, held=np.ones(3, bool))
    with pytest.raises(thew.MRepError, match="prior"):
        model.fit(surface, prior=-1)
    with pytest.raises(thew.Cancelled):
        model.fit(surface, progress=lambda *_: False)
    volume = thew.Volume(np.zeros((20, 20, 20)), (0.4, 0.4, 0.4), (-4, -4, -4))
    with pytest.raises(thew.MRepError, match="no contrast"):
        model.fit(volume)
    with pytest.raises(thew.MRepError, match="outside the volume"):
        model.transformed(translation=[50, 0, 0]).fit(volume)
    with pytest.raises(thew.InputError, match="weights"):
        model.fit(volume, weights=[1.0])
    with pytest.raises(thew.MRepError, match=r"voxel \(1, 0, 1\)"):
        values = np.zeros((2, 2, 2))
        values[1, 0, 1] = np.inf
        thew.Volume(values)
    with pytest.raises(thew.MRepError, match="rotation"):
        model.transformed(rotation=2 * np.eye(3))


def test_fit_held_hubs():
    """Held hubs stay in a fit."""
    model = straight_tube(5, 8)
    surface = straight_tube(9, 12, radius=0.4).boundary(3)
    for held in (np.arange(5), np.ones(5, bool)):
        fit = model.fit(surface, held=held)
        assert (fit.mrep.hubs == model.hubs).all() and list(fit.posterior) == ["atoms", "boundary"]
        assert fit.report.mean < 5e-3 * surface.size


def test_slab_around_target():
    """A slab made around a surface or a volume lies in it and fits it."""
    surface = thew.Surface(*bent_superquadric(24))
    volume, _ = picture(surface, (0.1, 0.1, 0.1), 1.0, 0.0, 0.3)
    for target in (surface, volume):
        slab = thew.MRep.slab_around(target, rows=3, cols=7)
        assert slab.shape == (3, 7) and slab.check() == []
        assert (surface.winding_number(slab.hubs.reshape(-1, 3)) > 0.5).mean() > 0.8
        fit = slab.fit(target)
        assert dice(fit.surface, surface) > 0.97
    with pytest.raises(thew.MRepError, match="told apart from its surroundings"):
        thew.MRep.slab_around(thew.Volume(np.zeros((9, 9, 9))))


def test_templates_fit_bodies():
    """Each named template fits its own body moved."""
    for name in ("limb", "tail", "torso", "head"):
        model = thew.MRep.template(name)
        assert model.kind == ("tube" if name in ("limb", "tail") else "slab") and model.legality() > 0.1
        body = model.boundary(3)
        moved = thew.Surface(body.vertices @ rotation([0.3, 0.2, 0.1]).T * 2 + [1, 0, 0], body.triangles)
        fit = model.fit(moved, stages=["similarity", "atoms"])
        assert fit.report.mean < 0.01 * moved.size
    with pytest.raises(thew.MRepError, match="one of limb, tail, torso, head"):
        thew.MRep.template("wing")


def test_mrep_file_round_trip(tmp_path):
    """Files give back the models written, and bad files are refused by line."""
    both = thew.MRep.join([template(), straight_tube()], names=["body", "tail"])
    both.save(tmp_path / "both.mrep.toml")
    again = thew.MRep.load(tmp_path / "both.mrep.toml")
    assert again == both and again.names == ["body", "tail"]
    small = thew.MRep.load(tmp_path / "both.mrep.toml", scale=0.01).figures[0]
    np.testing.assert_allclose(small.hubs, 0.01 * template().hubs, atol=1e-15)
    template().save(tmp_path / "body.srep.json")
    slab = thew.MRep.load(tmp_path / "body.srep.json")
    np.testing.assert_allclose(slab.boundary(2).vertices, template().boundary(2).vertices, atol=1e-9)
    with pytest.raises(thew.MRepFileError, match="tube"):
        straight_tube().save(tmp_path / "tail.srep.json")
    (tmp_path / "bad.mrep.toml").write_text((tmp_path / "both.mrep.toml").read_text().replace("cols = 7", "cols = 'x'"))
    with pytest.raises(thew.MRepFileError, match=r"bad\.mrep\.toml', line \d+"):
        thew.MRep.load(tmp_path / "bad.mrep.toml")
    with pytest.raises(thew.StorageError, match="no such file"):
        thew.MRep.load(tmp_path / "none.mrep.toml")
    with pytest.raises(thew.MRepFileError, match="rename it"):
        thew.MRep.load(tmp_path / "body.obj")


def test_tube_around_bent_body():
    """A tube made around a bent body fits it, and suggested bones lie in it."""
    hubs = np.zeros((13, 3))
    turn = np.linspace(0, 2.5, 13)
    hubs[:, 0], hubs[:, 1] = 2 * np.cos(turn), 2 * np.sin(turn)
    b = np.stack([-np.sin(turn), np.cos(turn), 0 * turn], -1)
    n = np.broadcast_to([0.0, 0, 1], b.shape)
    snake = thew.MRep.tube(
        hubs, np.linspace(0.4, 0.25, 13), np.stack([b, np.cross(n, b), n], -1), np.full(13, np.pi / 2)
    )
    surface = snake.boundary(3)
    tube = thew.MRep.tube_around(surface, atoms=9, spokes=8)
    assert tube.shape == (9, 8) and tube.legality() > 0.1
    assert (surface.winding_number(tube.hubs) > 0.5).all()
    np.testing.assert_allclose(np.linalg.norm(tube.hubs[:, :2], axis=1), 2.0, atol=0.05)
    fit = tube.fit(surface)
    assert fit.report.mean < 2e-3 * surface.size and fit.report.dice > 0.98
    bones = thew.MRep.suggest_bones(surface)
    assert (
        len(bones.names) >= 2 and bones.parents[0] == -1 and (bones.parents[1:] < np.arange(1, len(bones.names))).all()
    )
    assert (surface.winding_number(0.5 * (bones.heads + bones.tails)) > 0.5).all()


def test_fit_notes_hole():
    """A fit notes a target that has a hole and so is no slab."""
    n, m = 48, 24
    a, b = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(m) * 2 * np.pi / m, indexing="ij")
    ring = np.stack([(1 + 0.3 * np.cos(b)) * np.cos(a), (1 + 0.3 * np.cos(b)) * np.sin(a), 0.3 * np.sin(b)], -1)
    at = lambda i, j: i % n * m + j % m  # noqa: E731
    triangles = [
        t
        for i in range(n)
        for j in range(m)
        for t in ([at(i, j), at(i + 1, j), at(i, j + 1)], [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)])
    ]
    torus = thew.Surface(ring.reshape(-1, 3), np.array(triangles))
    slab = thew.MRep.join([thew.MRep.slab_around(torus)], names=["ring"])
    (note,) = slab.figures[0].fit(torus).notes
    assert note.startswith("the slab 'ring' of 3 x 7 atoms does not model") and "has a hole" in note
    assert slab.figures[0].fit(torus, stages=["similarity"]).notes == []
    assert template().fit(thew.Surface(*bent_superquadric())).notes == []


@pytest.mark.parametrize("bend", [0.5, 0.65])
def test_slab_around_bent_body(bend):
    """A slab made around a strongly bent body fits it."""
    vertices, triangles = bent_superquadric()
    # Unbent, and bent by more.
    angle, r = np.arctan2(vertices[:, 0], vertices[:, 2] + 1 / 0.3), np.hypot(vertices[:, 0], vertices[:, 2] + 1 / 0.3)
    far, high = angle / 0.3, r - 1 / 0.3
    vertices[:, 0], vertices[:, 2] = (1 / bend + high) * np.sin(bend * far), (1 / bend + high) * np.cos(bend * far)
    surface = thew.Surface(vertices @ rotation([0.3, 1.0, -2.0]).T, triangles)
    fit = thew.MRep.slab_around(surface).fit(surface)
    assert fit.report.mean < 7e-4 * surface.size and fit.report.dice > 0.98 and fit.notes == []

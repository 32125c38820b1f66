# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.Material and thew.Body: matrices against what they must do to known motions; files."""

import numpy as np
import pytest
import shapes
import thew
from scipy.sparse import csr_array
from scipy.spatial.transform import Rotation


def matrix(triple, n):
    """Builds a sparse matrix of its three arrays, whose types and order it checks."""
    data, indices, indptr = triple
    m = csr_array((data, indices, indptr), shape=(n, n))
    assert indices.dtype == indptr.dtype == np.int32
    assert m.has_sorted_indices
    return m


def test_material_validation():
    """A material has its documented defaults and refuses constants out of range."""
    soft = thew.Material()
    assert (soft.young, soft.poisson, soft.density) == (20e3, 0.4, 1000.0)
    for wrong in ({"young": 0.0}, {"young": np.nan}, {"poisson": 0.5}, {"poisson": -1.0}, {"density": -1.0}):
        with pytest.raises(thew.InputError):
            thew.Material(**wrong)


def test_mass_matches_flesh(arm):
    """Volume and mass of a body are those of the enclosed flesh, and its mass matrix is symmetric and positive definite."""
    exact = shapes.enclosed_volume(arm.vertices, arm.triangles)
    assert arm.body.volume == pytest.approx(exact, rel=0.03)
    n = 3 * arm.body.node_count
    mass = matrix(arm.body.mass(), n)
    x = np.zeros((arm.body.node_count, 3))
    x[:, 0] = 1.0
    # Floored cells weigh a little more than their flesh.
    assert x.ravel() @ (mass @ x.ravel()) == pytest.approx(1000.0 * exact, rel=0.05)
    assert abs(mass - mass.T).max() < 1e-12 * abs(mass).max()
    assert np.linalg.eigvalsh(mass.toarray()).min() > 0


def test_stiffness_resists_strain(arm):
    """The stiffness matrix gives rigid motions no energy and uniform strain the energy of the material."""
    n = 3 * arm.body.node_count
    s = matrix(arm.body.stiffness(), n)
    x = arm.lattice.vertices
    scale = abs(s).max()
    assert abs(s - s.T).max() < 1e-9 * scale
    for rigid in (np.ones_like(x) * [1, 2, 3], np.cross([0.1, -0.4, 0.2], x)):
        assert np.abs(s @ rigid.ravel()).max() < 1e-9 * scale
    # Uniform strain: energy density of the material times the volume, up to the floor of cut cells.
    strain = np.diag([0.01, -0.002, 0.003])
    q = (x @ strain).ravel()
    young, nu = 20e3, 0.4
    g, lam = young / (2 * (1 + nu)), young * nu / ((1 + nu) * (1 - 2 * nu))
    density = 0.5 * lam * np.trace(strain) ** 2 + g * (strain**2).sum()
    assert 0.5 * q @ (s @ q) == pytest.approx(density * arm.body.volume, rel=0.05)
    assert 0.5 * q @ (s @ q) == pytest.approx(arm.body.energy(q.reshape(-1, 3), model="linear"), rel=1e-10)


def test_linear_energy_derivatives(arm):
    """The linear gradient and Hessian are the derivatives of the linear energy."""
    rng = np.random.default_rng(1)
    q, d = rng.normal(size=(2, arm.body.node_count, 3)) * 0.01
    gradient = arm.body.gradient(q, "linear")
    h = 1e-3
    slope = (arm.body.energy(q + h * d, "linear") - arm.body.energy(q - h * d, "linear")) / (2 * h)
    assert (gradient * d).sum() == pytest.approx(slope, rel=1e-8)
    hessian = matrix(arm.body.hessian(q, "linear"), 3 * arm.body.node_count)
    change = arm.body.gradient(q + h * d, "linear") - arm.body.gradient(q - h * d, "linear")
    np.testing.assert_allclose(
        (hessian @ d.ravel()).reshape(-1, 3), change / (2 * h), atol=1e-6 * np.abs(change / h).max()
    )
    for call in (arm.body.energy, arm.body.gradient, arm.body.hessian):
        with pytest.raises(thew.InputError, match="'linear', 'stvk', 'neohookean'"):
            call(q, model="rubber")
        with pytest.raises(thew.InputError, match="q"):
            call(q[1:], model="stvk")


@pytest.mark.parametrize("model", ["stvk", "neohookean"])
@pytest.mark.parametrize("size", [0.003, 0.1])
def test_nonlinear_energy_derivatives(arm, model, size):
    """Gradients and Hessians of nonlinear models are derivatives of their energies, and linear at rest."""
    body, x = arm.body, arm.lattice.vertices
    rng = np.random.default_rng(4)
    smooth = np.sin(x @ rng.normal(size=(3, 3)) * 7.0 + 0.4)
    q, d = size * smooth, np.cos(x @ rng.normal(size=(3, 3)) * 5.0)
    gradient, hessian = body.gradient(q, model), matrix(body.hessian(q, model), 3 * body.node_count)
    h = 1e-3 * size

    def slope(h):
        return (body.energy(q + h * d, model) - body.energy(q - h * d, model)) / (2 * h)

    exact = (gradient * d).sum()
    # Fourth order by Richardson's extrapolation.
    assert abs((4 * slope(h) - slope(2 * h)) / 3 - exact) < 1e-6 * np.linalg.norm(gradient) * np.linalg.norm(d)
    h = 1e-5
    change = (body.gradient(q + h * d, model) - body.gradient(q - h * d, model)).ravel() / (2 * h)
    assert np.linalg.norm(hessian @ d.ravel() - change) < 1e-6 * np.linalg.norm(change)
    assert abs(hessian - hessian.T).max() < 1e-12 * abs(hessian).max()
    # At rest all models are the linear one, with its pattern.
    rest, stiffness = body.hessian(np.zeros_like(q), model), body.stiffness()
    assert np.array_equal(rest[1], stiffness[1]) and np.array_equal(rest[2], stiffness[2])
    np.testing.assert_allclose(rest[0], stiffness[0], atol=1e-10 * np.abs(stiffness[0]).max())


@pytest.mark.parametrize("model", ["stvk", "neohookean"])
def test_nonlinear_energy_rigid_and_finite(arm, model):
    """Rigid motions cost no nonlinear energy, and every shape has finite energy and derivatives."""
    body, x = arm.body, arm.lattice.vertices
    stretch = body.energy(x * [0.01, 0.0, 0.0], model)
    assert stretch == pytest.approx(body.energy(x * [0.01, 0.0, 0.0], "linear"), rel=0.05)
    for turn in ([0.0, 0.0, 3.1], [1.0, -2.0, 0.5], [0.0, 1e-3, 0.0]):
        by = shapes.turn_about(turn, shift=[10.0, -3.0, 5.0])
        assert abs(body.energy(shapes.apply(by, x) - x, model)) < 1e-10 * stretch
    rng = np.random.default_rng(5)
    for q in (-2 * x, -x, x * [0, 0, -2.0], 1e12 * x, rng.normal(size=x.shape)):
        assert np.isfinite(body.energy(q, model))
        assert np.isfinite(body.gradient(q, model)).all()
        assert np.isfinite(body.hessian(q, model)[0]).all()
    with pytest.raises(thew.InputError, match="range of numbers"):
        body.energy(1e99 * x, model)


def test_twist_stiffens_straight_skeleton(arm):
    """The twist term keeps flesh from turning freely about straight bones."""
    n = 3 * arm.body.node_count
    free = np.setdiff1d(np.arange(arm.body.node_count), arm.body.bone_vertices)
    rows = (3 * free[:, None] + np.arange(3)).ravel()
    spin = np.cross([1.0, 0, 0], arm.lattice.vertices).ravel()[rows]
    plain = matrix(arm.body.stiffness(), n)[rows][:, rows]
    twisted = matrix(arm.body.stiffness(twist=True), n)[rows][:, rows]
    # About the straight bones flesh turns freely, unless the twist holds it.
    assert spin @ (plain @ spin) < 1e-9 * spin @ (twisted @ spin)
    assert np.linalg.eigvalsh(twisted.toarray()).min() > 0


def test_bone_vertices_and_regions(arm):
    """A body's bone vertices include the bones' chains, and region weights sum to one and follow the near bone."""
    body = arm.body
    assert len(body.bone_vertices) == len(body.bone_of_vertex)
    chains = set(np.concatenate(arm.lattice.bone_edges))
    assert chains <= set(body.bone_vertices)
    w = body.region_weights
    assert w.shape == (body.node_count, 2) and w.min() >= 0
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
    # Far from the elbow the flesh follows its own bone.
    x = arm.lattice.vertices[:, 0]
    assert w[x < 0.25, 0].min() > 0.9 and w[x > 0.75, 1].min() > 0.9


def test_painted_factors_scale_matrices(arm):
    """Painted stiffness and density scale the matrices, and arrays of a wrong size are refused."""
    n = len(arm.vertices)
    stiff = thew.Body(
        arm.surface,
        arm.skeleton,
        arm.lattice,
        thew.Material(),
        region_weights=arm.weights,
        stiffness=np.full(n, 3.0),
        flesh=np.ones(n),
    )
    np.testing.assert_allclose(stiff.stiffness()[0], 3.0 * arm.body.stiffness()[0], rtol=1e-9, atol=1e-6)
    heavy = thew.Body(
        arm.surface,
        arm.skeleton,
        arm.lattice,
        thew.Material(),
        region_weights=arm.weights,
        density=np.full(n, 2.0),
        flesh=np.ones(n),
    )
    np.testing.assert_allclose(heavy.mass()[0], 2.0 * arm.body.mass()[0], rtol=1e-9)
    with pytest.raises(thew.InputError, match="stiffness"):
        thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), stiffness=np.ones(3))
    with pytest.raises(thew.InputError, match="region_weights"):
        thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), region_weights=arm.weights[:, :1])


@pytest.mark.parametrize("saved", [False, True])
def test_rebuilt_has_bits_of_new(arm, tmp_path, saved):
    """A body rebuilt with another material, paint or dial has the file of one built anew, also from a file without measurements."""
    n, former = len(arm.vertices), arm.body
    if saved:
        former.save(tmp_path / "former.thew")
        former = thew.Body.load(tmp_path / "former.thew")
    paint = np.linspace(0.2, 1.0, n)
    for keywords in ({}, {"flesh": paint}, {"flesh": paint, "softness": 0.7}, {"kind": "toon", "level": 2}):
        material = thew.Material(young=9e3, poisson=0.3, density=800.0)
        rebuilt = former.rebuilt(material, arm.weights, **keywords)
        anew = thew.Body(arm.surface, arm.skeleton, arm.lattice, material, arm.weights, **keywords)
        for name, body in (
            ("rebuilt", rebuilt),
            ("anew", anew),
            ("again", rebuilt.rebuilt(material, arm.weights, **keywords)),
        ):
            body.save(tmp_path / name)
        files = [(tmp_path / name).read_bytes() for name in ("rebuilt", "anew", "again")]
        assert files[0] == files[1] == files[2], keywords
    with pytest.raises(thew.InputError, match="flesh"):
        former.rebuilt(thew.Material(), arm.weights, flesh=paint[:3])
    with pytest.raises(TypeError, match=r"Body\.rebuilt"):
        former.rebuilt(thew.Material(), arm.weights, fleshy=1)
    with pytest.raises(thew.Cancelled):
        former.rebuilt(thew.Material(), arm.weights, level=3, progress=lambda *_: False)


def test_energy_rotation_invariant(arm):
    """A turned character has the same energy for the same displacements turned."""
    by = shapes.turn_about([0.4, 1.0, -0.3], shift=[3.0, -1.0, 2.0])
    turn = Rotation.from_rotvec([0.4, 1.0, -0.3]).as_matrix()
    surface = thew.Surface(shapes.apply(by, arm.vertices), arm.triangles)
    skeleton = thew.Skeleton(
        arm.skeleton.names,
        arm.skeleton.parents,
        shapes.apply(by, arm.skeleton.heads),
        shapes.apply(by, arm.skeleton.tails),
    )
    lattice = thew.Lattice(
        shapes.apply(by, arm.lattice.vertices),
        arm.lattice.cells,
        arm.lattice.used_bones,
        arm.lattice.bone_edges,
        arm.lattice.tip_bones,
    )
    one = np.ones(len(arm.vertices))
    turned = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=arm.weights, flesh=one)
    q = np.random.default_rng(2).normal(size=(arm.body.node_count, 3)) * 0.01
    assert turned.energy(q @ turn.T) == pytest.approx(arm.body.energy(q), rel=1e-6)


def test_body_file_round_trip(arm, tmp_path):
    """A body read from its file has the same matrices and the same motion to the last bit."""
    path = tmp_path / "arm.thew"
    arm.body.save(path)
    again = thew.Body.load(str(path))
    assert again.node_count == arm.body.node_count
    for mine, other in zip(again.stiffness(True), arm.body.stiffness(True), strict=True):
        assert np.array_equal(mine, other)
    poses = np.stack([shapes.bend(0.1 * i) for i in range(4)])
    assert np.array_equal(np.asarray(thew.simulate(again, poses, 24)), np.asarray(thew.simulate(arm.body, poses, 24)))
    assert [p.name for p in tmp_path.iterdir()] == ["arm.thew"]


@pytest.mark.parametrize("symmetric", ["off", "auto"])
def test_saved_body_keeps_flesh_owners(tmp_path, symmetric):
    """A saved body keeps which flesh belongs to which limb where two limbs share cells, or meet at the mirror plane."""
    # Two arms a hair apart: cells between them hold flesh of both.
    vertices, triangles = shapes.arm(16, 24, length=0.6)
    names, _, heads, tails = shapes.arm_bones(0.6)
    aside = np.array([0.0, 0.205, 0.0])
    surface = thew.Surface(
        np.concatenate([vertices, vertices + aside]), np.concatenate([triangles, triangles + len(vertices)])
    )
    skeleton = thew.Skeleton(
        [*names, *(f"other {n}" for n in names)], [-1, 0, -1, 2], np.concatenate([heads, heads + aside]),
        np.concatenate([tails, tails + aside]),
    )  # fmt: skip
    one = shapes.arm_weights(vertices, 0.6)
    weights = np.block([[one, np.zeros_like(one)], [np.zeros_like(one), one]])
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=8, symmetric=symmetric)
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)
    body.save(tmp_path / "arms.thew")
    again = thew.Body.load(tmp_path / "arms.thew")
    apart = np.tile(np.eye(4), (4, 1, 1))
    apart[2:, 1, 3] = 0.5
    shown = []
    for each in (body, again):
        clothes = each.embed_surface(surface)
        simulation = thew.Simulation(each, method="warped")
        simulation.reset(apart)
        shown.append(simulation.positions(clothes))
        assert np.array_equal(simulation.positions(), shown[-1])
    assert np.array_equal(*shown)
    # The arms did come apart, so copies matter; at the mirror plane none is needed.
    assert bool(lattice.notes) == (symmetric == "off") and np.ptp(shown[0][:, 1]) > 0.9


def test_body_load_refuses_damaged(arm, tmp_path):
    """A damaged, shortened or missing file is refused with an error that names it."""
    path = tmp_path / "arm.thew"
    arm.body.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(3)
    for at in [*range(40), *rng.integers(40, len(whole), 20)]:
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        path.write_bytes(broken)
        with pytest.raises(thew.StorageError, match=r"arm\.thew"):
            thew.Body.load(path)
    for length in (0, 10, 39, 41, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(thew.StorageError):
            thew.Body.load(path)
    with pytest.raises(OSError, match="read"):
        thew.Body.load(tmp_path / "missing.thew")
    with pytest.raises(OSError, match="written"):
        arm.body.save(tmp_path / "no such folder" / "arm.thew")


def test_stiffened_body_is_stiffer(arm):
    """A stiffened body has scaled stiffness and a lower softness."""
    stiff = arm.body.stiffened(2.0)
    np.testing.assert_allclose(stiff.stiffness()[0], 2.0 * arm.body.stiffness()[0], rtol=1e-9, atol=1e-9)
    assert stiff.softness() == pytest.approx(0.5 * arm.body.softness(), rel=0.2)
    assert arm.body.material.young == 20e3
    with pytest.raises(thew.InputError):
        arm.body.stiffened(0.0)


def test_loose_part_follows_bone(arm):
    """A loose part follows one bone rigidly, and the rest of the stiffness stays definite."""
    button, faces = shapes.box((0.03, 0.03, 0.03))
    vertices = np.concatenate([arm.vertices, button + [0.5, 0.0, 0.4]])
    surface = thew.Surface(vertices, np.concatenate([arm.triangles, faces + len(arm.vertices)]))
    weights = np.concatenate([arm.weights, np.tile([0.4, 0.6], (len(button), 1))])
    lattice = thew.Lattice.enclose(surface, arm.skeleton, weights)
    for painted in (weights, None):
        body = thew.Body(surface, arm.skeleton, lattice, thew.Material(), region_weights=painted)
        assert len(body.loose_parts) == 1
        assert np.array_equal(body.held_vertices, body.bone_vertices)
        simulation = thew.Simulation(body, method="warped")
        pose = shapes.bend(1.2)
        simulation.reset(pose)
        moved = simulation.positions()[len(arm.vertices) :]
        rest = vertices[len(arm.vertices) :]
        assert min(np.abs(moved - shapes.apply(m, rest)).max() for m in pose) < 1e-6
        # What is not held is free: the rest of the stiffness is definite.
        data, indices, indptr = body.stiffness(twist=True)
        free = np.setdiff1d(np.arange(body.node_count), body.held_vertices)
        rows = (3 * free[:, None] + np.arange(3)).ravel()
        matrix = csr_array((data, indices, indptr)).toarray()[np.ix_(rows, rows)]
        assert np.linalg.eigvalsh(matrix)[0] > 0.0


def test_numbers_out_of_range(arm):
    """Numbers out of range are refused with a typed error that says why."""
    with pytest.raises(thew.InputError, match="not negative"):
        thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), level=-1)
    with pytest.raises(thew.InputError, match="not negative"):
        thew.Simulation(arm.body).positions(-1)
    with pytest.raises(thew.InputError, match="not negative"):
        thew.Lattice(arm.vertices[:4], [[0, 1, 2, 3]], used_bones=[-1], bone_edges=[[0, 1]])
    with pytest.raises(thew.InputError, match="not negative"):
        thew.simulate(arm.body, np.tile(np.eye(4), (2, 2, 1, 1)), 24, preroll=-1)
    with pytest.raises(thew.InputError, match=r"parents\[0\] is -2"):
        thew.Skeleton(["a"], [-2], np.zeros((1, 3)), np.ones((1, 3)))
    with pytest.raises(thew.InputError, match="give the pose too"):
        arm.body.shown(np.zeros((arm.body.node_count, 3)), max_offset=0.1)


def test_body_refuses_foreign_lattice(arm):
    """A lattice of another mesh is refused, and skin slightly outside its lattice is taken."""
    away = thew.Surface(arm.vertices + [0.0, 0.0, 0.15], arm.triangles)
    with pytest.raises(thew.InputError, match=r"another mesh.*build one around this mesh"):
        thew.Body(away, arm.skeleton, arm.lattice, thew.Material())
    # Skin that lies a little outside is carried on by its cells.
    near = thew.Surface(arm.vertices * 1.02, arm.triangles)
    thew.Body(near, arm.skeleton, arm.lattice, thew.Material())


def test_all_zero_weights_refused(arm):
    """Weights that are all zero are refused, and one weighted vertex is enough."""
    nothing = np.zeros_like(arm.weights)
    with pytest.raises(thew.InputError, match="all skin weights are zero"):
        thew.Lattice.enclose(arm.surface, arm.skeleton, nothing)
    with pytest.raises(thew.InputError, match="all region weights are zero"):
        thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), region_weights=nothing)
    some = nothing.copy()
    some[0] = arm.weights[0]
    thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), region_weights=some)


@pytest.mark.parametrize("unit", [100.0, 0.001])
def test_body_warns_about_units(unit):
    """A body far larger or smaller than a character gives a warning about the unit of length."""
    names, parents, heads, tails = shapes.arm_bones()
    vertices, triangles = shapes.arm(12, 12)
    surface = thew.Surface(unit * vertices, triangles)
    skeleton = thew.Skeleton(names, parents, unit * np.asarray(heads), unit * np.asarray(tails))
    lattice = thew.Lattice.enclose(surface, skeleton, cells_across=6)
    with pytest.warns(RuntimeWarning, match="lengths are metres"):
        body = thew.Body(surface, skeleton, lattice, thew.Material())
    assert f"{body.node_count} nodes" in repr(body)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Modes, warping, both integrators, constraints and statics against plain numpy and scipy (reference_modal.py)."""

from types import SimpleNamespace

import numpy as np
import pytest
import reference_modal as plain
import shapes
import thew
from scipy.sparse import csr_array

YOUNG, POISSON, DENSITY = 1e5, 0.4, 1000.0
MATERIAL = thew.Material(YOUNG, POISSON, DENSITY)
COUNT = 12


@pytest.fixture(scope="module", params=["bar", "filled"])
def body(request):
    """Builds a bar of 99 nodes, or a filled capsule, held at one end: meshes, matrices and both modes."""
    if request.param == "bar":
        tets = thew.TetMesh.grid((10, 2, 2), (1.0, 0.2, 0.2))
    else:
        tets = thew.TetMesh.fill(thew.Surface(*shapes.arm()), nodes=400)
    nodes, elements = np.asarray(tets.vertices), np.asarray(tets.tets)
    fixed = np.flatnonzero(nodes[:, 0] < nodes[:, 0].min() + 0.06)
    ours = thew.modes(tets, COUNT, MATERIAL, fixed=fixed)
    theirs = plain.modes(nodes, elements, COUNT, YOUNG, POISSON, DENSITY, fixed)
    mass = plain.mass(nodes, elements, DENSITY)
    return SimpleNamespace(tets=tets, nodes=nodes, elements=elements, fixed=fixed, ours=ours, theirs=theirs, mass=mass)


def flatten(modes):
    """Returns modes as rows, [m, 3k]."""
    return np.asarray(modes).reshape(len(modes), -1)


def same_modes(body):
    """Builds the reference with the very modes of Thew, so that only their use is compared."""
    masses = (body.mass @ np.ones(3 * len(body.nodes)))[::3]
    return plain.Modes(body.ours.eigenvalues, body.ours.shapes, body.ours.rotations, masses)


def pair(body, step=1.0 / 30.0, **settings):
    """Builds the same simulation in both implementations."""
    return thew.ModalSimulation(body.ours, step, **settings), plain.Simulation(same_modes(body), step, **settings)


def assert_close(ours, theirs, tolerance):
    """Asserts that arrays agree to a part of the largest number."""
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize("kind", ["consistent", "lumped"])
def test_matrices(body, kind):
    """Mass and stiffness matrices equal the reference's."""
    n = 3 * len(body.nodes)
    data, indices, indptr = body.tets.mass(MATERIAL, kind=kind)
    theirs = plain.mass(body.nodes, body.elements, DENSITY, kind)
    assert abs(csr_array((data, indices, indptr), shape=(n, n)) - theirs).max() < 1e-13 * abs(theirs).max()
    data, indices, indptr = body.tets.stiffness(MATERIAL)
    theirs = plain.stiffness(body.nodes, body.elements, YOUNG, POISSON)
    assert abs(csr_array((data, indices, indptr), shape=(n, n)) - theirs).max() < 1e-12 * abs(theirs).max()


def test_modes_span_reference(body):
    """Modes equal the reference's up to sign and rotation among equal eigenvalues."""
    np.testing.assert_allclose(body.ours.eigenvalues, body.theirs.eigenvalues, rtol=1e-8)
    mine, peer = flatten(body.ours.shapes), flatten(body.theirs.shapes)
    between = peer @ (body.mass @ mine.T)
    # The change of basis is orthogonal and mixes modes of (nearly) one eigenvalue only.
    np.testing.assert_allclose(between @ between.T, np.eye(COUNT), atol=1e-8)
    values = body.theirs.eigenvalues
    apart = np.abs(values[:, None] - values) > 1e-3 * np.maximum(values[:, None], values)
    assert np.abs(between[apart]).max() < 1e-5
    assert_close(between.T @ peer, mine, 1e-7)
    assert_close(between.T @ flatten(body.theirs.rotations), flatten(body.ours.rotations), 1e-7)


def test_modes_lumped_mass(body):
    """Modes with lumped masses equal the reference's and are softer than consistent ones."""
    ours = thew.modes(body.tets, COUNT, MATERIAL, fixed=body.fixed, mass="lumped")
    theirs = plain.modes(body.nodes, body.elements, COUNT, YOUNG, POISSON, DENSITY, body.fixed, "lumped")
    np.testing.assert_allclose(ours.eigenvalues, theirs.eigenvalues, rtol=1e-8)
    # A lumped bar is softer than a consistent one.
    assert (np.asarray(ours.eigenvalues) < body.ours.eigenvalues).all()


@pytest.mark.parametrize("warp", [True, False])
@pytest.mark.parametrize("turn", [1e-5, 1e-2, 4.0])
def test_warped_displacements(body, warp, turn):
    """Displacements equal the reference's, warped and linear, for small and large turns."""
    amplitudes = np.random.default_rng(1).normal(size=COUNT)
    amplitudes *= turn / np.linalg.norm(np.tensordot(amplitudes, body.ours.rotations, 1), axis=1).max()
    ours, theirs = pair(body, warp=warp)
    ours.amplitudes = theirs.amplitudes = amplitudes
    assert_close(ours.displacements(), theirs.displacements(), 1e-12)


def test_warp_rotation_is_mean():
    """The reference's warp rotation is the mean of rotations, continuous across its series."""
    w = np.random.default_rng(2).normal(size=(5, 3)) * 2.0
    nodes, weights = np.polynomial.legendre.leggauss(24)
    mean = sum(0.5 * k * plain.rotation(0.5 * (1.0 + t) * w) for t, k in zip(nodes, weights, strict=True))
    np.testing.assert_allclose(plain.warp_rotation(w), mean, atol=1e-12)
    # Across the switch to the series.
    small = np.array([[0.0, 0.9999e-3, 0.0], [0.0, 1.0001e-3, 0.0]])
    below, above = plain.warp_rotation(small)
    np.testing.assert_allclose(below, above, atol=2e-7)


@pytest.mark.parametrize("integrator", ["semi_implicit", "exact"])
@pytest.mark.parametrize("warp", [True, False])
def test_advance_matches_reference(body, integrator, warp):
    """Fifty steps of a large, damped motion under gravity and changing forces equal the reference's."""
    settings = {"integrator": integrator, "warp": warp, "gravity": (1.0, -2.0, -9.0), "damping": (0.4, 2e-3)}
    ours, theirs = pair(body, **settings)
    random = np.random.default_rng(3)
    for _ in range(50):
        forces = random.normal(size=body.nodes.shape) * 0.02
        ours.advance(forces)
        theirs.advance(forces)
    assert np.linalg.norm(theirs.displacements(), axis=1).max() > 0.1
    assert_close(ours.amplitudes, theirs.amplitudes, 1e-10)
    assert_close(ours.velocities, theirs.velocities, 1e-10)
    assert_close(ours.displacements(), theirs.displacements(), 1e-10)


def ends(body):
    """Returns two nodes far from the support and from each other."""
    far = int(body.nodes[:, 0].argmax())
    return far, int(np.linalg.norm((body.nodes - body.nodes[far]) * [4.0, 1.0, 1.0], axis=1).argsort()[8])


@pytest.mark.parametrize("warp", [True, False])
def test_constrained_positions(body, warp):
    """Held positions are met as in the reference: as many forces as constraints have one solution."""
    ours, theirs = pair(body, integrator="semi_implicit", warp=warp, gravity=(0.0, 0.0, -3.0), damping=(0.5, 1e-3))
    for step in range(20):
        target = {ends(body)[0]: np.array([-0.1, 0.1, 0.25]) * (step + 1) / 20}
        for simulation in (ours, theirs):
            simulation.constrain(positions=target)
            simulation.advance()
    far = ends(body)[0]
    assert np.linalg.norm(theirs.displacements()[far] - target[far]) < 1e-9
    assert_close(ours.displacements(), theirs.displacements(), 1e-7)


def test_constrained_orientation(body):
    """A held orientation is met with the reference's unique least forces."""
    ours, theirs = pair(body, integrator="semi_implicit", damping=(0.5, 1e-3))
    far = ends(body)[0]
    around = [int(n) for n in np.unique(body.elements[(body.elements == far).any(axis=1)])]
    wanted = np.array([0.4, 0.2, -0.3])
    for _ in range(20):
        for simulation in (ours, theirs):
            simulation.constrain(orientations={far: wanted}, exercised=around)
            simulation.advance()
    np.testing.assert_allclose((theirs.psi @ theirs.amplitudes).reshape(-1, 3)[far], wanted, atol=1e-10)
    assert_close(ours.rotations()[far], wanted, 1e-8)
    assert_close(ours.amplitudes, theirs.amplitudes, 1e-7)


def test_constrained_position_and_orientation(body):
    """Position and orientation of a node can be held together."""
    ours, theirs = pair(body, integrator="semi_implicit", damping=(0.5, 1e-3))
    far = ends(body)[0]
    around = [int(n) for n in np.unique(body.elements[(body.elements == far).any(axis=1)])]
    place, turn = np.array([-0.03, 0.05, 0.12]), np.array([0.3, -0.2, 0.1])
    for step in range(1, 31):
        part = min(step / 20, 1.0)
        for simulation in (ours, theirs):
            simulation.constrain({far: part * place}, {far: part * turn}, exercised=around)
            simulation.advance()
            assert np.linalg.norm(simulation.displacements()[far] - part * place) < 1e-6 * np.ptp(body.nodes[:, 0])
    np.testing.assert_allclose(ours.rotations()[far], turn, atol=1e-6)
    np.testing.assert_allclose((theirs.psi @ theirs.amplitudes).reshape(-1, 3)[far], turn, atol=1e-8)


def test_nonlinear_equilibrium(body):
    """The nonlinear balance equals the reference's under a load that bends a good part of the length."""
    weight = plain.nodal_mass(body.nodes, body.elements, DENSITY)[:, None] * [0.0, 0.0, -2.0]
    ours = np.asarray(thew.nonlinear_equilibrium(body.tets, MATERIAL, body.fixed, weight))
    theirs = plain.nonlinear_equilibrium(body.nodes, body.elements, YOUNG, POISSON, body.fixed, weight)
    assert np.abs(theirs).max() > 0.1
    assert_close(ours, theirs, 1e-6)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The creases of [capell2006, §3.4] as printed and released by sign, beside the default response."""

import numpy as np
import pytest
import shapes
import thew

FRAME = 1 / 24
BOTH = ("creases", "released_creases")


@pytest.fixture(scope="module")
def elbow():
    """Builds an arm whose skin is fine enough to crease."""
    vertices, triangles = shapes.arm(segments=32, rings=100, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=14)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


@pytest.fixture(scope="module")
def seeds(elbow):
    """Returns the pairs of vertices at which the elbow creases on the way to 140 degrees."""
    return crease_simulation(elbow, "creases").find_crease_seeds(shapes.bend(np.radians(140.0))[None])


def crease_simulation(body, response, seeds=None, **options):
    """Returns a simulation with a crease response, at rest."""
    simulation = thew.Simulation(body, gravity=(0, 0, 0), contact=thew.Contact(response=response), **options)
    if seeds is not None:
        simulation.set_crease_seeds(seeds)
    simulation.reset(shapes.bend(0.0))
    return simulation


def advance_through(simulation, angles):
    """Advances a simulation through elbow angles, degrees, and returns it."""
    for angle in angles:
        simulation.advance(shapes.bend(np.radians(angle)), FRAME)
    return simulation


def pushes(simulation):
    """Returns the force of each contact along its normal, N."""
    contacts = simulation.contacts()
    return np.einsum("ij,ij->i", contacts.forces, contacts.normals)


def test_crease_seeds_found(elbow, seeds):
    """Seeds pair skin on both sides of the joint, and are found again without changing the state."""
    assert len(seeds) > 50 and len(np.unique(seeds, axis=0)) == len(seeds)
    along = np.asarray(elbow.surface.vertices)[seeds][:, :, 0]
    # The joint is at 0.5; skin bends over a tenth on either side of it.
    assert ((along - 0.5).prod(axis=1) < 0.0).mean() > 0.9
    other = advance_through(crease_simulation(elbow, "released_creases"), [30.0])
    state = other.state()
    assert np.array_equal(other.find_crease_seeds(shapes.bend(np.radians(140.0))[None]), seeds)
    assert np.array_equal(other.crease_seeds, seeds) and other.state() == state


def test_printed_creases_glue(elbow, seeds):
    """Printed creases glue when the joint opens, and released ones let go."""
    # Of the lattice's own bend, as in the paper: where skin lies deep in skin, creases push without bound (docs, limits).
    held, left = {}, {}
    for response in BOTH:
        simulation = advance_through(
            crease_simulation(elbow, response, seeds, method="warped"), np.arange(2.0, 101.0, 2.0)
        )
        before = crease_simulation(elbow, response, seeds, method="warped")
        before.restore(simulation.state())
        advance_through(before, [100.0] * 12)
        advance_through(simulation, [*np.arange(102.0, 136.0, 2.0), *[136.0] * 4])
        force = pushes(simulation)
        assert len(force) > 10 and (force > 0.0).any()
        assert (force < 0.0).any() == (response == "creases")
        advance_through(simulation, [*np.arange(134.0, 100.0, -2.0), *[100.0] * 12])
        held[response] = len(simulation.contacts())
        left[response] = np.linalg.norm(simulation.positions() - before.positions(), axis=1).max()
    assert held["creases"] > 20 and held["released_creases"] == 0
    assert left["creases"] > 0.01 * elbow.surface.size
    assert left["released_creases"] < 1e-3 * elbow.surface.size


@pytest.mark.parametrize("response", BOTH)
def test_creases_reduce_overlap(elbow, seeds, response):
    """Creases leave less overlap than no contact."""
    angles = np.arange(2.0, 129.0, 2.0)
    free = thew.Simulation(elbow, gravity=(0, 0, 0))
    free.reset(shapes.bend(0.0))
    shown = [advance_through(s, angles).positions() for s in (free, crease_simulation(elbow, response, seeds))]
    inside = [count_inside(elbow.surface.triangles, vertices) for vertices in shown]
    assert inside[0] > 100 and inside[1] < 0.5 * inside[0]


def count_inside(triangles, vertices):
    """Counts the vertices that lie in other flesh: those that are inside even a little outside of themselves."""
    vertices = np.asarray(vertices, float)
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.zeros_like(vertices)
    for i in range(3):
        np.add.at(normals, triangles[:, i], np.cross(b - a, c - a))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    step = 1e-4 * np.linalg.norm(np.ptp(vertices, axis=0))
    return int((thew.Surface(vertices, triangles).winding_number(vertices + step * normals) > 0.5).sum())


@pytest.mark.parametrize("response", BOTH)
def test_state_during_crease(elbow, seeds, response):
    """A simulation restored during a crease goes on with the same bits."""
    simulation = advance_through(crease_simulation(elbow, response, seeds), np.arange(2.0, 127.0, 2.0))
    assert len(simulation.contacts()) > 5
    state = simulation.state()
    other = crease_simulation(elbow, response, seeds)
    other.restore(state)
    for degrees in (128.0, 130.0, 126.0, 120.0):
        for s in (simulation, other):
            advance_through(s, [degrees])
        assert simulation.state() == other.state()
        assert np.array_equal(simulation.contacts().forces, other.contacts().forces)
    # The list is kept, and seeds are not: what has come in is held without any, too.
    bare = crease_simulation(elbow, response)
    bare.restore(state)
    assert len(bare.crease_seeds) == 0 and len(bare.contacts()) == 0
    assert len(advance_through(bare, [128.0]).contacts()) > 5
    with pytest.raises(thew.InputError, match="creases"):
        thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact()).restore(state)


def test_creases_need_seeds(elbow):
    """Without seeds the crease methods touch nothing."""
    angles = np.arange(4.0, 129.0, 4.0)
    free = thew.Simulation(elbow, gravity=(0, 0, 0))
    free.reset(shapes.bend(0.0))
    bare = advance_through(crease_simulation(elbow, "creases"), angles)
    assert np.array_equal(advance_through(free, angles).lattice_positions(), bare.lattice_positions())
    assert len(bare.contacts()) == 0 and bare.crease_seeds.shape == (0, 2)


def test_default_response_complementarity(elbow):
    """The default response is complementarity and only pushes."""
    angles = np.arange(4.0, 129.0, 4.0)
    plain = thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact())
    plain.reset(shapes.bend(0.0))
    named = crease_simulation(elbow, "complementarity")
    assert advance_through(plain, angles).state() == advance_through(named, angles).state()
    assert len(plain.contacts()) > 0 and (pushes(plain) >= 0.0).all()
    assert thew.Contact().response == "complementarity"
    assert "response='creases'" in repr(thew.Contact(response="creases"))


def test_crease_refuses_bad_input(elbow):
    """Unknown responses and bad seeds are refused with a sentence."""
    with pytest.raises(thew.InputError, match=r"no contact response 'glue'.*'released_creases'"):
        thew.Contact(response="glue")
    simulation = crease_simulation(elbow, "creases")
    count = len(elbow.surface.vertices)
    for pairs in ([[0, count]], [[3, 3]], [[-1, 2]], [[0, 2**40]]):
        with pytest.raises(thew.InputError, match="crease seed 0 must be two different vertices"):
            simulation.set_crease_seeds(pairs)
    with pytest.raises(thew.InputError, match=r"shape \[s, 2\]"):
        simulation.set_crease_seeds([1, 2, 3])
    with pytest.raises(thew.InputError, match="seconds must be"):
        simulation.find_crease_seeds(shapes.bend(0.1)[None], seconds=0.0)
    for contact in (None, thew.Contact()):
        other = thew.Simulation(elbow, contact=contact)
        with pytest.raises(thew.InputError, match="crease seeds belong to"):
            other.set_crease_seeds([[0, 1]])
        with pytest.raises(thew.InputError, match="crease seeds belong to"):
            other.find_crease_seeds(shapes.bend(0.1)[None])


@pytest.mark.parametrize("response", ["creases", "released_creases"])
def test_clips_refuse_creases(elbow, response):
    """Clips, shots and balances refuse the crease methods."""
    contact = thew.Contact(response=response)
    poses = np.stack([shapes.bend(0.0)] * 2)
    for make in (
        lambda: thew.Shot(elbow, poses, 24.0, contact=contact),
        lambda: thew.simulate(elbow, poses, 24.0, contact=contact),
        lambda: thew.Equilibrium(elbow, contact=contact),
    ):
        with pytest.raises(thew.InputError, match="complementarity"):
            make()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigs that make flesh firm: factors on the stiffness of cells, in balances, simulations and clips."""

import numpy as np
import pytest
import thew

from examples.python import shapes


@pytest.fixture(scope="module")
def body():
    return shapes.body()


def firm_rig(firmness=4.0):
    """A rig that pushes nothing and makes the flesh of the forearm firm."""
    field = thew.Template("radial", radius=0.25, strength=0.0)
    return thew.Rig(field, thew.BoneGuide("upper", along=0.5)).with_firmness(firmness)


def test_factors_are_one_plus_firmness_times_tension(body):
    rig = firm_rig()
    tension = rig.tension(body, 0.5)
    assert tension.shape == (len(body.lattice.cells),)
    assert 0.2 < tension.max() <= 0.5 and tension.min() == 0.0
    factors = thew.rig_stiffness([rig, firm_rig(0.0)], body, [0.5, 1.0])
    np.testing.assert_allclose(factors, 1.0 + 4.0 * tension, rtol=1e-12)
    assert (thew.rig_stiffness([rig], body, [0.0]) == 1.0).all()
    assert thew.parse_rigs(thew.format_rigs([rig]))[0].firmness == 4.0


def test_uniform_factor_is_young(body):
    """A body with one factor for all cells balances as one of that Young's modulus, its twist energy included; a factor of few cells leaves that."""
    pose = shapes.bent_poses(np.array([0.4]))[0]
    push = np.zeros((body.node_count, 3))
    free = np.setdiff1d(np.arange(body.node_count), body.held_vertices)
    push[free] = [0.0, 0.0, 0.05]
    firm = body.with_cell_stiffness(np.full(len(body.lattice.cells), 3.0))
    (plain, soft), (tense, stiff) = ((b.stiffness()[0], b.stiffness(twist=True)[0]) for b in (body, firm))
    largest = np.abs(plain).max()
    np.testing.assert_allclose(tense, 3.0 * plain, atol=1e-9 * largest)
    np.testing.assert_allclose(stiff - tense, 3.0 * (soft - plain), atol=1e-9 * largest)
    few = np.where(np.arange(len(body.lattice.cells)) < 3, 3.0, 1.0)
    local = body.with_cell_stiffness(few)
    np.testing.assert_allclose(local.stiffness(twist=True)[0] - local.stiffness()[0], soft - plain, atol=1e-9 * largest)
    moved = thew.equilibrium(firm, pose, push) - thew.equilibrium(firm, pose)
    plain = thew.equilibrium(body, pose, push) - thew.equilibrium(body, pose)
    assert np.linalg.norm(moved) < 0.6 * np.linalg.norm(plain)


def test_simulation_follows_factors(body):
    poses = shapes.bent_poses(0.5 * np.sin(np.linspace(0.0, 9.0, 14)))
    rig = firm_rig()
    controls = np.linspace(0.0, 1.0, 14)[:, None]
    clip = thew.simulate(body, poses, 24.0, rigs=[rig], controls=controls)
    soft = thew.simulate(body, poses, 24.0)
    assert np.abs(np.asarray(clip)[-1] - np.asarray(soft)[-1]).max() > 1e-4
    slack = thew.simulate(body, poses, 24.0, rigs=[rig], controls=np.zeros((14, 1)))
    assert np.array_equal(np.asarray(slack), np.asarray(soft))
    sim = thew.Simulation(body)
    assert sim.stiffness is None
    factors = thew.rig_stiffness([rig], body, [1.0])
    sim.set_stiffness(factors)
    sim.reset(poses[0])
    np.testing.assert_array_equal(sim.stiffness, factors)
    other = thew.Simulation(body)
    other.restore(sim.state())
    np.testing.assert_array_equal(other.stiffness, factors)


def test_firm_flesh_touches(body):
    """Contact works on flesh whose stiffness changes: a block that presses into it meets more force."""
    corners = np.array([[x, y, z] for z in (0.0, 0.1) for y in (-0.05, 0.05) for x in (0.2, 0.3)])
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    block = thew.Surface(corners, [[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)])
    motion = np.tile(np.eye(4), (8, 1, 1))
    motion[:, 2, 3] = np.linspace(0.105, 0.085, 8)
    block = thew.Collider(block, motion=motion)
    poses = np.tile(np.eye(4), (8, 2, 1, 1))
    rig, on = firm_rig(20.0), np.ones((8, 1))

    def dent(**keywords):
        clip = thew.simulate(body, poses, 24.0, contact=thew.Contact(self_contact=False), colliders=[block], **keywords)
        assert len(clip.contacts(7)) > 0
        return np.linalg.norm(clip.contacts(7).forces, axis=1).sum()

    assert dent(rigs=[rig], controls=on) > 1.5 * dent()


def test_firm_rig_at_ease_goes_by_every_method(body):
    """At control 0 a rig with firmness is as one without, also by methods whose stiffness cannot change."""
    poses, firm = shapes.bent_poses(np.array([0.0, 0.1])), firm_rig()
    for method, modes in (("modal", 4), ("blended", None), ("warped", None)):
        keywords = {"method": method, "controls": np.zeros((2, 1)), "modes": modes}
        plain, led = (thew.simulate(body, poses, 24.0, rigs=[r], **keywords) for r in (firm.with_firmness(0.0), firm))
        np.testing.assert_array_equal(np.asarray(plain), np.asarray(led))
    with pytest.raises(thew.InputError, match="'modal'"):
        thew.simulate(body, poses, 24.0, rigs=[firm], controls=np.array([[0.0], [0.5]]), method="modal", modes=4)


def test_bad_firmness_is_refused(body):
    poses = shapes.bent_poses(np.array([0.0, 0.1]))
    sim = thew.Simulation(body)
    with pytest.raises(thew.InputError, match="one per cell"):
        sim.set_stiffness([1.0])
    with pytest.raises(thew.InputError, match=r"between 0\.1 and 100"):
        body.with_cell_stiffness(np.zeros(len(body.lattice.cells)))
    with pytest.raises(thew.InputError, match="'modal'"):
        thew.Simulation(body, "modal", modes=3).set_stiffness(np.ones(len(body.lattice.cells)))
    with pytest.raises(thew.InputError, match="'blended'"):
        thew.simulate(body, poses, 24.0, method="blended", rigs=[firm_rig()], controls=np.ones((2, 1)))
    shape = thew.fit_surface(
        body, shapes.bent_poses(np.array([0.2]))[0], body.surface.vertices * 1.01, gravity=(0.0, 0.0, 0.0)
    )
    with pytest.raises(thew.RigError, match="sculpted"):
        shape.with_firmness(1.0)

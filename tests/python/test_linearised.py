# SPDX-License-Identifier: MIT OR Apache-2.0
"""The method linearised once a step, against the equations that it solves [capell2002, eqs 15 and 16, corrected]."""

import numpy as np
import pytest
import scipy.sparse
import thew

from examples.python import shapes

STEP = 1.0 / 240.0
MASS_DAMPING, STIFFNESS_DAMPING = 3.0, 0.01


@pytest.fixture(scope="module")
def body():
    """Builds an arm of two bones."""
    return shapes.body(cells_across=9.0)


def struck(body, pose, force):
    """Returns a simulation of a still pose, whose flesh swings after a push of `force` N at every node; no force acts any more."""
    # Backward Euler itself damps as much as one step.
    simulation = thew.Simulation(
        body,
        method="linearised",
        rate=1.0 / STEP,
        mass_damping=MASS_DAMPING,
        stiffness_damping=STIFFNESS_DAMPING + STEP,
        gravity=(0.0, 0.0, 0.0),
        solver="direct",
    )
    simulation.reset(pose)
    push = np.full((body.node_count, 3), (0.0, 0.7 * force, 0.7 * force))
    for forces in (push, push, push, None, None):
        simulation.advance(pose, STEP, forces)
    return simulation


@pytest.mark.parametrize(("bend", "force"), [(0.02, 0.02), (0.3, 0.2)])
def test_step_solves_equation_16(body, bend, force):
    """While bones are still, a step solves the paper's equation. Forces and stiffness are those at its start.

    `nonlinear` balances give the forces −V' of flesh and twist. V' is a cubic polynomial of the positions, so that the differences below
    are exact. The bend is slight: cells farther from rest take a convex stiffness.
    """
    pose = shapes.bent_poses(np.array([bend]))[0]
    simulation = struck(body, pose, force)
    before, v = np.array(simulation.lattice_positions()), np.array(simulation.lattice_velocities())
    simulation.advance(pose, STEP)
    after, v_new = np.array(simulation.lattice_positions()), np.array(simulation.lattice_velocities())
    moved = STEP * v_new
    np.testing.assert_allclose(after, before + moved, atol=1e-14)  # equation 15

    balance = thew.Equilibrium(body, "nonlinear")
    balance.set_pose(pose)

    def gradient(share):
        """Returns V' at the step's start and a share of the step farther."""
        return np.array(balance.forces(before + share * moved - body.lattice.vertices, gravity=(0.0, 0.0, 0.0)))

    stiffness = (8.0 * (gradient(1.0) - gradient(-1.0)) - (gradient(2.0) - gradient(-2.0))) / 12.0  # V'' moved
    mass = scipy.sparse.csr_array(body.mass())
    inertia = (mass @ (v_new - v).ravel()).reshape(-1, 3) / STEP
    drag = MASS_DAMPING * (mass @ v_new.ravel()).reshape(-1, 3)
    left = inertia + drag + gradient(0.0) + (1.0 + STIFFNESS_DAMPING / STEP) * stiffness
    free = np.asarray(body.lattice.bone_of_vertex) < 0
    assert np.abs(inertia[free]).max() > 1e-3
    assert np.abs(left[free]).max() < 1e-8 * np.abs(inertia[free]).max()
    assert np.abs(stiffness[free]).max() > 0.01 * np.abs(inertia[free]).max()  # the equation's terms count

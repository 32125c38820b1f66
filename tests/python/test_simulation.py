# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.Simulation and static equilibrium: properties that hold of any motion."""

import threading

import numpy as np
import pytest
import shapes
import thew
from scipy.sparse import csr_array
from scipy.sparse.linalg import spsolve

REST = np.tile(np.eye(4), (2, 1, 1))
FRAME = 1.0 / 24.0


def test_simulation_rest_is_still(arm):
    """At rest in the rest pose nothing moves."""
    for method in ("warped", "blended", "blended_printed", "linear", "linearised", "nonlinear", "neohookean"):
        sim = thew.Simulation(arm.body, method=method)
        sim.reset(REST)
        for _ in range(12):
            sim.advance(REST, FRAME)
        assert np.abs(sim.lattice_positions() - arm.lattice.vertices).max() < 1e-9
        assert np.abs(sim.positions() - arm.vertices).max() < 1e-6
        assert sim.positions().dtype == np.float32


def test_simulation_bones_follow_pose(arm):
    """The bone vertices are where the pose says."""
    sim = thew.Simulation(arm.body)
    sim.reset(REST)
    for i in range(1, 7):
        pose = shapes.bend(0.2 * i)
        sim.advance(pose, FRAME)
        x, p = arm.lattice.vertices, sim.lattice_positions()
        for v, bone in zip(arm.body.bone_vertices, arm.body.bone_of_vertex, strict=True):
            np.testing.assert_allclose(p[v], shapes.apply(pose[bone], x[v]), atol=1e-9)
    assert np.isfinite(sim.lattice_velocities()).all()


def test_simulation_swings_to_rest(arm):
    """Flesh swings after a jolt and comes to rest."""
    sim = thew.Simulation(arm.body)
    sim.reset(REST)
    for i in range(1, 5):
        sim.advance(np.tile(shapes.turn_about([0, 0, 0], shift=[0, 0, 0.05 * i * i]), (2, 1, 1)), FRAME)
    pose = np.tile(shapes.turn_about([0, 0, 0], shift=[0, 0, 0.8]), (2, 1, 1))
    still = thew.equilibrium(arm.body, pose) + arm.lattice.vertices
    away = []
    for _ in range(72):
        sim.advance(pose, FRAME)
        away.append(np.abs(sim.lattice_positions() - still).max())
    assert max(away) > 1e-4
    assert away[-1] < 0.05 * max(away)


def test_simulation_uniform_motion(arm):
    """Flesh carried at a uniform speed does not lag."""
    sim = thew.Simulation(arm.body)
    sim.reset(REST)
    for i in range(1, 24):
        pose = np.tile(shapes.turn_about([0, 0, 0], shift=[0.1 * i, 0.05 * i, 0]), (2, 1, 1))
        sim.advance(pose, FRAME)
        carried = shapes.apply(pose[0], arm.lattice.vertices)
        assert np.abs(sim.lattice_positions() - carried).max() < 1e-6


def test_state_round_trip(arm):
    """A restored state goes on with the same bits, and bad states are refused."""
    poses = [shapes.bend(0.3 * np.sin(0.7 * i)) for i in range(12)]
    sim = thew.Simulation(arm.body)
    sim.reset(poses[0])
    for pose in poses[1:6]:
        sim.advance(pose, FRAME)
    state = sim.state()
    assert isinstance(state, bytes) and len(state) < 100 * arm.body.node_count
    for pose in poses[6:]:
        sim.advance(pose, FRAME)
    first = sim.lattice_positions()
    other = thew.Simulation(arm.body)
    other.restore(state)
    for pose in poses[6:]:
        other.advance(pose, FRAME)
    assert np.array_equal(other.lattice_positions(), first)
    for bad in (b"", state[:-1], b"x" * len(state)):
        with pytest.raises(thew.InputError, match="state"):
            other.restore(bad)
    assert np.array_equal(other.lattice_positions(), first)


def test_equilibrium_linear_system(arm):
    """The linear balance solves (S + twist) q = f on free vertices, bones in place, without gravity."""
    n = 3 * arm.body.node_count
    data, indices, indptr = arm.body.stiffness(twist=True)
    s = csr_array((data, indices, indptr), shape=(n, n))
    held = (3 * arm.body.bone_vertices[:, None] + np.arange(3)).ravel()
    free = np.setdiff1d(np.arange(n), held)
    forces = np.zeros(n)
    forces[free] = np.random.default_rng(1).normal(size=len(free)) * 0.01
    q = np.zeros(n)
    q[free] = spsolve(s[free][:, free].tocsc(), forces[free])
    found = thew.equilibrium(arm.body, REST, forces.reshape(-1, 3), gravity=(0, 0, 0), method="linear")
    np.testing.assert_allclose(found.ravel(), q, atol=1e-9 * np.abs(q).max() + 1e-12)


@pytest.mark.parametrize("method", ["warped", "linear"])
def test_equilibrium_forces_inverse(arm, method):
    """The forces of a balance are the inverse of the balance."""
    pose = shapes.bend(0.8)
    free = np.setdiff1d(np.arange(arm.body.node_count), arm.body.bone_vertices)
    forces = np.zeros((arm.body.node_count, 3))
    forces[free] = np.random.default_rng(2).normal(size=(len(free), 3)) * 0.05
    q = thew.equilibrium(arm.body, pose, forces, method=method)
    back = thew.equilibrium_forces(arm.body, pose, q, method=method)
    np.testing.assert_allclose(back, forces, atol=1e-7)
    assert np.array_equal(back[arm.body.bone_vertices], np.zeros((len(arm.body.bone_vertices), 3)))


@pytest.mark.parametrize(
    ("method", "model"), [("nonlinear", "stvk"), ("linearised", "stvk"), ("neohookean", "neohookean")]
)
def test_equilibrium_nonlinear_balance(arm, method, model):
    """A nonlinear balance equals forces with the gradient of its energy, and turns with the character."""
    pose = shapes.bend(0.8)
    held = arm.body.held_vertices
    free = np.setdiff1d(np.arange(arm.body.node_count), held)
    forces = np.zeros((arm.body.node_count, 3))
    forces[free] = np.random.default_rng(2).normal(size=(len(free), 3)) * 0.02
    q = thew.equilibrium(arm.body, pose, forces, method=method)
    back = thew.equilibrium_forces(arm.body, pose, q, method=method)
    np.testing.assert_allclose(back, forces, atol=1e-8)
    # Two balances differ by their forces alone: gravity and twist's load drop out, its stiffness does not.
    other = thew.equilibrium(arm.body, pose, method=method)
    n = 3 * arm.body.node_count
    twisted, plain = (csr_array(arm.body.stiffness(twist=t), shape=(n, n)) for t in (True, False))
    elastic = arm.body.gradient(q, model) - arm.body.gradient(other, model)
    twist = ((twisted - plain) @ (q - other).ravel()).reshape(-1, 3)
    np.testing.assert_allclose((elastic + twist)[free], forces[free], atol=1e-8)
    # It turns with the character.
    by = shapes.turn_about([0.0, 0.0, 2.0], shift=[5.0, 1.0, 0.0])
    turned = thew.equilibrium(arm.body, by @ pose, method=method) + arm.lattice.vertices
    np.testing.assert_allclose(turned, shapes.apply(by, other + arm.lattice.vertices), atol=1e-7)


@pytest.mark.parametrize("method", ["nonlinear", "linearised", "neohookean"])
def test_simulation_nonlinear_to_rest(arm, method):
    """Nonlinear motion follows the bones and comes to rest."""
    poses = np.stack([shapes.bend(0.1 * i) for i in range(8)] + [shapes.bend(0.7)] * 40)
    clip = thew.simulate(arm.body, poses, 24, method=method, rate=48.0)
    still = thew.equilibrium(arm.body, poses[-1], method=method) + arm.lattice.vertices
    away = [np.abs(clip.lattice_positions(f) - still).max() for f in range(7, 48)]
    assert max(away) > 1e-4 and away[-1] < 0.05 * max(away)
    held = arm.body.bone_vertices
    for v, bone in zip(held, arm.body.bone_of_vertex, strict=True):
        wanted = shapes.apply(poses[5][bone], arm.lattice.vertices[v])
        np.testing.assert_allclose(clip.lattice_positions(5)[v], wanted, atol=1e-6)


def test_equilibrium_rotation_invariant(arm):
    """The warped balance turns with the character."""
    by = shapes.turn_about([0, 0, 1.3], shift=[2.0, -1.0, 0.0])  # about gravity's axis
    pose = shapes.bend(0.9)
    p = thew.equilibrium(arm.body, pose) + arm.lattice.vertices
    turned = thew.equilibrium(arm.body, by @ pose) + arm.lattice.vertices
    np.testing.assert_allclose(turned, shapes.apply(by, p), atol=1e-9)
    # Without gravity about any axis.
    by = shapes.turn_about([1.0, -0.5, 1.3], shift=[2.0, -1.0, 0.0])
    p = thew.equilibrium(arm.body, pose, gravity=(0, 0, 0)) + arm.lattice.vertices
    turned = thew.equilibrium(arm.body, by @ pose, gravity=(0, 0, 0)) + arm.lattice.vertices
    np.testing.assert_allclose(turned, shapes.apply(by, p), atol=1e-9)


def test_embedded_surface_carried(arm):
    """An embedded surface is carried along, and an unknown one is refused."""
    sleeve = thew.Surface(arm.vertices * [0.5, 1.05, 1.05] + [0.2, 0, 0], arm.triangles)
    number = arm.body.embed_surface(sleeve)
    sim = thew.Simulation(arm.body)
    sim.reset(REST)
    np.testing.assert_allclose(sim.positions(number), sleeve.vertices, atol=1e-6)
    with pytest.raises(thew.InputError, match="no surface"):
        sim.positions(12345)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda b: thew.Simulation(b, method="nonsense"), thew.InputError, "'warped', 'blended'"),
        (lambda b: thew.Simulation(b, rate=0.0), thew.InputError, "rate"),
        (lambda b: thew.Simulation(b, mass_damping=-1.0), thew.InputError, "mass_damping"),
        (lambda b: thew.Simulation(b, gravity=(0, 0, np.nan)), thew.InputError, "gravity"),
        (lambda b: thew.Simulation(b, gravity=(0, 0)), thew.InputError, "gravity"),
        (lambda b: thew.Simulation(b).advance(REST, FRAME), thew.InputError, "reset"),
        (lambda b: thew.Simulation(b).reset(REST[:1]), thew.InputError, "1 bones, but the skeleton has 2"),
        (lambda b: thew.Simulation(b).reset(REST * np.nan), thew.InputError, "bone 0 is not finite"),
        (lambda b: thew.Simulation(b).reset(REST[:, :3]), thew.InputError, "pose"),
        (lambda b: thew.equilibrium(b, REST, forces=np.zeros((3, 3))), thew.InputError, "lattice vertex"),
    ],
)
def test_simulation_refuses_bad_input(arm, call, error, word):
    """Bad input is refused with a sentence."""
    with pytest.raises(error, match=word):
        call(arm.body)


def test_failed_step_keeps_state(arm):
    """A step that fails keeps the state."""
    sim = thew.Simulation(arm.body)
    sim.reset(REST)
    before = sim.lattice_positions()
    far = np.tile(shapes.turn_about([0, 0, 0], shift=[1e200, 0, 0]), (2, 1, 1))
    with pytest.raises(thew.ThewError):
        sim.advance(far, FRAME)
    assert np.array_equal(sim.lattice_positions(), before)
    with pytest.raises(thew.InputError):
        sim.advance(REST, np.nan)


def test_simulation_shared_by_threads(arm):
    """Several threads may share a simulation."""
    sim = thew.Simulation(arm.body)
    sim.reset(REST)
    wrong = []

    def drive():
        for i in range(20):
            sim.advance(shapes.bend(0.02 * i), FRAME)
            try:
                sim.advance(REST[:1], FRAME)  # raises while others look
            except thew.InputError:
                continue
            wrong.append("not refused")

    def look():
        for _ in range(200):
            if not np.isfinite(sim.lattice_positions()).all():
                wrong.append("not finite")

    threads = [threading.Thread(target=f, daemon=True) for f in (drive, look, look)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
    assert not any(t.is_alive() for t in threads) and not wrong


@pytest.mark.parametrize("method", ["warped", "warped_vertex", "linear"])
def test_equilibrium_rest_and_world_forces(arm, method):
    """A balance takes forces in rest and in world axes, and its adjoint agrees."""
    pose = shapes.bend(0.8)
    balance = thew.Equilibrium(arm.body, method)
    balance.set_pose(pose)
    turns = balance.turns
    assert turns.shape == (arm.body.node_count, 3, 3)
    np.testing.assert_allclose(
        turns @ turns.transpose(0, 2, 1), np.tile(np.eye(3), (arm.body.node_count, 1, 1)), atol=1e-12
    )
    free = np.setdiff1d(np.arange(arm.body.node_count), arm.body.held_vertices)
    rest = np.zeros((arm.body.node_count, 3))
    rest[free] = np.random.default_rng(3).normal(size=(len(free), 3)) * 0.05
    q = balance.solve(rest_forces=rest)
    world = np.einsum("vij,vj->vi", turns, rest)
    np.testing.assert_allclose(q, balance.solve(world), atol=1e-12)
    np.testing.assert_allclose(q, thew.equilibrium(arm.body, pose, rest_forces=rest, method=method), atol=1e-12)
    np.testing.assert_allclose(balance.forces(q), world, atol=1e-7)
    np.testing.assert_allclose(balance.positions(), arm.body.shown(balance.solve(world)), atol=1e-6)
    # gᵀ A⁻¹ f = (A⁻ᵀ g)ᵀ f.
    g = np.random.default_rng(4).normal(size=rest.shape)
    way = q - balance.solve()
    np.testing.assert_allclose((g * way).sum(), (balance.adjoint(g) * world).sum(), rtol=1e-7)
    assert not balance.adjoint(g)[arm.body.held_vertices].any()


def test_simulation_rest_forces(arm):
    """Flesh under forces in rest axes settles where the balance does."""
    rest = np.random.default_rng(5).normal(size=(arm.body.node_count, 3)) * 0.02
    sim = thew.Simulation(arm.body)
    sim.reset(REST)
    for i in range(48):
        sim.advance(shapes.bend(min(0.1 * i, 0.8)), FRAME, rest_forces=rest)
    method = "hyperelastic"
    still = thew.equilibrium(arm.body, shapes.bend(0.8), rest_forces=rest, method=method) + arm.lattice.vertices
    bare = thew.equilibrium(arm.body, shapes.bend(0.8), method=method) + arm.lattice.vertices
    away = np.abs(sim.lattice_positions() - still).max()
    assert away < 0.05 * np.abs(bare - still).max()
    sim.reset(shapes.bend(0.8), rest_forces=rest)
    np.testing.assert_allclose(sim.lattice_positions(), still, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda b, z: thew.Equilibrium(b, "modal"), "amplitudes"),
        (lambda b, z: thew.Equilibrium(b, "blended").adjoint(z), "no adjoint"),
        (lambda b, z: thew.Equilibrium(b, "neohookean").adjoint(z), "no adjoint"),
        (lambda b, z: thew.Equilibrium(b).adjoint(z[1:]), "one vector per lattice vertex"),
        (lambda b, z: thew.Equilibrium(b).solve(rest_forces=z * np.nan), "rest_forces.0."),
        (lambda b, z: thew.Equilibrium(b).set_pose(REST[:1]), "1 bones, but the skeleton has 2"),
        (lambda b, z: thew.Equilibrium(b).positions(), "solve"),
        (lambda b, z: thew.Simulation(b).reset(REST, rest_forces=z[1:]), "one vector per lattice vertex"),
    ],
)
def test_equilibrium_refuses_bad_forces(arm, call, word):
    """Bad forces and calls out of order are refused with a sentence."""
    with pytest.raises(thew.InputError, match=word):
        call(arm.body, np.zeros((arm.body.node_count, 3)))

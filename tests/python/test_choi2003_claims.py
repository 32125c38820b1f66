# SPDX-License-Identifier: MIT OR Apache-2.0
"""The claims of [choi2003, §6] on its Figures 4 to 8, at its own counts of modes and constraints and its own step of 1/30 s."""

import numpy as np
import pytest
import thew

from assets.characters import biped
from examples import bodies, dances, models, motion

#: Of all experiments reported in §6.
STEP = 1.0 / 30.0
MATERIAL = thew.Material(young=1e5, poisson=0.4, density=1000.0)


@pytest.fixture(scope="module")
def bar():
    """Returns the body of Figures 4 and 5, its nodes, clamped nodes, axis and eight modes."""
    tets = models.bar()
    nodes = np.asarray(tets.vertices)
    fixed = np.flatnonzero(nodes[:, 0] < 1e-9)
    axis = bodies.nodes_on_line(nodes, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    modes = thew.modes(tets, 8, MATERIAL, fixed=fixed)
    assert (len(nodes), len(tets.tets), len(modes.eigenvalues)) == (99, 240, 8)
    return tets, nodes, fixed, axis, modes


def test_figure_4_warping(bar):
    """Figure 4: a hanging bar keeps its length with warping and grows with linear modes."""
    tets, nodes, fixed, axis, modes = bar
    gravity = np.array([0.0, 0.0, -5.0])
    weight = bodies.nodal_mass(nodes, tets.tets, 1000.0)[:, None] * gravity
    exact = thew.nonlinear_equilibrium(tets, MATERIAL, fixed, weight)

    def hang(warp):
        motion = thew.ModalSimulation(
            modes, STEP, integrator="semi_implicit", warp=warp, gravity=gravity, damping=(4.0, 0.01)
        )
        for _ in range(300):
            motion.advance()
        return np.asarray(motion.displacements())

    linear, warped = hang(False), hang(True)
    length = {"linear": linear, "warped": warped, "exact": exact}
    length = {name: bodies.length(nodes[axis] + u[axis]) for name, u in length.items()}
    assert length["linear"] > 1.3 and abs(length["warped"] - 1.0) < 0.015 and abs(length["exact"] - 1.0) < 0.002
    strain = [bodies.strain(nodes, tets.tets, u).max() for u in (linear, warped, exact)]
    assert strain[0] > 2.5 * strain[2] and abs(strain[1] / strain[2] - 1.0) < 0.05
    far = [np.linalg.norm(u - exact, axis=1).max() for u in (linear, warped)]
    assert far[1] < 0.08 and far[0] > 4.0 * far[1]


def test_figure_5_constraints(bar):
    """Figure 5: a bar is held by position, by orientation and by both."""
    tets, nodes, _, axis, modes = bar
    end = int(axis[-1])
    around = motion.neighbours(np.asarray(tets.tets), end)
    low, high = np.array([-0.32, 0.0, -0.62]), np.array([-0.22, 0.0, 0.5])
    twist, back = np.array([1.9, 0.0, 0.0]), np.array([-1.5, 0.0, 0.0])
    for positions, orientations, exercised in (
        # The exercised node is the constrained one; for orientations its neighbours are exercised too.
        ({end: low}, {}, [end]),
        ({}, {end: twist}, around),
        ({end: high}, {end: back}, around),
    ):
        simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", damping=(4.0, 0.01))
        simulation.constrain(positions=positions, orientations=orientations, exercised=exercised)
        for _ in range(300):
            simulation.advance()
        u, w = np.asarray(simulation.displacements()), np.asarray(simulation.rotations())
        for node, place in positions.items():
            np.testing.assert_allclose(u[node], place, atol=1e-12)
        for node, turn in orientations.items():
            np.testing.assert_allclose(w[node], turn, atol=1e-12)
        assert abs(bodies.length(nodes[axis] + u[axis]) - 1.0) < 0.03
        if not positions:
            # What is turned and not placed stays on its axis nearly.
            assert np.linalg.norm(u[end]) < 0.02
        if not orientations:
            # What is placed and not turned bends: by itself about the axis across the pull.
            assert w[end][1] > 0.8 and np.abs(w[end][[0, 2]]).max() < 0.05


def test_figure_6_belly():
    """Figure 6: a dance throws an unheld belly about, which rings on and comes to rest."""
    bodo, surface = biped.figure(), models.potbelly(1026)
    tets = thew.TetMesh.fill(thew.Surface(surface.vertices, surface.triangles), nodes=363)
    nodes = np.asarray(tets.vertices)
    pelvis = motion.nodes_in_ball(nodes, *dances.SUPPORTS["belly"])
    modes = thew.modes(tets, 16, thew.Material(3e4, 0.4, 1000.0), fixed=pelvis)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", damping=(0.8, 0.002))
    shoulders, neck = dances.shoulders_and_neck(nodes)
    stop = 2.5
    masses = bodies.nodal_mass(nodes, tets.tets, 1000.0)
    carried = motion.CarriedNodes(bodo, lambda b, t: dances.hips(b, min(t, stop)), nodes, masses)
    puppet = motion.Puppet(simulation, carried, {**shoulders, neck: "neck"}, {neck: "neck"})
    navel = motion.nearest_node(nodes, (0.0, -0.45, 0.77))
    assert navel not in {*shoulders, neck} and not pelvis[navel] and len(shoulders) == 2
    path, misses = [], []
    while puppet.time < 8.0:
        puppet.run(puppet.time + STEP, STEP)
        u = np.asarray(simulation.displacements())
        path.append(u[navel])
        misses.append(puppet.misses())
        assert not u[pelvis].any()
    assert max(misses) < 1e-9
    path = np.array(path)
    still = round(stop / STEP)
    swing = [np.linalg.norm(np.ptp(part, axis=0)) for part in (path[:still], path[still + 1 : still + 19], path[-15:])]
    # Thrown about while he dances, on its own after he has stopped, and at rest in the end.
    assert swing[0] > 0.2 and swing[1] > 0.05 and swing[2] < 1e-6


@pytest.fixture(scope="module")
def box():
    """Returns the jelly box, its nodes and its modes."""
    box = models.jelly_box()
    nodes = np.asarray(box.vertices)
    fixed = motion.nodes_in_ball(nodes, *dances.SUPPORTS["box"])
    return box, nodes, thew.modes(box, 32, thew.Material(6e4, 0.4, 1000.0), fixed=fixed)


def jump(box, warp):
    """Returns the largest strains of the jump's frames, and their volumes relative to rest."""
    tets, nodes, modes = box
    figure = dances.jumper()
    places = dances.tied_nodes(nodes, figure, dances.BOX_ENDS)
    heads = {node: bone for node, bone in places.items() if bone == "head"}
    assert (len(places), len(heads)) == (3, 1)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", warp=warp, damping=(1.0, 0.003))
    carried = motion.CarriedNodes(figure, dances.jump, nodes, bodies.nodal_mass(nodes, tets.tets, 1000.0))
    puppet = motion.Puppet(simulation, carried, places, heads)
    corners, strains, volumes = np.asarray(tets.tets), [], []

    def volume(x):
        each = np.linalg.det(x[corners][:, 1:] - x[corners][:, :1])
        assert (each > 0.0).all()
        return each.sum()

    while puppet.time < 2.0:
        puppet.run(puppet.time + STEP, STEP)
        assert puppet.misses() < 1e-9
        u = np.asarray(simulation.displacements())
        strains.append(bodies.strain(nodes, corners, u).max())
        volumes.append(volume(nodes + u) / volume(nodes))
    return np.array(strains), np.array(volumes)


def test_figure_7_jelly_box(box):
    """Figure 7: a jumping jelly box keeps its volume with warping and swells with linear modes."""
    (strain, volume), (linear, swollen) = jump(box, True), jump(box, False)
    assert volume.min() > 0.9 and volume.max() < 1.05 and swollen.max() > 1.4
    assert linear.max() > 2.0 * strain.max()


def test_figure_7_blob():
    """Figure 7: a blob dances led by six positions and the orientation of its head."""
    surface, figure = models.flubber(2802), dances.dancer()
    tets = thew.TetMesh.fill(thew.Surface(surface.vertices, surface.triangles), nodes=552)
    nodes = np.asarray(tets.vertices)
    fixed = motion.nodes_in_ball(nodes, *dances.SUPPORTS["blob"])
    modes = thew.modes(tets, 64, thew.Material(2e5, 0.4, 1000.0), fixed=fixed)
    places = dances.tied_nodes(nodes, figure, dances.BLOB_ENDS)
    heads = {node: bone for node, bone in places.items() if bone == "head"}
    assert (len(places), len(heads)) == (6, 1)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", damping=(1.0, 0.003))
    carried = motion.CarriedNodes(figure, dances.sway, nodes, bodies.nodal_mass(nodes, tets.tets, 1000.0))
    puppet = motion.Puppet(simulation, carried, places, heads)
    (head,) = heads
    turned = 0.0
    while puppet.time < 2.5:
        puppet.run(puppet.time + STEP, STEP)
        wanted = carried.attached_motion("head", head, puppet.time)[1]
        np.testing.assert_allclose(np.asarray(simulation.rotations())[head], wanted, atol=1e-9)
        turned = max(turned, np.linalg.norm(wanted))
        assert puppet.misses() < 1e-9
    assert turned > 0.5


def test_figure_8_tail():
    """Figure 8: the tail of a large model follows the hand and rings out once released."""
    shape = models.dinosaur(28098)
    assert (len(shape.vertices), len(shape.triangles)) == (28098, 56192)
    skin = thew.Surface(shape.vertices, shape.triangles)
    tets = thew.TetMesh.fill(skin, nodes=1883)
    nodes = np.asarray(tets.vertices)
    soles = nodes[:, 2] < shape.vertices[:, 2].min() + 0.08
    modes = thew.modes(tets, 8, thew.Material(6e4, 0.4, 1000.0), fixed=soles)
    tip = motion.nearest_node(nodes, shape.vertices[shape.vertices[:, 1].argmax()])
    around = motion.neighbours(np.asarray(tets.tets), tip)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", damping=(2.0, 0.002))
    deformer = thew.Deformer(modes, skin)
    time, far, free = 0.0, 0.0, []
    while time < 9.0:
        time += STEP
        held = time <= 3.05
        wanted, turn = dances.pull(time), 0.5 * dances.pull(time)
        constraints = {"positions": {tip: wanted}, "orientations": {tip: turn}, "exercised": around}
        simulation.constrain(**(constraints if held else {"positions": {}, "orientations": {}}))
        simulation.advance()
        u = np.asarray(simulation.displacements())
        assert not u[soles].any()
        if held:
            np.testing.assert_allclose(u[tip], wanted, atol=1e-9)
            np.testing.assert_allclose(np.asarray(simulation.rotations())[tip], turn, atol=1e-9)
            far = max(far, np.linalg.norm(u[tip]))
        else:
            free.append(np.linalg.norm(u[tip]))
    # A large deformation, let go: it swings back through rest and comes to it.
    assert far > 0.9 and free[0] > 0.9
    assert min(free[:60]) < 0.5 * free[0] and max(free[-30:]) < 0.1 * max(free)
    moved = np.asarray(deformer.positions(simulation.amplitudes))
    assert moved.shape == shape.vertices.shape and np.isfinite(moved).all()
    # The skin follows the flesh around it.
    near = motion.nearest_node(shape.vertices, nodes[tip])
    assert np.linalg.norm(moved[near] - shape.vertices[near] - u[tip]) < 0.1 * free[0]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The groundwork of the examples' figures: their bodies, forces on a moving support, measures. No Blender."""

import numpy as np
import pytest
import shapes
import thew
from scipy.spatial.transform import Rotation

from assets.characters.choreography import Pose
from assets.characters.figure import Bone, Figure
from examples import bodies, models, motion


@pytest.mark.parametrize(
    ("shape", "vertices", "volume"),
    [
        (models.bar_surface, 354, (0.038, 0.04)),
        (models.jelly_box_surface, 1642, (0.24, 0.27)),
        (lambda: models.potbelly(1026), 1026, (0.1, 0.2)),
        (lambda: models.flubber(2802), 2802, (0.15, 0.25)),
    ],
)
def test_surfaces_closed_with_counts(shape, vertices, volume):
    """The figures' surfaces are closed and have the paper's number of vertices."""
    made = shape()
    assert len(made.vertices) == vertices
    assert len(made.triangles) == 2 * vertices - 4  # a sphere's, topologically
    report = thew.Surface(made.vertices, made.triangles).report()
    assert report.closed and report.manifold and report.oriented and report.components == 1
    assert volume[0] < shapes.enclosed_volume(made.vertices, made.triangles) < volume[1]


@pytest.mark.parametrize(("make", "nodes", "elements"), [(models.bar, 99, 240), (models.jelly_box, 400, 1440)])
def test_grids_counts(make, nodes, elements):
    """The figures' grids have the paper's numbers of nodes and elements."""
    made = make()
    assert (len(made.vertices), len(made.tets)) == (nodes, elements)


def moving_nodes(path, nodes):
    """Builds nodes on a single bone whose offset and turn are functions of time."""
    figure = Figure("", [Bone("root", None, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))], [], {})
    masses = np.arange(1.0, len(nodes) + 1.0)
    return motion.CarriedNodes(figure, lambda f, t: Pose(f, *path(t)), nodes, masses)


def test_forces_on_moving_support():
    """A support's acceleration, spin and tilt give the inertial and gravity forces of mechanics."""
    nodes = np.random.default_rng(1).normal(size=(6, 3))
    # A standing support and a uniformly moving one feel nothing.
    for speed in (0.0, 3.0):
        still = moving_nodes(lambda t, v=speed: (np.array([v * t, 0.0, 0.0]), np.eye(3)), nodes)
        assert np.abs(still.forces(0.7)).max() < 1e-9
    # An accelerated one is felt against the acceleration, by mass.
    pushed = moving_nodes(lambda t: (np.array([0.0, t * t, 0.0]), np.eye(3)), nodes)
    np.testing.assert_allclose(pushed.forces(0.3), pushed.masses[:, None] * [0.0, -2.0, 0.0], atol=1e-8)
    # One that spins about the vertical throws outwards by ω² r.
    spin = moving_nodes(lambda t: (np.zeros(3), Rotation.from_rotvec([0.0, 0.0, 2.0 * t]).as_matrix()), nodes)
    np.testing.assert_allclose(
        spin.forces(0.4), spin.masses[:, None] * 4.0 * nodes * [1.0, 1.0, 0.0], rtol=1e-3, atol=1e-8
    )
    # Upside down, gravity changes sides.
    over = moving_nodes(lambda t: (np.zeros(3), np.diag([1.0, -1.0, -1.0])), nodes)
    np.testing.assert_allclose(over.forces(0.0), over.masses[:, None] * [0.0, 0.0, 2 * 9.81], atol=1e-8)


def test_measures():
    """Rotations, strains, nodal masses and carried points match their definitions."""
    turn = np.array([0.7, -1.2, 0.4])
    np.testing.assert_allclose(bodies.rotation(turn), Rotation.from_rotvec(turn).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(bodies.rotation_vector(bodies.rotation(turn)), turn, atol=1e-12)
    bar = models.bar()
    nodes, tets = np.asarray(bar.vertices), np.asarray(bar.tets)
    turned = nodes @ bodies.rotation(turn).T + [1.0, 2.0, 3.0] - nodes
    assert bodies.strain(nodes, tets, turned).max() < 1e-14
    np.testing.assert_allclose(bodies.strain(nodes, tets, nodes * [0.1, 0.0, 0.0]), 0.105, atol=1e-14)
    assert bodies.nodal_mass(nodes, tets, 1000.0).sum() == pytest.approx(40.0)
    points = np.random.default_rng(2).uniform([0, -0.1, -0.1], [1.0, 0.1, 0.1], size=(50, 3))
    np.testing.assert_allclose(bodies.Carrier(nodes, tets, points)(nodes), points, atol=1e-14)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flesh that touches itself, measured on its posed surface by winding numbers alone."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew

FRAME = 1 / 24


@pytest.fixture(scope="module")
def elbow():
    """An arm whose skin is fine enough to count what passes through it."""
    vertices, triangles = shapes.arm(segments=32, rings=100, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=14)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def bent(body, degrees, contact=thew.Contact(), method="hyperelastic", joints=1.0, hold=8, **options):  # noqa: B008
    """A simulation that was bent slowly and held."""
    simulation = thew.Simulation(body, method, gravity=(0, 0, 0), elastic_joints=joints, contact=contact, **options)
    simulation.reset(shapes.bend(0.0))
    for angle in [*np.arange(4.0, degrees, 4.0), *[degrees] * hold]:
        simulation.advance(shapes.bend(np.radians(angle)), FRAME)
    return simulation


def penetrating(vertices, triangles):
    """Vertices that lie in other flesh: a little outside of themselves they are still inside."""
    vertices = np.asarray(vertices, float)
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.zeros_like(vertices)
    for i in range(3):
        np.add.at(normals, triangles[:, i], np.cross(b - a, c - a))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    step = 1e-4 * np.linalg.norm(np.ptp(vertices, axis=0))
    return np.flatnonzero(thew.Surface(vertices, triangles).winding_number(vertices + step * normals) > 0.5)


@pytest.mark.parametrize("method", ["hyperelastic", "warped"])
def test_an_elbow_folds_without_passing_through_itself(elbow, method):
    triangles, whole = elbow.surface.triangles, elbow.surface.volume
    for degrees in (120, 148):
        free, touching = (bent(elbow, degrees, contact, method) for contact in (None, thew.Contact()))
        through = [len(penetrating(s.positions(), triangles)) for s in (free, touching)]
        assert through[0] > 100 and through[1] <= 0.05 * through[0]
        assert free.inverted_cells() > 0 and touching.inverted_cells() == 0
        assert thew.Surface(touching.positions(), triangles).volume > 0.88 * whole
        contacts = touching.contacts()
        assert len(contacts) > 20 and contacts.gaps.min() > -2e-3 * elbow.surface.size
        # Pushed, never pulled.
        assert (np.einsum("ij,ij->i", contacts.forces, contacts.normals) >= 0.0).all()
        assert len(free.contacts()) == 0


def test_where_skinning_itself_passes_through_much_less_does(elbow):
    triangles = elbow.surface.triangles
    free, touching = (bent(elbow, 120, contact, joints=0.0) for contact in (None, thew.Contact()))
    through = [len(penetrating(s.positions(), triangles)) for s in (free, touching)]
    assert through[0] > 200 and through[1] < 0.5 * through[0]
    volumes = [thew.Surface(s.positions(), triangles).volume for s in (free, touching)]
    assert volumes[1] > volumes[0]


def test_what_touches_nothing_moves_by_the_same_bits(arm):
    free, touching = (thew.Simulation(arm.body, contact=contact) for contact in (None, thew.Contact()))
    for simulation in (free, touching):
        simulation.reset(shapes.bend(0.0))
    for i in range(12):
        for simulation in (free, touching):
            simulation.advance(shapes.bend(0.05 * i), FRAME)
        assert np.array_equal(free.lattice_positions(), touching.lattice_positions())
    assert len(touching.contacts()) == 0


def test_a_sculpt_that_overlaps_itself_stays_still():
    # A second skin inside the first, and a lip that is folded into the flesh beside it.
    outer, triangles = shapes.arm(segments=16, rings=40, radius=0.12)
    inner = 0.6 * (outer - [0.5, 0.0, 0.0]) + [0.5, 0.0, 0.0]
    lip = outer * [0.2, 0.5, 0.5] + [0.4, 0.0, 0.1]
    vertices = np.concatenate([outer, inner, lip])
    faces = np.concatenate([triangles + i * len(outer) for i in range(3)])
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, faces), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=12)
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)
    simulation = thew.Simulation(body, contact=thew.Contact())
    simulation.reset(shapes.bend(0.0))
    before = simulation.positions()
    for _ in range(12):
        simulation.advance(shapes.bend(0.0), FRAME)
    assert np.abs(simulation.positions() - before).max() < 1e-6 * surface.size
    assert len(simulation.contacts()) == 0


def test_states_in_the_middle_of_a_touch_go_on_with_the_same_bits(elbow):
    simulation = bent(elbow, 130)
    assert len(simulation.contacts()) > 0
    state = simulation.state()
    other = thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact())
    other.restore(state)
    for degrees in (134, 138, 120, 100):
        for s in (simulation, other):
            s.advance(shapes.bend(np.radians(degrees)), FRAME)
        assert simulation.state() == other.state()
    with pytest.raises(thew.InputError, match="contacts"):
        thew.Simulation(elbow, gravity=(0, 0, 0)).restore(state)


def test_the_number_of_threads_changes_no_bit():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import hashlib, numpy as np, shapes, thew\n"
        "v, t = shapes.arm(segments=16, rings=40, radius=0.12)\n"
        "w = shapes.arm_weights(v)\n"
        "s, k = thew.Surface(v, t), thew.Skeleton(*shapes.arm_bones())\n"
        "body = thew.Body(s, k, thew.Lattice.enclose(s, k, w, cells_across=12), thew.Material(), region_weights=w)\n"
        "sim = thew.Simulation(body, contact=thew.Contact())\n"
        "sim.reset(shapes.bend(0.0))\n"
        "for i in range(1, 16): sim.advance(shapes.bend(0.17 * i), 1 / 24)\n"
        "assert len(sim.contacts())\n"
        "print(hashlib.sha256(sim.state()).hexdigest())\n"
    )
    folder = Path(shapes.__file__).parent

    def digest(threads):
        env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        done = subprocess.run([sys.executable, "-c", code, folder], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    assert digest(1) == digest(2) == digest(5)


def test_limbs_that_part_are_let_go(elbow):
    touching, free = (bent(elbow, 136, contact) for contact in (thew.Contact(), None))
    assert len(touching.contacts()) > 0
    for simulation in (touching, free):
        for degrees in [*np.arange(132.0, 60.0, -4.0), *[60.0] * 24]:
            simulation.advance(shapes.bend(np.radians(degrees)), FRAME)
    assert len(touching.contacts()) == 0
    apart = np.linalg.norm(touching.positions() - free.positions(), axis=1).max()
    assert apart < 1e-3 * elbow.surface.size


def test_a_held_pose_is_quiet(elbow):
    simulation = bent(elbow, 140, hold=40)
    shown = []
    for _ in range(8):
        simulation.advance(shapes.bend(np.radians(140)), FRAME)
        shown.append(simulation.positions())
    assert np.abs(np.diff(shown, axis=0)).max() < 2e-4 * elbow.surface.size


def test_how_the_whole_stands_makes_no_difference(elbow):
    straight = bent(elbow, 136).positions()
    place = shapes.about([0.3, -0.5, 0.8], shift=(2.0, -1.0, 3.0))
    simulation = thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact())
    simulation.reset(place @ shapes.bend(0.0))
    for angle in [*np.arange(4.0, 136.0, 4.0), *[136.0] * 8]:
        simulation.advance(place @ shapes.bend(np.radians(angle)), FRAME)
    expected = shapes.apply(place, np.asarray(straight, float))
    assert np.abs(simulation.positions() - expected).max() < 2e-3 * elbow.surface.size


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"friction": -0.1}, "friction must be zero or positive"),
        ({"friction": np.nan}, "friction"),
        ({"thickness": -1.0}, "thickness must be zero or positive"),
        ({"thickness": np.inf}, "thickness"),
        ({"compliance": 0.0}, "compliance must be between"),
        ({"regions": [-1, 0]}, "regions"),
        ({"regions": [0.5]}, "regions"),
    ],
)
def test_what_cannot_touch_is_a_sentence(options, sentence):
    with pytest.raises(thew.InputError, match=sentence):
        thew.Contact(**options)


def test_what_does_not_fit_the_body_is_a_sentence(arm):
    with pytest.raises(thew.InputError, match="one number per vertex"):
        thew.Simulation(arm.body, contact=thew.Contact(regions=[1, 2, 3]))
    for method in ("modal", "nonlinear", "neohookean"):
        with pytest.raises(thew.InputError, match="knows no contact"):
            thew.Simulation(arm.body, method, contact=thew.Contact())


def test_ignored_skin_touches_nothing(elbow):
    nothing = thew.Contact(regions=np.zeros(len(elbow.surface.vertices), int))
    assert len(bent(elbow, 136, nothing, hold=1).contacts()) == 0

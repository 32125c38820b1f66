# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of docs/elastic.md: a hopping creature in a lattice made by hand, ears and horns by material, a turned head. No Blender."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from examples import beast, elastic, hopper, pulled

RATE = 96.0
"""Steps a second: fewer than in the figures."""


@pytest.fixture(scope="module")
def pogo():
    """Builds the creature with a coarse skin."""
    return elastic.flesh(hopper.figure(0.02), hopper.lattice, hopper.YOUNG, hopper.stiffness)


@pytest.fixture(scope="module")
def bruno():
    """Builds the head with a coarse skin, in the lattice of the figures."""
    return elastic.flesh(beast.figure(0.02), beast.CELLS_ACROSS, beast.YOUNG, beast.stiffness)


def test_hand_made_lattice_fits(pogo):
    """Figures 1 and 2: the lattice of hexahedra meets the four conditions and has every bone on its edges."""
    assert pogo.lattice.check(pogo.body.surface, pogo.skeleton) == []
    assert len(pogo.lattice.cells) == 152 and {len(cell) for cell in pogo.lattice.cells} == {8}
    assert sorted(pogo.lattice.used_bones) == list(range(len(pogo.figure.bones)))
    assert not pogo.body.loose_parts
    nodes = np.asarray(pogo.lattice.vertices)
    distance, other = cKDTree(nodes).query(nodes * [-1.0, 1.0, 1.0])
    assert distance.max() < 1e-12 and np.array_equal(other[other], np.arange(len(nodes)))


def test_regions_of_bones(pogo):
    """Figure 2: regions share the flesh, are the same on both sides, and every bone has one."""
    weights = np.asarray(pogo.body.region_weights)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-9)
    assert (weights.max(axis=0) > 0.5).all()
    names = [bone.name for bone in pogo.figure.bones]
    sides = [names.index(name.replace(".L", ".R") if ".L" in name else name.replace(".R", ".L")) for name in names]
    nodes = np.asarray(pogo.lattice.vertices)
    other = cKDTree(nodes).query(nodes * [-1.0, 1.0, 1.0])[1]
    np.testing.assert_allclose(weights[other][:, sides], weights, atol=0.05)


def test_creature_hops(pogo):
    """The blended creature hops without inverted cells, keeps its volume, lags behind its bones, and comes to rest."""
    poses = hopper.poses()
    motion = elastic.play(pogo, poses, hopper.FPS, "blended", rate=RATE)
    assert not motion.inverted.any()
    skins = np.array([pogo.skin(nodes) for nodes in motion.nodes])
    volumes = np.array([elastic.volume(skin, pogo.triangles) for skin in skins])
    assert np.abs(volumes / volumes[0] - 1.0).max() < 0.04
    lag = np.linalg.norm(skins - [pogo.plain(pose) for pose in poses], axis=2)
    tips = pogo.vertices[:, 2] > 0.95
    assert lag[:, tips].mean(axis=1).max() > 0.05 and lag[-1].max() < 0.005 * pogo.size
    assert hopper.ahead(poses[-1]) > 2.5 * hopper.STRIDE


@pytest.mark.parametrize("method", ["blended", "nonlinear"])
def test_ears_flap_horns_stay(bruno, method):
    """Figure 4: in a shake of the head ears swing several times as far as horns, by painted stiffness alone."""
    poses = beast.shake(34)
    motion = elastic.play(bruno, poses, beast.FPS, method, rate=RATE)
    ear, horn = (elastic.swing(bruno, motion, poses, part(bruno.vertices)).max() for part in (beast.ear, beast.horn))
    assert ear > 5.0 * horn and ear > 0.04 * bruno.size


def test_without_paint_horns_flap():
    """Without the paint horns swing as ears do: nothing else holds them."""
    even = elastic.flesh(beast.figure(0.02), beast.CELLS_ACROSS, beast.YOUNG)
    poses = beast.shake(34)
    motion = elastic.play(even, poses, beast.FPS, "blended", rate=RATE)
    ear, horn = (elastic.swing(even, motion, poses, part(even.vertices)).max() for part in (beast.ear, beast.horn))
    assert horn > 0.4 * ear


def test_head_turned_by_methods(bruno):
    """Figure 5: a head at 90° is near the nonlinear one by the blended, warped and linearised methods, and not by the linear one."""
    poses = beast.look_aside(26)
    methods = ("nonlinear", "linearised", "blended", "blended_printed", "warped", "linear")
    motions = elastic.compare(bruno, poses, beast.FPS, methods, rate=RATE)
    error = {method: motion.mean[-1] for method, motion in motions.items()}
    assert error["linear"] > 0.05 and error["linear"] > 5.0 * error["blended"]
    assert error["linearised"] < 0.2 * error["blended"] and error["blended"] < 0.7 * error["blended_printed"]
    assert abs(error["blended"] - error["warped"]) < 0.1 * error["warped"]
    assert not motions["blended"].inverted.any() and not motions["warped"].inverted.any()
    rest = elastic.volume(bruno.vertices, bruno.triangles)
    kept = {m: elastic.volume(bruno.skin(x.nodes[-1]), bruno.triangles) / rest for m, x in motions.items()}
    assert abs(kept["nonlinear"] - 1.0) < 0.1 and abs(kept["blended"] - 1.0) < 0.1 and kept["linear"] > 1.3


def test_error_of_blended_grows_with_square_of_turn(bruno):
    """Blended and warped are right to first order: their errors fall fourfold as the turn is halved."""
    errors = []
    for degrees in (6.0, 3.0):
        motions = elastic.compare(bruno, beast.look_aside(26, degrees), beast.FPS, ("nonlinear", "blended"), rate=RATE)
        errors.append(motions["blended"].mean[-1])
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_details_let_flesh_give_way_where_pulled(pogo):
    """Figure 3: with details a pull at a point moves less of the skin, and nothing that lies far away."""
    moves = []
    for creature in (pogo, pulled.creature(1, 0.02, finest=1)):
        skin = pulled.settle(creature)
        assert pulled.moved(creature, skin) == pytest.approx(pulled.DISTANCE, rel=1e-3)
        moves.append(np.linalg.norm(skin - creature.vertices, axis=1))
    away = np.linalg.norm(creature.vertices - pulled.PULLED, axis=1)
    assert moves[1].mean() < 0.75 * moves[0].mean()
    assert moves[1][(away > 0.1) & (away < 0.2)].mean() < 0.75 * moves[0][(away > 0.1) & (away < 0.2)].mean()


@pytest.mark.parametrize("method", ["warped", "hyperelastic"])
def test_adaptive_pull_is_calm(method):
    """Figure 3 in hexahedra: coarse cells beside refined ones do not swing by themselves, so details stay near the pull, and the shape fits."""
    pogo = pulled.creature(1, cell=0.02, finest=1)
    adaptive = pulled.pull(pogo, method, 10, rate=RATE, adapt="strain")
    uniform = pulled.pull(pogo, method, 10, rate=RATE)
    error = np.linalg.norm(adaptive.skins - uniform.skins, axis=2).max()
    assert error < 0.015 * pulled.DISTANCE
    assert adaptive.functions.max() < 0.75 * pogo.body.node_count

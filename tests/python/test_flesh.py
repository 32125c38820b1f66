# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flesh: its amount, its softness, and the part of its motion that is shown on the artist's skin."""

from __future__ import annotations

import numpy as np
import pytest
import thew
from glb import character
from scipy.spatial.transform import Rotation

FPS = 24.0


def shaking_poses(bones: int, frames: int = 24, size: float = 1.7, rate: float = 2.0) -> np.ndarray:
    """Returns poses of a character that is carried up and down as a whole."""
    poses = np.tile(np.eye(4), (frames, bones, 1, 1))
    poses[:, :, 2, 3] = (0.05 * size * np.sin(2 * np.pi * rate * np.arange(frames) / FPS))[:, None]
    return poses


def linear_skin(vertices, weights, pose):
    """Returns the skin by linear blending, [n, 3]."""
    blended = np.einsum("nb,bij->nij", weights / weights.sum(axis=1, keepdims=True), pose)
    return np.einsum("nij,nj->ni", blended, np.c_[vertices, np.ones(len(vertices))])[:, :3]


def sway(body, poses, **settings):
    """Returns the offsets of all frames of a clip."""
    clip = thew.simulate(body, poses, FPS, elastic_joints=0.0, **settings)
    return np.array([clip.offsets(f) for f in range(len(poses))])


@pytest.fixture(scope="module")
def fox():
    """Returns the fox, one metre high."""
    return character("Fox", height=1.0)


@pytest.fixture(scope="module")
def lattice(fox):
    """Builds a lattice around the fox."""
    return thew.Lattice.enclose(fox.surface, fox.skeleton, fox.weights)


def make_body(fox, lattice, **options):
    """Builds the fox's body."""
    return thew.Body(fox.surface, fox.skeleton, lattice, thew.Material(), region_weights=fox.weights, **options)


def test_softness_dial(fox, lattice):
    """Each step up of the softness dial lets flesh sway farther; the dial sets an absolute value and refuses others."""
    body = make_body(fox, lattice)
    poses = shaking_poses(len(fox.names), size=1.0)
    lengths = [np.abs(sway(body.with_softness(dial), poses)).max() for dial in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert np.all(np.diff(lengths) > 0.0), lengths
    assert make_body(fox, lattice, softness=0.3).material.young == pytest.approx(body.with_softness(0.3).material.young)
    # It says how soft, not by how much softer.
    assert body.with_softness(0.8).with_softness(0.3).material.young == pytest.approx(
        body.with_softness(0.3).material.young
    )
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(thew.InputError, match="softness"):
            body.with_softness(bad)


def test_softness_size_independent(fox):
    """One g sideways moves a mouse and a whale by the same part of their size."""
    yields = []
    for size in (0.125, 32.0):
        surface = thew.Surface(fox.vertices * size, fox.triangles)
        skeleton = thew.Skeleton(
            fox.names, list(fox.skeleton.parents), fox.skeleton.heads * size, fox.skeleton.tails * size
        )
        lattice = thew.Lattice.enclose(surface, skeleton, fox.weights)
        body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=fox.weights, softness=0.5)
        yields.append(body.softness())
    assert yields[0] == pytest.approx(yields[1], rel=1e-3)


def test_painted_flesh_sways(fox, lattice):
    """Painted flesh decides which parts sway, and leaves the rest as it was."""
    poses = shaking_poses(len(fox.names), size=1.0)
    automatic = make_body(fox, lattice, softness=0.5)
    # Hard parts have 0.02, not a tenth: that and all between the soft and the hard is the anatomy's (test_anatomy.py).
    assert automatic.flesh.min() == pytest.approx(0.02) and 0.9 < automatic.flesh.max() <= 1.0
    assert np.isfinite(automatic.thickness).all() and automatic.thickness.min() >= 0.0
    painted = automatic.flesh.copy()
    front = fox.vertices[:, 1] < np.median(fox.vertices[:, 1])
    painted[front] = 0.0
    offsets = sway(make_body(fox, lattice, flesh=painted, softness=0.5), poses)
    assert np.abs(offsets[:, front]).max() == 0.0
    assert np.abs(offsets[:, ~front]).max() > 1e-4
    assert np.array_equal(make_body(fox, lattice, flesh=painted).flesh, painted)
    # The dial is measured unpainted: what is left as it was sways as it did.
    assert make_body(fox, lattice, flesh=painted, softness=0.5).material.young == pytest.approx(
        automatic.material.young
    )
    young = make_body(fox, lattice).young_of_softness(0.5)
    assert make_body(fox, lattice, flesh=painted).with_young(young).material.young == pytest.approx(
        automatic.material.young
    )
    with pytest.raises(thew.InputError, match="factor of stiffness must be positive, not 0"):
        automatic.with_young(0.0)
    with pytest.raises(thew.InputError, match="painted flesh"):
        make_body(fox, lattice, flesh=painted + 1.0)
    with pytest.raises(thew.InputError, match="painted flesh"):
        make_body(fox, lattice, flesh=painted[:-1])


def test_thick_flesh_sways_more(fox, lattice):
    """Thick flesh sways more than thin."""
    body = make_body(fox, lattice, softness=0.5)
    lengths = np.linalg.norm(sway(body, shaking_poses(len(fox.names), size=1.0)), axis=2).max(axis=0)
    thick, thin = (
        (body.thickness >= np.quantile(body.thickness, 0.75)),
        body.thickness <= np.quantile(body.thickness, 0.25),
    )
    assert np.quantile(lengths[thick], 0.9) > 3.0 * np.quantile(lengths[thin], 0.9)


def test_shown_is_skin_plus_offsets(fox, lattice):
    """The shown surface is the skin plus its offsets."""
    body = make_body(fox, lattice, softness=0.5)
    poses = shaking_poses(len(fox.names), size=1.0)
    poses[:, 5:, :3, :3] = Rotation.from_euler("x", 20, degrees=True).as_matrix()
    for joints in (0.0, 0.4, 1.0):
        clip = thew.simulate(body, poses, FPS, elastic_joints=joints)
        for frame in (0, 7, 23):
            skin = linear_skin(fox.vertices, fox.weights, poses[frame])
            np.testing.assert_allclose(clip.positions(frame), skin + clip.offsets(frame), atol=2e-6)
    still = thew.simulate(body, np.repeat(poses[:1], 3, axis=0), FPS, gravity=(0, 0, 0), elastic_joints=0.0)
    assert np.abs(still.offsets(2)).max() < 1e-6, "a bend alone moves no skin"
    with pytest.raises(thew.InputError, match="elastic_joints"):
        thew.simulate(body, poses, FPS, elastic_joints=1.5)


@pytest.mark.parametrize("young", [300.0, 20e3])
@pytest.mark.parametrize("turns", [2.0, 8.0])
def test_flesh_stays_when_whirled(fox, lattice, turns, young):
    """The shown flesh of a whirled character stays within its thickness, whatever the stiffness."""
    body = thew.Body(fox.surface, fox.skeleton, lattice, thew.Material(young=young), region_weights=fox.weights)
    angles = 360.0 * turns * np.arange(48) / FPS
    whole = np.tile(np.eye(4), (48, 1, 1))
    whole[:, :3, :3] = Rotation.from_euler("z", angles, degrees=True).as_matrix()
    offsets = sway(body, np.repeat(whole[:, None], len(fox.names), axis=1))
    assert np.isfinite(offsets).all()
    assert (np.linalg.norm(offsets, axis=2) <= 0.6 * (body.thickness + 0.005 * fox.surface.size) + 1e-6).all()


def test_saved_body_keeps_flesh(fox, lattice, tmp_path):
    """A saved body keeps its flesh and its thickness."""
    body = make_body(fox, lattice, flesh=np.linspace(0.0, 1.0, len(fox.vertices)), softness=0.6)
    body.save(tmp_path / "fox.body")
    again = thew.Body.load(tmp_path / "fox.body")
    assert np.array_equal(again.flesh, body.flesh) and np.array_equal(again.thickness, body.thickness)
    poses = shaking_poses(len(fox.names), size=1.0, frames=6)
    assert np.array_equal(sway(again, poses), sway(body, poses))


def test_carried_surface_sways(fox, lattice):
    """A carried surface sways like the skin below it."""
    body = make_body(fox, lattice, softness=0.5)
    again = body.embed_surface(thew.Surface(fox.vertices, fox.triangles))
    clip = thew.simulate(body, shaking_poses(len(fox.names), size=1.0), FPS, elastic_joints=0.0)
    np.testing.assert_allclose(clip.offsets(9, surface=again), clip.offsets(9), atol=1e-6)

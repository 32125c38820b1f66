# SPDX-License-Identifier: MIT OR Apache-2.0
"""The conventions of medial models: the origin of φ around a tube, the sharing of lengths, finite numbers."""

import numpy as np
import pytest
import thew
from scipy.spatial.transform import Rotation
from test_mrep import ellipsoid, straight_tube

N, M = 48, 24


def limb(turn, bend=0.0, scale=1.0):
    """Builds a limb, thicker at its beginning, along z before it is turned, bent evenly towards y, with two bones and weights."""
    z = np.linspace(0.0, 1.0, N)
    around = 2 * np.pi * np.arange(M) / M
    radius = 0.12 - 0.04 * z

    def place_points(along, across):
        """Returns the positions of points across (x, y) at a distance along the limb."""
        t = bend * along
        line = (
            np.stack([0 * t, (1 - np.cos(t)) / bend, np.sin(t) / bend], -1)
            if bend
            else np.stack([0 * t, 0 * t, along], -1)
        )
        side = np.stack([0 * t, np.cos(t), -np.sin(t)], -1)
        return scale * (line + across[..., :1] * [1.0, 0.0, 0.0] + across[..., 1:] * side) @ turn.T

    ring = np.stack([np.cos(around), np.sin(around)], -1)
    skin = place_points(np.repeat(z, M), (radius[:, None, None] * ring).reshape(-1, 2))
    middle = place_points(np.array([0.0, 0.5, 1.0]), np.zeros((3, 2)))
    vertices = np.concatenate([skin, middle[[0, 2]]])
    i, j = (a.ravel() for a in np.meshgrid(np.arange(N - 1), np.arange(M), indexing="ij"))
    k = (j + 1) % M
    a, b, c, d = i * M + j, i * M + k, (i + 1) * M + k, (i + 1) * M + j
    j, k = np.arange(M), (np.arange(M) + 1) % M
    low, high = np.full(M, N * M), np.full(M, N * M + 1)
    caps = [np.stack([low, k, j], 1), np.stack([high, (N - 1) * M + j, (N - 1) * M + k], 1)]
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1), *caps])
    skeleton = thew.Skeleton(["near", "far"], [-1, 0], middle[:2], middle[1:])
    far = np.concatenate([np.repeat(z, M), [0.0, 1.0]]) >= 0.5
    return thew.Surface(vertices, faces), skeleton, np.stack([~far, far], 1).astype(float)


TURNS = {
    "upright": [0.0, 0.0, 0.0],
    "down": [np.pi, 0.0, 0.0],
    "nearly upright": [0.3, 0.2, 0.0],
    "leaning": [0.6, 0.3, 0.0],
    "aside": [0.0, np.pi / 2, 0.0],
    "forward": [np.pi / 2, 0.0, 0.4],
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("bend", [0.0, 0.8, 2.4])
def test_phi_origin_along_bones(turn, bend):
    """A point has the same φ in two models of one limb, whichever way each was made."""
    turn = Rotation.from_rotvec(TURNS[turn]).as_matrix()
    surface, skeleton, weights = limb(turn, bend)
    one = thew.MRep.from_skeleton(surface, skeleton, weights, ["near", "far"])
    two = thew.MRep.tube_around(surface)
    # Both from the thicker end to the thinner.
    assert one.frames[0, :, 0] @ two.frames[0, :, 0] > 0.9 and one.roll_to(two) == 0.0
    points = np.asarray(surface.vertices)[M * 12 : M * 36]
    around = [each.coordinates(points)[:, 2] for each in (one, two)]
    off = np.exp(1j * (around[0] - around[1]))
    # Bones are chords of a bend, beside the middles of its rings, to the same side all along: a mean over all points of a ring knows
    # nothing of that.
    assert abs(np.angle(off.mean())) < 0.05
    assert bend or np.abs(np.angle(off)).max() < 0.15


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("atoms, spokes", [(9, 8), (14, 11)])
def test_correspond_is_identity_on_limb(turn, scale, atoms, spokes):
    """A point of a limb's skin corresponds to itself in tubes of either make.

    The tubes end at different places, so that u differs by up to 5 % of the size along the limb; a quarter of a turn is 13 % and more.
    """
    surface, skeleton, weights = limb(Rotation.from_rotvec(TURNS[turn]).as_matrix(), scale=scale)
    one = thew.MRep.from_skeleton(surface, skeleton, weights, ["near", "far"])
    two = thew.MRep.tube_around(surface, atoms=atoms, spokes=spokes)
    points = np.asarray(surface.vertices)[M * 12 : M * 36]
    for a, b in ((one, two), (two, one)):
        off = np.linalg.norm(a.correspond(b, points) - points, axis=1)
        assert off.max() < 0.06 * surface.size


@pytest.mark.parametrize("kind", ["tube", "slab"])
def test_lengths_gauge_invariant(kind):
    """Results depend on r·ρ and r·η alone, not on how a length is shared between the factors."""
    rng = np.random.default_rng(4)
    model = straight_tube(7, 8) if kind == "tube" else ellipsoid(3, 5)
    shared = rng.uniform(0.6, 1.7, np.shape(model.radii))
    lengths = model.lengths / shared[..., None]
    if kind == "tube":
        ends = tuple(model.ends / shared[[0, -1]])
        other = thew.MRep.tube(model.hubs, model.radii * shared, model.frames, model.angles, lengths, ends)
    else:
        ends = model.ends / shared
        other = thew.MRep.slab(model.hubs, model.radii * shared, model.frames, model.angles, ends, lengths)
    np.testing.assert_allclose(other.boundary(2).vertices, model.boundary(2).vertices, atol=1e-12)
    np.testing.assert_allclose(other.tolerance(2), model.tolerance(2), rtol=1e-12)
    target = model.transformed(1.05, Rotation.from_rotvec([0.0, 0.1, 0.2]).as_matrix(), (0.01, 0.0, 0.02)).boundary(3)
    fits = [each.fit(target) for each in (model, other)]
    np.testing.assert_allclose(
        fits[1].mrep.boundary(2).vertices, fits[0].mrep.boundary(2).vertices, atol=1e-4 * model.size
    )
    np.testing.assert_allclose(fits[1].posterior["similarity"], fits[0].posterior["similarity"], rtol=1e-6)
    lattices = [each.lattice() for each in (model, other)]
    np.testing.assert_allclose(lattices[1].vertices, lattices[0].vertices, atol=1e-9)
    moved = (0.013, 0.117, 0.029)
    both = [thew.MRep.join([each, each.transformed(translation=moved)], names=["a", "b"]) for each in (model, other)]
    skins = [each.boundary(1) for each in both]
    # Nodes of the grid that lie on the skin fall to either side by rounding.
    assert len(skins[0].vertices) == pytest.approx(len(skins[1].vertices), rel=0.01)
    assert skins[0].volume == pytest.approx(skins[1].volume, rel=1e-3)


def test_coordinates_refuse_nan():
    """Points that are not finite are refused, and points without coordinates pass through as NaN."""
    tube, other = straight_tube(7, 8), straight_tube(9, 6)
    for points in ([[0.1, 0.0, 0.0], [np.nan, 0.0, 0.0]], [[0.1, 0.0, 0.0], [0.0, np.inf, 0.0]]):
        with pytest.raises(thew.InputError, match=r"points\[1\] has a value that is not a finite number"):
            tube.coordinates(points)
        with pytest.raises(thew.InputError, match=r"points\[1\]"):
            tube.correspond(other, points)
    for row in ([np.nan, 0.0, 0.0, 1.0], [0.5, 0.0, np.nan, 1.0], [0.5, 0.0, 0.0, np.nan]):
        with pytest.raises(thew.MRepError, match=r"row 1|coordinates\[1\]|\b1\b.*NaN"):
            tube.points([[0.5, 0.0, 0.0, 1.0], row])
    far = tube.coordinates([[0.0, 50.0, 0.0]])
    assert np.isnan(far).all() and np.isnan(tube.points(far)).all()
    assert np.isnan(tube.correspond(other, [[0.0, 50.0, 0.0]])).all()


def test_several_figures_named():
    """Coordinates, a lattice and held hubs belong to one figure; a model of several names those it has."""
    two = thew.MRep.join(
        [straight_tube(5, 6), straight_tube(5, 6).transformed(translation=(0.0, 2.0, 0.0))], names=["a", "b"]
    )
    held = np.array([0])
    for call in (
        lambda: two.fit(two.boundary(2), held=held),
        two.lattice,
        lambda: two.coordinates([[0.3, 0.0, 0.0]]),
    ):
        with pytest.raises(thew.MRepError, match=r"2 figures \(a, b\): choose one"):
            call()
    assert two.figures[1].fit(two.figures[1].boundary(2)).report.mean < 1e-3

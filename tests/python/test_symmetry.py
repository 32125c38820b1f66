# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mirrored lattices: a symmetric figure sways alike on the left and on the right."""

from types import SimpleNamespace

import numpy as np
import pytest
import shapes
import thew

FLIP = np.array([-1.0, 1.0, 1.0])
MIRROR = np.diag([-1.0, 1.0, 1.0, 1.0])
PARTNER = [0, 1, 2, 4, 3]
GRAVITY = (0.0, 0.0, -9.81)


def make_figure(symmetric="auto", taller=0.0):
    """Builds a trunk, a head and two legs that stand eight centimetres apart, of boxes. One leg may be longer."""
    boxes = [
        ((0.3, 0.16, 0.35), (0.0, 0.0, 0.95)),
        ((0.1, 0.22, 0.12), (0.0, -0.1, 1.4)),
        ((0.11, 0.1, 0.4), (0.15, 0.0, 0.3)),
        ((0.11, 0.1, 0.4 + taller / 2), (-0.15, 0.0, 0.3 - taller / 2)),
    ]
    vertices, triangles, weights = [], [], []
    for bone, (half, centre) in zip((1, 2, 3, 4), boxes, strict=True):
        points, faces = shapes.box(half)
        triangles.append(faces + 8 * len(vertices))
        vertices.append(points + centre)
        weights.append(np.tile(0.9 * np.eye(5)[bone] + 0.1 * np.eye(5)[0], (8, 1)))
    vertices, triangles, weights = map(np.concatenate, (vertices, triangles, weights))
    heads = np.array([[0, 0, 0.7], [0, 0.02, 0.95], [0, 0, 1.3], [0.15, 0, 0.6], [-0.15, 0, 0.6]])
    tails = np.array([[0, 0.02, 0.95], [0, 0, 1.25], [0, -0.1, 1.45], [0.15, 0, 0], [-0.15, 0, 0]])
    surface = thew.Surface(vertices, triangles)
    skeleton = thew.Skeleton(["pelvis", "chest", "head", "left", "right"], [-1, 0, 1, 0, 0], heads, tails)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=9, symmetric=symmetric)
    return SimpleNamespace(vertices=vertices, weights=weights, surface=surface, skeleton=skeleton, lattice=lattice)


@pytest.fixture(scope="module")
def figure():
    made = make_figure()
    made.body = make_body(made)
    # The image of each vertex of the skin.
    away = np.linalg.norm(made.vertices[:, None] * FLIP - made.vertices, axis=2)
    made.image = away.argmin(axis=1)
    assert away.min(axis=1).max() < 1e-12
    return made


def make_body(figure, lattice=None, **options):
    flesh = np.ones(len(figure.vertices))
    lattice, material = lattice or figure.lattice, thew.Material(young=8e3)
    return thew.Body(
        figure.surface, figure.skeleton, lattice, material, region_weights=figure.weights, flesh=flesh, **options
    )


def lattice_images(lattice):
    """Returns the image of each lattice vertex, from the order of the cells alone."""
    cells = np.array(lattice.cells)
    own, other = np.split(cells, 2)
    image = np.full(len(lattice.vertices), -1)
    image[own] = other[:, [0, 1, 3, 2]]
    image[other] = own[:, [0, 1, 3, 2]]
    return image


def walk_maps(frames):
    """Returns a walk on the spot: legs that swing in turn, and a trunk that sways over them."""
    maps = np.tile(np.eye(4), (frames, 5, 1, 1))
    for frame in range(frames):
        phase = 2 * np.pi * frame / 24
        sway = np.eye(4)
        sway[:3, 3] = 0.04 * np.sin(phase), 0.0, 0.02 * np.cos(2 * phase)
        maps[frame] = sway
        for bone, side in ((3, 1.0), (4, -1.0)):
            angle = 0.4 * side * np.sin(phase)
            maps[frame, bone] = sway @ shapes.turn_about((angle, 0.0, 0.0), (0.15 * side, 0.0, 0.6))
    return maps


def mirrored(maps):
    """Returns the mirror image of poses."""
    return MIRROR @ maps[..., PARTNER, :, :] @ MIRROR


def test_lattice_is_mirrored(figure):
    """Vertices, cells and drivers of a symmetric figure's lattice are mirror images to rounding."""
    lattice = figure.lattice
    normal, offset = lattice.mirror_plane
    np.testing.assert_allclose(np.abs(normal), [1, 0, 0], atol=1e-9)
    assert abs(offset) < 1e-9
    image = lattice_images(lattice)
    assert (image >= 0).all() and (image[image] == np.arange(len(image))).all()
    np.testing.assert_allclose(lattice.vertices[image], lattice.vertices * FLIP, atol=1e-8)
    driver = lattice.bone_of_vertex
    partner = np.array([*PARTNER, -1])
    assert (driver[image] == partner[driver]).all()
    assert lattice.check(figure.surface, figure.skeleton) == []


def test_masses_are_mirrored(figure):
    """Flesh is shared out alike on both sides: masses of lattice vertices are equal."""
    data, _, rows = figure.body.mass()
    sums = np.add.reduceat(data, rows[:-1]).reshape(-1, 3)
    np.testing.assert_allclose(sums[lattice_images(figure.lattice)], sums, rtol=1e-9)


@pytest.mark.parametrize(("twist", "share"), [(0.0, 1e-9), (1.0, 1e-4)])
def test_balance_is_mirrored(figure, twist, share):
    """The balance under gravity of a mirrored pose is the mirror image of that of the pose, but for the twist's samples."""
    pose, image = walk_maps(8)[5], lattice_images(figure.lattice)
    body = make_body(figure, twist={name: {"strength": twist} for name in figure.skeleton.names})
    found = []
    for maps in (pose, mirrored(pose)):
        balance = thew.Equilibrium(body, "hyperelastic")
        balance.set_pose(maps)
        found.append(balance.solve(gravity=GRAVITY))
    assert np.abs(found[1][image] - found[0] * FLIP).max() < share * figure.surface.size


def sway(body, maps):
    """Returns the offsets of the skin in all frames of a motion."""
    clip = thew.simulate(body, maps, 24.0, method="hyperelastic", rate=240.0, gravity=GRAVITY)
    return np.stack([clip.offsets(frame) for frame in range(len(maps))])


def test_walk_sways_alike(figure):
    """The left sways half a cycle later as the right does, but for the beginning; without symmetry not so."""
    maps = walk_maps(97)
    asymmetry = []
    for body in (figure.body, make_body(figure, make_figure("off").lattice)):
        offsets = sway(body, maps)
        now, later = offsets[72:84], offsets[84:96, figure.image] * FLIP
        asymmetry.append(np.sqrt(((now - later) ** 2).mean() / (now**2).mean()))
    assert asymmetry[0] < 0.01 < 0.02 < asymmetry[1]


def test_symmetric_off_and_uneven():
    """Without symmetry, and for a figure whose legs differ by more than a thousandth of its size, lattices are the same."""
    uneven = make_figure(taller=0.01)
    assert uneven.lattice.mirror_plane is None
    whole = make_figure("off", taller=0.01)
    assert np.array_equal(uneven.lattice.vertices, whole.lattice.vertices)
    assert uneven.lattice.cells == whole.lattice.cells
    assert make_figure("off").lattice.mirror_plane is None


def test_mirror_plane_from_arrays(figure):
    """A lattice rebuilt from all properties keeps the plane and makes the same body; one without the copies has none."""
    given = figure.lattice
    parts = (given.vertices, given.cells, given.used_bones, given.bone_edges, given.tip_bones, given.bone_of_vertex)
    again = thew.Lattice(*parts, given.copies)
    assert again.mirror_plane[1] == given.mirror_plane[1]
    assert np.array_equal(again.mirror_plane[0], given.mirror_plane[0])
    assert np.array_equal(make_body(figure, again).mass()[0], figure.body.mass()[0])
    assert thew.Lattice(*parts).mirror_plane is None


def test_body_file_keeps_plane(figure, tmp_path):
    """A saved body's lattice has its mirror plane."""
    figure.body.save(tmp_path / "body.thew")
    assert thew.Body.load(tmp_path / "body.thew").lattice.mirror_plane[1] == figure.lattice.mirror_plane[1]


@pytest.mark.parametrize("value", ["on", "", "Auto"])
def test_symmetric_refuses(figure, value):
    """Other words for symmetry are refused by name."""
    with pytest.raises(thew.InputError, match='symmetric: expected "auto" or "off"'):
        thew.Lattice.enclose(figure.surface, figure.skeleton, figure.weights, symmetric=value)


def test_straight_limb_has_no_plane(arm):
    """A straight, round limb has no left and right."""
    assert arm.lattice.mirror_plane is None

# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.Lattice: given and enclosed, embedding, the four conditions."""

import itertools

import numpy as np
import pytest
import shapes
import thew
from scipy.sparse import csr_array

CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)


def test_lattice_from_arrays():
    """A lattice returns the vertices and cells that it was given."""
    lattice = thew.Lattice(CUBE, [list(range(8))])
    assert np.array_equal(lattice.vertices, CUBE)
    assert [list(c) for c in lattice.cells] == [list(range(8))]
    assert len(lattice.used_bones) == 0 and lattice.bone_edges == []


@pytest.mark.parametrize(
    ("vertices", "cell"),
    [
        (CUBE[[0, 1, 2, 4]], [0, 1, 2, 3]),
        (CUBE[[0, 1, 2, 4, 5, 6]], [0, 1, 2, 3, 4, 5]),
        (CUBE * [1, 2, 3], list(range(8))),
    ],
)
def test_embed_reproduces_points(vertices, cell):
    """The embedding reproduces points inside every kind of cell."""
    lattice = thew.Lattice(vertices, [cell])
    points = np.random.default_rng(1).dirichlet(np.ones(len(vertices)), 50) @ vertices
    indices, weights = lattice.embed(points)
    assert indices.shape == weights.shape == (50, 8)
    assert indices.dtype == np.int32
    assert (indices[:, len(cell) :] == -1).all() and (weights[:, len(cell) :] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    places = np.einsum("pk,pkx->px", weights, np.asarray(vertices)[indices])
    np.testing.assert_allclose(places, points, atol=1e-9)


def test_embed_common_face():
    """A point on a common face belongs to the first cell."""
    vertices = np.concatenate([CUBE, CUBE[[1, 3, 5, 7]] + [1, 0, 0]])
    cells = [[1, 8, 3, 9, 5, 10, 7, 11], list(range(8))]
    indices, _ = thew.Lattice(vertices, cells).embed([[1.0, 0.5, 0.5], [0.5, 0.5, 0.5]])
    assert set(indices[0]) == set(cells[0]) and set(indices[1]) == set(cells[1])


def test_enclose_passes_check(arm):
    """An enclosed arm passes its check, with each bone a straight chain of edges."""
    assert arm.lattice.check(arm.surface, arm.skeleton) == []
    assert list(arm.lattice.used_bones) == [0, 1]
    assert len(arm.lattice.bone_edges) == 2 + len(arm.lattice.tip_bones)
    # Independently: bones are chains of edges from head to tail, in order, straight.
    edges = {tuple(sorted((a, b))) for c in arm.lattice.cells for a in c for b in c if a != b}
    heads, tails = arm.skeleton.heads, arm.skeleton.tails
    for bone, chain in zip(arm.lattice.used_bones, arm.lattice.bone_edges, strict=False):
        assert all(tuple(sorted(pair)) in edges for pair in itertools.pairwise(chain))
        places = arm.lattice.vertices[chain]
        np.testing.assert_allclose(places[0], heads[bone], atol=1e-6)
        np.testing.assert_allclose(places[-1], tails[bone], atol=1e-6)
        along = (places - heads[bone]) @ (tails[bone] - heads[bone])
        assert (np.diff(along) > 0).all()


def test_enclose_contains_surface(arm):
    """An enclosing lattice contains the arm and has no inverted cell."""
    indices, weights = arm.lattice.embed_surface(arm.surface)
    assert weights[indices >= 0].min() > -1e-9
    places = np.einsum("nk,nkx->nx", weights, arm.lattice.vertices[indices])
    np.testing.assert_allclose(places, arm.vertices, atol=1e-9)
    for cell in arm.lattice.cells:
        a, b, c, d = arm.lattice.vertices[cell]
        assert np.linalg.det([b - a, c - a, d - a]) > 0


def test_embedding_matrix(arm):
    """The embedding as a sparse matrix equals the indices and weights."""
    nodes = len(arm.lattice.vertices)
    for given, (indices, weights) in [
        (arm.surface, arm.lattice.embed_surface(arm.surface)),
        (arm.vertices[:50] * 1.3, arm.lattice.embed(arm.vertices[:50] * 1.3)),
    ]:
        matrix = csr_array(arm.lattice.embedding_matrix(given), shape=(len(indices), nodes))
        assert matrix.has_canonical_format and matrix.indices.dtype == np.int32
        rows = np.repeat(np.arange(len(indices)), (indices >= 0).sum(axis=1))
        dense = np.zeros(matrix.shape)
        np.add.at(dense, (rows, indices[indices >= 0]), weights[indices >= 0])
        assert np.array_equal(matrix.toarray(), dense)
    places = (
        csr_array(arm.lattice.embedding_matrix(arm.surface), shape=(len(arm.vertices), nodes)) @ arm.lattice.vertices
    )
    np.testing.assert_allclose(places, arm.vertices, atol=1e-12)
    with pytest.raises(thew.InputError, match="points"):
        arm.lattice.embedding_matrix(np.zeros((3, 2)))


def test_enclose_deterministic(arm):
    """Enclosing twice gives the same bits."""
    again = thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, cells_across=10)
    assert np.array_equal(again.vertices, arm.lattice.vertices)
    assert again.cells == arm.lattice.cells


def test_check_names_fault(arm):
    """The check of an unfit lattice names the conditions that fail."""
    loose = thew.Lattice(CUBE * 0.1, [list(range(8))])
    found = loose.check(arm.surface, arm.skeleton)
    assert found and all("condition" in sentence for sentence in found)


@pytest.mark.parametrize(
    ("cells", "word"),
    [([[0, 1, 2]], "3 corners"), ([[0, 1, 2, 99]], "vertex 99"), ([[0, 1, 2, -1]], "-1"), ([], "at least one")],
)
def test_lattice_refuses_bad_cells(cells, word):
    """Bad cells are refused with a sentence."""
    with pytest.raises(thew.InputError, match=word):
        thew.Lattice(CUBE, cells)


def test_lattice_given_bones():
    """A lattice may be given its bones, and refuses chains that do not fit."""
    lattice = thew.Lattice(CUBE, [list(range(8))], used_bones=[3], bone_edges=[[0, 1]])
    assert list(lattice.used_bones) == [3]
    assert [list(c) for c in lattice.bone_edges] == [[0, 1]]
    with pytest.raises(thew.InputError, match="1 chains"):
        thew.Lattice(CUBE, [list(range(8))], used_bones=[3])
    with pytest.raises(thew.InputError, match="vertex 8"):
        thew.Lattice(CUBE, [list(range(8))], used_bones=[3], bone_edges=[[0, 8]])


def test_lattice_round_trip_same_body(arm):
    """A lattice rebuilt from its parts makes the same body."""
    given = arm.lattice
    again = thew.Lattice(
        given.vertices,
        given.cells,
        given.used_bones,
        given.bone_edges,
        given.tip_bones,
        given.bone_of_vertex,
        given.copies,
    )
    assert np.array_equal(again.bone_of_vertex, given.bone_of_vertex)
    bodies = [
        thew.Body(arm.surface, arm.skeleton, lattice, thew.Material(), region_weights=arm.weights)
        for lattice in (given, again)
    ]
    for mine, other in zip(*(body.stiffness(True) for body in bodies), strict=True):
        assert np.array_equal(mine, other)
    with pytest.raises(thew.InputError, match="copies"):
        thew.Lattice(given.vertices, given.cells[1:], copies=given.copies)
    with pytest.raises(thew.InputError, match="one per vertex"):
        thew.Lattice(given.vertices, given.cells, bone_of_vertex=[0])


def test_with_bones_of_finds_chains(arm):
    """The bones of a lattice are found by their position."""
    bare = thew.Lattice(arm.lattice.vertices, arm.lattice.cells).with_bones_of(arm.skeleton)
    assert list(bare.used_bones) == list(arm.lattice.used_bones)
    for mine, other in zip(bare.bone_edges, arm.lattice.bone_edges, strict=False):
        assert np.array_equal(mine, other)


def lopsided_ball():
    """Builds a ball with a nose and bones of its own, upright: only up is along an axis."""
    vertices, triangles = shapes.ball()
    toes = vertices + 0.3 * np.maximum(vertices @ [0.8, -0.6, 0.0] / 0.2, 0.0)[:, None] ** 4 * np.array(
        [0.8, -0.6, -0.2]
    )
    heads, tails = np.array([[0.0, 0, -0.1], [0.02, -0.03, 0.02]]), np.array([[0.02, -0.03, 0.02], [0.2, -0.16, 0.0]])
    near = np.clip((toes @ [0.8, -0.6, 0.0]) / 0.2, 0.0, 1.0)
    return toes, triangles, (["trunk", "nose"], [-1, 0], heads, tails), np.stack([1.0 - near, near], axis=1)


@pytest.mark.parametrize("upright", [False, True])
def test_enclose_turned_about_z(upright):
    """The lattice of a character turned about z is the same lattice, turned, even where bones face no way."""
    vertices, triangles, (names, parents, heads, tails), weights = lopsided_ball()
    if upright:
        heads, tails = heads * [0, 0, 1], np.array([[0, 0, 0.02], [0, 0, 0.15]])
        heads[1] = tails[0]
    made = []
    for angle in (0.0, np.pi / 2, 2.3, 4.0):
        turn = shapes.turn_about((0.0, 0.0, angle))
        surface = thew.Surface(shapes.apply(turn, vertices), triangles)
        skeleton = thew.Skeleton(names, parents, shapes.apply(turn, heads), shapes.apply(turn, tails))
        lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=8)
        body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, softness=0.5)
        made.append((shapes.apply(np.linalg.inv(turn), lattice.vertices), lattice.cells, surface.size, body))
    corners, cells, size, first = made[0]
    for turned, others, same, body in made[1:]:
        assert np.array_equal(others, cells)
        np.testing.assert_allclose(turned, corners, atol=1e-8 * size)
        assert same == pytest.approx(size, rel=1e-12)
        assert body.material.young == pytest.approx(first.material.young, rel=1e-6)
        assert thew.default_damping(body) == pytest.approx(thew.default_damping(first), rel=1e-6)


def test_enclose_refuses_bad_settings(arm):
    """Bad settings of `enclose` are refused."""
    with pytest.raises(thew.InputError, match="between 2 and 64"):
        thew.Lattice.enclose(arm.surface, arm.skeleton, cells_across=1)
    with pytest.raises(thew.InputError, match="skin_weights"):
        thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights[:-1])


def test_enclose_cancelled(arm):
    """Enclosing can be cancelled from its progress callable."""
    seen = []

    def stop_later(fraction, stage):
        seen.append(fraction)
        assert isinstance(stage, str) and stage
        return len(seen) < 3

    with pytest.raises(thew.Cancelled):
        thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, progress=stop_later)
    assert len(seen) == 3 and seen == sorted(seen)


def test_shapes_closed():
    """The shapes for tests are closed, manifold and oriented."""
    for vertices, triangles in (shapes.box(), shapes.arm()):
        report = thew.Surface(vertices, triangles).report()
        assert report.closed and report.manifold and report.oriented and report.flipped_triangles == 0

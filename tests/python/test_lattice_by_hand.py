# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lattices made by hand: read from faces, fitted to a character, each condition demanded, bodies on them by every method."""

import pickle

import numpy as np
import pytest
import shapes
import thew

#: Stations of the sections along the arm, which reaches from -0.1 to 1.1 m.
X = [-0.12, 0.0, 0.25, 0.5, 0.75, 1.0, 1.12]


def hexahedra():
    """Returns vertices and hexahedra around the arm, sections of 3 x 3 vertices with the bones along the middle."""
    across = np.array([[0.13 * (i % 3 - 1), 0.13 * (i // 3 - 1)] for i in range(9)])
    vertices = np.array([[x, y, z] for x in X for y, z in across])
    cells = [
        [9 * (k + (b & 1)) + i + (b >> 1 & 1) + 3 * (j + (b >> 2)) for b in range(8)]
        for k in range(len(X) - 1)
        for i in range(2)
        for j in range(2)
    ]
    return vertices, cells


def prisms():
    """Returns the same vertices with each hexahedron cut into two prisms along the arm."""
    vertices, cells = hexahedra()
    return vertices, [[h[b] for b in p] for h in cells for p in ([0, 2, 4, 1, 3, 5], [2, 6, 4, 3, 7, 5])]


def tetrahedra():
    """Returns the same vertices with each hexahedron cut into six tetrahedra along its diagonal."""
    vertices, cells = hexahedra()
    paths = [(1, 3), (3, 2), (2, 6), (6, 4), (4, 5), (5, 1)]
    return vertices, [[h[0], h[a], h[b], h[7]] for h in cells for a, b in paths]


def fit(arm, vertices, cells, **options):
    """Returns the lattice of the arm from given cells."""
    return thew.Lattice(vertices, cells).for_character(arm.surface, arm.skeleton, arm.weights, **options)


def violations(arm, vertices, cells):
    """Returns the violations for which the arm's lattice is refused."""
    with pytest.raises(thew.LatticeError) as refused:
        fit(arm, vertices, cells)
    assert isinstance(refused.value, thew.InputError)
    assert str(refused.value.violations[0]) in str(refused.value)
    return refused.value.violations


@pytest.mark.parametrize("make", [hexahedra, prisms, tetrahedra])
def test_faces_round_trip(make):
    """Cells come back from their faces, whatever their order and sense."""
    vertices, cells = make()
    lattice = thew.Lattice(vertices, cells)
    points, faces = lattice.face_mesh()
    assert np.array_equal(points, vertices)
    kinds = {4: {3}, 6: {3, 4}, 8: {4}}[len(cells[0])]
    assert {len(face) for face in faces} == kinds
    turned = [face[::-1] if i % 2 else face[1:] + face[:1] for i, face in enumerate(faces)][::-1]
    back = thew.Lattice.from_faces(points, turned)
    assert sorted(map(sorted, back.cells)) == sorted(map(sorted, cells))
    assert not [v for v in back.find_violations(*far_away()) if v.condition in (1, 4)]


def far_away():
    """Returns a surface and a skeleton that no lattice of the tests holds."""
    vertices, triangles = shapes.box()
    return thew.Surface(vertices + 50.0, triangles), thew.Skeleton(["one"], [-1], [[50, 50, 50]], [[50, 50, 50.5]])


@pytest.mark.parametrize("make", [hexahedra, prisms, tetrahedra])
def test_body_on_cells_by_hand(arm, make):
    """A body on a hand-made lattice has the arm's volume, keeps still at rest, and sways by every method after a bend."""
    lattice = fit(arm, *make())
    assert list(lattice.used_bones) == [0, 1]
    assert np.allclose(lattice.vertices[lattice.bone_edges[1]], [[0.5, 0, 0], [0.75, 0, 0], [1.0, 0, 0]])
    body = thew.Body(arm.surface, arm.skeleton, lattice, thew.Material(), region_weights=arm.weights)
    assert body.volume == pytest.approx(arm.surface.volume, rel=0.03)
    rest = np.stack([shapes.bend(0.0)] * 4)
    poses = np.stack([shapes.bend(0.0)] * 2 + [shapes.bend(0.3)] * 3)
    for method in ("hyperelastic", "warped"):
        frames = np.asarray(thew.simulate(body, poses, 24.0, method=method))
        assert np.isfinite(frames).all()
        still = np.asarray(thew.simulate(body, rest, 24.0, method=method))
        assert np.abs(still - arm.vertices).max() < 1e-6
        assert np.abs(frames[-1] - arm.vertices)[arm.vertices[:, 0] > 0.9].max() > 0.1


def test_body_file_round_trip(arm, tmp_path):
    """A body on a hand-made lattice is written and read with its cells."""
    lattice = fit(arm, *prisms())
    body = thew.Body(arm.surface, arm.skeleton, lattice, thew.Material(), region_weights=arm.weights)
    body.save(tmp_path / "arm.thew")
    again = thew.Body.load(tmp_path / "arm.thew")
    assert again.lattice.cells == lattice.cells
    assert np.array_equal(again.lattice.vertices, lattice.vertices)


def test_fit_snaps_or_names_gap(arm):
    """A vertex a little off its bone moves onto it; one far off is named with bone and places."""
    exact, cells = hexahedra()
    near = exact.copy()
    near[9 * 2 + 4] += [0.0, 0.011, -0.012]
    np.testing.assert_allclose(fit(arm, near, cells).vertices, exact, atol=1e-12)
    refused = fit_error(arm, near, cells, reach=0.0)
    assert [v.kind for v in refused.violations] == ["uncovered bone"]
    far = exact.copy()
    far[9 * 2 + 4] += [0.0, 0.05, 0.0]
    (gap,) = violations(arm, far, cells)
    assert (gap.condition, gap.bone) == (2, "upper")
    np.testing.assert_allclose(gap.places, [[0.0, 0, 0], [0.5, 0, 0]], atol=1e-12)


def fit_error(arm, vertices, cells, **options):
    """Returns the error of a fit that is refused."""
    with pytest.raises(thew.LatticeError) as refused:
        fit(arm, vertices, cells, **options)
    return refused.value


def test_conditions_are_named(arm):
    """Each broken condition is named with its cells and places."""
    vertices, cells = hexahedra()
    cube = np.array([[b & 1, b >> 1 & 1, b >> 2] for b in range(8)]) * 0.05 + [0.3, 0.02, 0.02]
    more = np.concatenate([vertices, cube])
    found = violations(arm, more, [*cells, list(range(len(vertices), len(more)))])
    assert found[0].condition == 1
    assert any(v.kind == "overlap" and 24 in v.cells for v in found)

    inside = vertices.copy()
    inside[9 * 3] = [0.5, -0.067, -0.067]
    found = violations(arm, inside, cells)
    assert {v.condition for v in found} == {3}
    assert all((np.abs(v.places[:, 0] - 0.5) < 0.26).all() for v in found)

    folded = vertices.copy()
    folded[0] = [0.3, 0.05, 0.05]
    found = [v for v in violations(arm, folded, cells) if v.condition == 4]
    assert found and all(v.cells == [0] for v in found)


def test_loose_face_is_named():
    """A face that bounds no cell is refused with its vertices and its place."""
    vertices, faces = thew.Lattice(*hexahedra()).face_mesh()
    lone = len(vertices)
    with pytest.raises(thew.LatticeError, match="bounds no cell") as refused:
        thew.Lattice.from_faces(np.concatenate([vertices, [[0, 0, 1.0]]]), [*faces, [0, 1, lone]])
    (face,) = refused.value.violations
    assert (face.condition, face.kind, sorted(face.vertices)) == (0, "loose face", [0, 1, lone])
    assert face.places.shape == (3, 3) and face.cells == []


@pytest.mark.parametrize(
    ("faces", "error", "word"),
    [
        ([[0, 1]], thew.LatticeError, "three or four"),
        ([[0, 1, 2, 3, 4]], thew.LatticeError, "three or four"),
        ([[0, 1, 1]], thew.LatticeError, "distinct"),
        ([[0, 1, 99]], thew.InputError, "vertex 99"),
        ([[0, 1, -1]], thew.InputError, "-1"),
        ([], thew.InputError, "at least one cell"),
    ],
)
def test_faces_refused(faces, error, word):
    """Faces that cannot be read are refused with a sentence."""
    with pytest.raises(error, match=word):
        thew.Lattice.from_faces(hexahedra()[0], faces)


def test_tips(arm):
    """A tip on edges is followed; one beside them is left out with a note; one of no bone is refused."""
    given = hexahedra()
    kept = fit(arm, *given, tips=[(1, [1.0, 0, 0], [1.12, 0, 0])])
    assert list(kept.tip_bones) == [1] and len(kept.bone_edges) == 3
    lost = fit(arm, *given, tips=[(1, [1.0, 0, 0], [1.05, 0.05, 0.05])])
    assert len(lost.tip_bones) == 0 and "lower" in lost.notes[0]
    with pytest.raises(thew.InputError, match="bone 2"):
        fit(arm, *given, tips=[(2, [1.0, 0, 0], [1.12, 0, 0])])
    with pytest.raises(thew.InputError, match="reach"):
        fit(arm, *given, reach=0.6)


def test_enclosed_lattice_comes_back(arm):
    """An enclosed lattice that is read from its faces makes the same flesh."""
    vertices, faces = arm.lattice.face_mesh()
    lattice = arm.lattice
    ends = lattice.bone_edges[len(lattice.used_bones) :]
    tips = [
        (bone, *lattice.vertices[chain[[0, -1]]]) for bone, chain in zip(lattice.tip_bones.tolist(), ends, strict=True)
    ]
    back = thew.Lattice.from_faces(vertices, faces).for_character(arm.surface, arm.skeleton, arm.weights, tips=tips)
    assert back.check(arm.surface, arm.skeleton) == []
    assert list(back.used_bones) == list(lattice.used_bones) and list(back.tip_bones) == list(lattice.tip_bones)
    poses = np.stack([shapes.bend(0.04 * i) for i in range(8)])
    clips = [
        np.asarray(
            thew.simulate(
                thew.Body(arm.surface, arm.skeleton, each, thew.Material(), region_weights=arm.weights), poses, 24.0
            )
        )
        for each in (lattice, back)
    ]
    # Cells list their corners in another order, and are cut for integration along other diagonals.
    assert np.abs(clips[0] - clips[1]).max() < 1e-4


def test_lattice_error_pickles(arm):
    """The error and its violations go through pickle, as from a worker process."""
    error = fit_error(arm, hexahedra()[0], hexahedra()[1][1:])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert [str(v) for v in again.violations] == [str(v) for v in error.violations]

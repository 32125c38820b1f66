# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.TetMesh: bodies without a skeleton, filled, read and written."""

import numpy as np
import pytest
import scipy.sparse
import shapes
import thew

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def csr(triple):
    """Returns a sparse matrix of its three arrays."""
    return scipy.sparse.csr_array(triple)


def six_volumes(mesh):
    """Returns six times the volume of each tetrahedron."""
    x = mesh.vertices[mesh.tets]
    return np.einsum("ij,ij->i", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), x[:, 3] - x[:, 0])


def test_tetmesh_from_arrays():
    """A mesh of tetrahedra returns its arrays, volume and size."""
    mesh = thew.TetMesh(CORNERS, [[0, 1, 2, 3]])
    assert np.array_equal(mesh.vertices, CORNERS) and mesh.vertices.dtype == np.float64
    assert mesh.tets.tolist() == [[0, 1, 2, 3]] and mesh.tets.dtype == np.int32
    assert mesh.cubes.shape == (0, 8)
    assert mesh.volume == pytest.approx(1 / 6)
    assert mesh.size == pytest.approx(3**0.5)
    assert repr(mesh) == "<thew.TetMesh: 4 vertices, 1 tetrahedra>"


@pytest.mark.parametrize(
    ("vertices", "tets", "words"),
    [
        (CORNERS, np.zeros((0, 4), int), ["no tetrahedra"]),
        (CORNERS, [[0, 1, 2, 4]], ["tetrahedron 0", "vertex 4"]),
        (CORNERS, [[0, 1, 2, 3], [0, 1, 2, -1]], ["tetrahedron 1", "vertex -1"]),
        (CORNERS, [[0, 1, 2, 2**40]], ["tetrahedron 0"]),
        (CORNERS, [[0, 1, 2, 2]], ["tetrahedron 0", "vertex 2 twice"]),
        (CORNERS, [[0, 1, 2, 3], [0, 1, 3, 2], [1, 0, 2, 3]], ["tetrahedron 1", "inverted", "2 of 3"]),
        (CORNERS * [1, 1, 0], [[0, 1, 2, 3]], ["tetrahedron 0", "flat"]),
        (np.vstack([CORNERS, [[5, 5, 5]]]), [[0, 1, 2, 3]], ["vertex 4", "no tetrahedron"]),
        (CORNERS * np.nan, [[0, 1, 2, 3]], ["vertex 0", "4 in all"]),
    ],
)
def test_tetmesh_refuses_bad_tets(vertices, tets, words):
    """Tetrahedra that make no body are refused with a typed error."""
    with pytest.raises(thew.TetError) as caught:
        thew.TetMesh(vertices, tets)
    assert isinstance(caught.value, ValueError)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_tetmesh_refuses_bad_shapes():
    """Arrays of other shapes are refused."""
    for vertices, tets in [(CORNERS[:, :2], [[0, 1, 2, 3]]), (CORNERS, [[0, 1, 2]]), (CORNERS, [[0.5, 1, 2, 3]])]:
        with pytest.raises(thew.InputError):
            thew.TetMesh(vertices, tets)


def test_tetmesh_mending():
    """Inverted tetrahedra and unused vertices are mended on request."""
    vertices = np.vstack([[[9.0, 9, 9]], CORNERS])
    mesh = thew.TetMesh(vertices, [[1, 2, 4, 3]], orient=True, drop_unused=True)
    assert len(mesh.vertices) == 4
    assert (six_volumes(mesh) > 0).all()


def test_grid_of_paper():
    """The paper's bar has its counts, its volume and a closed surface."""
    mesh = thew.TetMesh.grid((10, 2, 2), (1.0, 0.2, 0.2))
    assert mesh.vertices.shape == (99, 3) and mesh.tets.shape == (240, 4) and mesh.cubes.shape == (40, 8)
    assert mesh.volume == pytest.approx(0.04)
    surface = thew.Surface(mesh.vertices, mesh.surface_triangles)
    report = surface.report()
    assert report.closed and report.manifold and report.flipped_triangles == 0
    assert surface.volume == pytest.approx(0.04)
    again = thew.TetMesh.from_cubes(mesh.vertices, mesh.cubes)
    assert np.array_equal(again.tets, mesh.tets)
    with pytest.raises(thew.TetError):
        thew.TetMesh.grid((0, 1, 1), (1, 1, 1))
    with pytest.raises(thew.ThewError):
        thew.TetMesh.grid((-1, 1, 1), (1, 1, 1))


def test_mass_and_stiffness():
    """Mass and stiffness matrices match their definitions."""
    mesh = thew.TetMesh.grid((2, 1, 1), (1.0, 0.3, 0.4))
    material = thew.Material(young=2e4, poisson=0.3, density=900.0)
    n = len(mesh.vertices)
    consistent, lumped = csr(mesh.mass(material)), csr(mesh.mass(material, kind="lumped"))
    expected = np.zeros((n, n))
    for tet, six in zip(mesh.tets, six_volumes(mesh), strict=True):
        expected[np.ix_(tet, tet)] += 900 * six / 6 / 20 * (1 + np.eye(4))
    np.testing.assert_allclose(consistent.toarray(), np.kron(expected, np.eye(3)), atol=1e-12)
    np.testing.assert_allclose(lumped.toarray(), np.diag(np.repeat(expected.sum(axis=1), 3)), atol=1e-12)
    # A uniform stretch: energy ½ V ε:C:ε.
    k = csr(mesh.stiffness(material))
    strain = np.array([[1e-3, 2e-4, 0], [2e-4, -4e-4, 5e-4], [0, 5e-4, 7e-4]])
    u = (mesh.vertices @ strain).ravel()
    g, lame = 2e4 / 2.6, 2e4 * 0.3 / (1.3 * 0.4)
    energy = mesh.volume * (g * (strain**2).sum() + lame / 2 * np.trace(strain) ** 2)
    assert 0.5 * u @ (k @ u) == pytest.approx(energy, rel=1e-10)
    with pytest.raises(thew.TetError, match="consistent"):
        mesh.mass(material, kind="heavy")


def test_fill_capsule():
    """A filled capsule has its volume and mass, and carries its surface."""
    vertices, triangles = shapes.arm()
    surface = thew.Surface(vertices, triangles)
    for cells in (12, 24):
        mesh = thew.TetMesh.fill(surface, cells_across=cells)
        assert (six_volumes(mesh) > 0).all()
        assert mesh.volume == pytest.approx(surface.volume, rel=0.02)
        assert mesh.components == 1
        mass = csr(mesh.mass(thew.Material(density=1000.0)))
        assert mass.sum() / 3 == pytest.approx(1000 * surface.volume, rel=0.02)
        indices, weights = mesh.lattice().embed_surface(surface)
        corners = np.where(indices[:, :, None] >= 0, mesh.vertices[indices], 0.0)
        np.testing.assert_allclose((corners * weights[:, :, None]).sum(axis=1), vertices, atol=1e-9)


def test_fill_node_count():
    """A body is filled with about the number of nodes asked for."""
    surface = thew.Surface(*shapes.arm())
    mesh = thew.TetMesh.fill(surface, nodes=363)
    assert abs(len(mesh.vertices) / 363 - 1) < 0.05
    with pytest.raises(thew.TetError):
        thew.TetMesh.fill(surface, nodes=2)


def test_fill_refuses_and_cancels():
    """A body too thin to fill is refused, and filling can be cancelled."""
    thin = thew.Surface(*shapes.box((1.0, 1.0, 0.001)))
    with pytest.raises(thew.TetError, match="cannot be filled"):
        thew.TetMesh.fill(thin)
    with pytest.raises(thew.TetError):
        thew.TetMesh.fill(thin, cells_across=float("nan"))
    fractions = []
    thew.TetMesh.fill(thew.Surface(*shapes.arm()), progress=lambda fraction, stage: fractions.append(fraction) or True)
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    with pytest.raises(thew.Cancelled):
        thew.TetMesh.fill(thew.Surface(*shapes.arm()), progress=lambda fraction, stage: False)


@pytest.mark.parametrize("name", ["a.node", "a.ele", "a.mesh", "a.veg"])
def test_tetmesh_file_round_trip(tmp_path, name):
    """Files of every format give the mesh back to the last bit."""
    mesh = thew.TetMesh.fill(thew.Surface(*shapes.arm()), cells_across=10)
    mesh.write(tmp_path / name)
    back = thew.TetMesh.read(tmp_path / name)
    assert np.array_equal(back.vertices, mesh.vertices)
    assert np.array_equal(back.tets, mesh.tets)
    assert not [p for p in tmp_path.iterdir() if p.suffix == ".part"]


def test_vega_file_cubes(tmp_path):
    """Vega files keep cubes and the density."""
    mesh = thew.TetMesh.grid((3, 2, 1), (0.3, 0.2, 0.1))
    path = str(tmp_path / "bar.veg")
    mesh.write(path, elements="cubic", material=thew.Material(density=1234.0))
    assert "1234" in (tmp_path / "bar.veg").read_text()
    back = thew.TetMesh.read(path)
    assert np.array_equal(back.cubes, mesh.cubes) and np.array_equal(back.tets, mesh.tets)
    mesh.write(path)
    assert thew.TetMesh.read(path).cubes.shape == (0, 8)
    with pytest.raises(thew.TetError):
        thew.TetMesh(CORNERS, [[0, 1, 2, 3]]).write(path, elements="cubic")
    with pytest.raises(thew.TetError):
        mesh.write(path, elements="prism")


def test_read_names_bad_line(tmp_path):
    """A malformed file is refused by its line."""
    path = tmp_path / "bad.mesh"
    path.write_text("MeshVersionFormatted 2\nDimension 3\nVertices\n999999999999999999\n0 0 0 0\n")
    with pytest.raises(thew.TetFileError, match="line 5") as caught:
        thew.TetMesh.read(path)
    assert isinstance(caught.value, OSError) and isinstance(caught.value, ValueError)
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(thew.TetFileError):
        thew.TetMesh.read(path)
    with pytest.raises(thew.StorageError):
        thew.TetMesh.read(tmp_path / "missing.veg")
    with pytest.raises(thew.TetError, match="ending"):
        thew.TetMesh.read(tmp_path / "body.stl")
    with pytest.raises(OSError):
        thew.TetMesh.grid((1, 1, 1), (1, 1, 1)).write(tmp_path / "no" / "such.mesh")


def test_read_mixed_orientations(tmp_path):
    """A file with mixed orientations is refused, and mended on request."""
    (tmp_path / "m.node").write_text("5 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n")
    (tmp_path / "m.ele").write_text("2 4 0\n1 1 2 3 4\n2 2 3 4 5\n")
    first = thew.TetMesh.read(tmp_path / "m", orient=True)
    assert (six_volumes(first) > 0).all()
    (tmp_path / "m.ele").write_text("2 4 0\n1 1 2 3 4\n2 3 2 4 5\n")
    with pytest.raises(thew.TetError, match="inverted"):
        thew.TetMesh.read(tmp_path / "m.node")
    (tmp_path / "m.ele").write_text("1 4 0\n1 1 2 3 4\n")
    with pytest.raises(thew.TetError, match="no tetrahedron"):
        thew.TetMesh.read(tmp_path / "m.node")
    assert len(thew.TetMesh.read(tmp_path / "m.node", drop_unused=True).vertices) == 4

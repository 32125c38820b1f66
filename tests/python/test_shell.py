# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.Shell: energy, derivatives, mass, relaxing. The mathematics is tested in Rust; these tests check that it comes through."""

import numpy as np
import pytest
import scipy.sparse
import thew

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
TRIANGLES = [[0, 1, 2], [0, 2, 3]]


def sheet(n=8):
    """Builds a unit square of n by n squares, each cut in two."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    p = (i * (n + 1) + j).ravel()
    triangles = np.concatenate([np.stack([p, p + n + 1, p + n + 2], 1), np.stack([p, p + n + 2, p + 1], 1)])
    x, y = np.meshgrid(np.arange(n + 1) / n, np.arange(n + 1) / n, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], 1), triangles


def shake(x, by, seed=0):
    """Adds uniform noise to positions."""
    return x + np.random.default_rng(seed).uniform(-by, by, x.shape)


def energy_by_hand(x, rest, triangles, k):
    """Returns the energy of a sheet that is flat at rest, from its definition, one part after the other."""
    stretching, area, bending = k
    edges, total = {}, 0.0

    def triangle_area(y, t):
        return np.linalg.norm(np.cross(y[t[1]] - y[t[0]], y[t[2]] - y[t[0]])) / 2

    for t in triangles:
        total += area * (1 - triangle_area(x, t) / triangle_area(rest, t)) ** 2 * triangle_area(rest, t)
        for a, b, c in [(0, 1, 2), (1, 2, 0), (2, 0, 1)]:
            edges.setdefault(tuple(sorted((t[a], t[b]))), []).append((t, t[c]))
    for (a, b), around in edges.items():
        long = np.linalg.norm(rest[a] - rest[b])
        total += stretching * (1 - np.linalg.norm(x[a] - x[b]) / long) ** 2 * long
        if len(around) == 2:
            normals = [np.cross(x[b] - x[a], x[c] - x[a]) * sign for (_, c), sign in zip(around, (1, -1), strict=True)]
            one, two = (n / np.linalg.norm(n) for n in normals)
            angle = np.arccos(np.clip(one @ two, -1, 1))
            total += bending * 3 * long**2 / sum(triangle_area(rest, t) for t, _ in around) * angle**2
    return total


def test_shell_from_arrays():
    """A shell returns its arrays and the masses of its vertices."""
    shell = thew.Shell(CORNERS, TRIANGLES)
    assert np.array_equal(shell.vertices, CORNERS) and shell.vertices.dtype == np.float64
    assert shell.triangles.tolist() == TRIANGLES and shell.triangles.dtype == np.int32
    assert shell.mass == pytest.approx([1 / 3, 1 / 6, 1 / 3, 1 / 6])
    assert shell.report() == []
    assert repr(shell) == "<thew.Shell: 4 vertices, 2 triangles>"


def test_energy_definition():
    """The energy is that of its definition."""
    rest, triangles = sheet(4)
    for seed in range(3):
        x = shake(rest, 0.05, seed)
        for k in [(1.0, 1.0, 1.0), (3.0, 0.0, 0.5), (0.0, 2.0, 0.0)]:
            found = thew.Shell(rest, triangles, *k, unit=1.0).energy(x)
            assert found == pytest.approx(energy_by_hand(x, rest, triangles, k), rel=1e-9)


@pytest.mark.parametrize("size", [1e-3, 0.6, 40.0])
def test_energy_unit_of_size(size):
    """Forces over masses are those of the printed energy at a diameter of ten, in units of the body's own size."""
    rest, triangles = sheet(6)
    ten = rest * 10 / np.sqrt(2)
    k, x = (3.0, 2.0, 0.5), shake(ten, 0.3)
    printed = thew.Shell(ten, triangles, *k, unit=1.0)
    wanted = printed.gradient(x) / printed.mass[:, None]
    shell = thew.Shell(rest * size, triangles, *k)
    u = size * np.sqrt(2) / 10
    assert shell.unit == pytest.approx(u, rel=1e-12)
    assert shell.mass.sum() == pytest.approx(size**2, rel=1e-12)
    assert shell.gradient(x * u) / shell.mass[:, None] == pytest.approx(wanted * u, rel=1e-9, abs=1e-9 * u)


def test_energy_derivatives():
    """Gradient and Hessian are the derivatives of the energy."""
    rest, triangles = sheet(5)
    shell = thew.Shell(rest, triangles, stretching=3.0, area=2.0, bending=0.5)
    x, d, h = shake(rest, 0.05), shake(0 * rest, 1.0, 1), 1e-6
    slope = (shell.energy(x + h * d) - shell.energy(x - h * d)) / (2 * h)
    assert np.sum(shell.gradient(x) * d) == pytest.approx(slope, rel=1e-6)
    change = (shell.gradient(x + h * d) - shell.gradient(x - h * d)) / (2 * h)
    hessian = scipy.sparse.csr_array(shell.hessian(x))
    assert abs(hessian - hessian.T).max() == 0
    assert hessian @ d.ravel() == pytest.approx(change.ravel(), abs=1e-6 * np.abs(change).max())
    # The same structure elsewhere.
    other = shell.hessian(rest)
    assert np.array_equal(other[1], hessian.indices) and np.array_equal(other[2], hessian.indptr)


def test_painted_maps():
    """Painted weights and density scale the energy and the masses."""
    rest, triangles = sheet()
    x, even = shake(rest, 0.03), thew.Shell(rest, triangles)
    twice = np.full(len(rest), 2.0)
    mapped = thew.Shell(rest, triangles, twice, twice, twice, density=twice)
    assert mapped.energy(x) == pytest.approx(2 * even.energy(x), rel=1e-12)
    assert mapped.mass == pytest.approx(2 * even.mass, rel=1e-12)


def test_relax_lowers_energy():
    """Relaxing lowers the energy, keeps fixed vertices and reaches a minimum."""
    rest, triangles = sheet(12)
    shell, x = thew.Shell(rest, triangles, unit=1.0), shake(rest, 0.02)
    fixed = rest[:, 0] == 0
    y = shell.relax(x, 10.0, fixed)
    assert shell.energy(y) < 0.2 * shell.energy(x)
    assert np.array_equal(y[fixed], x[fixed]) and not np.array_equal(y, x)

    def total(z):
        return shell.energy(z) + 10 * np.sum(shell.mass[:, None] * (z - x) ** 2)

    for seed in range(5):
        assert total(y) < total(np.where(fixed[:, None], y, shake(y, 1e-3, seed)))


def test_relax_progress():
    """Relaxing reports its progress and can be cancelled."""
    rest, triangles = sheet()
    shell, told = thew.Shell(rest, triangles), []
    shell.relax(shake(rest, 0.02), 1.0, progress=lambda fraction, stage: told.append((fraction, stage)))
    assert told[0][0] == 0 and all(0 <= fraction <= 1 for fraction, _ in told)
    with pytest.raises(thew.Cancelled):
        shell.relax(shake(rest, 0.02), 1.0, progress=lambda *_: False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"triangles": []}, ["no triangle"]),
        ({"triangles": [[0, 1, 7]]}, ["triangle 0", "vertex 7"]),
        ({"triangles": [[0, 1, -1]]}, ["triangles[0]", "-1"]),
        ({"vertices": CORNERS * np.nan}, ["vertex 0"]),
        ({"vertices": CORNERS * 0}, ["scale it up"]),
        ({"vertices": CORNERS[:, :2]}, ["vertices", "(4, 2)"]),
        ({"bending": -1.0}, ["bending is -1"]),
        ({"density": 0.0}, ["density is 0"]),
        ({"area": [1.0, 2.0]}, ["area has 2 entries"]),
        ({"stretching": [1.0, 1.0, np.inf, 1.0]}, ["stretching at vertex 2"]),
        ({"stretching": "soft"}, ["stretching"]),
        ({"unit": 0.0}, ["unit is 0", "None"]),
        ({"unit": np.nan}, ["unit"]),
    ],
)
def test_shell_refuses_bad_input(change, words):
    """A mesh or a weight that makes no shell is refused with a sentence."""
    with pytest.raises(thew.InputError) as caught:
        thew.Shell(**({"vertices": CORNERS, "triangles": TRIANGLES} | change))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_shell_refuses_bad_positions():
    """Bad positions, weights and fixed vertices are refused."""
    shell = thew.Shell(CORNERS, TRIANGLES)
    for call in (shell.energy, shell.gradient, shell.hessian, lambda x: shell.relax(x, 1.0)):
        for bad in (CORNERS[1:], CORNERS * np.nan, CORNERS * 1e13 + 1e13):
            with pytest.raises(thew.InputError):
                call(bad)
    for weight in (0.0, -1.0, np.nan):
        with pytest.raises(thew.InputError, match="weight"):
            shell.relax(CORNERS, weight)
    for fixed in ([True], [0, 1, 2, 3], [[True] * 4]):
        with pytest.raises(thew.InputError, match="fixed"):
            shell.relax(CORNERS, 1.0, fixed)


def test_report_names_defects():
    """The report of a messy mesh names its defects."""
    vertices = np.vstack([CORNERS, [[0.5, 0.5, 1], [9, 9, 9]]])
    told = " ".join(thew.Shell(vertices, [*TRIANGLES, [0, 2, 4], [0, 1, 2]]).report())
    for words in ("more than two triangles", "lies on another", "belongs to no triangle"):
        assert words in told

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`thew.modes` against `scipy.sparse.linalg.eigsh(K, k=32, M=M, sigma=0)` on clamped bars, in one run.

Both factor and find the 32 lowest modes of the same matrices; residuals of both are checked. At 50,000 nodes only ours
runs. Needs scipy. `python benches/python_modes.py --quick` omits 50,000 nodes.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.sparse
import thew
from scipy.sparse.linalg import eigsh

MODES = 32
#: (cubes along, cubes across the bar, largest ratio to scipy's time, or largest time in seconds).
BARS = ((20, 9, 1 / 3, None), (34, 16, 1 / 6, None), (74, 25, None, 40.0))
#: Paths from corner to corner of a cube along its axes. The last three are mirrored: their tetrahedra swap two corners.
PATHS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0))


def main() -> int:
    print(
        "| free nodes | thew s | scipy s | thew / scipy | asked | residual thew | residual scipy | eigenvalues agree to |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    missed = 0
    for along, across, ratio, seconds in BARS:
        if seconds is not None and "--quick" in sys.argv:
            continue
        missed += not row(along, across, ratio, seconds)
    print(
        "\nResidual: the largest |Kφ − λMφ| / λ|Mφ|. Seconds include the factorisation and, with ours, assembly and Ψ."
    )
    return 1 if missed else 0


def row(along: int, across: int, ratio: float | None, seconds: float | None) -> bool:
    vertices, cells = bar(along, across)
    tets = thew.TetMesh(vertices, cells)
    material = thew.Material()
    held = np.flatnonzero(vertices[:, 0] < 1e-9).astype(np.int32)
    free = np.setdiff1d(np.arange(len(vertices)), held)

    # Two runs of ours: the first one also starts threads.
    runs = 2 if seconds is None else 1
    ours, modes = min((time_run(lambda: thew.modes(tets, MODES, material, held)) for _ in range(runs)), key=first_of)
    stiffness, mass = (free_block(m, free) for m in (tets.stiffness(material), tets.mass(material)))
    values = np.asarray(modes.eigenvalues)
    shapes = np.asarray(modes.shapes)[:, free].reshape(MODES, -1).T
    own = residual(stiffness, mass, values, shapes)
    if ratio is None:
        print(f"| {len(free)} | {ours:.2f} | | | {seconds:.0f} s | {own:.1e} | | |", flush=True)
        return ours <= seconds
    theirs, (expected, vectors) = time_run(lambda: eigsh(stiffness, k=MODES, M=mass, sigma=0))
    order = np.argsort(expected)
    other = residual(stiffness, mass, expected[order], vectors[:, order])
    agree = np.max(np.abs(values / expected[order] - 1))
    print(
        f"| {len(free)} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.3f} | {ratio:.3f} "
        f"| {own:.1e} | {other:.1e} | {agree:.1e} |",
        flush=True,
    )
    return ours <= ratio * theirs


def bar(along: int, across: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns vertices and tetrahedra of a bar of cubes of 1 cm, six tetrahedra each."""
    nx, n = along + 1, across + 1
    k, j, i = np.meshgrid(range(n), range(n), range(nx), indexing="ij")
    vertices = 0.01 * np.stack([i, j, k], axis=-1).reshape(-1, 3)
    cubes = np.stack([i, j, k], axis=-1)[:-1, :-1, :-1].reshape(-1, 3)
    cells = []
    for number, path in enumerate(PATHS):
        corners = [cubes]
        for axis in path:
            corners.append(corners[-1] + np.eye(3, dtype=int)[axis])
        tet = np.stack([c[:, 0] + nx * (c[:, 1] + n * c[:, 2]) for c in corners], axis=1)
        cells.append(tet if number < 3 else tet[:, [0, 2, 1, 3]])
    return vertices, np.concatenate(cells).astype(np.int32)


def free_block(triple: tuple, free: np.ndarray) -> scipy.sparse.csr_matrix:
    """Returns the rows and columns of the free nodes."""
    matrix = scipy.sparse.csr_matrix(triple)
    rows = (3 * free[:, None] + np.arange(3)).ravel()
    if matrix.shape[0] == 3 * free.size:
        return matrix
    return matrix[rows][:, rows]


def residual(stiffness, mass, values: np.ndarray, shapes: np.ndarray) -> float:
    moved = mass @ shapes
    left = np.linalg.norm(stiffness @ shapes - moved * values, axis=0)
    return float(np.max(left / (values * np.linalg.norm(moved, axis=0))))


def time_run(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def first_of(pair: tuple):
    return pair[0]


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Spacetime control against its goals: splines against a banded solver of scipy, the paper's block and dinosaur in size.

The splines' peer solves each mode's tridiagonal system of slopes (Hermite elements, cubic: the cost without any of the
exponentials) by `scipy.linalg.solveh_banded`, in one call per mode as a user would write it. Sheets stand for the
paper's meshes: 28,000 vertices, 11 keyframes, 5 segments with a fixed border; 450 vertices in full. Run alone for
figures; one thread: RAYON_NUM_THREADS=1.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.linalg
import thew

SPLINES = 20_000


def sheet(columns: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    u, v = np.meshgrid(np.linspace(0, 8, columns), np.linspace(0, 6, rows), indexing="ij")
    vertices = np.stack([u, v, 0.2 * np.sin(u) * np.cos(v)], axis=-1).reshape(-1, 3)
    at = np.arange(columns * rows).reshape(columns, rows)
    a, b, c, d = (s.ravel() for s in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def bend_sheet(vertices: np.ndarray, angle: float) -> np.ndarray:
    x = vertices.copy()
    turn = angle * vertices[:, 0] / 8 + 1e-12
    x[:, 0] = vertices[:, 0] * np.sin(turn) / turn - vertices[:, 2] * np.sin(turn)
    x[:, 2] = vertices[:, 0] * (1 - np.cos(turn)) / turn + vertices[:, 2] * np.cos(turn)
    return x


def time_best(work, repeat: int = 1):
    best, result = np.inf, None
    for _ in range(repeat):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best, result


def splines() -> None:
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.05, 0.2, 12))
    values, stiffness = rng.normal(size=(12, SPLINES)), 10 ** rng.uniform(0, 5, SPLINES)
    damping = 0.5 * (0.1 + 1e-4 * stiffness)
    ours, _ = time_best(lambda: thew.WigglySpline(times, values, stiffness, damping, 1.0), 3)
    h = np.diff(times)
    band = np.zeros((2, 10))
    band[1], band[0, 1:] = 4 / h[:-1] + 4 / h[1:], 2 / h[1:-1]

    def peer(count: int = 2000) -> None:
        for mode in range(count):
            slope = np.diff(values[:, mode]) / h**2 * 6
            scipy.linalg.solveh_banded(band, slope[:-1] + slope[1:])

    theirs, _ = time_best(peer)
    print("| splines of 12 keys | thew /s | scipy, banded, /s | thew / scipy |\n|---|---|---|---|")
    a, b = SPLINES / ours, 2000 / theirs
    print(f"| {SPLINES} | {a:,.0f} | {b:,.0f} | {a / b:.1f} |\n", flush=True)


def motions() -> None:
    print(
        "| body | dimensions | preprocess s | a further key s | first frame ms | update of 200 frames ms |\n|---|---|---|---|---|---|"
    )
    vertices, triangles = sheet(30, 15)
    shell = thew.Shell(vertices, triangles, unit=1.0)
    keys = np.stack([vertices + [0, 0, z] for z in (0.0, 0.0, 3.0, 0.0, 0.0, 0.0)])
    row("450 vertices, 6 keys, full", shell, [keys], [None])
    vertices, triangles = sheet(200, 140)
    shell = thew.Shell(vertices, triangles, unit=1.0)
    fixed = np.flatnonzero(vertices[:, 0] == 0)
    angles = np.sin(np.arange(11)) * 0.5
    keys = np.stack([bend_sheet(vertices, a) for a in angles])
    keys[:, fixed] = keys[0, fixed]
    row(
        "28,000 vertices, 11 keys, 5 segments", shell, [keys[2 * i : 2 * i + 3] for i in range(5)], [fixed] * 5, modes=5
    )


def row(name: str, shell: thew.Shell, segments: list, fixed: list, **options) -> None:
    def prepare():
        motions, start = [], 0.0
        for keys, held in zip(segments, fixed, strict=True):
            times = start + 0.5 * np.arange(len(keys))
            motions.append(
                thew.Spacetime(
                    shell, keys, times, 20.0, (0.2, 1e-4), fixed=held, start_velocity=0.0, end_velocity=0.0, **options
                )
            )
            start = times[-1]
        return motions, start

    seconds, (motions, end) = time_best(prepare)
    both = thew.composite(motions)
    frames = np.linspace(0, end, 200)

    def update(t):
        for motion in motions:
            motion.set(stiffness=30.0)
        return both(t)

    first, _ = time_best(lambda: update(frames[:1]), 5)
    whole, _ = time_best(lambda: update(frames), 5)
    dimensions = " + ".join(str(m.dimension) for m in motions)
    further = 0.5 * (segments[0][0] + segments[0][1])
    inserted, _ = time_best(lambda: motions[0].insert(0.25, further))
    print(
        f"| {name} | {dimensions} | {seconds:.1f} | {inserted:.2f} | {1000 * first:.1f} | {1000 * whole:.1f} |",
        flush=True,
    )


def main() -> int:
    splines()
    motions()
    print("\nGoals: 300,000 splines a second and core; 28,000 vertices: 15 s, 2 ms, 20 ms; the block: 5 s, 30 ms.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

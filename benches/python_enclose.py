# SPDX-License-Identifier: MIT OR Apache-2.0
"""The wheel on our biped at 28,000 vertices: seconds and memory of every stage, at several cells across."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from assets import characters as own

CELLS_ACROSS = (8, 12, 16, 20)
EMBEDDINGS = 200


def main() -> int:
    if len(sys.argv) > 1:
        row(int(sys.argv[1]), sys.argv[2])
        return 0
    print(
        "| across | cells | lattice vertices | enclose s | assemble s | step ms | embed ms | 250 frames MB | peak MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    figure = own.FIGURES["biped"]()
    figure.cell = 0.0119
    skin = own.skin(figure)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "skin.npz"
        np.savez(file, vertices=skin.vertices, triangles=skin.triangles(), weights=skin.weights)
        # One process each, because peak memory is a property of the process.
        for across in CELLS_ACROSS:
            subprocess.run([sys.executable, __file__, str(across), str(file)], check=True)
    print(
        f"\n{len(skin.vertices)} vertices; a step includes the factorisation of its pose; peak memory of the process up to"
    )
    print("the assembled body, less what Python and numpy took before; embedding: one frame of a clip as float32.")
    return 0


def row(across: int, file: str) -> None:
    import thew

    figure = own.FIGURES["biped"]()
    poses = figure.maps("walk")
    data = np.load(file)
    vertices, triangles, weights = data["vertices"], data["triangles"], data["weights"]
    before = peak_memory()
    start = time.perf_counter()
    surface = thew.Surface(vertices, triangles)
    names = [bone.name for bone in figure.bones]
    parents = [names.index(bone.parent) if bone.parent else -1 for bone in figure.bones]
    heads, tails = (np.array([getattr(bone, end) for bone in figure.bones]) for end in ("head", "tail"))
    skeleton = thew.Skeleton(names, parents, heads, tails)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=across)
    enclosed = time.perf_counter()
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)
    assembled = time.perf_counter()
    peak = peak_memory()
    clip = thew.simulate(body, poses, own.FPS, rate=240.0)
    simulated = time.perf_counter()
    steps = (len(poses) - 1) * 10
    clip.positions(0)
    embedding = []
    for number in range(EMBEDDINGS):
        started = time.perf_counter()
        clip.positions(number % len(poses))
        embedding.append(time.perf_counter() - started)
    print(
        f"| {across} | {len(lattice.cells)} | {len(lattice.vertices)} | {enclosed - start:.2f} "
        f"| {assembled - enclosed:.2f} | {1e3 * (simulated - assembled) / steps:.2f} "
        f"| {1e3 * float(np.median(embedding)):.3f} | {clip.nbytes / len(poses) * 250 / 1e6:.2f} "
        f"| {(peak - before) / 1024:.0f} |"
    )


def peak_memory() -> int:
    """Returns the peak memory of this process, kilobytes (getrusage would count the parent's before exec)."""
    return int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1])


if __name__ == "__main__":
    sys.exit(main())

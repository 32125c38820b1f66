# SPDX-License-Identifier: MIT OR Apache-2.0
"""The wheel on our biped at 28,000 vertices: seconds and memory of every stage, at several cells across."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from assets import characters as own

CELLS_ACROSS = (8, 12, 16, 20)
EMBEDDINGS = 200


def main() -> int:
    if len(sys.argv) > 1:
        row(int(sys.argv[1]))
        return 0
    print(
        "| across | cells | lattice vertices | enclose s | assemble s | step ms | embed ms | states of 250 frames MB | peak MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    # A process each: peak memory is a property of the process.
    for across in CELLS_ACROSS:
        subprocess.run([sys.executable, __file__, str(across)], check=True)
    return 0


def row(across: int) -> None:
    import thew

    figure = own.FIGURES["biped"]()
    figure.cell = 0.0119
    skin = own.skin(figure)
    poses = figure.maps("walk")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    surface = thew.Surface(skin.vertices, skin.triangles())
    names = [bone.name for bone in figure.bones]
    parents = [names.index(bone.parent) if bone.parent else -1 for bone in figure.bones]
    heads, tails = (np.array([getattr(bone, end) for bone in figure.bones]) for end in ("head", "tail"))
    skeleton = thew.Skeleton(names, parents, heads, tails)
    lattice = thew.Lattice.enclose(surface, skeleton, skin.weights, cells_across=across)
    enclosed = time.perf_counter()
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=skin.weights)
    assembled = time.perf_counter()
    clip = thew.simulate(body, poses, own.FPS, rate=240.0)
    simulated = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
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
        f"| {peak / 1024:.0f} (before: {before / 1024:.0f}) |"
    )


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The processor's engines give the same bits with any number of threads, so what it bakes is the same every time."""

import os
import subprocess
import sys
from pathlib import Path

#: Prints a hash of what a clip of modal flesh and two deformers show, and the engines that were measured.
SHOW = """
import hashlib, numpy as np, shapes, thew
vertices, triangles = shapes.arm()
surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
weights = shapes.arm_weights(vertices)
lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=10)
body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, flesh=np.ones(len(vertices)))
modes = thew.modes(body, 12)
poses = np.array([shapes.bend(0.1 * i) for i in range(8)])
clip = thew.simulate(body, poses, 24.0, method="modal", modes=modes, engine="cpu")
digest = hashlib.sha256()
for i in range(8):
    digest.update(np.ascontiguousarray(clip.offsets(i)).tobytes())
measured = set()
for form in ("vertex", "embedded"):
    deformer = thew.Deformer(modes, surface, form=form, engine="cpu")
    measured |= set(deformer.measured)
    for k in range(3):
        digest.update(np.ascontiguousarray(deformer.displacements(0.01 * np.sin(np.arange(12.0) + k))).tobytes())
print(digest.hexdigest(), "|".join(sorted(measured)))
"""


def run_engines(threads: int) -> tuple[str, str]:
    """Returns (hash, measured engines) of a process with a number of threads."""
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    env = {**os.environ, "RAYON_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True, check=True)
    digest, measured = done.stdout.strip().split(" ", 1)
    return digest, measured


def test_engines_thread_count():
    """The number of threads changes no bit of what the processor's engines bake."""
    one, few, many = (run_engines(threads) for threads in (1, 2, 5))
    assert "2 threads" in few[1] and "5 threads" in many[1] and "threads" not in one[1]
    assert one[0] == few[0] == many[0]

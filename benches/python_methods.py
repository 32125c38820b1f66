# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares the methods of motion with the nonlinear one, over bends of two shapes and of characters.

    python benches/python_methods.py                       an arm, bent at the elbow and turned about its axis
    python benches/python_methods.py q_apatosaurus Bone    also a character of THEW_DATA, a joint of which bends

For each bend the rest shapes without gravity are compared: mean and largest distance from the nonlinear shape, in per cent of the size,
and the number of inverted cells. The last column is steps a second on one core, while the joint bends slowly, in the quickest of some frames.
"""

import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
import thew

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

import glb

from examples.python import shapes

METHODS = ("linear", "blended", "blended_printed", "warped", "hyperelastic", "linearised", "nonlinear")
ANGLES = (15, 30, 60, 90, 120)
STILL = (0.0, 0.0, 0.0)
FRAMES = 12
"""Number of timed frames, of ten steps each; the quickest counts."""


class Bend:
    """A body, a joint of which turns with all bones below it about an axis through its head."""

    def __init__(self, name, body, bone, axis):
        self.name, self.body = name, body
        skeleton = body.skeleton
        below = [bone]
        for child, parent in enumerate(skeleton.parents):
            if parent in below:
                below.append(child)
        self.below, self.head, self.axis, self.count = below, skeleton.heads[bone], axis, len(skeleton.names)

    def pose(self, angle):
        """Matrices [b,4,4] at an angle in radians."""
        x, y, z = self.axis
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        turn = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        pose = np.tile(np.eye(4), (self.count, 1, 1))
        pose[self.below, :3, :3] = turn
        pose[self.below, :3, 3] = self.head - turn @ self.head
        return pose


def rest_shapes(bend, method):
    """Lattice positions at rest by angle; None where a balance is not found."""
    balance, shapes_found = thew.Equilibrium(bend.body, method), []
    for angle in ANGLES:
        balance.set_pose(bend.pose(np.radians(angle)))
        try:
            shapes_found.append(bend.body.lattice.vertices + balance.solve(gravity=STILL))
        except thew.ThewError:
            shapes_found.append(None)
    return shapes_found


def step_rate(bend, method):
    """Steps a second."""
    simulation = thew.Simulation(bend.body, method=method)
    simulation.reset(bend.pose(1.0))
    simulation.advance(bend.pose(1.02), 1 / 24)
    best = np.inf
    for i in range(FRAMES):
        pose = bend.pose(1.04 + 0.02 * i)
        begin = time.perf_counter()
        simulation.advance(pose, 1 / 24)
        best = min(best, time.perf_counter() - begin)
    return 10 / best


def table(bend):
    """Prints the table of a bend."""
    lattice = bend.body.lattice
    print(f"\n{bend.name}: {bend.body.node_count} nodes, {len(lattice.cells)} cells\n")
    print("| method |", " | ".join(f"{angle}°" for angle in ANGLES), "| steps / s |")
    print("| --- |" + " --- |" * (len(ANGLES) + 1))
    exact = rest_shapes(bend, "nonlinear")
    for method in METHODS:
        cells = []
        for places, true in zip(rest_shapes(bend, method), exact, strict=True):
            if places is None or true is None:
                cells.append("–")
                continue
            off = 100.0 * np.linalg.norm(places - true, axis=1) / bend.body.surface.size
            inverted = bend.body.inverted_cells(places)
            cells.append(f"{off.mean():.2f} / {off.max():.1f} / {inverted}")
        print(f"| {method} |", " | ".join(cells), f"| {step_rate(bend, method):.0f} |", flush=True)


def main() -> int:
    """Prints all tables."""
    # Balances with inverted cells warn; the table counts these.
    warnings.simplefilter("ignore", RuntimeWarning)
    body = shapes.body(cells_across=11.0)
    table(Bend("Arm, bent at the elbow", body, 1, (0.0, 1.0, 0.0)))
    table(Bend("Arm, turned about its axis", body, 1, (1.0, 0.0, 0.0)))
    for name, bone in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        figure = glb.load(Path(os.environ["THEW_DATA"]) / "characters" / f"{name}.glb")
        lattice = thew.Lattice.enclose(figure.surface, figure.skeleton, figure.weights, 12)
        body = thew.Body(figure.surface, figure.skeleton, lattice, thew.Material(), figure.weights, softness=0.5)
        table(Bend(f"{name}, {bone}", body, list(figure.skeleton.names).index(bone), (1.0, 0.0, 0.0)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

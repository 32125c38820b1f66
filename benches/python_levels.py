# SPDX-License-Identifier: MIT OR Apache-2.0
"""Levels of detail in automatic lattices: functions, and time to build, to find the first balance and of a step.

Without arguments: an arm that swings. With recordings of characters, written by `blender_look.py --record FOLDER`, these at the
extension's defaults:

    python benches/python_levels.py [--recordings FOLDER] [--only NAME ...] [--levels 0 1 2] [--methods NAME ...] [--frames N]

Prints the table of `docs/methods/basis.md`. A step's time is the least over the frames. "Per function" is that over the number of
functions, relative to the body with the first of the levels.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import thew

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "python"))

import shapes  # noqa: E402

from demo.look.recording import Recording  # noqa: E402
from demo.look.simulating import MOTION, Character  # noqa: E402

FPS = 24.0
HEADER = (
    "| character | cells | level | functions | build s | method | first balance s | step ms | per function |\n|"
    + " --- |" * 9
)


def time_steps(body: thew.Body, maps: np.ndarray, fps: float, method: str) -> tuple[float, float]:
    """Moves a body along poses. Returns the time of its simulation's creation and first balance, and that of a step, s."""
    settings = {**MOTION, "method": method}
    begun = time.perf_counter()
    simulation = thew.Simulation(body, **settings)
    simulation.reset(maps[0])
    made = time.perf_counter() - begun
    times = []
    for pose in maps[1:]:
        begun = time.perf_counter()
        simulation.advance(pose, 1.0 / fps)
        times.append(time.perf_counter() - begun)
    assert np.isfinite(simulation.offsets()).all()
    return made, min(times) / np.ceil(settings["rate"] / fps - 1e-6)


def measure(
    name: str, build: Callable[[int], thew.Body], maps: np.ndarray, fps: float, options: argparse.Namespace
) -> None:
    """Prints the rows of one character, whose body `build` makes with a number of levels."""
    first: dict[str, float] = {}
    for level in options.levels:
        begun = time.perf_counter()
        body = build(level)
        built = time.perf_counter() - begun
        for method in options.methods:
            made, step = time_steps(body, maps[: options.frames + 1], fps, method)
            each = step / body.node_count
            over = each / first.setdefault(method, each)
            print(
                f"| {name} | {len(body.lattice.cells)} | {level} | {body.node_count} | {built:.1f} | {method} | {made:.2f} "
                f"| {1e3 * step:.1f} | {over:.1f} |",
                flush=True,
            )


def measure_arm(options: argparse.Namespace) -> None:
    """Measures an arm whose elbow swings."""
    surface, skeleton = thew.Surface(*shapes.arm()), thew.Skeleton(*shapes.arm_bones())
    weights = shapes.arm_weights(surface.vertices)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=6)

    def build(levels: int) -> thew.Body:
        return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, basis_levels=levels)

    maps = np.tile(np.eye(4), (options.frames + 1, 2, 1, 1))
    angle = 0.6 * np.sin(np.arange(options.frames + 1) / 3.0)
    maps[:, 1, 0, 0] = maps[:, 1, 2, 2] = np.cos(angle)
    maps[:, 1, 0, 2], maps[:, 1, 2, 0] = np.sin(angle), -np.sin(angle)
    measure("arm", build, maps, FPS, options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path, help="folder that blender_look.py --record has filled")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of files")
    parser.add_argument("--levels", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--methods", nargs="+", default=["hyperelastic", "warped"])
    parser.add_argument("--frames", type=int, default=6)
    options = parser.parse_args()
    print(HEADER)
    if options.recordings is None:
        measure_arm(options)
        return 0
    for file in sorted(options.recordings.glob("*.npz")):
        if options.only and not any(name in file.name for name in options.only):
            continue
        recording = Recording.load(file)

        def build(levels: int, recording: Recording = recording) -> thew.Body:
            return Character(recording, {"basis_levels": levels}).body

        measure(recording.character, build, recording.clips[0].maps, recording.fps, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

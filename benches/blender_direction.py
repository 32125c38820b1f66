# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cost of what helps to direct flesh, beside one simulation: swaps of A and B, cuts, causes of stiffness, the diagnosis, Rigid a frame."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import bpy
import numpy as np

from assets import characters as own
from assets.characters.scene import build
from demo.characters import empty_scene
from demo.extension import activate, addon, flesh_of, install

ROUNDS = 10


def main() -> int:
    if os.environ.get("THEW_ZIP"):
        install(Path(os.environ["THEW_ZIP"]))
    empty_scene()
    figure = own.FIGURES["biped"]()
    figure.cell = 0.0119
    armature, body = build(figure)
    own.use_action(armature, "walk")
    activate(body)
    bpy.ops.thew.add()
    simulate = seconds_of(bpy.ops.thew.simulate, 1)
    bpy.ops.thew.compare_store()
    body.thew.softness = 0.9
    bpy.ops.thew.simulate()
    bpy.ops.thew.compare_swap()
    bpy.ops.thew.simulate()
    rows = {"swap of A and B": seconds_of(bpy.ops.thew.compare_swap)}
    flesh = flesh_of(body)
    rows["cuts in the motion"] = seconds_of(lambda: fresh("live.noticed_cuts", "_found").find(flesh))
    rows["causes of stiffness"] = seconds_of(lambda: fresh("live.stiffness", "_maps").stiffness_map(body, flesh))
    rows["diagnosis"] = seconds_of(bpy.ops.thew.diagnose)
    offsets = flesh.offsets(flesh.clip_start)
    free = seconds_of(lambda: flesh.held(offsets), 200)
    bpy.ops.thew.make_rigid(part="HARD")
    bpy.ops.thew.simulate()
    rows["Rigid, a frame"] = seconds_of(lambda: flesh_of(body).held(offsets), 200) - free
    frames = bpy.context.scene.frame_end - bpy.context.scene.frame_start + 1
    print(f"{len(body.data.vertices)} vertices, {frames} frames, simulated in {simulate:.2f} s\n")
    print("| what | ms | simulations take so many times as long |\n|---|---|---|")
    for name, seconds in rows.items():
        print(f"| {name} | {1e3 * seconds:.2f} | {simulate / max(seconds, 1e-9):,.0f} |")
    return 0


def seconds_of(call, rounds: int = ROUNDS) -> float:
    """Returns the median seconds of a call."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def fresh(name: str, cache: str):
    """Returns a module of the extension with one of its caches emptied."""
    module = addon(name)
    getattr(module, cache).clear()
    return module


if __name__ == "__main__":
    sys.exit(main())

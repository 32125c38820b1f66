# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cost of Thew in a frame of playback at 28,000 vertices: frame_set with it, less frame_set of the plain skin."""

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
from demo.extension import Clock, activate, flesh_of, install

ROUNDS = 5


def main() -> int:
    install(Path(os.environ["THEW_ZIP"]))
    empty_scene()
    figure = own.FIGURES["biped"]()
    figure.cell = 0.0119
    armature, body = build(figure)
    own.use_action(armature, "walk")
    modifier = body.modifiers[0]
    times = {"Armature modifier": playback()}
    modifier.show_viewport = False
    times["no deformer"] = playback()
    modifier.show_viewport = True
    activate(body)
    taken: dict[str, float] = {}
    with Clock(taken, "add"):
        bpy.ops.thew.add()
    with Clock(taken, "simulate"):
        bpy.ops.thew.simulate()
    times["Thew, live from kept states"] = playback()
    flesh = flesh_of(body)
    frames = bpy.context.scene.frame_end - bpy.context.scene.frame_start + 1
    print(f"{len(body.data.vertices)} vertices, {len(flesh.lattice.cells)} cells, {frames} frames, ", end="")
    print(f"states of {flesh.clip.nbytes / 1e6:.2f} MB\n")
    with Clock(taken, "bake"):
        bpy.ops.thew.bake(target="SHAPE_KEYS")
    times["baked shape keys"] = playback()
    print("| deformer | frame_set, ms | its least, ms | less the Armature modifier's, ms |\n|---|---|---|---|")
    for name, (usual, least) in times.items():
        print(
            f"| {name} | {1e3 * usual:.3f} | {1e3 * least:.3f} | {1e3 * (usual - times['Armature modifier'][0]):.3f} |"
        )
    print("\n| once | s |\n|---|---|")
    for name, seconds in taken.items():
        print(f"| {name} | {seconds:.2f} |")
    return 0


def playback() -> tuple[float, float]:
    """Returns median and least seconds of a frame_set over the clip, after a round to warm up."""
    scene = bpy.context.scene
    seconds = []
    for round_number in range(ROUNDS + 1):
        for frame in range(scene.frame_start, scene.frame_end + 1):
            start = time.perf_counter()
            scene.frame_set(frame)
            if round_number:
                seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), min(seconds)


if __name__ == "__main__":
    sys.exit(main())

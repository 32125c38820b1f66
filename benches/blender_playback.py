# SPDX-License-Identifier: MIT OR Apache-2.0
"""What Thew adds to a frame of playback at 28,000 vertices: frame_set with it, less frame_set of the plain skin."""

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
    print(f"{len(body.data.vertices)} vertices, {len(flesh.lattice.cells)} cells, {frames} frames: ", end="")
    print(f"add {taken['add']:.2f} s, simulate {taken['simulate']:.2f} s, states {flesh.clip.nbytes / 1e6:.2f} MB\n")
    for name, seconds in times.items():
        print(f"frame_set, {name:30} {1e3 * seconds:7.3f} ms")
    for name in ("Armature modifier", "no deformer"):
        share = times["Thew, live from kept states"] - times[name]
        print(f"{f'Thew less {name}':41} {1e3 * share:7.3f} ms")
    with Clock(taken, "bake"):
        bpy.ops.thew.bake(target="SHAPE_KEYS")
    print(f"{'frame_set, baked shape keys':41} {1e3 * playback():7.3f} ms (bake: {taken['bake']:.2f} s)")
    return 0


def playback() -> float:
    """Median seconds of a frame_set over the clip, after a round to warm up."""
    scene = bpy.context.scene
    seconds = []
    for round_number in range(ROUNDS + 1):
        for frame in range(scene.frame_start, scene.frame_end + 1):
            start = time.perf_counter()
            scene.frame_set(frame)
            if round_number:
                seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


if __name__ == "__main__":
    sys.exit(main())

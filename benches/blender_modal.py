# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cost of the method Modal in a frame of playback at 28,000 vertices and 32 modes, relative to the Armature modifier."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path

import bpy
import numpy as np

from assets import characters as own
from assets.characters.scene import build
from demo.characters import empty_scene
from demo.extension import MODULE, Clock, activate, flesh_of, install

ROUNDS = 5
MODES = 32


def main() -> int:
    install(Path(os.environ["THEW_ZIP"]))
    empty_scene()
    figure = own.FIGURES["biped"]()
    figure.cell = 0.0119
    armature, body = build(figure)
    own.use_action(armature, "jump")
    activate(body)
    modifier = body.modifiers[0]
    rows = {"Armature modifier": playback()}
    modifier.show_viewport = False
    nothing = playback()
    modifier.show_viewport = True
    taken: dict[str, float] = {}
    with Clock(taken, "warped, add and simulate"):
        bpy.ops.thew.add()
        bpy.ops.thew.simulate()
    rows["Thew, Warped"] = playback()
    body.thew.modes = MODES
    engines = {}
    for engine in ("CPU", "GPU", "AUTO"):
        body.thew.method, body.thew.engine = "modal", engine
        with Clock(taken, f"modal, {engine}: first simulation"):
            bpy.ops.thew.simulate()
        flesh = flesh_of(body)
        body.thew.mass_damping += 0.5
        with Clock(taken, f"modal, {engine}: after a changed slider"):
            bpy.context.scene.frame_set(bpy.context.scene.frame_start)
        body.thew.property_unset("mass_damping")
        rows[f"Thew, Modal, {engine}"] = playback()
        engines[engine] = [flesh.clip.engine, *flesh.clip.engine_report, *flesh.clip.warnings]
        if engine == "CPU":
            own_parts = shares(body, flesh)
    body.thew.engine, body.thew.preview_mode = "CPU", 3
    rows["Thew, Modal, CPU, preview of mode 3"] = playback()

    print("| deformer | frame_set, ms | its own share, ms | parts of the Armature modifier's |")
    print("|---|---|---|---|")
    peer = rows["Armature modifier"] - nothing
    for name, seconds in rows.items():
        share = seconds - nothing
        print(f"| {name} | {1e3 * seconds:.3f} | {1e3 * share:.3f} | {share / peer:.2f} |")
    print()
    frames = bpy.context.scene.frame_end - bpy.context.scene.frame_start + 1
    print(
        f"{len(body.data.vertices)} vertices, {len(flesh.lattice.cells)} cells, {len(flesh.modes)} modes, {frames} frames, "
    )
    print(
        f"clip {flesh.clip.nbytes / 1e3:.0f} kB; `frame_set` without any deformer: {1e3 * nothing:.3f} ms (medians).\n"
    )
    print("\n| a frame of Modal on the processor | ms |\n|---|---|")
    for name, seconds in own_parts.items():
        print(f"| {name} | {1e3 * seconds:.3f} |")
    print("\n| once | ms |\n|---|---|")
    for name, seconds in taken.items():
        print(f"| {name} | {1e3 * seconds:.1f} |")
    print()
    for engine, lines in engines.items():
        print(f"- {engine}: {'; '.join(map(str, lines))}")
    return 0


def shares(body, flesh) -> dict[str, float]:
    """Returns median seconds of the parts of a frame: native positions, offsets in object space, Blender's attributes."""
    frames = range(flesh.clip_start, flesh.clip_end + 1)
    stored = importlib.import_module(f"{MODULE}.scene.offsets")
    offsets = flesh.offsets(frames[0])
    calls = {
        "native deformer": lambda frame: flesh.clip.positions(frame - flesh.clip_start),
        "offsets from the skin in object space": flesh.offsets,
        "write the attributes": lambda frame: stored.write(body, offsets, frame),
    }
    return {name: median(call, frames) for name, call in calls.items()}


def playback() -> float:
    """Returns median seconds of a frame_set over the clip, after a round to warm up."""
    scene = bpy.context.scene
    return median(scene.frame_set, range(scene.frame_start, scene.frame_end + 1))


def median(call, frames) -> float:
    """Returns median seconds of `call(frame)`, after a round to warm up."""
    seconds = []
    for round_number in range(ROUNDS + 1):
        for frame in frames:
            start = time.perf_counter()
            call(frame)
            if round_number:
                seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cost in a frame of the two stores of offsets: attributes of the mesh, and a holder, as overrides have it.

Each round writes and evaluates all frames with one store, then with the other, so that both meet the same machine. The extension comes
from `THEW_ZIP`, or from the source with the wheel on the path.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "blender"))

from conftest import load_extension
from helpers import animate, make_armature, make_body, part

FRAMES, ROUNDS = 100, 7
#: Rings and sides of the tubes: 1,200 and 28,000 vertices.
SIZES = ((60, 20), (400, 70))


def main() -> int:
    package = load_extension()
    print(f"Blender {bpy.app.version_string}\n")
    print("| vertices | Armature, ms | + attributes, ms | + holder, ms | holder / attributes |\n|---|---|---|---|---|")
    for rings, sides in SIZES:
        plain, attributes, held = measure(rings, sides)
        ratios = statistics.median(h / a for h, a in zip(held, attributes, strict=True))
        medians = [statistics.median(each) for each in (plain, attributes, held)]
        print(
            f"| {rings * sides} | {medians[0]:.3f} | {medians[1] - medians[0]:.3f} | {medians[2] - medians[0]:.3f} | {ratios:.3f} |"
        )
    package.unregister()
    return 0


def measure(rings: int, sides: int) -> list[list[float]]:
    """Returns the milliseconds of a frame in each round: with the Armature modifier alone, with attributes, with a holder."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    armature = make_armature()
    body = make_body(armature, rings=rings, sides=sides)
    animate(armature, 1, FRAMES)
    stored, modifier = part("scene.offsets"), part("scene.modifier")
    mine = modifier.insert(body, body.modifiers["Armature"])
    rows = 0.01 * np.random.default_rng(0).standard_normal((len(body.data.vertices), 3)).astype(np.float32)
    found: list[list[float]] = [[], [], []]
    real = stored.is_held
    for _ in range(ROUNDS):
        for way, times in enumerate(found):
            stored.remove(body)
            stored.remove(body)  # what the other way has left
            stored.is_held = lambda _obj, held=way == 2: held
            mine.show_viewport = way > 0
            modifier.set_up(mine)
            mine = modifier.modifier_by_id(body, body.thew.made.modifier)
            times.append(1e3 * play(body, rows, stored if way else None) / FRAMES)
        stored.is_held = real
    return found


def play(body: bpy.types.Object, rows: np.ndarray, stored) -> float:
    """Returns the seconds in which all frames are written and evaluated; `stored` None: only evaluated."""
    scene = bpy.context.scene
    for frame in (1, 2):  # what is made once does not count
        if stored is not None:
            stored.write(body, rows, frame)
            stored.update_tag(body)
        scene.frame_set(frame)
    begin = time.perf_counter()
    for frame in range(1, FRAMES + 1):
        if stored is not None:
            stored.write(body, np.float32(1.0 + 1e-3 * frame) * rows, frame)
            stored.update_tag(body)
        scene.frame_set(frame)
    return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())

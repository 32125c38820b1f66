# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every character and clip in THEW_DATA, the first 60 frames, and our own: one line per mesh, then one per character.

Each file is opened in a Blender of its own, so that a failure costs its own lines only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

FRAMES = 60
KINDS = (".glb", ".gltf", ".fbx", ".blend")
MARK = "@row "
"""Prefix of a child's lines that are meant for its parent."""

COLUMNS = {
    "vertices": "vertices",
    "cells": "cells",
    "lattice_vertices": "lattice vertices",
    "add": "add s",
    "simulate": "simulate ms a frame",
    "volume": "volume %",
    "static": "static to skin %",
    "far": "moving to skin, largest %",
    "own": "own motion rms %",
    "inverted": "inverted cells %",
    "reported": "reported",
}


def main() -> int:
    if len(sys.argv) > 1:
        one_file(sys.argv[1])
        return 0
    data = os.environ.get("THEW_DATA")
    files = sorted((Path(data) / "characters").iterdir()) if data else []
    everything = []
    print(f"| character | clip | mesh | {' | '.join(COLUMNS.values())} |")
    print("|---" * (3 + len(COLUMNS)) + "|", flush=True)
    # The name of an own character stands for its file.
    for file in ["biped", "quadruped", *[str(file) for file in files if file.suffix in KINDS]]:
        command = [sys.executable, __file__, file]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        rows = [json.loads(line[len(MARK) :]) for line in done.stdout.splitlines() if line.startswith(MARK)]
        if done.returncode or not rows:
            text = (done.stdout + "\n" + done.stderr).strip().splitlines() or [f"status {done.returncode}"]
            rows.append({"character": Path(file).name, "reported": f"NO RESULT, status {done.returncode}: {text[-1]}"})
        for row in rows:
            names = [as_text(row, key) for key in ("character", "clip", "mesh")]
            print(f"| {' | '.join(names)} | {' | '.join(as_text(row, key) for key in COLUMNS)} |", flush=True)
        everything.append(rows)
    print("\nLengths in percent of the size (diagonal of the rest bounding box). Own motion: moving shape less static")
    print("equilibrium at the same pose. Volume: least and greatest over the clip, of closed meshes.\n")
    summary(everything)
    return 0


def as_text(row: dict, key: str) -> str:
    """Returns a value of a row as text for a table."""
    value = row.get(key, "")
    if isinstance(value, list):
        return f"{value[0]:+.1f} … {value[1]:+.1f}"
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace("|", "/")


def summary(everything: list[list[dict]]) -> None:
    """Prints one line per character: sums over its meshes, the worst over its meshes and clips."""
    keys = ["vertices", "cells", "add", "volume", "static", "far", "own", "inverted"]
    print(f"| character | clips | meshes | {' | '.join(COLUMNS[key] for key in keys)} | refused |")
    print("|---" * (4 + len(keys)) + "|")
    for rows in everything:
        good = [row for row in rows if "cells" in row]
        meshes = {row["mesh"]: row for row in good}
        worst = {key: sum(row[key] for row in meshes.values()) for key in ("vertices", "cells", "add")}
        worst |= {key: max((row[key] for row in good), default="") for key in ("static", "far", "own", "inverted")}
        volumes = [row["volume"] for row in good if isinstance(row["volume"], list)]
        worst["volume"] = [min(v[0] for v in volumes), max(v[1] for v in volumes)] if volumes else "open"
        clips = len({row["clip"] for row in good})
        refused = "; ".join(row["reported"] for row in rows if "cells" not in row)
        values = " | ".join(as_text(worst, key) for key in keys)
        print(f"| {rows[0]['character']} | {clips} | {len(meshes)} | {values} | {refused} |")


def one_file(name: str) -> None:
    """Measures all clips of one file, in this process."""
    import bpy

    from assets import characters as own
    from demo import characters
    from demo.extension import install

    install(Path(os.environ["THEW_ZIP"]))
    if name in own.FIGURES:
        characters.empty_scene()
        own.create(name)
    else:
        characters.open_file(Path(name))
    meshes = characters.skinned_meshes()
    armatures = list({obj.name: obj for obj in map(characters.armature_of, meshes)}.values())
    added = {}
    for obj in meshes:
        try:
            added[obj.name] = add(obj)
        except RuntimeError as error:
            tell({"character": Path(name).name, "mesh": obj.name, "reported": str(error).strip()})
    for clip in characters.clips():
        characters.choose_clip(armatures, clip)
        scene = bpy.context.scene
        scene.frame_end = min(scene.frame_end, scene.frame_start + FRAMES - 1)
        for obj in meshes:
            if obj.name in added:
                row = {"character": Path(name).name, "clip": clip, "mesh": obj.name}
                try:
                    row |= {"add": added[obj.name], **measure(obj)}
                except RuntimeError as error:
                    row["reported"] = str(error).strip()
                tell(row)


def tell(row: dict) -> None:
    print(MARK + json.dumps(row), flush=True)


def add(obj) -> float:
    """Adds flesh and returns the seconds that it took."""
    import bpy

    from demo.extension import Clock, activate

    activate(obj)
    taken: dict[str, float] = {}
    with Clock(taken, "add"):
        bpy.ops.thew.add()
    return taken["add"]


def measure(obj) -> dict:
    """Simulates the scene's range and measures it; lengths in percent."""
    import bpy

    from demo import measures
    from demo.extension import activate, flesh_of

    activate(obj)
    scene = bpy.context.scene
    bpy.ops.thew.simulate(frame_start=scene.frame_start, frame_end=scene.frame_end)
    m = measures.measure(obj, {})
    return {
        "vertices": m.vertices,
        "cells": m.cells,
        "lattice_vertices": m.lattice_vertices,
        "simulate": 1e3 * simulation_seconds(flesh_of(obj)) / m.frames,
        "volume": [100.0 * (m.volume_low - 1.0), 100.0 * (m.volume_high - 1.0)] if m.closed else "open",
        "static": 100.0 * m.static_skin,
        "far": 100.0 * m.far_skin,
        "own": 100.0 * m.own_rms,
        "inverted": 100.0 * m.inverted,
        "reported": ("" if m.finite else "NOT FINITE. ") + " ".join(m.notes),
    }


def simulation_seconds(flesh) -> float:
    """Returns seconds of the simulation alone: the operator may find it done already by the extension's own updates."""
    import thew

    maps = flesh.place.maps(flesh.motion.maps)
    how = flesh.build_settings
    start = time.perf_counter()
    thew.simulate(flesh.body, maps, how.fps, settings=how.simulation)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every character and clip in THEW_DATA, the first 60 frames, and our own: one line per mesh, as a table.

Each file is opened in a Blender of its own, so that one that fails costs its own lines only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

FRAMES = 60
KINDS = (".glb", ".gltf", ".fbx", ".blend")
HEAD = (
    "| character | clip | mesh | vertices | cells | lattice vertices | add s | simulate ms a frame | volume % "
    "| static to skin % | moving to skin % | own motion % | inverted % | reported |"
)


def main() -> int:
    if len(sys.argv) > 1:
        one_file(sys.argv[1])
        return 0
    data = os.environ.get("THEW_DATA")
    files = sorted((Path(data) / "characters").iterdir()) if data else []
    print(HEAD)
    print("|---" * (HEAD.count("|") - 1) + "|")
    # The name of an own character stands for its file.
    for file in ["biped", "quadruped", *[str(file) for file in files if file.suffix in KINDS]]:
        done = subprocess.run(
            [sys.executable, __file__, file], capture_output=True, text=True, errors="replace", check=False
        )
        rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
        print("\n".join(rows) if rows else f"| {Path(file).name} | no result: {last_line(done)} |", flush=True)
    print(
        "\nLengths and distances in percent of the size (diagonal of the rest bounding box); own motion: rms of moving"
    )
    print("shape less static equilibrium at the same pose; volume: least and greatest over the clip, of closed meshes.")
    return 0


def last_line(done: subprocess.CompletedProcess) -> str:
    lines = (done.stdout + "\n" + done.stderr).strip().splitlines()
    return lines[-1] if lines else f"status {done.returncode}"


def one_file(name: str) -> None:
    """All clips of one file."""
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
    seconds = {obj.name: add(obj) for obj in meshes}
    for clip in characters.clips():
        characters.choose_clip(armatures, clip)
        scene = bpy.context.scene
        scene.frame_end = min(scene.frame_end, scene.frame_start + FRAMES - 1)
        for obj in meshes:
            if isinstance(seconds[obj.name], float):
                print(f"| {Path(name).name} | {clip} | {line(obj, seconds[obj.name])} |", flush=True)
    for obj, refused in seconds.items():
        if isinstance(refused, str):
            print(f"| {Path(name).name} | | {obj} | {refused} |")


def add(obj) -> float | str:
    """Add flesh: the seconds that it took, or why it was refused."""
    import bpy

    from demo.extension import Clock, activate

    activate(obj)
    taken: dict[str, float] = {}
    try:
        with Clock(taken, "add"):
            bpy.ops.thew.add()
    except RuntimeError as error:
        return str(error).strip().replace("\n", " ")
    return taken["add"]


def line(obj, added: float) -> str:
    """Simulate the scene's range and tell it in one row."""
    import bpy

    from demo import measures
    from demo.extension import activate, flesh_of

    activate(obj)
    scene = bpy.context.scene
    try:
        bpy.ops.thew.simulate(frame_start=scene.frame_start, frame_end=scene.frame_end)
    except RuntimeError as error:
        return f"{obj.name} | {str(error).strip()}".replace("\n", " ")
    m = measures.measure(obj, {})
    volume = f"{100 * (m.volume_low - 1):+.1f} … {100 * (m.volume_high - 1):+.1f}" if m.closed else "open"
    finite = "" if m.finite else "NOT FINITE; "
    return (
        f"{m.name} | {m.vertices} | {m.cells} | {m.lattice_vertices} | {added:.2f} | {1e3 * simulating(flesh_of(obj)) / m.frames:.1f} | {volume} "
        f"| {100 * m.static_skin:.2f} | {100 * m.far_skin:.1f} | {100 * m.own_rms:.3f} | {100 * m.inverted:.2f} "
        f"| {finite}{'; '.join(m.notes)}"
    )


def simulating(flesh) -> float:
    """Seconds of the simulation alone: the operator may find it done by the add-on's own updates."""
    import thew

    recipe, maps = flesh.recipe, flesh.place.maps(flesh.motion.maps)
    start = time.perf_counter()
    thew.simulate(
        flesh.body,
        maps,
        recipe.fps,
        method=recipe.method,
        rate=recipe.rate,
        gravity=recipe.gravity,
        mass_damping=recipe.mass_damping,
        stiffness_damping=recipe.stiffness_damping,
    )
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())

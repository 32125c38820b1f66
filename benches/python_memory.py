# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of a simulation in a process of its own: what a job on a farm needs beside its frames.

    python benches/python_memory.py [CHARACTER [CELLS_ACROSS [FRAMES]]]

A shot of a character of THEW_DATA in motion is written to a file (default: q_bull, 9 cells across, 100 frames). For each variant a fresh process, in
the environment of a farm's workers, imports numpy and Thew, loads the shot and simulates it. The table gives in MB: the process after the imports; its
peak while it loads and while it simulates, each less the imports, and the latter less the frames of the clip (`Clip.nbytes`), which is to be at most 40;
how much of that is the process's own, without the pages of Thew's library that are first read after the imports and that all processes of a machine
share; what stays when all is done. The second last is the peak less the pages of files at the end, when most of them have been read, so it is slightly
too small.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from thew.farm.processes import ENVIRONMENT

VARIANTS = {
    "hyperelastic": {},
    "hyperelastic, contact": {"contact": True},
    "hyperelastic, run-in": {"preroll": 48},
    "blended": {"method": "blended"},
    "warped": {"method": "warped"},
    "nonlinear": {"method": "nonlinear"},
    "modal": {"method": "modal"},
}
FPS = 24.0

JOB = """
import json, sys
def status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) * 1.024e-3
import numpy, thew
imported, files = status("VmHWM"), status("RssFile")
shot = thew.Shot.load(sys.argv[1])
loaded, held = status("VmHWM"), status("VmRSS")
clip = shot.simulate()
print(json.dumps({"imported": imported, "loaded": loaded, "held": held, "peak": status("VmHWM"), "stays": status("VmRSS"),
                  "frames": clip.nbytes / 1e6, "files": status("RssFile") - files}))
"""


def make_shot(path, name, across, frames):
    """Writes the shot of a character and returns a line about it."""
    root = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(root / "tests" / "common"), str(root / "tests" / "python")]
    import glb
    import numpy as np
    import thew

    figure = glb.load(Path(os.environ["THEW_DATA"]) / "characters" / f"{name}.glb")
    lattice = thew.Lattice.enclose(figure.surface, figure.skeleton, figure.weights, across)
    body = thew.Body(figure.surface, figure.skeleton, lattice, thew.Material(), figure.weights, softness=0.5)
    animation = next(iter(figure.file.json.get("animations", ())), None)
    if animation is None:
        poses = np.tile(np.eye(4), (frames, len(figure.skeleton.names), 1, 1))
        poses[:, :, 2, 3] = 0.1 * np.sin(np.arange(frames) * 0.5)[:, None]
    else:
        poses = np.stack([glb.pose(figure, animation, frame / FPS) for frame in range(frames)])
    for name_of_variant, settings in VARIANTS.items():
        given = {**settings, "contact": thew.Contact()} if "contact" in settings else settings
        thew.Shot(body, poses, FPS, **given).save(path / f"{name_of_variant}.thew")
    return f"{name}: {len(figure.surface.vertices)} vertices, {len(lattice.cells)} cells, {body.node_count} nodes, {frames} frames"


def main() -> int:
    """Prints the table."""
    name, across, frames = (*sys.argv[1:4], *("q_bull", "9", "100")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        print(make_shot(Path(folder), name, float(across), int(frames)))
        print("| shot | imports | loading | simulating | frames | beside frames | of it private | stays |")
        print("| --- |" + " --- |" * 7)
        for variant in VARIANTS:
            done = subprocess.run(
                [sys.executable, "-c", JOB, f"{folder}/{variant}.thew"],
                env=ENVIRONMENT | os.environ,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                print(f"| {variant} | {done.stderr.strip().splitlines()[-1]} |")
                continue
            found = json.loads(done.stdout)
            base = found["imported"]
            numbers = (
                base,
                found["loaded"] - base,
                found["peak"] - base,
                found["frames"],
                found["peak"] - base - found["frames"],
                found["peak"] - base - found["frames"] - found["files"],
                found["stays"] - base,
            )
            print(f"| {variant} |", " | ".join(f"{number:.1f}" for number in numbers), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

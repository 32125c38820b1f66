# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves and measures the farm: a worker and the command are killed midway, and the results are those of one process.

    python benches/python_farm.py                         48 small jobs and a bad file; prints what happened, and a job's overhead
    python benches/python_farm.py --processes             the same without Dask
    python benches/python_farm.py --picture FILE          a contact sheet of a row with ranges

The workers are killed by signal as their lines arrive, so that nothing depends on time. Exits with 1 if anything was lost or differs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import thew
from thew import farm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples.python import shapes

RATES, GRAVITIES = (48, 72, 96, 120), (-9.81, -4.9, 0.0, 9.81)
FRAMES = (4, 5, 6)
"""Lengths of the shots: with the ranges above 48 jobs."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Signal that leaves a process no word; Windows has one for all."""
KILLS = 5, 20
"""Numbers of ended jobs after which a worker and the command are killed."""
MAX_OVERHEAD = 0.3
"""Seconds that a job may take beside its simulation."""


@dataclass
class Proof:
    """Result."""

    first: list[dict] = field(default_factory=list)  # records that the killed command told
    second: list[dict] = field(default_factory=list)  # of the command that was given again
    statuses: tuple[int, int] = (0, 0)
    midway: list[str] = field(default_factory=list)  # names in the manifest when the command was killed
    manifest: list[dict] = field(default_factory=list)
    killed: list[int] = field(default_factory=list)  # processes: a worker, and the command
    lost: list[str] = field(default_factory=list)  # names without a result
    differing: list[str] = field(default_factory=list)  # names whose clips are not those of one process
    left: list[str] = field(default_factory=list)  # files that belong to nothing
    overheads: list[float] = field(default_factory=list)  # seconds of each job beside its simulation
    seconds: float = 0.0


def prove(
    folder: Path, words: tuple[str, ...] = (), rates: tuple[int, ...] = RATES, kills: tuple[int, int] = KILLS
) -> Proof:
    """Runs the table of 48 jobs and a bad file in `folder`, kills a worker and then the command, and gives the command again.

    `rates`: a range, which makes 12 jobs each. `kills`: numbers of ended jobs after which the worker and the command are killed.
    """
    table, out = write_table(folder, rates), folder / "out"
    proof, began = Proof(), time.perf_counter()
    command = [sys.executable, "-m", "thew", "farm", "run", table, "-o", out, "--workers", "2", "--json", *words]
    package = {**os.environ, "PYTHONPATH": str(Path(thew.__file__).parents[1])}
    # A pipe for few lines, so that the command cannot run far ahead of what is read here.
    with subprocess.Popen(
        command, env=package, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, pipesize=4096
    ) as process:
        for line in process.stdout:
            proof.first.append(json.loads(line))
            count = sum(record["status"] == "ok" for record in proof.first)
            if count == kills[0] and not proof.killed:
                proof.killed.append(int(proof.first[-1]["worker"].rpartition(":")[2]))
                os.kill(proof.killed[0], KILL)
            elif count == kills[1]:
                proof.killed.append(process.pid)
                process.kill()
                break
    proof.midway = [json.loads(line)["name"] for line in (out / "manifest.jsonl").read_text().splitlines()]
    again = subprocess.run(command, env=package, capture_output=True, text=True)
    proof.second = [json.loads(line) for line in again.stdout.splitlines()]
    proof.statuses, proof.seconds = (process.returncode, again.returncode), time.perf_counter() - began
    proof.manifest = [json.loads(line) for line in (out / "manifest.jsonl").read_text().splitlines()]
    done = {record["name"]: record for record in proof.manifest if record["status"] == "ok"}
    jobs = [job for job in farm.read_jobs(table) if not job.error and job.name != "bad"]
    proof.lost = [job.name for job in jobs if job.name not in done]
    named = {each["path"] for record in done.values() for each in record["outputs"]}
    own = {"manifest.jsonl", *(f"{job.wedge}.sheet.png" for job in jobs)}
    proof.left = [path.name for path in out.iterdir() if path.name not in named | own and path.name != ".thew-farm"]
    for job in jobs:
        began = time.perf_counter()
        shot = thew.Shot.load(job.file).replace(**job.settings)
        clip = shot.simulate()
        proof.overheads.append(done[job.name]["seconds"] - (time.perf_counter() - began))
        clip.save(folder / "alone.thew")
        if (folder / "alone.thew").read_bytes() != (out / f"{job.name}.clip.thew").read_bytes():
            proof.differing.append(job.name)
    return proof


def write_table(folder: Path, rates: tuple[int, ...] = RATES) -> Path:
    """Writes three short shots, a damaged one, and a table of 48 jobs on them, one a line of a row's ranges."""
    for frames in FRAMES:
        write_shot(folder / f"arm{frames}.shot.thew", frames)
    good = (folder / f"arm{FRAMES[0]}.shot.thew").read_bytes()
    (folder / "bad.shot.thew").write_bytes(good[:-9])
    rows = [
        f"arm{frames}.shot.thew,{'|'.join(map(str, rates))},{'|'.join(f'0 0 {g}' for g in GRAVITIES)}"
        for frames in FRAMES
    ]
    table = folder / "jobs.csv"
    table.write_text("\n".join(["file,rate,gravity", *rows, "bad.shot.thew,,"]) + "\n")
    return table


def write_shot(file: Path, frames: int, along: int = 30, around: int = 20, cells: int = 8) -> None:
    """Writes a shot of an arm whose elbow swings."""
    arm = shapes.arm(along, around)
    surface = thew.Surface(arm.vertices, arm.triangles)
    skeleton = thew.Skeleton(arm.names, arm.parents, arm.heads, arm.tails)
    lattice = thew.Lattice.enclose(surface, skeleton, arm.weights, cells_across=cells)
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=arm.weights)
    poses = shapes.bent_poses(0.9 * np.sin(0.5 * np.arange(frames)))
    thew.Shot(body, poses, 24, method="warped").save(file)


def draw_sheet(picture: Path) -> None:
    """Writes the contact sheet of a row with three dampings, of our own biped's jump."""
    from assets.characters import FPS
    from demo.look.contact_pictures import bodo

    figure, _, _, character = bodo()
    with tempfile.TemporaryDirectory() as folder:
        shot = thew.Shot(character.body, figure.maps("jump"), FPS, **character.motion)
        shot.save(Path(folder) / "bodo.jump.shot.thew")
        table = Path(folder) / "jobs.toml"
        table.write_text('[[job]]\nfile = "bodo.jump.shot.thew"\nmass_damping = [0.0, 4.0, 40.0]\n')
        outcome = farm.run(table, Path(folder) / "out", farm.Options(processes=True, workers=1))
        picture.write_bytes(outcome.sheets[0].read_bytes())


def main() -> int:
    """Prints the proof. Returns 1 if anything was lost or differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", action="store_true", help="plain processes in place of Dask")
    parser.add_argument("--picture", type=Path, help="write a contact sheet and prove nothing")
    given = parser.parse_args()
    if given.picture:
        draw_sheet(given.picture)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        proof = prove(Path(folder), ("--processes",) if given.processes else ())
    kept = sum(record["status"] == "skipped" for record in proof.second)
    print(
        f"killed: worker {proof.killed[0]}, command {proof.killed[1]} after {len(proof.midway)} of {len(proof.second)} records; statuses {proof.statuses}"
    )
    print(
        f"given again: {len(proof.second)} records, {kept} present; {len(proof.manifest)} lines in the manifest, {proof.seconds:.1f} s"
    )
    print(f"lost {proof.lost or 0}, other bits than one process {proof.differing or 0}, left behind {proof.left or 0}")
    middle, most = statistics.median(proof.overheads), max(proof.overheads)
    print(f"a job's seconds beside its simulation: median {middle:.3f}, largest {most:.3f} (at most {MAX_OVERHEAD})")
    return int(bool(proof.lost or proof.differing or proof.left or proof.statuses[1] != 2))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m thew simulate SHOT -o CLIP`: simulates a character's motion on a machine without Blender.

It needs this package and nothing else. A shot holds all inputs of a simulation; the clip that is written plays
anywhere. Several shots make as many clips in a folder: each by itself, or `--together`, so that their flesh touches.
`python -m thew farm run TABLE --out FOLDER` does many jobs, on this machine or on many (`thew.farm`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import Cancelled, Clip, Shot, StorageError, ThewError, __version__, simulate_shots
from .farm import command as farm_command

_Progress = Callable[[float, str], "bool | None"]


def simulate(shot: Path, out: Path, progress: _Progress | None = None) -> Clip:
    """Simulates the shot in one file and writes its clip to another one, which is never left incomplete.

    The output place is checked before the work. Raises StorageError, and what `Shot.simulate` raises.
    """
    check_place(out, shot)
    clip = Shot.load(shot).simulate(progress)
    clip.save(out)
    return clip


def simulate_all(
    shots: Sequence[Path],
    folder: Path,
    together: bool = False,
    progress: _Progress | None = None,
    done: Callable[[Job], object] | None = None,
) -> list[Job]:
    """Simulates the shots in several files, by themselves or `together`, and writes their clips into a folder.

    A clip is called like its shot, with "clip" in place of "shot". The output places are checked before the work. By
    themselves, each clip is written as soon as it is simulated, `done(job)` is called, and if one fails the others go
    on: its job says why. Together, nothing is written before all are simulated. Raises like `simulate`, if nothing was done.
    """
    jobs = [Job(shot, place) for shot, place in zip(shots, places(shots, folder), strict=True)]
    if together:
        began = time.perf_counter()
        loaded = [Shot.load(shot) for shot in shots]
        try:
            clips = simulate_shots(loaded, progress)
        except ThewError as error:
            told = re.sub(r"body (\d+) of the scene", lambda body: str(shots[int(body[1])]), str(error))
            if " poses, but the first has" in told:
                told += "; export them with Other Flesh on and the same --frames"
            raise type(error)(told) from error
        each = (time.perf_counter() - began) / len(jobs)  # they were one simulation: its time is shared out
        for job, clip in zip(jobs, clips, strict=True):
            began = time.perf_counter() - each
            clip.save(job.out)
            job.take(clip, began)
            if done is not None:
                done(job)
        return jobs
    for k, job in enumerate(jobs):
        jobs[k] = simulate_one(job.shot, job.out, part(progress, k, len(jobs)))
        if done is not None:
            done(jobs[k])
    return jobs


def simulate_one(shot: Path, out: Path, progress: _Progress | None = None) -> Job:
    """Simulates the shot in one file as `simulate` does. Returns its job, which says why if it failed. Raises Cancelled."""
    began, job = time.perf_counter(), Job(shot, out)
    try:
        job.take(simulate(shot, out, progress), began)
    except Cancelled:
        raise
    except ThewError as error:
        job.error, job.seconds = str(error), time.perf_counter() - began
    return job


def places(shots: Sequence[Path], folder: Path) -> list[Path]:
    """Returns the files in a folder for the clips of shots. Raises StorageError if they cannot be written."""
    if not folder.exists():
        raise StorageError(
            f"there is no folder {folder} for the clips of several shots: make it first, or end its name with a slash"
        )
    if not folder.is_dir():
        raise StorageError(f"{folder} is not a folder: name one for the clips of several shots")
    found: dict[Path, Path] = {}
    for shot in shots:
        out = folder / clip_name(shot.name)
        if out in found:
            raise StorageError(f"{found[out]} and {shot} would both be written to {out}: give one of them another name")
        check_place(out, shot)
        if not shot.exists():
            Shot.load(shot)  # raises the error
        found[out] = shot
    return list(found)


@dataclass
class Job:
    """One shot, the file of its clip, and the result."""

    shot: Path
    out: Path
    frames: int = 0
    bytes: int = 0
    seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)
    error: str = ""  # why there is no clip; empty on success

    def take(self, clip: Clip, began: float) -> None:
        """Records the result. `began`: start time by `time.perf_counter`, s."""
        self.frames, self.bytes, self.seconds = len(clip), self.out.stat().st_size, time.perf_counter() - began
        self.warnings = [f"{warning}." for warning in clip.warnings]
        self.warnings += [f"{self.out.name}, {note}." for note in clip.contact_notes()]

    def as_json(self) -> str:
        """Returns the job as one line of JSON."""
        return json.dumps({**asdict(self), "shot": str(self.shot), "out": str(self.out)}, ensure_ascii=False)

    def __str__(self) -> str:
        return f"{self.out}: {self.frames} frames, {self.bytes / 1e6:.1f} MB, {self.seconds:.1f} s"


def check_place(out: Path, shot: Path) -> None:
    """Raises StorageError for a file that the clip of a shot cannot be written to. Its folder is tried: rights alone promise nothing."""
    if out.is_dir() or not is_writable(out.parent):
        raise StorageError(f"{out} cannot be written: choose a file in a folder that can be written to")
    if out.exists() and shot.exists() and out.samefile(shot):
        raise StorageError(f"{out} is the shot itself: write the clip to another file")


def is_writable(folder: Path) -> bool:
    """Returns whether a file can be made in a folder and take a byte. Leaves no trace."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\n")
    except OSError:
        return False
    return True


@contextmanager
def made_folder(out: str) -> Iterator[None]:
    """Makes the folder that a slash at the end of `out` names, for the work within the context. It goes again if nothing is in it.

    Raises StorageError if it cannot be made.
    """
    folder = Path(out)
    if not out.endswith(("/", os.sep)) or folder.is_dir():
        yield
        return
    try:
        folder.mkdir()
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"the folder {folder} cannot be made ({reason}): choose another one") from error
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()


def clip_name(shot: str) -> str:
    """Returns the file name of a shot's clip: `hero.Body.clip.thew` for `hero.Body.shot.thew`."""
    name = shot.removesuffix(".thew")
    return f"{name.removesuffix('.shot')}.clip.thew"


def part(progress: _Progress | None, k: int, count: int) -> _Progress | None:
    """Returns the progress function of the `k`-th of `count` simulations, as a part of the whole."""
    return None if progress is None else lambda fraction, stage: progress((k + fraction) / count, stage)


class Bar:
    """Progress on the standard error: one line that is overwritten in a terminal, a line for every tenth elsewhere."""

    def __init__(self) -> None:
        self.terminal, self.said = sys.stderr.isatty(), -1

    def __call__(self, fraction: float, stage: str) -> None:
        percent = int(100.0 * fraction)
        if percent > self.said and (self.terminal or percent // 10 > self.said // 10):
            self.said = percent
            print(f"\r{percent:3} %  {stage:<60.60}" if self.terminal else f"{percent} % {stage}",
                  end="" if self.terminal else "\n", file=sys.stderr, flush=True)  # fmt: skip

    def close(self) -> None:
        """Ends the line that was overwritten."""
        if self.terminal and self.said >= 0:
            print(file=sys.stderr)
        self.said = -1 if self.terminal else self.said


def parser() -> argparse.ArgumentParser:
    """Returns the command's argument parser."""
    top = farm_command.Parser(prog="python -m thew", description="Thew without Blender.")
    top.add_argument("--version", action="version", version=f"thew {__version__}")
    commands = top.add_subparsers(dest="command", required=True)
    farm_command.add_farm(commands)
    command = commands.add_parser("simulate", help="simulate the shots in files and write their clips")
    command.add_argument(
        "shots", metavar="SHOT", type=Path, nargs="+", help="a file that `blender --command thew export` wrote"
    )
    command.add_argument(
        "-o",
        "--out",
        metavar="CLIP",
        required=True,
        help="where the clip goes, or a folder for it, which a slash at the end makes; of several shots a folder",
    )
    command.add_argument(
        "--together", action="store_true", help="the flesh of all shots touches: they were exported with Other Flesh"
    )
    command.add_argument("--threads", metavar="N", type=threads, help="number of threads (one for each processor)")
    command.add_argument("--json", action="store_true", help="report each shot as one line of JSON")
    command.add_argument("-q", "--quiet", action="store_true", help="report problems only")
    return top


def threads(word: str) -> int:
    """Parses a number of threads."""
    number = int(word)
    if not 1 <= number <= 1024:
        raise argparse.ArgumentTypeError(f"{number} threads: choose 1 to 1024")
    return number


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command with its words (`None`: those of the process).

    Returns the exit status: 0 if all shots were simulated, 2 if some were, 1 if none was, 130 if it was interrupted.
    """
    given = parser().parse_args(words)
    if given.command == "farm":
        return farm_command.run_farm(given)
    if given.threads is not None:
        # Both are read when the first parallel work starts; one that was there before would count instead.
        os.environ["THEW_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(given.threads)
    bar, out = None if given.quiet or given.json else Bar(), Path(given.out)

    told: list[Job] = []

    def said(job: Job) -> None:
        told.append(job)
        if bar is not None:
            bar.close()
        if given.json:
            print(job.as_json(), flush=True)
        elif job.error:
            own = "" if job.error.startswith(str(job.shot)) else f"{job.shot}: "
            print(f"{own}{job.error}.", file=sys.stderr)
        elif not given.quiet:
            for warning in job.warnings:
                print(warning, file=sys.stderr)
            print(job, flush=True)

    jobs: list[Job] = []
    try:
        try:
            with made_folder(given.out):
                if len(given.shots) == 1 and not given.together and not out.is_dir():
                    jobs = [simulate_one(given.shots[0], out, bar)]
                    said(jobs[0])
                else:
                    jobs = simulate_all(given.shots, out, given.together, bar, said)
        finally:
            if bar is not None:
                bar.close()
    except ThewError as error:
        for shot in given.shots if given.json and not told else ():
            print(Job(shot, out, error=str(error)).as_json(), flush=True)
        print(f"{error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Stopped; {'the reported clips are' if told else 'nothing was'} written.", file=sys.stderr)
        return 130
    failed = sum(1 for job in jobs if job.error)
    return 0 if not failed else 1 if failed == len(jobs) else 2


if __name__ == "__main__":
    sys.exit(main())

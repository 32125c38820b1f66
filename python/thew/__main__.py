# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m thew simulate SHOT -o CLIP`: what a machine without Blender does of a character's motion.

It needs this package and nothing else. A shot holds all that a simulation asks for; the clip that is written plays anywhere. Several
shots make as many clips in a folder: each by itself, or `--together`, so that their flesh touches.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from . import Clip, Shot, StorageError, ThewError, __version__, simulate_shots

_Progress = Callable[[float, str], "bool | None"]


def simulate(shot: Path, out: Path, progress: _Progress | None = None) -> Clip:
    """Simulate the shot in one file and write its clip to another, which is whole or as it was before.

    What would keep the clip from being written is looked for before the work. Raises StorageError, and what `Shot.simulate`
    raises.
    """
    check_place(out, shot)
    clip = Shot.load(shot).simulate(progress)
    clip.save(out)
    return clip


def simulate_all(
    shots: Sequence[Path], folder: Path, together: bool = False, progress: _Progress | None = None
) -> dict[Path, Clip]:
    """Simulate the shots in several files, by themselves or `together`, and write their clips into a folder; the clips by file.

    A clip is called like its shot, "clip" in place of "shot". Nothing is written before all are simulated. Raises as `simulate`.
    """
    if not folder.exists():
        raise StorageError(f"there is no folder {folder} for the clips of several shots: make it first")
    if not folder.is_dir():
        raise StorageError(f"{folder} is no folder: name one for the clips of several shots")
    places: dict[Path, Path] = {}
    for shot in shots:
        out = folder / clip_name(shot.name)
        if out in places:
            raise StorageError(
                f"{places[out]} and {shot} would both be written to {out}: give one of them another name"
            )
        check_place(out, shot)
        places[out] = shot
    loaded = [Shot.load(shot) for shot in shots]
    if together:
        try:
            clips = simulate_shots(loaded, progress)
        except ThewError as error:
            told = re.sub(r"body (\d+) of the scene", lambda body: str(shots[int(body[1])]), str(error))
            raise type(error)(told) from error
    else:
        clips = [shot.simulate(part(progress, k, len(loaded))) for k, shot in enumerate(loaded)]
    found = dict(zip(places, clips, strict=True))
    for out, clip in found.items():
        clip.save(out)
    return found


def check_place(out: Path, shot: Path) -> None:
    """Refuse a file that the clip of a shot cannot be written to."""
    if out.is_dir() or not out.parent.is_dir() or not os.access(out.parent, os.W_OK):
        raise StorageError(f"{out} cannot be written: choose a file in a folder that can be written to")
    if out.exists() and shot.exists() and out.samefile(shot):
        raise StorageError(f"{out} is the shot itself: write the clip to another file")


def clip_name(shot: str) -> str:
    """What the clip of a shot is called: `hero.Body.clip.thew` of `hero.Body.shot.thew`."""
    name = shot.removesuffix(".thew")
    return f"{name.removesuffix('.shot')}.clip.thew"


def part(progress: _Progress | None, k: int, count: int) -> _Progress | None:
    """The progress of one of `count` simulations as a part of all."""
    return None if progress is None else lambda fraction, stage: progress((k + fraction) / count, stage)


class Bar:
    """Progress on the standard error: a line that is written over in a terminal, a line for every tenth elsewhere."""

    def __init__(self) -> None:
        self.terminal, self.said = sys.stderr.isatty(), -1

    def __call__(self, fraction: float, stage: str) -> None:
        percent = int(100.0 * fraction)
        if percent > self.said and (self.terminal or percent // 10 > self.said // 10):
            self.said = percent
            print(f"\r{percent:3} %  {stage:<60.60}" if self.terminal else f"{percent} % {stage}",
                  end="" if self.terminal else "\n", file=sys.stderr, flush=True)  # fmt: skip

    def close(self) -> None:
        """Leave the line that was written over."""
        if self.terminal and self.said >= 0:
            print(file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    top = argparse.ArgumentParser(prog="python -m thew", description="Thew without Blender.")
    top.add_argument("--version", action="version", version=f"thew {__version__}")
    commands = top.add_subparsers(dest="command", required=True)
    command = commands.add_parser("simulate", help="simulate the shots in files and write their clips")
    command.add_argument(
        "shots", metavar="SHOT", type=Path, nargs="+", help="a file that `blender --command thew export` wrote"
    )
    command.add_argument(
        "-o", "--out", metavar="CLIP", type=Path, required=True, help="where the clip goes; of several shots a folder"
    )
    command.add_argument(
        "--together", action="store_true", help="the flesh of all shots touches: they were exported with Other Flesh"
    )
    command.add_argument("-q", "--quiet", action="store_true", help="say nothing but what is wrong")
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run the command with its words (None: those of the process); the exit status."""
    given = parser().parse_args(words)
    bar, began = (None if given.quiet else Bar()), time.perf_counter()
    try:
        try:
            if len(given.shots) == 1 and not given.together:
                clips = {given.out: simulate(given.shots[0], given.out, bar)}
            else:
                clips = simulate_all(given.shots, given.out, given.together, bar)
        finally:
            if bar is not None:
                bar.close()
    except ThewError as error:
        print(f"{error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; nothing was written.", file=sys.stderr)
        return 130
    for out, clip in clips.items() if not given.quiet else ():
        for warning in clip.warnings:
            print(f"{warning}.", file=sys.stderr)
        for note in clip.contact_notes():
            print(f"{out.name}, {note}.", file=sys.stderr)
        seconds, size = time.perf_counter() - began, out.stat().st_size
        print(f"{out}: {len(clip)} frames, {size / 1e6:.1f} MB, {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

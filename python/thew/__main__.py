# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m thew simulate SHOT -o CLIP`: what a machine without Blender does of a character's motion.

It needs this package and nothing else. A shot holds all that a simulation asks for; the clip that is written plays anywhere.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from . import Clip, Shot, StorageError, ThewError, __version__


def simulate(shot: Path, out: Path, progress: Callable[[float, str], bool | None] | None = None) -> Clip:
    """Simulate the shot in one file and write its clip to another, which is whole or as it was before.

    What would keep the clip from being written is looked for before the work. Raises StorageError, and what `Shot.simulate`
    raises.
    """
    if out.is_dir() or not out.parent.is_dir() or not os.access(out.parent, os.W_OK):
        raise StorageError(f"{out} cannot be written: choose a file in a folder that can be written to")
    if out.exists() and out.samefile(shot):
        raise StorageError(f"{out} is the shot itself: write the clip to another file")
    clip = Shot.load(shot).simulate(progress)
    clip.save(out)
    return clip


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
    command = commands.add_parser("simulate", help="simulate the shot in a file and write its clip")
    command.add_argument("shot", metavar="SHOT", type=Path, help="the file that `blender --command thew export` wrote")
    command.add_argument("-o", "--out", metavar="CLIP", type=Path, required=True, help="where the clip goes")
    command.add_argument("-q", "--quiet", action="store_true", help="say nothing but what is wrong")
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run the command with its words (None: those of the process); the exit status."""
    given = parser().parse_args(words)
    bar, began = (None if given.quiet else Bar()), time.perf_counter()
    try:
        try:
            clip = simulate(given.shot, given.out, bar)
        finally:
            if bar is not None:
                bar.close()
    except ThewError as error:
        print(f"{error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; nothing was written.", file=sys.stderr)
        return 130
    if not given.quiet:
        for warning in clip.warnings:
            print(f"{warning}.", file=sys.stderr)
        seconds, size = time.perf_counter() - began, given.out.stat().st_size
        print(f"{given.out}: {len(clip)} frames, {size / 1e6:.1f} MB, {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

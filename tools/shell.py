# SPDX-License-Identifier: MIT OR Apache-2.0
"""Paths, child processes and stamps: the little that every other file of `tools` leans on."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
SCRATCH = ROOT / ".build"
#: What compiles the crate with counters, for fuzzing and for coverage.
COUNTING = ROOT / "tools" / "counting_rustc.py"


class BuildError(Exception):
    """A step failed; the message is the whole story for the person at the terminal."""


def say(text: str) -> None:
    """Print one line of our own, told apart from the output of the programs that we call."""
    print(f"\033[1m▸ {text}\033[0m" if sys.stdout.isatty() else f"▸ {text}", flush=True)


def environment(extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment of this process with `extra` laid over it; None takes a variable away."""
    env = dict(os.environ)
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def run(command: Iterable[object], env: Mapping[str, str | None] | None = None, cwd: Path = ROOT) -> None:
    """Run a program with its output on the terminal; a non-zero end is a BuildError."""
    words = [str(word) for word in command]
    code = subprocess.run(words, cwd=cwd, env=environment(env), check=False).returncode
    if code:
        raise BuildError(f"'{' '.join(words)}' ended with status {code}.")


def capture(command: Iterable[object], env: Mapping[str, str | None] | None = None) -> tuple[int, str]:
    """Run a program quietly; its status and what it wrote, both streams together."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env=environment(env),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return done.returncode, done.stdout


def digest(*inputs: Path | str) -> str:
    """A hash over texts and over the names and contents of files (folders are walked in order)."""
    total = hashlib.sha256()
    for item in inputs:
        if isinstance(item, str):
            total.update(item.encode())
            continue
        files = sorted(item.rglob("*")) if item.is_dir() else [item]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                total.update(str(file.relative_to(ROOT)).encode() + b"\0")
                total.update(file.read_bytes())
    return total.hexdigest()


def is_done(step: str, inputs: str) -> bool:
    """Whether `step` was last finished with exactly these inputs."""
    stamp = SCRATCH / "stamps" / step
    return stamp.is_file() and stamp.read_text() == inputs


def mark_done(step: str, inputs: str) -> None:
    """Remember that `step` was finished with these inputs."""
    stamp = SCRATCH / "stamps" / step
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(inputs)

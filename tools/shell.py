# SPDX-License-Identifier: MIT OR Apache-2.0
"""Paths, child processes and stamps: the basis of every other file of `tools`."""

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
#: Wrapper of rustc that compiles the crate with counters, for fuzzing and for coverage.
COUNTING = ROOT / "tools" / "counting_rustc.py"


class BuildError(Exception):
    """A failed step. The message is the whole story for the person at the terminal."""


def say(text: str) -> None:
    """Prints one line of our own, marked to distinguish it from the output of called programs."""
    print(f"\033[1m▸ {text}\033[0m" if sys.stdout.isatty() else f"▸ {text}", flush=True)


def environment(extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Returns the environment of this process updated by `extra`; `None` removes a variable."""
    env = dict(os.environ)
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def run(command: Iterable[object], env: Mapping[str, str | None] | None = None, cwd: Path = ROOT) -> None:
    """Runs a program with its output on the terminal. Raises BuildError on a non-zero exit status."""
    words = [str(word) for word in command]
    code = subprocess.run(words, cwd=cwd, env=environment(env), check=False).returncode
    if code:
        raise BuildError(f"'{' '.join(words)}' ended with status {code}.")


def capture(command: Iterable[object], env: Mapping[str, str | None] | None = None) -> tuple[int, str]:
    """Runs a program quietly. Returns its exit status and its output, both streams together."""
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
    """Returns a hash of texts and of the names and contents of files (folders are walked in order)."""
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
    """Returns whether `step` was last finished with exactly these inputs."""
    stamp = SCRATCH / "stamps" / step
    return stamp.is_file() and stamp.read_text() == inputs


def mark_done(step: str, inputs: str) -> None:
    """Records that `step` was finished with these inputs."""
    stamp = SCRATCH / "stamps" / step
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(inputs)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs on .blend files: a Blender of its own bakes each.

Blender is a program with `--command`, or the module `bpy` of this interpreter, which has no commands: then `in_module` calls the
extension's function for them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from .. import InputError, MotionError
from .jobs import Call, Job, JobResult

#: Environment variables: Blender's program, and the folder of the extension for the module bpy.
BLENDER, EXTENSION = "THEW_BLENDER", "THEW_EXTENSION"
#: Lines of Blender's output that a failure without a reason is told with.
TAIL = 3

_running: set[subprocess.Popen[str]] = set()


def command(blender: str | None = None, extension: str | None = None) -> tuple[str, ...]:
    """Returns the words that start Blender's command `thew`. Raises InputError if there is no Blender.

    `blender`: a program; None: that of THEW_BLENDER, the module bpy of this interpreter, or a `blender` on the path.
    """
    program = blender or os.environ.get(BLENDER)
    if program:
        found = shutil.which(program)
        if found is None:
            raise InputError(f"there is no Blender {program}: check --blender and {BLENDER}")
        return (found, "--command", "thew")
    if importlib.util.find_spec("bpy") is not None:
        return (sys.executable, "-m", "thew.farm.in_module", extension or os.environ.get(EXTENSION, ""))
    found = shutil.which("blender")
    if found is None:
        raise InputError(f"a .blend needs Blender, and none is found: name its program with --blender or {BLENDER}")
    return (found, "--command", "thew")


def bake(call: Call, part: Path) -> JobResult:
    """Bakes the .blend of a job into a folder, which is the result as a whole. Raises InputError, and MotionError if nothing was baked.

    The folder lies as deep as its place, so that relative paths in the .blend go on leading to the same files.
    """
    start, out = call.blender or command(), part / f"{call.job.name}.blend"
    words = [*start, "bake", call.job.file, "--out", str(out), *options(call)]
    try:
        code, lines, errors = _run(words, call.timeout or None)
    except subprocess.TimeoutExpired as error:
        raise MotionError(call.overdue()) from error
    reports = [report for line in lines if (report := _report(line)) is not None]
    done = [report for report in reports if report.get("done")]
    failed = [_fault(report, call.job) for report in reports if not (report.get("done") or report.get("left"))]
    if not done or not out.is_file():
        reason = " ".join(failed) or " ".join(errors[-TAIL:]) or _silent(start[0], code)
        raise MotionError(reason.rstrip("."))
    warnings = [_of_mesh(report, note, call.job) for report in done for note in report.get("notes", [])]
    worst = max((report["worst_frame"] for report in done if report.get("worst_frame")), default=None, key=_distance)
    missing = f"{' '.join(failed)} The others are baked" if failed else ""
    return JobResult([], missing, max(report.get("frames", 0) for report in done), warnings, worst)


def options(call: Call) -> list[str]:
    """Returns the words of `bake` for a job."""
    job: Job = call.job
    words = ["--json", "--target", job.targets[0]]
    for option, value in (("--object", job.object), ("--threads", str(call.threads or ""))):
        words += [option, value] if value else []
    if job.frames is not None:
        words += ["--frames", *map(str, job.frames)]
    if job.action:
        words += ["--actions", job.action]
    if job.wedge:
        words += ["--look"]
    for name, value in job.settings.items():
        words += ["--set", f"{name}={json.dumps(value)}"]
    return words


def stop() -> None:
    """Ends the Blenders that this process waits for."""
    for process in list(_running):
        process.kill()


def _run(words: list[str], timeout: float | None) -> tuple[int, list[str], list[str]]:
    """Runs Blender. Returns its exit status, the lines of its output, and those of its errors. Raises TimeoutExpired."""
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} if "-m" in words[:2] else dict(os.environ)
    try:
        with subprocess.Popen(
            words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace",
        ) as process:  # fmt: skip
            _running.add(process)
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            finally:
                _running.discard(process)
            return process.returncode, out.splitlines(), [line for line in err.splitlines() if line.strip()]
    except OSError as error:
        raise InputError(f"Blender cannot be started ({error.strerror}): check {words[0]}") from error


def _fault(report: dict[str, Any], job: Job) -> str:
    """Returns a sentence on a mesh that was not baked."""
    return _of_mesh(report, str(report["text"]), job)


def _of_mesh(report: dict[str, Any], text: str, job: Job) -> str:
    """Returns a sentence with the name of its mesh. What concerns the whole file or the job's own object needs no name."""
    return text if report["name"] in {job.object, job.file} else f"{report['name']}: {text}"


def _report(line: str) -> dict[str, Any] | None:
    """Returns the report on a mesh in a line of Blender's output; None for lines of its own."""
    if not line.startswith("{"):
        return None
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return found if {"name", "text", "done"} <= found.keys() else None


def _silent(program: str, code: int) -> str:
    """Returns the sentence on a program that told nothing."""
    return f"{program} ended with status {code} and told nothing: check that it is Blender, and that Thew is switched on in it"


def _distance(worst: dict[str, Any]) -> float:
    return float(worst["distance"])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The function that does one job, on any machine.

A worker writes results beside their place and moves them there, then its record into the journal, from which the command takes it into
the manifest. So whatever ends first, worker or command, nothing is half written and nothing that was finished is lost.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
import traceback
import uuid
from pathlib import Path
from typing import Any

import thew

from .. import ThewError
from . import blends, shots
from .jobs import Call, JobResult, Record, digest_file, utc_time

#: Folder of the journal in the folder of results.
JOURNAL = ".thew-farm"
#: Endings of folders with unfinished and with replaced results.
PART, FORMER = ".thew-part", ".thew-former"
#: Ending of files that Blender writes beside a .blend, and anew when it is opened: no results.
CACHE = ".thew-cache"


def run_job(call: Call) -> Record:
    """Does one job, on whatever machine this is. Failures are told in the record; only a killed process raises nothing and returns nothing."""
    began = time.perf_counter()
    record = Record.from_job(call.job, "failed")
    published = False
    record.worker = f"{platform.node()}:{os.getpid()}"
    out = Path(call.out)
    part = out / f".{call.job.name}.{record.key[:8]}.{uuid.uuid4().hex[:8]}{PART}"
    try:
        if call.threads:
            _limit_threads(call.threads)
        part.mkdir()
        made = _work(call, part)
        record.outputs = _outputs(part, made, call.job.name)
        record.frames, record.warnings, record.worst_frame = made.frames, made.warnings, made.worst_frame
        _publish(part, out, made, call.job.name)
        published = True
        record.status, record.message = "failed" if made.missing else "ok", made.missing
    except ThewError as error:
        record.message = str(error).replace(str(part), str(out))
    except OSError as error:
        record.message = (
            f"{error.filename or out} cannot be written: {error.strerror or error}: make room, or check its rights"
        )
    except MemoryError:
        record.message = "the memory of this machine does not suffice: take fewer workers"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        record.message = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno}): please report it"
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if not published:
        record.outputs = []
    record.seconds, record.ended = round(time.perf_counter() - began, 4), utc_time()
    _keep(record, out)
    return record


def _limit_threads(count: int) -> None:
    """Limits the threads of this process, and of programs that it starts."""
    os.environ["THEW_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(
        count
    )  # read when the first parallel work starts
    if (set_threads := getattr(thew, "set_threads", None)) is not None:
        set_threads(count)  # a worker of a scheduler may have worked before


def _work(call: Call, part: Path) -> JobResult:
    return blends.bake(call, part) if call.job.kind == "blend" else shots.simulate(call, part)


def _outputs(part: Path, made: JobResult, name: str) -> list[dict[str, Any]]:
    """Returns path in the folder of results, digest and size of each file that was made."""
    everything = sorted(path for path in part.rglob("*") if path.is_file() and path.suffix != CACHE)
    files = [part / each for each in made.files] or everything
    folder = Path() if made.files else Path(name)
    return [
        {
            "path": (folder / file.relative_to(part)).as_posix(),
            "sha256": digest_file(file),
            "bytes": file.stat().st_size,
        }
        for file in files
    ]


def _publish(part: Path, out: Path, made: JobResult, name: str) -> None:
    """Moves what was made to its place. A folder takes the place of a whole earlier one."""
    for each in made.files:
        (part / each).replace(out / each)
    if made.files:
        return
    if (out / name).exists():
        former = out / f".{name}.{os.getpid()}{FORMER}"
        (out / name).rename(former)
        part.rename(out / name)
        shutil.rmtree(former, ignore_errors=True)
    else:
        part.rename(out / name)


def _keep(record: Record, out: Path) -> None:
    """Writes a record of success into the journal; if that fails, the command has to rely on the answer alone."""
    if record.status != "ok":
        return
    place = out / JOURNAL / f"{record.key}.{record.name}.json"
    part = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(exist_ok=True)
        part.write_text(record.as_json() + "\n", encoding="utf-8")
        part.replace(place)
    except OSError:
        part.unlink(missing_ok=True)

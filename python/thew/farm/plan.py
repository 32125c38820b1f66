# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs from the rows of a table: files found, ranges multiplied, names given."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._errors import InputError
from . import columns
from .jobs import Job
from .table import Row

#: Longest name of a job, bytes. File systems take 255 bytes; endings and names of unfinished folders need the rest.
MAX_NAME = 160
#: Largest number of jobs of one row. More are a mistyped range rather than a plan.
MAX_JOBS_OF_ROW = 10_000


def plan_jobs(rows: Sequence[Row], folder: Path) -> list[Job]:
    """Returns the jobs of a table in its order. `folder`: where relative paths of the rows begin.

    A row with a fault becomes one job with an `error`, so that the others go on.
    """
    jobs: list[Job] = []
    taken: dict[str, Job] = {}
    for row in rows:
        made: list[Job] = []
        try:
            for file, alone in _files(row, folder):
                made += _jobs_of(row, file, alone)
        except InputError as error:
            made.append(_faulty(row, str(error)))
        for job in made:
            other = taken.setdefault(job.name.lower(), job) if not job.error else job
            jobs.append(job if other is job else replace(job, error=f"{row.place}: {_clash(job, other)}"))
    return jobs


def _clash(job: Job, other: Job) -> str:
    """Returns the sentence on a job whose result has the name of another job's."""
    if job.row != other.row:
        return f"its result {job.name} is that of {other.row} too: name them apart in the column out"
    if job.file != other.file:
        return (
            f"{other.file} would have the result {job.name} too: give each of them a row, with a name in the column out"
        )
    return f"two values of its range give the result {job.name}: leave one of them out"


def _files(row: Row, folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yields the files of a row, and whether it can only be this one: not if it is of a range, or found by a pattern."""
    if "file" not in row.values:
        columns.check_name(next(iter(row.values), "file"), "shot")
        raise InputError("it names no file: give it a .blend or a shot")
    values = columns.values_of("file", row.values["file"], "shot", row.text)
    for value in values:
        path = folder / value
        if any(sign in value for sign in "*?[") and not path.exists():
            base = Path(path.anchor) if Path(value).is_absolute() else folder
            found = sorted(base.glob(str(path.relative_to(base))))
            if not found:
                raise InputError(f"no file is called {path}: check the path")
            yield from ((each, False) for each in found)
        else:
            yield path, len(values) == 1


def _jobs_of(row: Row, file: Path, alone: bool) -> Iterator[Job]:
    """Yields the jobs of a row for one file: one for each combination of its ranges, the last column first.

    `alone`: the row has no other file. Otherwise the name in its column out is given to none alone.
    """
    kind = "blend" if file.suffix.lower() == ".blend" else "shot"
    given = {name: value for name, value in row.values.items() if name != "file"}
    for name in given:
        columns.check_name(name, kind)
    if kind == "shot" and (wrong := [name for name in ("object", "action") if name in given]):
        raise InputError(f"{wrong[0]}: a shot holds one object and its motion: leave it out, or name a .blend")
    if "action" in given and "frames" in given:
        raise InputError("an action is baked over its own frames: leave frames or action out")
    choices = {name: columns.values_of(name, value, kind, row.text) for name, value in given.items()}
    ranges = [name for name, values in choices.items() if len(values) > 1]
    for name in ("out", "target"):
        if name in ranges:
            raise InputError(f"{name} has several values: give it one, and a range to a setting")
    for name in ranges:
        label, count = Counter(map(columns.label, choices[name])).most_common(1)[0]
        if count > 1:
            raise InputError(f"{name} has the value {label} more than once: leave the others out")
    total = 1
    for several in choices.values():
        total *= len(several)
    if total > MAX_JOBS_OF_ROW:
        raise InputError(f"its ranges make {total} jobs, more than {MAX_JOBS_OF_ROW}: shorten them")
    base = _base_name(file, {name: values[0] for name, values in choices.items() if name not in ranges}, alone)
    for combination in itertools.product(*choices.values()):
        values = dict(zip(choices, combination, strict=True))
        chosen = {name: values[name] for name in ranges}
        yield _job(row, file, kind, values, base, chosen)


def _job(row: Row, file: Path, kind: str, values: dict[str, Any], base: str, chosen: dict[str, Any]) -> Job:
    """Returns one job. `chosen`: its values of the ranges of the row."""
    name = "_".join([base, *(f"{columns.safe_name(each)}-{columns.label(value)}" for each, value in chosen.items())])
    if (length := len(name.encode())) > MAX_NAME:
        raise InputError(f"its result would have a name of {length} bytes: give it a short one in the column out")
    settings = {name: value for name, value in values.items() if name not in columns.TASKS}
    columns.check_settings(settings, kind)
    return Job(
        name=name,
        file=str(file.absolute()),
        kind=kind,
        object=values.get("object", ""),
        action=values.get("action", ""),
        frames=columns.frames_of(values.get("frames")),
        targets=columns.targets_of(values.get("target"), kind),
        settings=settings,
        wedge=base if chosen else "",
        chosen=chosen,
        row=row.place,
    )


def _base_name(file: Path, values: dict[str, Any], alone: bool) -> str:
    """Returns the name of a row's result without its ranges."""
    stem = file.name.removesuffix(".thew").removesuffix(".shot") if file.suffix == ".thew" else file.stem
    if "out" in values:
        if re.search(r"[/\\]", values["out"]):
            raise InputError(f"out “{values['out']}”: it is a name in the folder of results: leave folders out")
        return ".".join(columns.safe_name(word) for word in (values["out"], "" if alone else stem) if word)
    return ".".join(columns.safe_name(word) for word in (stem, values.get("object"), values.get("action")) if word)


def _faulty(row: Row, error: str) -> Job:
    """Returns the job of a row that cannot be read: it holds what the row says, as it says it."""
    told = json.loads(json.dumps(row.values, default=str))  # TOML has dates, which JSON has not
    file, name, action = (str(told.pop(column, "")) for column in ("file", "object", "action"))
    return Job(
        name=str(told.pop("out", "")) or file or row.place,
        file=file,
        kind="",
        object=name,
        action=action,
        settings=told,
        row=row.place,
        error=f"{row.place}: {error}",
    )

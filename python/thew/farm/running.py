# SPDX-License-Identifier: MIT OR Apache-2.0
"""A table from beginning to end: what is present is skipped, the rest goes to workers, and the manifest tells what happened."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from .._errors import InputError
from . import blends, cluster, sheets, shots
from .jobs import Call, Job, Record, with_digest
from .manifest import Results
from .plan import plan_jobs
from .processes import Processes, leave_worker
from .table import read_table

_Report = Callable[[Record], object]


@dataclass
class Options:
    """Options of the run of a table."""

    scheduler: str | None = None  # address of Dask's; None: this machine
    workers: int | None = None  # on this machine; None: as many as processors
    threads: int | None = None  # of each job; None: the processors shared out among the workers
    retries: int = 2  # of a job whose worker was killed
    processes: bool = False  # plain processes even where Dask is there
    again: bool = False  # do what is present too
    blender: str | None = None  # program; see `blends.command`
    extension: str | None = None  # folder, for the module bpy
    timeout: float | None = None  # seconds after which a job is given up; None: never
    part: tuple[int, int] | None = None  # (k, n): every n-th job from the k-th on, counted from 1; None: all


@dataclass
class Outcome:
    """Results of a table."""

    records: list[Record] = field(default_factory=list)  # in the order of its jobs
    sheets: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # sentences on what is missing beside results

    @property
    def failed(self) -> list[Record]:
        """Returns the records of failures."""
        return [record for record in self.records if record.status == "failed"]

    @property
    def exit_status(self) -> int:
        """Returns 0 if everything is there, 1 if nothing is, and 2 if some is."""
        return 0 if not self.failed else 1 if len(self.failed) == len(self.records) else 2


def run(
    table: Path,
    out: Path,
    options: Options | None = None,
    report: _Report | None = None,
    begin: Callable[[int], object] | None = None,
) -> Outcome:
    """Does the jobs of a table and writes their results into the folder `out`, which is made if need be.

    `begin(count)` is called once, before the first job, and `report(record)` as each ends. Raises InputError for a table that cannot be
    used, and StorageError for a folder or scheduler that cannot. A script calls it under `if __name__ == "__main__":`, because workers
    read the script too. A KeyboardInterrupt ends the workers and comes out.
    """
    leave_worker()
    chosen = options or Options()
    jobs = part_of(read_jobs(table), chosen.part)
    if begin is not None:
        begin(len(jobs))
    outcome, ended = Outcome(), {}

    def take(number: int, record: Record) -> None:
        ended[number] = record
        if not results.add(record) and not outcome.notes:
            outcome.notes.append(f"{results.file} cannot be written: make room there, and give the command again")
        if report is not None:
            report(record)

    with Results(out.absolute(), "" if chosen.part is None else "{}/{}".format(*chosen.part), jobs) as results:
        calls: dict[int, Call] = {}
        for number, job in enumerate(jobs):
            if job.error:
                take(number, Record.from_job(job, "failed", job.error))
            elif not chosen.again and (record := results.find_present(job)) is not None:
                take(number, replace(record, status="skipped", message="it was present", row=job.row))
            else:
                calls[number] = _call(job, results.folder, chosen)
        for number, sentence in _without_blender(calls, chosen).items():
            take(number, Record.from_job(calls.pop(number).job, "failed", sentence))
        if calls:
            try:
                _work(calls, chosen, take)
            except BaseException:
                if chosen.scheduler is None:
                    results.clear()  # the workers have ended; those of a scheduler may still finish
                raise
        outcome.records = [ended[number] for number in range(len(jobs))]
        if chosen.part is None:  # a part has only some of what a sheet shows
            drawn, sentences = sheets.draw_all(jobs, outcome.records, results.folder)
            outcome.sheets += drawn
            outcome.notes += sentences
        if results.pending:
            results.add(results.pending.pop())  # once more
        elif outcome.notes and outcome.notes[0].startswith(str(results.file)):
            del outcome.notes[0]  # there was room again
    return outcome


def read_jobs(table: Path) -> list[Job]:
    """Returns the jobs of a table, each with the digest of its file or with an error."""
    known: dict[str, str] = {}
    counts: dict[str, int | None] = {}
    return [
        _with_frames(with_digest(job, known), counts) for job in plan_jobs(read_table(table), table.absolute().parent)
    ]


def _with_frames(job: Job, counts: dict[str, int | None]) -> Job:
    """Returns the job, with an error if it asks for poses that its shot has not. `counts`: numbers of poses by file, kept there."""
    if job.error or job.kind != "shot" or job.frames is None:
        return job
    if job.file not in counts:
        counts[job.file] = shots.count_poses(job.file)
    count, (first, last) = counts[job.file], job.frames
    if count is None or 0 <= first <= last < count:
        return job
    return replace(
        job, error=f"{job.row}: frames {first} to {last}: the shot has poses 0 to {count - 1}: choose among these"
    )


def part_of(jobs: list[Job], part: tuple[int, int] | None) -> list[Job]:
    """Returns the jobs of one part of a table. Raises InputError for a part without jobs."""
    chosen = jobs if part is None else jobs[part[0] - 1 :: part[1]]
    if not chosen:
        raise InputError(f"the table has {len(jobs)} jobs, and part {part} none of them: take fewer parts")
    return chosen


def rehearse(table: Path, out: Path, part: tuple[int, int] | None = None) -> list[Record]:
    """Returns what a run would do, and does nothing: records with the status "planned", "skipped" or "failed"."""
    found = []
    folder = Results(out.absolute())
    folder.read()
    for job in part_of(read_jobs(table), part):
        status = "failed" if job.error else "skipped" if folder.find_present(job) is not None else "planned"
        found.append(Record.from_job(job, status, job.error))
    return found


def default_workers(jobs: int, options: Options) -> tuple[int, int]:
    """Returns the number of workers on this machine, and of threads of each."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(options.workers or processors, max(jobs, 1))
    return workers, options.threads or max(processors // workers, 1)


def _call(job: Job, folder: Path, options: Options) -> Call:
    return Call(job, str(folder), options.threads or 0, options.timeout or 0.0)


def _without_blender(calls: dict[int, Call], options: Options) -> dict[int, str]:
    """Gives jobs on a .blend the Blender of this machine. Returns sentences on those that have none, by number."""
    baked = [number for number, call in calls.items() if call.job.kind == "blend"]
    if not baked or (options.scheduler is not None and options.blender is None):
        return {}  # the machines of a scheduler have Blenders of their own
    try:
        words = blends.command(options.blender, options.extension)
    except InputError as error:
        return dict.fromkeys(baked, str(error))
    for number in baked:
        calls[number] = replace(calls[number], blender=words)
    return {}


def _work(calls: dict[int, Call], options: Options, take: Callable[[int, Record], None]) -> None:
    """Gives the jobs to workers."""
    workers, threads = default_workers(len(calls), options)
    runner: Processes | cluster.Cluster
    if options.scheduler is None:
        calls = {number: replace(call, threads=threads) for number, call in calls.items()}
    if options.scheduler is None and (options.processes or not cluster.is_there()):
        runner = Processes(workers, options.retries)
    else:
        runner = cluster.Cluster(options.scheduler, workers, threads, options.retries)
    numbers = {id(call): number for number, call in calls.items()}
    with runner:
        for call, record in runner.run(list(calls.values())):
            take(numbers[id(call)], record)


def check_exclusive(options: Options) -> None:
    """Raises InputError for options that exclude each other."""
    if options.scheduler is not None and options.processes:
        raise InputError("--processes is for this machine: leave it or --scheduler out")
    if options.scheduler is not None and options.workers is not None:
        raise InputError("a scheduler has workers of its own: leave --workers or --scheduler out")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""One job: its inputs, the key that stands for them, and the record of what happened to it.

Jobs name files, which all machines must see under the same paths.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import __version__


@dataclass(frozen=True)
class Job:
    """Work to be done: plain values, so that any machine can take it."""

    name: str  # of its results
    file: str  # absolute path
    kind: str  # "shot" or "blend"
    object: str = ""
    action: str = ""
    frames: tuple[int, int] | None = None
    targets: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    wedge: str = ""  # name shared by the jobs of a row with ranges
    chosen: dict[str, Any] = field(default_factory=dict)  # its values of these ranges
    row: str = ""  # place in the table
    error: str = ""  # why it cannot be done; empty if it can be tried
    digest: str = ""  # SHA-256 of the file

    @property
    def first_pose(self) -> int:
        """Returns the first pose of its shot that is simulated."""
        return self.frames[0] if self.frames is not None else 0

    @property
    def key(self) -> str:
        """Returns a hash of everything that the result depends on: the file's bytes, what is asked of it, and Thew's version.

        A job that cannot be done has no result to be found again: its key is that of its row.
        """
        inputs = self.inputs()
        if self.error:
            inputs |= {"row": self.row, "name": self.name, "error": self.error}
        else:
            del inputs["file"]  # a file that moved gives the same
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    def inputs(self) -> dict[str, Any]:
        """Returns the inputs, for the manifest."""
        return {
            "file": self.file,
            "sha256": self.digest,
            "object": self.object,
            "action": self.action,
            "frames": self.frames,
            "targets": self.targets,
            "settings": self.settings,
            "version": __version__,
        }


@dataclass(frozen=True)
class Call:
    """A job as it is sent to a worker."""

    job: Job
    out: str  # folder of results, absolute path
    threads: int = 0  # for each job; 0: one for each processor
    timeout: float = 0.0  # seconds after which it is given up; 0: never
    blender: tuple[str, ...] = ()  # words that start Blender's command `thew`; empty: those of the worker

    def overdue(self) -> str:
        """Returns the sentence on a job that takes too long."""
        return f"it was given up after {self.timeout:g} s: give it longer with --timeout"


@dataclass
class Record:
    """Result of a job: one line of the manifest."""

    key: str
    name: str
    status: str  # "ok", "failed" or "skipped"
    message: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: list[dict[str, Any]] = field(default_factory=list)  # of each: path in the folder, sha256, bytes
    seconds: float = 0.0
    frames: int = 0
    warnings: list[str] = field(default_factory=list)
    worst_frame: dict[str, Any] | None = None
    row: str = ""
    worker: str = ""
    ended: str = ""  # time, UTC

    def as_json(self) -> str:
        """Returns the record as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_job(job: Job, status: str, message: str = "") -> Record:
        """Returns a record of a job without results."""
        return Record(job.key, job.name, status, message, job.inputs(), row=job.row, ended=utc_time())


@dataclass
class JobResult:
    """Products of a job in its unfinished folder."""

    files: list[str]  # names of files in it; empty: the folder as a whole is the result
    missing: str = ""  # what is not among them: the job has failed, though it leaves results
    frames: int = 0
    warnings: list[str] = field(default_factory=list)
    worst_frame: dict[str, Any] | None = None


def digest_file(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_digest(job: Job, known: dict[str, str]) -> Job:
    """Returns the job with the digest of its file, or with an error. `known`: digests by path, which are kept there."""
    if job.error:
        return job
    try:
        if job.file not in known:
            known[job.file] = digest_file(Path(job.file))
    except OSError as error:
        return replace(job, error=f"{job.row}: {job.file} cannot be read: {error.strerror}: check the path")
    return replace(job, digest=known[job.file])


def utc_time() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

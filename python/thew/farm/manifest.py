# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder of results: its manifest, the journal of workers, and the lock that keeps a second command out."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from .._errors import StorageError
from .jobs import Job, Record, digest_file
from .working import FORMER, JOURNAL, PART

#: Name of the manifest in the folder of results.
MANIFEST = "manifest.jsonl"
_FIELDS = {each.name for each in fields(Record)}


class Results:
    """A folder of results while one command works on it. Used in a `with` block, which holds the lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / MANIFEST
        self.pending: list[Record] = []  # that the disk has not taken yet
        self._done: dict[tuple[str, str], Record] = {}  # last success by key and name
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            (self.folder / JOURNAL).mkdir(parents=True, exist_ok=True)
            probe = self.folder / JOURNAL / f".probe.{os.getpid()}"
            probe.write_bytes(b"\n")  # a full disk refuses this, and a read-only one the folder
            probe.unlink()
            lock = (self.folder / JOURNAL / "lock").open("ab")
        except OSError as error:
            raise StorageError(
                f"nothing can be written to the folder {self.folder}: {error.strerror}: choose another one with --out"
            ) from error
        if not _lock(lock):
            lock.close()
            raise StorageError(
                f"another command of the farm is writing to {self.folder}: wait for it, or choose another folder with --out"
            )
        self._lock = lock
        self.clear()
        self.read()
        for record in self._journal():
            self.add(record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()  # which opens it

    def read(self) -> None:
        """Reads what the manifest has of earlier runs."""
        for record in self._lines():
            if record.status == "ok":
                self._done[record.key, record.name] = record

    def present(self, job: Job) -> Record | None:
        """Returns the record of a job that was done before and whose results are there, bit for bit."""
        record = self._done.get((job.key, job.name))
        return record if record is not None and self._is_whole(record) else None

    def add(self, record: Record) -> bool:
        """Appends a record to the manifest, with those that a full disk refused before. Returns whether the disk took them."""
        self.pending.append(record)
        lines = "".join(each.as_json() + "\n" for each in self.pending).encode()
        try:
            _append(self.file, lines)
        except OSError:
            return False
        for each in self.pending:
            if each.status == "ok":
                self._done[each.key, each.name] = each
                (self.folder / JOURNAL / f"{each.key}.{each.name}.json").unlink(missing_ok=True)
        self.pending.clear()
        return True

    def _is_whole(self, record: Record) -> bool:
        try:
            return bool(record.outputs) and all(
                (path := self.folder / each["path"]).stat().st_size == each["bytes"]
                and digest_file(path) == each["sha256"]
                for each in record.outputs
            )
        except (OSError, KeyError, TypeError):
            return False

    def _lines(self) -> Iterator[Record]:
        """Yields the records of the manifest. A line that a crash cut off is passed over."""
        try:
            text = self.file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(
                f"{self.file} cannot be read: {error.strerror}: choose another folder with --out"
            ) from error
        for line in text.splitlines():
            if (record := _parse(line)) is not None:
                yield record

    def _journal(self) -> Iterator[Record]:
        """Yields the records that workers left behind when their command ended before them."""
        for file in sorted((self.folder / JOURNAL).glob("*.json")):
            record = _parse(file.read_text(encoding="utf-8", errors="replace"))
            if record is None or not self._is_whole(record):
                file.unlink(missing_ok=True)
            elif (record.key, record.name) in self._done and self._done[record.key, record.name] == record:
                file.unlink(missing_ok=True)  # it was entered, and the command ended before it could say so
            else:
                yield record

    def clear(self) -> None:
        """Removes what killed workers left unfinished, and finishes the replacement of folders."""
        for path in self.folder.glob(f".*{PART}"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self.folder.glob(f".*{FORMER}"):
            place = self.folder / path.name.removeprefix(".").removesuffix(FORMER).rpartition(".")[0]
            if not place.exists():
                path.rename(place)
            else:
                shutil.rmtree(path, ignore_errors=True)


def _parse(line: str) -> Record | None:
    try:
        found = json.loads(line)
        return Record(**{name: value for name, value in found.items() if name in _FIELDS})
    except (ValueError, TypeError, AttributeError):
        return None


def _append(file: Path, lines: bytes) -> None:
    """Appends whole lines to a file, or nothing. Raises OSError."""
    with file.open("ab", buffering=0) as out:
        before = out.seek(0, os.SEEK_END)
        if before and not _ends_with_newline(file):
            lines = b"\n" + lines
        try:
            written = out.write(lines)
            if written != len(lines):
                raise OSError(28, "No space left on device")
            os.fsync(out.fileno())
        except OSError:
            out.truncate(before)
            raise


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as read:
        read.seek(-1, os.SEEK_END)
        return read.read(1) == b"\n"


def _lock(file: IO[bytes]) -> bool:
    """Locks an open file until it is closed, also by the end of this process. Returns False if another process has it."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A file system without locks lets everyone in: it is the user's own folder.
        return error.errno not in {errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}
    return True

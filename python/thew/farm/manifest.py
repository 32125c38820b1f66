# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder of results: its manifest, the journal of workers, and the lock that keeps a second command out."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Self

from .._errors import StorageError
from .jobs import Job, Record, digest_file
from .locks import Lock
from .working import FORMER, JOURNAL, PART

#: Name of the manifest in the folder of results.
MANIFEST = "manifest.jsonl"
_FIELDS = {each.name for each in fields(Record)}


class Results:
    """A folder of results while a command works on it. Used in a `with` block, which holds the lock.

    A command that does the `part` K/N of a table shares the folder with those of the other parts, and has a manifest of its own. `jobs` are
    then its own ones, and it leaves unfinished results and records of others alone.
    """

    def __init__(self, folder: Path, part: str = "", jobs: Sequence[Job] = ()) -> None:
        self.folder, self.part = folder, part.replace("/", "-of-")
        self.file = folder / (f"manifest.{self.part}.jsonl" if part else MANIFEST)
        self._own = {(job.key, job.name) for job in jobs} if part else None
        self.pending: list[Record] = []  # that the disk has not taken yet
        self._done: dict[tuple[str, str], Record] = {}  # last success by key and name
        self._locks: list[Lock] = []

    def __enter__(self) -> Self:
        try:
            (self.folder / JOURNAL).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder) as probe:
                probe.write(b"\n")  # a full disk refuses this, and a read-only one the folder
            whole = Lock(self.folder / JOURNAL / "lock", shared=bool(self.part))
            self._locks = [whole, Lock(self.folder / JOURNAL / f"lock.{self.part}")] if self.part else [whole]
        except OSError as error:
            raise StorageError(
                f"nothing can be written to the folder {self.folder}: {error.strerror}: choose another one with --out"
            ) from error
        if not all(lock.held for lock in self._locks):
            self._unlock()
            raise StorageError(
                f"another command of the farm is writing to {self.folder}: wait for it, or choose another folder with --out"
            )
        self.clear()
        self.read()
        for record in self._journal():
            self.add(record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unlock()

    def _unlock(self) -> None:
        for lock in self._locks:
            lock.close()

    def read(self) -> None:
        """Reads what the manifests have of earlier runs."""
        for record in self._lines():
            before = self._done.get((record.key, record.name))
            if record.status == "ok" and (before is None or before.ended <= record.ended):
                self._done[record.key, record.name] = record

    def find_present(self, job: Job) -> Record | None:
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
        """Yields the records of all manifests. A line that a crash cut off is passed over."""
        for file in sorted(self.folder.glob("manifest*.jsonl")):
            try:
                text = file.read_text(encoding="utf-8", errors="replace")
            except OSError as error:
                raise StorageError(
                    f"{file} cannot be read: {error.strerror}: choose another folder with --out"
                ) from error
            yield from filter(None, map(_parse, text.splitlines()))

    def _journal(self) -> Iterator[Record]:
        """Yields the records that workers left behind when their command ended before them."""
        for file in sorted((self.folder / JOURNAL).glob("*.json")):
            record = _parse(file.read_text(encoding="utf-8", errors="replace"))
            if record is not None and self._own is not None and (record.key, record.name) not in self._own:
                continue
            if record is None or not self._is_whole(record):
                file.unlink(missing_ok=True)
            elif self._done.get((record.key, record.name)) == record:
                file.unlink(missing_ok=True)  # it was entered, and the command ended before it could say so
            else:
                yield record

    def clear(self) -> None:
        """Removes what killed workers left unfinished, and finishes the replacement of folders."""
        own = None if self._own is None else {f".{name}.{key[:8]}" for key, name in self._own}
        for path in self.folder.glob(f".*{PART}"):
            if own is None or path.name.removesuffix(PART).rpartition(".")[0] in own:
                shutil.rmtree(path, ignore_errors=True)
        for path in self.folder.glob(f".*{FORMER}"):
            place = self.folder / path.name.removeprefix(".").removesuffix(FORMER).rpartition(".")[0]
            if own is not None and place.name not in {name for _, name in self._own or ()}:
                continue
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

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Progress of a table: a bar in a terminal where rich is installed, and a line for each job elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self


class Progress:
    """Lines on the standard output, faults on the standard error, and a bar below them. Used in a `with` block."""

    def __init__(self, quiet: bool = False, bar: bool = True) -> None:
        self.quiet, self.count, self.ended = quiet, 0, 0
        self._bar = _rich_bar() if bar and not quiet and sys.stderr.isatty() else None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.stop()

    def begin(self, count: int) -> None:
        """Starts the count of jobs."""
        self.count = count
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("jobs", total=count)

    def step(self, line: str, fault: bool = False) -> None:
        """Counts a job that has ended, and prints its line."""
        self.ended += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1)
        if fault or not self.quiet:
            counter = f"[{self.ended}/{self.count}] " if self._bar is None else ""
            print(f"{counter}{line}", file=sys.stderr if fault else sys.stdout, flush=True)


def _rich_bar() -> Any:
    """Returns rich's bar on the standard error; None where rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        return None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True))

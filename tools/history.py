# SPDX-License-Identifier: MIT OR Apache-2.0
"""The history of benches: one line of JSON for each bench and run, and comparisons with the last run on the same machine.

A measure is a cell of a printed table whose column is in ms or s. Tables are Markdown, or columns separated by two spaces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path

from tools.shell import ROOT

HISTORY = ROOT / "docs" / "benches" / "history.jsonl"

_TIMED = re.compile(r"(?<![\w/])(ms|s|seconds)\b")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_UNITS = {"|", "s", "ms", "%", "x"}


def measures(text: str) -> dict[str, float]:
    """Returns {"row, column": number} of all timed columns in a bench's output."""
    found: dict[str, float] = {}
    columns: list[str] = []
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        cells = _cells(line)
        numbers = sum(_NUMBER.match(cell) is not None for cell in cells)
        # In Markdown a rule follows the heading; elsewhere the heading is the line without numbers.
        heads = following.startswith("|-") if line.startswith("|") else not numbers
        if len(cells) > 1 and any(_TIMED.search(cell) for cell in cells) and heads:
            columns = cells
        elif not line.strip():
            columns = []
        elif columns and numbers:
            values = cells if line.startswith("|") else [word for word in line.split() if word not in _UNITS]
            if len(values) == len(columns):
                found |= _row(columns, values)
    return found


def _cells(line: str) -> list[str]:
    """Returns the columns of a heading or of a row in Markdown."""
    if line.startswith("|"):
        return [cell.strip() for cell in line.strip().strip("|").split("|")]
    return [cell for cell in re.split(r"\s{2,}", line.strip()) if cell not in _UNITS]


def _row(columns: list[str], values: list[str]) -> dict[str, float]:
    timed = [_TIMED.search(column) is not None for column in columns]
    # A row is identified by the cells before its first time: names and counts.
    first = timed.index(True)
    name = " ".join(value for value in values[:first] if "." not in value or not _NUMBER.fullmatch(value))
    found: dict[str, float] = {}
    for i, (column, value) in enumerate(zip(columns, values, strict=True)):
        number = _NUMBER.match(value)
        if timed[i] and number and float(number[0]) > 0.0:
            again = columns[:i].count(column)
            found[f"{name}, {column}" + (f" ({again + 1})" if again else "")] = float(number[0])
    return found


def entry(date: str, commit: str, machine: str, bench: str, found: dict[str, float]) -> dict[str, object]:
    """Returns one line of the history. `ratio`: geometric mean relative to the last run on the machine, `None` without one."""
    before = last(read(), machine, bench)
    return {
        "date": date,
        "commit": commit,
        "machine": machine,
        "bench": bench,
        "ratio": mean_ratio(found, before) if before else None,
        "measures": found,
    }


def read(path: Path = HISTORY) -> list[dict[str, object]]:
    """Returns all lines, the oldest first."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines if line.strip()]


def append(entries: Iterable[dict[str, object]], path: Path = HISTORY) -> None:
    """Adds lines at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in entries)


def last(entries: list[dict[str, object]], machine: str, bench: str) -> dict[str, float]:
    """Returns the measures of a bench in its last run on a machine."""
    for one in reversed(entries):
        kept = one["measures"]
        if one["machine"] == machine and one["bench"] == bench and isinstance(kept, dict) and kept:
            return kept
    return {}


def mean_ratio(now: dict[str, float], before: dict[str, float]) -> float | None:
    """Returns the geometric mean of now / before over the common measures."""
    logs = [math.log(value / before[name]) for name, value in now.items() if name in before]
    return round(math.exp(sum(logs) / len(logs)), 4) if logs else None


def comparison(entries: list[dict[str, object]], old: list[dict[str, object]]) -> str:
    """Returns a table that compares a run with the last one on the same machine."""
    lines = ["| bench | measures | now / before | slowest |", "| --- | --- | --- | --- |"]
    for one in entries:
        now = one["measures"]
        assert isinstance(now, dict)
        before = last(old, str(one["machine"]), str(one["bench"]))
        common = {name: value / before[name] for name, value in now.items() if name in before}
        worst = max(common, key=lambda name: common[name], default=None)
        slowest = f"{common[worst]:.2f} {worst}" if worst else "first run on this machine"
        ratio = mean_ratio(now, before)
        lines.append(f"| {one['bench']} | {len(now)} | {f'{ratio:.3f}' if ratio else '–'} | {slowest} |")
    return "\n".join(lines)

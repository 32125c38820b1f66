# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of jobs: rows of a CSV or TOML file, as they were written."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import InputError, StorageError

#: Separators of columns; programs for sheets choose one by the country.
SEPARATORS = ",;\t"
#: Separator of the values of a range in a cell of a CSV file.
RANGE = "|"


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    place: str  # "row 3", as messages name it
    values: dict[str, Any]  # by column; only those that were given
    text: bool  # True if all values are text, as in a CSV file


def read_table(path: Path) -> list[Row]:
    """Reads a table.

    CSV: one line of names, then a row a line. Empty cells are not given. TOML: a `[[job]]` for each row; `[defaults]` for what all rows
    share. Raises StorageError for a file that cannot be read, and InputError for one that is no table.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}: check the path of the table") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text in UTF-8: save the table as CSV or TOML in UTF-8") from error
    rows = _toml_rows(path, text) if path.suffix.lower() == ".toml" else _csv_rows(path, text)
    if not rows:
        raise InputError(f"{path} holds no job: write one row for each")
    return rows


def _csv_rows(path: Path, text: str) -> list[Row]:
    head = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=head.count)
    reader = csv.reader(text.splitlines(), delimiter=separator, skipinitialspace=True)
    rows: list[Row] = []
    names: list[str] = []
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if not names:
                names = cells
                _check_names(path, names)
                continue
            if len(cells) > len(names) and any(cells[len(names) :]):
                raise InputError(f"{path}, line {reader.line_num}: {len(cells)} cells for {len(names)} columns")
            given = {name: cell for name, cell in zip(names, cells, strict=False) if cell and name}
            rows.append(Row(f"line {reader.line_num}", given, True))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from error
    return rows


def _check_names(path: Path, names: list[str]) -> None:
    if "file" not in names:
        raise InputError(
            f"{path} has no column “file”: its first line names the columns, and there are “{names[0]}”, …"
        )
    for name in names:
        if name and names.count(name) > 1:
            raise InputError(f"{path} has the column “{name}” twice: leave one")


def _toml_rows(path: Path, text: str) -> list[Row]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from error
    jobs, shared = tables.pop("job", []), tables.pop("defaults", {})
    if tables:
        raise InputError(
            f"{path}: “{next(iter(tables))}” is unknown: rows are [[job]], and [defaults] is what they share"
        )
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in [*jobs, shared]):
        raise InputError(f"{path}: rows are [[job]], and [defaults] is what they share")
    return [Row(f"job {number}", {**shared, **job}, False) for number, job in enumerate(jobs, 1)]

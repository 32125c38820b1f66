# SPDX-License-Identifier: MIT OR Apache-2.0
"""The history of benches: tables are read, kept and compared with the last run on the same machine."""

import json
import re

import pytest

from tools import history
from tools.shell import ROOT

MARKDOWN = """
| free nodes | thew s | scipy s | thew / scipy | residual thew |
|---|---|---|---|---|
| 2000 | 0.25 | 1.0 | 0.25 | 1e-12 |

| body | vertices | step ms | surface ms | 250 frames MB |
|---|---|---|---|---|
| Bar | 354 | 0.012 / 0.030 (2.5x) | 0.5 / 1.0 (2.0x) | 1.7 |
Seconds include 3.5 things.
"""
COLUMNS = """embedding          vertices  lattice   best ms  median ms   GB/s
4 weights            28000      350    0.1000     0.2000   12.5
4-weights            28000      350    0.1000     0.2000   12.5
"""


def test_measures_timed_columns():
    """Only the timed columns of a bench's table are read."""
    assert history.measures(MARKDOWN) == {
        "2000, thew s": 0.25,
        "2000, scipy s": 1.0,
        "Bar 354, step ms": 0.012,
        "Bar 354, surface ms": 0.5,
    }
    # A row whose words do not fit the columns is left alone.
    assert history.measures(COLUMNS) == {"4-weights 28000 350, best ms": 0.1, "4-weights 28000 350, median ms": 0.2}


@pytest.mark.parametrize("bench", sorted(file.stem for file in (ROOT / "benches").glob("*.rs")))
def test_rust_benches_timed_headings(bench):
    """Every Rust bench prints a heading that names its timed columns."""
    source = (ROOT / "benches" / f"{bench}.rs").read_text()
    headings = [text for text in re.findall(r'"((?:[^"\\]|\\.)*)"', source) if re.search(r"\bm?s\b", text)]
    assert any(len(history._cells(text)) > 3 for text in headings)


def test_runs_compared_per_machine(tmp_path):
    """Runs are kept in the history, and compared only with runs on the same machine."""
    file = tmp_path / "deep" / "history.jsonl"
    first = [history.entry("2026-01-01", "abc", "A, 2 cores", "Rust: rigs", {"x, ms": 2.0, "y, ms": 2.0})]
    assert first[0]["ratio"] is None
    history.append(first, file)
    other = {**first[0], "machine": "B, 2 cores", "measures": {"x, ms": 9.0}}
    history.append([other], file)
    kept = history.read(file)
    assert len(kept) == 2 and kept == [json.loads(line) for line in file.read_text().splitlines()]
    assert history.last(kept, "A, 2 cores", "Rust: rigs") == {"x, ms": 2.0, "y, ms": 2.0}
    assert history.last(kept, "C", "Rust: rigs") == {}
    assert history.mean_ratio({"x, ms": 1.0, "y, ms": 8.0, "new, ms": 1.0}, {"x, ms": 2.0, "y, ms": 2.0}) == 1.4142
    table = history.comparison([{**first[0], "measures": {"x, ms": 1.0, "y, ms": 8.0}}], kept)
    assert "| Rust: rigs | 2 | 1.414 | 4.00 y, ms |" in table
    assert "first run on this machine" in history.comparison([{**other, "machine": "C"}], kept)


def test_tracked_history_complete():
    """Every entry of the tracked history has all its fields, a date and positive times."""
    for one in history.read():
        assert set(one) == {"date", "commit", "machine", "bench", "ratio", "measures"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["date"]) and all(value > 0 for value in one["measures"].values())

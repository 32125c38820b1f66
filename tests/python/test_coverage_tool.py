# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of covered lines."""

from tools import coverage
from tools.shell import ROOT


def file(name, covered, count):
    """Builds the record of a file in the report of coverage."""
    return {"filename": str(ROOT / "src" / name), "summary": {"lines": {"covered": covered, "count": count}}}


def test_table_sums_by_module():
    """The table sums covered lines by module and leaves out tests."""
    files = [
        file("rig/mod.rs", 50, 100),
        file("rig/fit/pull.rs", 40, 50),
        file("rig/tests.rs", 0, 999),
        file("rig/fit/tests/whole.rs", 0, 999),
        file("body/fixture.rs", 0, 999),
        file("store.rs", 10, 100),
    ]
    assert coverage.table(files).splitlines()[2:] == [
        "| store | 100 | 10 | 10.0 % |",
        "| rig | 150 | 90 | 60.0 % |",
        "| all | 250 | 100 | 40.0 % |",
    ]

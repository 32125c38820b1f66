# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a diagnosis, and the record of a session."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
diagnosis, session_log, tasks = (
    importlib.import_module(f"logic.{name}") for name in ("diagnosis", "session_log", "tasks")
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The cache /home/ann/shots/a.thew cannot be written", "The cache …/a.thew cannot be written"),
        ("in C:\\Users\\Ann\\shots\\a.blend now", "in …/a.blend now"),
        ("on \\\\server\\share\\x.blend", "on …/x.blend"),
        ("C:/work/shots", "…/shots"),
        ("“/mnt/a/b c/file.png”", "“…/b c/file.png”"),
        ("3 m/s and/or 1/2, 4 / 5 at 12:30/13:00", "3 m/s and/or 1/2, 4 / 5 at 12:30/13:00"),
        ("frames 1 to 20; docs/limits.md", "frames 1 to 20; docs/limits.md"),
    ],
)
def test_without_paths(text, plain):
    """Of an absolute path its last name is left; what merely has a slash stays."""
    assert diagnosis.without_paths(text) == plain


def test_without_paths_known_folders():
    """A known folder is left out whatever is in its name, with all that lies below it."""
    text = "“/home/ann lee/my shots/deep/a.blend” and /home/ann lee"
    plain = diagnosis.without_paths(text, ["/home/ann lee/my shots/", "/home/ann lee", "/", ""])
    assert "ann" not in plain and "my shots" not in plain and "a.blend" in plain


def test_report_text():
    """Sections without content are left out, and paths unless they are wanted."""
    first, empty = diagnosis.Section("One"), diagnosis.Section("Two")
    first.add("File", "/home/ann/a.blend")
    first.add("Nothing", "")
    first.lines.append("A  line\nof two")
    text = diagnosis.report_text("Title", [first, empty])
    assert text.startswith("# Title\n\n## One\n") and "Two" not in text and "Nothing" not in text
    assert "…/a.blend" in text and "- A line of two" in text and "/home" not in text
    assert "/home/ann/a.blend" in diagnosis.report_text("Title", [first], None)


def test_numbers():
    """Numbers are short, and times have the unit that suits them."""
    assert diagnosis.number_text(0.1 + 0.2) == "0.3" and diagnosis.number_text((1.0, 2.5)) == "(1, 2.5)"
    assert [diagnosis.seconds_text(each) for each in (12.34, 1.234, 0.01234)] == ["12.3 s", "1.23 s", "12.3 ms"]


def test_session_log():
    """The latest refusals are kept, one that repeats once; work leaves its time, failed work too."""
    session_log.refusals.clear()
    for k in range(20):
        session_log.note_refusal("A", f"No {k}.")
        session_log.note_refusal("A", f"No {k}.")
    assert len(session_log.refusals) == session_log.MAX_REFUSALS and session_log.refusals[-1] == ("A", "No 19.")

    def fail(_progress):
        raise ValueError("no")

    def job():
        yield tasks.Work("Weighing", lambda _progress: 3)
        yield tasks.Work("Failing", fail)

    session_log.seconds.clear()
    with pytest.raises(ValueError, match="no") as caught:
        tasks.finish(job())
    assert set(session_log.seconds) == {"Weighing", "Failing"} and min(session_log.seconds.values()) >= 0.0
    assert session_log.place_of(caught.value).startswith("test_diagnosis_plain.py:")

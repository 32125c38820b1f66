# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a diagnosis: sections of rows, without the paths of anybody's disk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: An absolute path: of a drive or share of Windows, or from the root, as far as it has no blanks or quotes. A word before the slash
#: ("m/s", "and/or") is none.
PATH = re.compile(r"(?:[A-Za-z]:[\\/]|\\\\)[^\s“”\"'<>|,;]+|(?<![\w.…])/(?:[^\s“”\"'/<>,;:]+/)+[^\s“”\"'/<>,;:]*")
#: Width of the column of names.
NAME_WIDTH = 22


@dataclass
class Section:
    """One part of a diagnosis: rows of a name and a value, and whole lines."""

    title: str
    rows: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def add(self, name: str, value: Any) -> None:
        """Adds a row; a value that is None or "" is left out."""
        if value is not None and value != "":
            self.rows.append((name, str(value)))

    def text(self) -> str:
        """Returns the section as lines of text; "" without content."""
        found = [f"{name:<{NAME_WIDTH}} {value}".rstrip() for name, value in self.rows]
        found += [f"- {' '.join(line.split())}" for line in self.lines]
        return "\n".join([f"## {self.title}", *found]) if found else ""


def report_text(title: str, sections: Iterable[Section], folders: Sequence[str] | None = ()) -> str:
    """Returns the whole text. `folders`: those whose names are left out, with all other paths; None: paths stay."""
    parts = [f"# {title}", *(text for section in sections if (text := section.text()))]
    text = "\n\n".join(parts) + "\n"
    return text if folders is None else without_paths(text, folders)


def without_paths(text: str, folders: Sequence[str] = ()) -> str:
    """Returns a text in which of every absolute path the last name alone is left; `folders`: known ones, whatever is in their names."""
    for folder in sorted({each.rstrip("\\/") for each in folders}, key=len, reverse=True):
        if len(folder) > 1:
            text = re.sub(re.escape(folder) + r"(?:(?=[\\/])|\b)", "…", text)
    return PATH.sub(lambda match: "…/" + re.split(r"[\\/]", match[0].rstrip("\\/"))[-1], text)


def number_text(value: Any) -> str:
    """Returns a setting's value in few characters."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(number_text(each) for each in value) + ")"
    return str(value)


def seconds_text(seconds: float) -> str:
    """Returns a time in words."""
    return (
        f"{seconds:.1f} s" if seconds >= 10.0 else f"{seconds:.2f} s" if seconds >= 0.1 else f"{1e3 * seconds:.1f} ms"
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads translators' files (gettext's .po), without Blender.

A file is a list of entries, each of a context, the English text and its translation. Comments, entries whose text has vanished
(`#~`) and guesses (`fuzzy`) are left out, as gettext itself does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

#: Context of texts that Thew itself translates (`messages`); Blender translates those of all others.
MESSAGE = "Message"

#: Text between entries, with the comments of the next one.
BETWEEN = re.compile(r"(?:[ \t]*(?:#.*)?\n)*")
#: A quoted text over one line or several, and an entry of up to three of them.
TEXTS = r'((?:[ \t]*"(?:[^"\\\n]|\\.)*"[ \t]*\n)+)'
ENTRY = re.compile(rf"(?:msgctxt{TEXTS})?msgid{TEXTS}msgstr{TEXTS}")


class Entry(NamedTuple):
    """A text and its translation; `context` as in Blender, "" for the default one; `translation` is "" where there is none."""

    context: str
    source: str
    translation: str


def read_po(text: str) -> list[Entry]:
    """Returns the entries of a .po file except its head. Raises ValueError with the number of the line where it is none."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff") + "\n"
    entries, place = [], 0
    while True:
        between = BETWEEN.match(text, place)
        comments = between[0] if between else ""
        place += len(comments)
        if place >= len(text):
            return entries
        match = ENTRY.match(text, place)
        try:
            if match is None:
                raise ValueError
            context, source, translation = map(_unquote, match.groups(default='""'))
        except ValueError:
            line = text.count("\n", 0, place) + 1
            raise ValueError(f"line {line} begins no entry of a .po file: {text[place : place + 40].strip()}") from None
        is_guess = "#," in comments and bool(re.search(r"^#,.*\bfuzzy\b", comments, re.MULTILINE))
        if source:
            entries.append(Entry(context, source, "" if is_guess else translation))
        place = match.end()


def _unquote(quoted: str) -> str:
    """Returns a quoted text without quotes and line breaks; gettext's escapes are those of JSON."""
    lines = [line.strip()[1:-1] for line in quoted.strip().split("\n")]
    joined = "".join(lines)
    return str(json.loads(f'"{joined}"')) if "\\" in joined else joined


def read_folder(folder: Path) -> tuple[dict[str, list[Entry]], list[str]]:
    """Returns the entries of every .po file in a folder by its language, and a sentence about each that cannot be read."""
    found, problems = {}, []
    for path in sorted(folder.glob("*.po")):
        try:
            found[path.stem] = read_po(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            problems.append(f"The translation {path.name} cannot be read and is left out: {error}.")
    return found, problems

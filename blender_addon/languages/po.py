# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads translators' files (gettext's .po), without Blender.

A file is a list of entries, each of a context, the English text and its translation. Comments, entries whose text has vanished
(`#~`) and guesses (`fuzzy`) are left out, as gettext itself does.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

#: Context of texts that Thew itself translates (`messages`); Blender translates those of all others.
MESSAGE = "Message"

#: One line of an entry: a keyword, or none where a text goes on, and a quoted text.
LINE = re.compile(r'(?:(msgctxt|msgid|msgstr)\s+)?(".*")$')


@dataclass(frozen=True)
class Entry:
    """A text and its translation; `context` as in Blender, "" for the default one; `translation` is "" where there is none."""

    context: str
    source: str
    translation: str


def read_po(text: str) -> list[Entry]:
    """Returns the entries of a .po file except its head. Raises ValueError with the number of a line that is none."""
    entries: list[Entry] = []
    for number, block in _blocks(text):
        fields = {"msgctxt": "", "msgid": "", "msgstr": ""}
        last, is_guess = "", False
        for offset, line in enumerate(block):
            if line.startswith("#"):
                is_guess = is_guess or (line.startswith("#,") and "fuzzy" in line)
                continue
            match = LINE.match(line)
            if match is None or not (match[1] or last):
                raise ValueError(f"line {number + offset} is no line of a .po file: {line[:60]}")
            last = match[1] or last
            fields[last] += _unquote(match[2], number + offset)
        if fields["msgid"]:
            entries.append(Entry(fields["msgctxt"], fields["msgid"], "" if is_guess else fields["msgstr"]))
    return entries


def _blocks(text: str) -> list[tuple[int, list[str]]]:
    """Returns the lines between empty lines, each block with the number of its first line."""
    blocks: list[tuple[int, list[str]]] = []
    fresh = True
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line:
            fresh = True
            continue
        if fresh:
            blocks.append((number, []))
        blocks[-1][1].append(line)
        fresh = False
    return blocks


def _unquote(quoted: str, number: int) -> str:
    """Returns a quoted text without quotes; gettext's escapes are those of JSON."""
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ValueError(f"line {number} has a quoted text that cannot be read: {quoted[:60]}") from None


def read_folder(folder: Path) -> tuple[dict[str, list[Entry]], list[str]]:
    """Returns the entries of every .po file in a folder by its language, and a sentence about each that cannot be read."""
    found, problems = {}, []
    for path in sorted(folder.glob("*.po")):
        try:
            found[path.stem] = read_po(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            problems.append(f"The translation {path.name} cannot be read and is left out: {error}.")
    return found, problems

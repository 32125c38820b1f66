# SPDX-License-Identifier: MIT OR Apache-2.0
"""Brings translators' files up to date: `python tools/merge_strings.py TEXTS.json [--check] [--new LANGUAGE]`.

Translations of texts that are still there stay. A text that was changed a little keeps its former translation as a guess (`fuzzy`), which is
not shown until a translator has removed that mark. Vanished texts go to the end of the file (`#~`). Needs Babel (tools/requirements/tools.txt).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from babel.core import UnknownLocaleError
from babel.messages.catalog import Catalog
from babel.messages.pofile import PoFileError, read_po, write_po

ADDON = Path(__file__).resolve().parent.parent / "blender_addon"
FOLDER = ADDON / "languages"
sys.path.insert(0, str(ADDON))
from languages import po  # noqa: E402
from logic.text_width import text_width  # noqa: E402

#: Kinds of texts in the order in which they matter to an artist.
KINDS = ("label", "tooltip", "message")
#: Mark of a place that may be left out (`collect_strings.FORM`); gettext's own check would want it.
FORM = "(may be left out)"
#: Factor of the width of a label in English up to which its translation counts as fitting, and letters that it may have more.
ROOM, MORE_LETTERS = 1.6, 6
#: Characters of a line of the files.
LINE = 120


def template(texts: list[dict[str, str]]) -> Catalog:
    """Returns a catalogue of the texts without translations."""
    catalogue = Catalog(project="Thew", charset="utf-8")
    for text in texts:
        notes = [text["note"]] if text["note"] else []
        flags = ["python-brace-format"] if re.search(r"\{\d", text["source"]) else []
        place = (text["place"].replace(" ", "-"), 0)
        catalogue.add(
            text["source"], context=text["context"] or None, locations=[place], auto_comments=notes, flags=flags
        )
    return catalogue


def merge(path: Path, texts: list[dict[str, str]]) -> Catalog:
    """Returns the catalogue of one language, brought up to date. Raises ValueError for a file that the extension could not read."""
    if path.is_file():
        po.read_po(path.read_text(encoding="utf-8"))  # Babel takes damaged lines for translations
        with path.open("rb") as file:
            catalogue = read_po(file, abort_invalid=True)
    else:
        catalogue = Catalog(project="Thew", charset="utf-8")
    catalogue.update(template(texts), update_header_comment=False, update_creation_date=False)
    for message in catalogue:
        message.flags.discard("python-format")  # Babel's guess from a percent sign
        if any(FORM in comment for comment in message.auto_comments):
            message.flags.discard("python-brace-format")
    return catalogue


def write(path: Path, catalogue: Catalog, language: str) -> None:
    """Writes one language's file. Its head holds no date, so that files differ only where texts do."""
    with path.open("wb") as file:
        write_po(file, catalogue, width=LINE, include_lineno=False, omit_header=True)
    comment = catalogue.header_comment if catalogue.header_comment.startswith("# Thew") else f"# Thew: {language}"
    head = f'{comment}\nmsgid ""\nmsgstr ""\n"Language: {language}\\n"\n"MIME-Version: 1.0\\n"\n'
    head += '"Content-Type: text/plain; charset=utf-8\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n\n'
    path.write_text(head + path.read_text(encoding="utf-8").lstrip("\n"), encoding="utf-8")


def translated(catalogue: Catalog, text: dict[str, str]) -> bool:
    """Returns whether a text has a translation that is shown."""
    message = catalogue.get(text["source"], text["context"] or None)
    return message is not None and bool(message.string) and not message.fuzzy


def coverage(language: str, catalogue: Catalog, texts: list[dict[str, str]]) -> str:
    """Returns a line with the share of each kind of texts that is translated."""
    shares = []
    for kind in KINDS:
        wanted = [text for text in texts if text["kind"] == kind]
        done = sum(translated(catalogue, text) for text in wanted)
        shares.append(f"{kind}s {done} of {len(wanted)} ({100.0 * done / max(1, len(wanted)):.1f} %)")
    guesses = sum(1 for message in catalogue if message.id and message.fuzzy)
    return f"{language}: {', '.join(shares)}; {guesses} guesses to look at, {len(catalogue.obsolete)} vanished"


def wide_labels(catalogue: Catalog, texts: list[dict[str, str]]) -> list[str]:
    """Returns the translated labels that may not fit on their buttons."""
    found = []
    for text in texts:
        message = catalogue.get(text["source"], text["context"] or None) if text["kind"] == "label" else None
        room = max(ROOM * len(text["source"]), len(text["source"]) + MORE_LETTERS)
        if message is not None and text_width(str(message.string)) > room:
            found.append(f"{text['source']}: {message.string}")
    return sorted(set(found))


def main() -> int:
    """Updates every file, or only reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--new", metavar="LANGUAGE", help="a language to begin, by Blender's name: fr_FR")
    arguments = parser.parse_args()
    texts = json.loads(arguments.texts.read_text(encoding="utf-8"))
    paths = sorted(FOLDER.glob("*.po"))
    if arguments.new:
        paths.append(FOLDER / f"{arguments.new}.po")
    for path in paths:
        try:
            catalogue = merge(path, texts)
        except (ValueError, PoFileError, UnknownLocaleError) as error:
            print(f"{path.name} cannot be read: {error}", file=sys.stderr)
            return 1
        if not arguments.check:
            write(path, catalogue, path.stem)
        print(coverage(path.stem, catalogue, texts))
        wide = wide_labels(catalogue, texts)
        print(f"  more than {ROOM} times as wide as in English: {'; '.join(wide)}" if wide else "  every label fits")
    return 0


if __name__ == "__main__":
    sys.exit(main())

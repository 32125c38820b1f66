# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that an artist reads: none of the method's own in the panel, its messages and its progress; imported without Blender."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADDON = ROOT / "blender_addon"
sys.path.insert(0, str(ADDON))
sys.path.insert(0, str(ROOT))
po, stages = importlib.import_module("languages.po"), importlib.import_module("logic.stage_words")
collected = importlib.import_module("tools.collect_strings")
tasks = importlib.import_module("logic.tasks")

#: Words of the method, and places where they belong: tools for a lattice by hand, whose foldout says what it is, and the diagnosis.
METHOD_WORDS = re.compile(
    r"\b(lattices?|cells?|posed space|rest space|inside out|eigenvalues?|finer functions?|assembl\w+|solver|tetrahedr\w+"
    r"|hexahedr\w+|degrees? of freedom|matrices)\b",
    re.IGNORECASE,
)
THEIR_PLACES = re.compile(r"hand_lattice|hand_panel|by_hand|limb_lattice|show_lattice|symmetric|lattice_\w+|diagnosing")


def entries_with_places() -> list[tuple[str, str]]:
    """Returns each English text of the interface with the places that it comes from."""
    text = (ADDON / "languages" / "de_DE.po").read_text(encoding="utf-8")
    found = []
    for block in text.split("\n\n")[1:]:
        places = " ".join(line[3:] for line in block.splitlines() if line.startswith("#: "))
        if block.startswith("#~") or "msgid" not in block:
            continue
        (entry,) = po.read_po(block)
        found.append((entry.source, places))
    return found


def test_interface_without_method_words():
    """No text of the interface has a word of the method, but those of the tools for a lattice by hand, and of the diagnosis."""
    wrong = [
        (source, places)
        for source, places in entries_with_places()
        if METHOD_WORDS.search(source) and not THEIR_PLACES.search(places)
    ]
    assert not wrong, "\n".join(f"{places}: {source}" for source, places in wrong)


def test_core_stages_without_method_words():
    """Every stage that the core reports is shown in words without those of the method."""
    shown = [text.source for text in collected.native_stages()]
    assert len(shown) > 15 and "Filling the body with flesh" in shown
    assert not [text for text in shown if METHOD_WORDS.search(text)]


def test_stage_words_known_to_core():
    """Every stage of the table is one that the core reports: a renamed stage would be shown in the method's words."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.rs"))
    missing = [stage for stage in stages.STAGE_WORDS if f'"{stage}"' not in sources]
    assert not missing


@pytest.mark.parametrize(
    ("stage", "shown"),
    [
        ("building cells", "Filling the body with flesh"),
        ("Count of eigenvalues", "Finding the modes"),
        ("settling what touches", "settling what touches"),
        ("", "Finding the modes"),
    ],
)
def test_task_shows_artist_words(stage, shown):
    """A step shows a stage of the core in the artist's words, its own text where the stage says nothing, both at once and in a window."""
    told = []

    def task():
        yield tasks.Work("Finding the modes", lambda progress: progress(0.5, stage))

    tasks.finish(task(), lambda _at, text: told.append(text) is None)
    assert told == [shown]
    stepper = tasks.Stepper(task())
    while not stepper.advance(5.0):
        pass
    assert stepper.text == shown

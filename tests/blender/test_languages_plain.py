# SPDX-License-Identifier: GPL-3.0-or-later
"""Translators' files, and messages translated by their templates; imported without Blender."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ADDON = Path(__file__).resolve().parents[2] / "blender_addon"
sys.path.insert(0, str(ADDON))
po, templates = importlib.import_module("languages.po"), importlib.import_module("languages.templates")
text_width = importlib.import_module("logic.text_width")
health = importlib.import_module("logic.health")

FOLDER = ADDON / "languages"
LANGUAGES = sorted(path.stem for path in FOLDER.glob("*.po"))
ENTRIES, PROBLEMS = po.read_folder(FOLDER)


def translated(language: str, message: bool) -> list:
    """Returns the translated entries of a language: its messages, or its labels and tooltips."""
    return [each for each in ENTRIES[language] if each.translation and (each.context == po.MESSAGE) == message]


def messages(language: str):
    """Returns the translator of messages into a language."""
    return templates.Messages(
        language,
        {each.source: each.translation for each in translated(language, True)},
        {each.source: each.translation for each in translated(language, False) if not each.context},
    )


# the files ----------------------------------------------------------------------------------------------------------


def test_languages_all_read():
    """Every file can be read, and German, Japanese and Simplified Chinese are there."""
    assert PROBLEMS == []
    assert {"de_DE", "ja_JP", "zh_HANS"} <= set(ENTRIES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_texts_once(language):
    """No text stands twice in a file in the same context."""
    keys = [(each.context, each.source) for each in ENTRIES[language]]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_same_texts(language):
    """All files have the same texts."""
    assert {(each.context, each.source) for each in ENTRIES[language]} == {
        (each.context, each.source) for each in ENTRIES[LANGUAGES[0]]
    }


def comments(language: str) -> dict[str, str]:
    """Returns the translators' notes by the message that they stand above."""
    text = (FOLDER / f"{language}.po").read_text(encoding="utf-8")
    found = {}
    for block in text.split("\n\n"):
        entries = po.read_po(block) if "msgid" in block else []
        for entry in entries:
            found[entry.source] = " ".join(line[3:] for line in block.splitlines() if line.startswith("#."))
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_places_kept(language):
    """A translation has the places of its text; only forms of English words may be missing."""
    notes, wrong = comments(language), []
    for each in translated(language, True):
        there, wanted = (set(templates.PLACE.findall(text)) for text in (each.translation, each.source))
        optional = {
            place for place in wanted if re.search(rf"\{{{place}\}}: [^;]*\(may be left out\)", notes[each.source])
        }
        if not wanted - optional <= there <= wanted:
            wrong.append((each.source, each.translation))
    assert wrong == []


def figures(text: str) -> set[str]:
    """Returns the numbers in a text, with the decimal point of English."""
    return set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d)", ".", text).replace(" 000", "000")))


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_numbers_kept(language):
    """A translated label or tooltip has all figures of its text."""
    wrong = [(each.source, figures(each.source) - figures(each.translation)) for each in translated(language, False)]
    assert [each for each in wrong if each[1]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_labels_fit(language):
    """No label of a button is much wider than in English; `build.py strings` names those from 1.6 times on."""
    wide = []
    for each in translated(language, False):
        room = max(2.4 * len(each.source), len(each.source) + 14)
        if len(each.source) <= 30 and text_width.text_width(each.translation) > room:
            wide.append((each.source, each.translation))
    assert wide == []


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", []),
        ('msgid "a"\nmsgstr "b"', [("", "a", "b")]),
        ('\ufeffmsgid ""\nmsgstr "Language: x\\n"\r\n\r\nmsgid "a"\r\nmsgstr "b"\r\n', [("", "a", "b")]),
        ('msgctxt "c"\nmsgid ""\n"a"\n" b"\nmsgstr "\\"x\\"\\n\\\\"', [("c", "a b", '"x"\n\\')]),
        ('#, python-brace-format, fuzzy\nmsgid "a"\nmsgstr "b"\n', [("", "a", "")]),
        ('# fuzzy, says a translator\nmsgid "a"\nmsgstr "b"\n', [("", "a", "b")]),
        ('#~ msgid "gone"\n#~ msgstr "weg"\n', []),
    ],
)
def test_po_read(text, entries):
    """Contexts, texts over several lines, escapes, guesses and vanished entries are read as gettext reads them."""
    assert [tuple(each) for each in po.read_po(text)] == entries


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        'msgid "a"\n',
        'msgid "a"\nmsgstr b',
        'msgid "a"\nmsgstr "\\q"',
        'msgid "a\nmsgstr "b"',
        'msgstr "b"\nmsgid "a"',
    ],
)
def test_po_damaged(text):
    """A damaged file gets a sentence with the line, and nothing else."""
    with pytest.raises(ValueError, match="line 3 begins no entry"):
        po.read_po("# head\n\n" + text)


def test_po_damaged_left_out(tmp_path):
    """A damaged file leaves the other languages in use."""
    (tmp_path / "de_DE.po").write_text("hello")
    (tmp_path / "fr_FR.po").write_bytes(b'msgid "a"\nmsgstr "\xff"\n')
    (tmp_path / "ja_JP.po").write_text('msgid "a"\nmsgstr "b"\n')
    found, problems = po.read_folder(tmp_path)
    assert set(found) == {"ja_JP"}
    assert [problem.split()[2] for problem in problems] == ["de_DE.po", "fr_FR.po"]


# messages -----------------------------------------------------------------------------------------------------------

WORDS = {"Softness": "Weichheit", "Add Flesh": "Fleisch hinzufügen"}
GERMAN = {
    "{0} cell": "{0} Zelle",
    "{0} cells": "{0} Zellen",
    "“{0}” has flesh: a lattice of {1}.": "„{0}“ hat Fleisch: ein Gitter aus {1}.",
    "the modifier “{0}” is off": "der Modifikator „{0}“ ist aus",
    "Bake plays{0}, {1} to {2}": "Bake läuft{0}, {1} bis {2}",
    "{0} and {1} stand apart: move {2}": "{0} und {1} stehen getrennt: {2} bewegen",
    "{0} is set anew by {1}": "{1} setzt {0}",
    " It is symmetric.": " Es ist symmetrisch.",
    "The lattice has {0}.{1}": "Das Gitter hat {0}.{1}",
    "Building the lattice": "Gitter wird gebaut",
    "Reading frame {0}": "Einzelbild {0} wird gelesen",
    "Rigid leaves {0} of it.": "Starr lässt {0} davon.",
    "in frames {0}": "in den Einzelbildern {0}",
    "a brace {{ and {0}": "eine Klammer {{ und {0}",
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("“Body” has flesh: a lattice of 300 cells.", "„Body“ hat Fleisch: ein Gitter aus 300 Zellen."),
        ("“Body” has flesh: a lattice of 1 cell.", "„Body“ hat Fleisch: ein Gitter aus 1 Zelle."),
        ("“Body” has flesh: a lattice of 1 cell", "„Body“ hat Fleisch: ein Gitter aus 1 Zelle"),
        ("The modifier “x” is off.", "Der Modifikator „x“ ist aus."),
        ("“Body”: the modifier “x” is off.", "„Body“: der Modifikator „x“ ist aus."),
        ("Thew: Building the lattice 40 %", "Thew: Gitter wird gebaut 40 %"),
        ("Reading frame 9, 13 %", "Einzelbild 9 wird gelesen, 13 %"),
        ("Rigid leaves 0.32 % of it.", "Starr lässt 0.32 % davon."),
        ("Bake plays, 1 to 20", "Bake läuft, 1 bis 20"),
        ("Bake plays “Run”, 1 to 20", "Bake läuft „Run“, 1 bis 20"),
        ("The lattice has 3 cells. It is symmetric.", "Das Gitter hat 3 Zellen. Es ist symmetrisch."),
        ("The lattice has 3 cells.", "Das Gitter hat 3 Zellen."),
        ("“A”, “B” and “C” is set anew by Softness", "Weichheit setzt „A“, „B“ und „C“"),
        ("In frames 3 to 9, 12 and 14", "In den Einzelbildern 3 bis 9, 12 und 14"),
        ("Building the lattice. The modifier “x” is off.", "Gitter wird gebaut. Der Modifikator „x“ ist aus."),
        ("Building the lattice. Nobody knows this one.", "Gitter wird gebaut. Nobody knows this one."),
        ("Add Flesh", "Fleisch hinzufügen"),
        ("A brace { and }", "Eine Klammer { und }"),
        ("Nobody knows this one", "Nobody knows this one"),
        ("", ""),
        ("“” is off “", "“” is off “"),
    ],
)
def test_message_translated(text, wanted):
    """Names and numbers find their places, parts are translated in turn, and an unknown message stays as it is."""
    found = templates.Messages("de_DE", GERMAN, WORDS)
    assert found.translate(text) == wanted
    assert found.translate(text) == wanted  # kept from before


def test_message_name_is_kept():
    """The name of an object that is also a word of the interface is not translated."""
    found = templates.Messages("de_DE", GERMAN, WORDS)
    assert found.translate("The modifier “Softness” is off") == "Der Modifikator „Softness“ ist aus"


def test_message_dense():
    """Chinese and Japanese get their own marks, and no spaces between their signs."""
    found = templates.Messages(
        "ja_JP",
        {"{0} has no flesh: press {1}": "{0} に肉がありません。{1} を押してください"},
        {"Simulate": "シミュレート"},
    )
    assert (
        found.translate("“Body” has no flesh: press Simulate.")
        == "「Body」に肉がありません。シミュレートを押してください。"
    )


LISTS = {
    "{0} compressed keys": "{0} komprimierte Schlüssel",
    "{0} clip": "{0} Clip",
    "{0} clips": "{0} Clips",
    "{0} of {1} clips": "{0}, {1} Clips",
    "{0} on the disk": "{0} auf der Platte",
    "{0} mm off at frame {1}": "{0} mm daneben an Einzelbild {1}",
    "({0} mm in the scene)": "({0} mm in der Szene)",
    "“{0}” plays {1}": "„{0}“ spielt {1}",
    "{0}; {1} in the foldout Bake": "{0}; {1} im Bereich Backen",
    "{0} remarks": "{0} Bemerkungen",
    "Keys of {0}": "Schlüssel: {0}",
    "{0} actions": "{0} Aktionen",
    "flesh and bones": "Fleisch und Knochen",
    "{0} fits to {1}": "{0} passt zu {1}",
    "less than 1 %": "weniger als 1 %",
    "Scene": "Szene",
    "deleted": "gelöscht",
    " Their own length leads them.": " Ihre eigene Länge führt sie.",
    "{0} keeps its plain skin: {1}": "{0} behält die reine Haut: {1}",
    "{0} cannot be written to {1}": "{0} lässt sich nicht nach {1} schreiben",
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("28 compressed keys, 1 clip, 581 kB", "28 komprimierte Schlüssel, 1 Clip, 581 kB"),
        ("3 clips, 2.7 MB on the disk.", "3 Clips, 2.7 MB auf der Platte."),
        ("“Run, to and fro”, 0 to 28", "„Run, to and fro“, 0 bis 28"),
        (
            "“Run” (deleted), -2 to 28, 1.9 mm off at frame -1 (190 mm in the scene)",
            "„Run“ (gelöscht), -2 bis 28, 1.9 mm daneben an Einzelbild -1 (190 mm in der Szene)",
        ),
        ("Scene, 1 to 28", "Szene, 1 bis 28"),
        ("“fox” plays 28 compressed keys of 2 clips", "„fox“ spielt 28 komprimierte Schlüssel, 2 Clips"),
        (
            "“fox” plays 28 compressed keys; 2 remarks in the foldout Bake.",
            "„fox“ spielt 28 komprimierte Schlüssel; 2 Bemerkungen im Bereich Backen.",
        ),
        ("Keys of 3 actions, flesh and bones", "Schlüssel: 3 Aktionen, Fleisch und Knochen"),
        (
            "“A” fits to 90 % and “B” fits to less than 1 %; “C” fits to 7.5 mm.",
            "„A“ passt zu 90 % und „B“ passt zu weniger als 1 %; „C“ passt zu 7.5 mm.",
        ),
        ("Scene. Their own length leads them.", "Szene. Ihre eigene Länge führt sie."),
        ("“fox” plays nobody knows what", "“fox” plays nobody knows what"),
        ("Keys of thin air, flesh and bones", "Keys of thin air, flesh and bones"),
        ("“A” keeps its plain skin: it is odd. Nobody knows.", "„A“ behält die reine Haut: it is odd. Nobody knows."),
        ("“A”: USD cannot be written to /a/b", "„A“: USD lässt sich nicht nach /a/b schreiben"),
    ],
)
def test_message_of_parts(text, wanted):
    """Lists, short templates and measures are translated where each part is; a part that nobody knows leaves the whole English."""
    found = templates.Messages("de_DE", LISTS)
    assert found.translate(text) == wanted


CONTACTS = {
    "The skin touches itself in {0}": "{0} で皮膚が自身に触れています",
    "frames {0}": "フレーム {0} ",
    "{0} touches {1} in {2}": "{2}で{0}が{1}に触れています",
    "itself": "自身",
    "the belly": "腹",
}


def test_message_sentences_apart():
    """No place of a template takes a piece of the next sentence, and a list is translated part by part."""
    found = templates.Messages("ja_JP", CONTACTS)
    first, second = (
        "The skin touches itself in frames 2 to 9.",
        "“Arm” touches “Leg”, itself and the belly (“Hip”) in frames 3 to 4.",
    )
    told = found.translate(f"{first} {second}")
    assert told == found.translate(first) + found.translate(second)
    assert found.translate(second) == "フレーム 3～4 で「Arm」が「Leg」、自身、腹 (「Hip」)に触れています。"
    assert "thin air and the belly" in found.translate(
        second.replace("itself", "thin air")
    )  # a list with an unknown part stays


def test_message_few_letters_first():
    """A template of few letters that begins a message comes before those that begin with a place, and takes no list or second clause."""
    japanese = {
        "“{0}” plays {1}": "「{0}」は {1}を再生します",
        "{0} baked shape keys": "{0} 個のベイクしたシェイプキー",
        "ready to export": "エクスポートできます",
        "frame {0}": "フレーム {0}",
        "{0}: everything jumps by {1} of its size": "{0}：全体がサイズの {1} だけ飛びます",
        "{0} others": "他 {0} 件",
        "With {0}": "相手：{0}",
    }
    found = templates.Messages("ja_JP", japanese)
    assert found.translate("“A” plays 28 baked shape keys") == "「A」は 28 個のベイクしたシェイプキーを再生します"
    assert found.translate("“A” plays 28 baked shape keys, ready to export").endswith(
        "を再生します、エクスポートできます"
    )
    assert (
        found.translate("Frame 10: everything jumps by 57 % of its size")
        == "フレーム 10：全体がサイズの 57 % だけ飛びます"
    )
    assert found.translate("With “A”, “B” and 2 others") == "相手：「A」、「B」、他 2 件"


@pytest.mark.parametrize("language", LANGUAGES)
def test_messages_come_back(language):
    """Every translated template translates a message that is made from it, and what was put in is still there."""
    translator, wrong = messages(language), []
    for entry in translated(language, True):
        names = {place: str(1000 + int(place)) for place in templates.PLACE.findall(entry.source)}
        text = templates.PLACE.sub(lambda match, names=names: names[match[1]], entry.source)
        told = translator.translate(text.replace("{{", "{").replace("}}", "}"))
        kept = [names[place] for place in templates.PLACE.findall(entry.translation)]
        glued = re.search(r"[^ (“/×]\{", entry.source)  # such a place takes no word
        if not glued and (set(re.findall(r"10\d\d", told)) != set(kept) or told == text != entry.translation):
            wrong.append((text, told))
    assert wrong == []


# room ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [8, 20, 31])
@pytest.mark.parametrize(
    "text",
    ["模拟后有编辑：请播放，或按“模拟”。细节 12 适合身体", "Seit dem Simulieren bearbeitet", "混合 mixed 文字 text"],
)
def test_lines_fit(text, width):
    """A shortened text fits, wide signs counted twice, and a text that fits is whole."""
    short = health.shorten(text, width)
    assert text_width.text_width(short) <= width
    assert health.shorten(text, 200) == text
    assert "".join("".join(text_width.pieces(word)) for word in text.split()) == text.replace(" ", "")

# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension in other languages. The module bpy is built without languages: what Blender itself does with the texts is looked at
by `tests/window/languages.py` in a whole Blender."""

from __future__ import annotations

import ast
import sys

import bpy
import numpy as np
import pytest
from conftest import ROOT
from helpers import part

sys.path.insert(0, str(ROOT))
from tools import collect_strings

#: Smallest share of labels and of tooltips that is translated in every language; new ones come with the next `build.py strings`.
MIN_SHARE = 0.95


@pytest.fixture
def translations(addon):
    """Gives the module with the doors for messages."""
    return part("languages.translations")


@pytest.fixture
def german(translations, monkeypatch):
    """Lets the doors believe that Blender speaks German."""
    monkeypatch.setattr(translations, "language", lambda: "de_DE")
    view = bpy.context.preferences.view
    before = view.use_translate_interface, view.use_translate_reports
    view.use_translate_interface = view.use_translate_reports = True
    yield translations
    view.use_translate_interface, view.use_translate_reports = before


@pytest.fixture(scope="module")
def texts(addon):
    """Gives all texts of the interface."""
    return collect_strings.collect(addon.__name__)


def test_texts_collected(texts):
    """Labels of every kind are found: operators, properties, items, panels, buttons, tools and the core's templates."""
    labels = {(each.context, each.source) for each in texts if each.kind == "label"}
    for context, source in (
        ("Operator", "Add Flesh"), ("", "Softness"), ("", "Hyperelastic"), ("", "Keyframed Flesh"), ("Operator", "Pull Skin"),
        ("Operator", "Bake As…"), ("", "While Pulling"), ("", "Bulge"), ("Operator", "Bulge"),
    ):  # fmt: skip
        assert (context, source) in labels
    messages = {each.source for each in texts if each.kind == "message"}
    assert {
        "“{0}” has flesh: play the animation to see it move.",
        "{0} cells",
        "Cancelled: nothing was changed.",
    } <= messages


def test_texts_without_records(texts):
    """Nothing is collected that no artist sees: records in the file, and what Blender's base classes have."""
    sources = {each.source for each in texts}
    assert not {"Persistent id of Thew's modifier", "bl_idname", "ID Name", "Movie Clip Editor"} & sources


@pytest.mark.parametrize("kind", ["label", "tooltip"])
@pytest.mark.parametrize("language", ["de_DE", "ja_JP", "zh_HANS"])
def test_language_complete(translations, texts, language, kind):
    """All but a few labels and tooltips are translated in each language."""
    entries = translations.read_folder(translations.FOLDER)[0][language]
    known = {(each.context, each.source) for each in entries if each.translation}
    wanted = [each for each in texts if each.kind == kind]
    missing = [each.source for each in wanted if (each.context, each.source) not in known]
    assert len(missing) <= (1.0 - MIN_SHARE) * len(wanted), (
        f"{len(missing)} {kind}s have no translation in {language}.po: run `python3 build.py strings` and translate {missing[:5]}"
    )


def test_doors_alone_show_messages():
    """Reports and texts of the status bar pass through the doors that translate them."""
    wrong = []
    for path in sorted((ROOT / "blender_addon").rglob("*.py")):
        if path.parent.name == "languages":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = ast.unparse(node.func.value)
            if node.func.attr == "report" and owner in {"self", "operator"}:
                wrong.append(f"{path.name}:{node.lineno} reports by itself: use languages.translations.report")
            is_cleared = bool(node.args) and ast.unparse(node.args[0]) == "None"
            if node.func.attr == "status_text_set" and not is_cleared:
                wrong.append(f"{path.name}:{node.lineno} writes the status bar: use languages.translations.show_status")
    assert wrong == []


def test_english_unchanged(translations):
    """A Blender in English, or one built without languages, shows the texts of the sources."""
    text = "“Body” has flesh: play the animation to see it move."
    assert translations.translate(text) == translations.translate_report(text) == text


def test_switches_count(german):
    """Panels and reports follow the two switches of Blender's preferences, each its own."""
    text, view = "Cancelled: nothing was changed.", bpy.context.preferences.view
    whole = german.translate(text)
    assert whole != text and german.translate_report(text) == whole
    view.use_translate_interface = False
    assert german.translate(text) == text and german.translate_report(text) == whole
    view.use_translate_interface, view.use_translate_reports = True, False
    assert german.translate(text) == whole and german.translate_report(text) == text


def test_language_without_file(german, monkeypatch):
    """A language that has no file shows English."""
    monkeypatch.setattr(german, "language", lambda: "fr_FR")
    assert german.translate("Cancelled: nothing was changed.") == "Cancelled: nothing was changed."


def test_panel_speaks_german(german, character):
    """The panel's lines are translated before they are broken into rows."""
    from test_panel import draw, words

    assert "Fleisch hinzufügen" in " ".join(words(seen) for seen in draw().values())


def test_report_speaks_german(german, character, monkeypatch):
    """What an operator reports arrives in the artist's language, with the names as they are."""
    body, _ = character
    told = []

    class Operator:
        def report(self, levels, text):
            told.append(text)

    german.report(Operator(), {"INFO"}, f"“{body.name}” has flesh: play the animation to see it move.")
    (text,) = told
    assert body.name in text and "Fleisch" in text and "has flesh" not in text


def test_composed_sentences_speak_german(german):
    """Sentences that are put together from parts are templates as a whole; names in them stay."""
    cut = part("logic.cuts").Cut
    english = [
        cut(7, 0.4).row_text, cut(7, 0.4, ("Upper Arm",)).row_text, cut(7, 0.4, ("A", "Upper Arm")).row_text,
        part("logic.cuts").cut_text([cut(7, 0.4, ("A", "Upper Arm"))]),
        cut(8, 0.4, (), (7,)).row_text, cut(8, 0.4, ("Upper Arm",), (7,)).row_text, cut(8, 0.4, ("A", "Upper Arm"), (7,)).row_text,
        *(part("logic.cuts").cut_text([cut(7, 0.4, each, (7,))]) for each in ((), ("Upper Arm",), ("A", "Upper Arm"))),
        "Begins anew in frame 7, outside frames 1 to 5", "Goes on through frame 7", "Begins anew by keys in frames 3 and 5", "and 4 more",
        "Restart at All 3 Cuts",
        "The rig “Upper Arm” of “Body” belongs to “a.blend” and would come back: switch it off here, or remove it in that file.",
        "The bake “Upper Arm” of “Body” belongs to “a.blend” and would come back: remove it in that file.",
        "12 vertices keep to their bones: the selection.", "1 vertex are set free: the skin of “Upper Arm”.",
        "12 vertices are rigid by 0.5: what the automatic map takes for bone.",
    ]  # fmt: skip
    for text in english:
        told = german.translate(text)
        assert told != text and ("Upper Arm" in told) == ("Upper Arm" in text), (text, told)


def test_core_notes_speak_german(german):
    """Notes of the native library on a mesh are translated, for one vertex or face and for several."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [2, 2, 2], [3, 3, 3]], float)
    open_faces = [[0, 2, 1], [0, 1, 3], [4, 3, 2]]
    thew, told = part("logic.native").core(), set()
    for count, faces in ((6, open_faces), (7, [*open_faces, open_faces[0], [0, 1, 1], [0, 2, 2]])):
        told.update(thew.Surface(corners[:count], faces).report().sentences)
    assert len(told) >= 4, told
    for text in told:
        assert german.translate(text) != text, text


def test_why_stiff_speaks_german(german):
    """Every sentence of Why Stiff Here is translated, the name of the cause too."""
    parts = (
        "Vertex 7: the flesh is 3 cm thick here over the bone “Upper Arm”.", "Vertex 7: the flesh is 3 cm thick here.",
        "Vertex 7: no bone carries the skin here.",
        "It gives 2 mm under its own weight.", "It moves by 4 mm at most in this motion.",
        *(f"It is rather free: what limits it most ({cause.label}) leaves 30 %." for cause in part("logic.stiffness_causes").CAUSES[1:]),
    )  # fmt: skip
    for text in parts:
        told = german.translate(text)
        assert told != text and "leaves" not in told, text
    for cause in part("logic.stiffness_causes").CAUSES:
        assert german.translate(cause.label) != cause.label or cause.label in {"Swing Limit"}, cause.label


def test_registered_and_taken_back(translations, monkeypatch):
    """Blender gets one table a language, without templates, and none is left after the extension is switched off."""
    held = {}
    fake = type("Translations", (), {
        "register": staticmethod(held.__setitem__), "unregister": staticmethod(held.__delitem__),
        "contexts": bpy.app.translations.contexts, "locale": "",
    })  # fmt: skip
    monkeypatch.setattr(translations, "blender_translations", lambda: fake)
    before = dict(translations._messages)
    translations.register()
    try:
        (tables,) = held.values()
        assert {"de_DE", "ja_JP", "zh_HANS"} <= set(tables)
        for table in tables.values():
            assert ("Operator", "Add Flesh") in table and ("*", "Softness") in table and ("Thew", "Softness") in table
            assert not any(key[0] == "Message" or "{0}" in key[1] for key in table)
    finally:
        translations.unregister()
    assert held == {} and translations._messages == {}
    translations._messages.update(before)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The texts of the interface: collected from sources, and merged into translators' files."""

import ast
import importlib
import sys

import pytest

from tools import collect_strings, merge_strings
from tools.shell import ROOT

sys.path.insert(0, str(ROOT / "blender_addon"))
read_po = importlib.import_module("languages.po").read_po


def text(source, context="", kind="label", note=""):
    """Returns a text as `collect_strings` writes it."""
    return {"context": context, "source": source, "kind": kind, "place": "here", "note": note}


def written(path, texts):
    """Merges texts into a file, and returns its entries as (context, text): translation."""
    catalogue = merge_strings.merge(path, texts)
    merge_strings.write(path, catalogue, path.stem)
    return {(each.context, each.source): each.translation for each in read_po(path.read_text(encoding="utf-8"))}


def translate(path, source, translation):
    """Writes a translation into a file, as a translator does."""
    content = path.read_text(encoding="utf-8")
    before = f'msgid "{source}"\nmsgstr ""'
    assert before in content
    path.write_text(content.replace(before, f'msgid "{source}"\nmsgstr "{translation}"'), encoding="utf-8")


def test_merge_keeps_translations(tmp_path):
    """A translation stays while its text does, a new text is empty, and a second merge changes nothing."""
    path = tmp_path / "de_DE.po"
    assert written(path, [text("Bake"), text("Bake", "Operator")]) == {("", "Bake"): "", ("Operator", "Bake"): ""}
    path.write_text(path.read_text().replace('msgid "Bake"\nmsgstr ""', 'msgid "Bake"\nmsgstr "Backen"'))
    texts = [text("Bake"), text("Bake", "Operator"), text("Belly")]
    assert written(path, texts) == {("", "Bake"): "Backen", ("Operator", "Bake"): "Backen", ("", "Belly"): ""}
    before = path.read_bytes()
    written(path, texts)
    assert path.read_bytes() == before


def test_merge_changed_text(tmp_path):
    """A text that changed a little keeps its translation as a guess, which is not shown."""
    path = tmp_path / "de_DE.po"
    written(path, [text("Softness of the flesh: 0 is firm muscle", kind="tooltip")])
    translate(path, "Softness of the flesh: 0 is firm muscle", "Weichheit des Fleisches: 0 ist fester Muskel")
    texts = [text("Softness of the flesh: 0 is a firm muscle", kind="tooltip")]
    assert set(written(path, texts).values()) == {""}
    assert "Weichheit des Fleisches" in path.read_text(encoding="utf-8")
    assert "1 guesses" in merge_strings.coverage("de_DE", merge_strings.merge(path, texts), texts)


def test_merge_vanished_text(tmp_path):
    """A vanished text goes to the end of the file with its translation, and comes back with it."""
    path = tmp_path / "de_DE.po"
    written(path, [text("Bake"), text("Quadriceps")])
    translate(path, "Bake", "Backen")
    assert written(path, [text("Quadriceps")]) == {("", "Quadriceps"): ""}
    assert '#~ msgstr "Backen"' in path.read_text(encoding="utf-8")


def test_merge_head_stays(tmp_path):
    """The terms at the head of a file stay as the translator wrote them."""
    path = tmp_path / "de_DE.po"
    written(path, [text("Bake")])
    head = "# Thew: Deutsch\n# flesh Fleisch, skin Haut"
    path.write_text(path.read_text(encoding="utf-8").replace("# Thew: de_DE", head), encoding="utf-8")
    written(path, [text("Bake"), text("Belly")])
    assert path.read_text(encoding="utf-8").startswith(head + '\nmsgid ""')


def test_merge_notes(tmp_path):
    """What the places of a message stand for stands above it; a place that may be left out is not asked for by gettext."""
    path = tmp_path / "de_DE.po"
    form = f"{{0}}: a; {{1}}: verb {collect_strings.FORM}"
    written(
        path,
        [
            text("{0} is", "Message", "message", "{0}: name"),
            text("{0} {1}", "Message", "message", form),
            text("0.3 % of it"),
        ],
    )
    content = path.read_text(encoding="utf-8")
    assert "#. {0}: name" in content
    assert content.count("python-brace-format") == 1 and "python-format" not in content


def test_merge_damaged_file(tmp_path):
    """A damaged file is refused, and nothing is written over it."""
    path = tmp_path / "de_DE.po"
    path.write_text('msgid "a\nmsgstr b"\n')
    with pytest.raises(ValueError, match="line 1 begins no entry"):
        merge_strings.merge(path, [text("Bake")])


def test_wide_labels_named(tmp_path):
    """Labels beyond 1.6 times the width are named; wide signs count twice; tooltips have room."""
    path = tmp_path / "de_DE.po"
    texts = [text("Cut"), text("Bake"), text("Roll", kind="tooltip")]
    written(path, texts)
    for source, told in (("Cut", "Schnitt"), ("Bake", "焙焙焙焙焙焙"), ("Roll", "Rollenrollenrollen")):
        translate(path, source, told)
    assert merge_strings.wide_labels(merge_strings.merge(path, texts), texts) == ["Bake: 焙焙焙焙焙焙"]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('layout.label(text="Keep")', {("", "Keep", "label")}),
        (
            'layout.operator("thew.x", text="Go" if a else "Stop")',
            {("Operator", "Go", "label"), ("Operator", "Stop", "label")},
        ),
        ('layout.prop(s, "a", text="")', set()),
        ('x = f"“{obj.name}” has no flesh"', {("Message", "“{0}” has no flesh", "message")}),
        ('x = plural(3, "cell")', {("Message", "{0} cell", "message"), ("Message", "{0} cells", "message")}),
        (
            'x = plural(3, "vertex", "vertices")',
            {("Message", "{0} vertex", "message"), ("Message", "{0} vertices", "message")},
        ),
        ('translate(f"Energy {e}")', {("Message", "Energy {0}", "message")}),
        ('"""A docstring with words."""', set()),
        ('x = "thew.some_name of code"', set()),
        ('x = f"a {b:.2f} brace {{ here now"', {("Message", "a {0} brace {{ here now", "message")}),
    ],
)
def test_sources_collected(code, found):
    """Buttons, messages and counted nouns are found in the sources; documentation and code are not."""
    texts = collect_strings.file_texts(ast.parse(code), "edit/file.py")
    assert {(each.context, each.source, each.kind) for each in texts if each.source} == found


def test_form_marked():
    """A place for a form of an English word is marked."""
    (one,) = collect_strings.file_texts(
        ast.parse("x = f\"{name} {'is' if a else 'are'} left out there\""), "edit/file.py"
    )
    assert one.note == f"{{0}}: name; {{1}}: 'is' if a else 'are' {collect_strings.FORM}"

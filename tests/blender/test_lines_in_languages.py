# SPDX-License-Identifier: GPL-3.0-or-later
"""Real lines in other languages: no line of a panel, report, warning or progress of a bake stays English, wholly or in part."""

from __future__ import annotations

import re

import bpy
import pytest
from dancing import make_fleshed_dancer
from helpers import activate, add_rig, make_body, make_character, part, play
from test_panel import draw

LANGUAGES = ("de_DE", "ja_JP", "zh_HANS")
#: Kinds of bakes with options that let them tell errors and remarks.
KINDS = (
    ("SHAPE_KEYS", {}),
    ("COMPRESSED", {"tolerance": 2.0}),
    ("COMPRESSED", {"tolerance": 2.0, "regions": 2}),
    ("PC2", {}),
    ("MDD", {}),
    ("HELPER_BONES", {"bones": 4, "rest_error": 20.0}),
    ("VERTEX_TEXTURE", {}),
)
#: Words without which no English sentence comes by, none of which is a word of German.
ENGLISH = {
    "the", "of", "is", "are", "to", "and", "or", "by", "at", "with", "has", "have", "from", "its", "that", "this", "these", "where", "which",
    "when", "than", "they", "it", "them", "be", "been", "can", "cannot", "no", "does", "frame", "frames", "key", "keys", "bone", "bones",
    "action", "actions", "flesh", "alone", "plays", "deleted", "file", "files", "remark", "remarks", "other", "others",
}  # fmt: skip
#: Names in the marks of each language, paths, and what a system says in brackets of its own.
NAMES = re.compile(r"“[^”]*”|„[^“]*“|「[^」]*」|\S*[/\\]\S*")
#: A line with at least two words is a text, not a name.
TEXT = re.compile(r"[a-z]{2,}.* .*[a-z]{2,}")


def english_words(text: str) -> set[str]:
    """Returns the English words in a text that its names do not hold."""
    return set(re.findall(r"[a-z]+", NAMES.sub(" ", text).lower())) & ENGLISH


@pytest.fixture
def told(addon, monkeypatch):
    """Gives the list of English texts that pass through the doors of the translations."""
    translations, texts = part("languages.translations"), []
    monkeypatch.setattr(translations, "_translate", lambda text, _wanted: texts.append(text) or text)
    return texts


@pytest.fixture
def dancer(scene, tmp_path):
    """Builds (mesh with flesh, armature) with three actions, a rider, and a scale of the scene that panels tell."""
    scene.frame_end = 6
    body, rig = make_fleshed_dancer()
    body.thew.real_height = 0.2
    make_body(rig, name="Shirt", rings=9).select_set(True)
    activate(body)
    bpy.data.objects["Shirt"].select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    activate(body)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    return body, rig


def untranslated(texts: list[str]) -> list[tuple[str, str, str]]:
    """Returns the language, text and translation of all texts in which English words are left. Blender itself translates fixed labels."""
    translations, left = part("languages.translations"), []
    entries = translations.read_folder(translations.FOLDER)[0]
    for language in LANGUAGES:
        messages = translations._messages[language]
        labels = {each.source for each in entries[language] if each.context != translations.MESSAGE}
        for text in dict.fromkeys(texts):
            shown = messages.translate(text)
            stays = shown == text and TEXT.search(NAMES.sub("", text))
            if text not in labels and (english_words(shown) or stays):
                left.append((language, text, shown))
    return left


@pytest.mark.parametrize(("target", "options"), KINDS, ids=[f"{kind}{len(options)}" for kind, options in KINDS])
def test_bake_speaks_other_languages(dancer, told, target, options):
    """Reports, rows of the list, remarks, warnings and progress of each kind of bake, of the scene and of actions, are translated whole."""
    body, rig = dancer
    names = ("Run", "Walk")
    bake = part("bake.baking").bake
    task = bake(body, bpy.context.scene, bpy.context.view_layer, clips="CHOSEN", actions=names[:1], target_key=target)
    part("logic.tasks").finish(task, lambda _share, text: told.append(text) or True)
    for clips, actions in (("SCENE", ""), ("CHOSEN", ";".join(names))):
        assert bpy.ops.thew.bake(target=target, clips=clips, actions=actions, name=f"My {clips}", **options) == {
            "FINISHED"
        }
        draw()
        activate(bpy.data.objects["Shirt"])
        draw()
        activate(body)
    rig.animation_data.action = bpy.data.actions["Turn"]
    draw()
    told += part("bake.export_check").check_all([body, bpy.data.objects["Shirt"]])
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    draw()
    kinds = [text for text in told if "clip" in text] + [text for text in told if "“Run”, " in text]
    assert len(told) > 60 and len(kinds) > 3
    assert not (left := untranslated(told)), "\n".join(map(str, left))


def test_dialog_of_bakes_speaks_other_languages(dancer, told):
    """The lines of the dialog Bake As… on size, engines, replaced clips and errors are translated whole, for every kind."""
    from test_bake_buttons import dialog

    words = part("operators.bake_dialog")
    assert bpy.ops.thew.bake(target="COMPRESSED", clips="CHOSEN", actions="Run", name="Compressed Keys") == {"FINISHED"}
    for target, options in KINDS:
        made = dialog(
            target=target, bones=4, influences=8, **{key: value for key, value in options.items() if key == "regions"}
        )
        told += made.lines(bpy.context)
        for overwrite in (False, True):
            made = dialog(target=target, overwrite=overwrite)
            told += words.join_lines(bpy.context, made.joined(bpy.context))
    sizes = part("logic.bake_sizes")
    for frames in (3, 20, 400, 9000):
        for target, _ in KINDS:
            told += sizes.estimate_lines(target, [frames, frames], 900, 8, 8, regions=3)
            for source in ("the live flesh", "the bake “Run”"):
                told += sizes.estimate_lines(target, [frames], 900, 8, 4, found=(frames, frames + 1, source))
            told += [sizes.limit_note(frames)]
    assert len(told) > 40
    assert not (left := untranslated(told)), "\n".join(map(str, left))


def draw_all(*objects) -> None:
    """Draws all panels of each object."""
    for obj in objects:
        activate(obj)
        draw()
    activate(objects[0])


def test_panels_speak_other_languages(scene, told):
    """Lines of all panels on a character with a rider, a collider, another character, rigs, a pin, a muscle and modes are translated whole."""
    body, rig = make_character()
    shirt = make_body(rig, name="Shirt", rings=9)
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, -8.0))
    cube = bpy.context.object
    draw_all(body, shirt, rig, cube)
    activate(body)
    body.thew.use_contact = True
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    draw_all(body, shirt, rig, cube)
    cube.modifiers.new("Collision", "COLLISION")
    add_rig(body, bone="Spine")
    play(body, (2, 5))
    draw_all(body, shirt, rig)
    for method in ("linear", "modal", "warped"):
        body.thew.method = method
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        draw_all(body)
    body.thew.levels = 3
    body.thew.preview_mode = 2
    draw_all(body)
    body.thew.levels = 0
    rig.data.pose_position = "REST"
    draw_all(body, rig)
    rig.data.pose_position = "POSE"
    body.thew.enabled = False
    draw_all(body, shirt)
    assert len(set(told)) > 25
    assert not (left := untranslated(told)), "\n".join(map(str, left))


def test_english_words_found():
    """The criterion finds English in mixed lines, and none in names, paths and German."""
    assert english_words("3 PC2 files, 3 clips, 2.7 MB auf der Platte") == {"files"}
    assert english_words("„fox“ plays 28 gebackene Formschlüssel") == {"plays"}
    assert english_words("„the keys of bones“ spielt 2 Clips in /of/the an Einzelbild 3, was im Bild war") == set()

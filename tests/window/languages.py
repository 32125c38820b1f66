# SPDX-License-Identifier: GPL-3.0-or-later
"""The translations in a whole Blender: the module bpy, in which the other tests run, is built without languages.

    blender --background --python tests/window/languages.py -- dist/thew-0.1.0.zip

Installs the extension and switches Blender through the languages. Needs no window. Prints a line for each thing that it looks at and
quits, with status 1 if one was wrong. In place of a zip, `source` loads the source folder; `thew` must then be on PYTHONPATH.
"""

import os
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).parent))
from stories import check, install, wrong

from tools import collect_strings

(ARCHIVE,) = sys.argv[sys.argv.index("--") + 1 :]
#: Labels that Blender knows in another meaning, and what its own German and Chinese call them.
TRAPS = {"de_DE": ("Whole Character", "Ganze Zeichen"), "zh_HANS": ("Modes", "模式")}


def look_at(language: str, entries: dict, package: str) -> None:
    """Checks labels, tooltips and messages in one language."""
    view, texts = bpy.context.preferences.view, bpy.app.translations
    doors = sys.modules[f"{package}.languages.translations"]
    view.language = language
    view.use_translate_interface = view.use_translate_tooltips = view.use_translate_reports = True
    check(f"Blender has {language}", texts.locale == language, texts.locale)
    wanted = entries["Operator", "Add Flesh"]
    check("the button Add Flesh", texts.pgettext_iface("Add Flesh", "Operator") == wanted, wanted)
    other = []
    for base in (bpy.types.Operator, bpy.types.PropertyGroup):
        for cls in collect_strings.subclasses(base):
            if not cls.__module__.startswith(package) or not getattr(cls, "is_registered", False):
                continue
            for prop in collect_strings.own_rna(cls).properties:
                if prop.identifier in base.bl_rna.properties or prop.is_hidden or prop.translation_context == "*":
                    continue
                shown = texts.pgettext_iface(prop.name, prop.translation_context)
                if shown != entries.get(("", prop.name), prop.name):
                    other.append((prop.name, shown))
    check("names that Blender means otherwise are ours", not other, str(other[:5]))
    if language in TRAPS:
        name, theirs = TRAPS[language]
        check(f"Blender still has its own {name}", texts.pgettext_iface(name) == theirs, texts.pgettext_iface(name))
    for name, context in (("Remove Flesh and Bakes", "Operator"), ("Export Cache", "*"), ("Keep Region", "Operator")):
        check(f"{name} as {context} shows it", texts.pgettext_iface(name, context) != name)
    tip = "Let this rig push the flesh"
    check("a tooltip", texts.pgettext_tip(tip) == entries["", tip])
    message = "Cancelled: nothing was changed."
    check("a message", doors.translate(message) != message, doors.translate(message))
    view.use_translate_interface = False
    check("English without translation", texts.pgettext_iface("Add Flesh", "Operator") == "Add Flesh")
    check("messages too", doors.translate(message) == message)


def main() -> None:
    """Looks at every language, and at Blender after the extension is switched off."""
    if ARCHIVE == "source":
        extension = collect_strings.load_extension()
        switch_off = extension.unregister
    else:
        install(ARCHIVE)
        extension = sys.modules["bl_ext.user_default.thew"]

        def switch_off():
            bpy.ops.preferences.addon_disable(module=extension.__name__)

    doors = sys.modules[f"{extension.__name__}.languages.translations"]
    for language, entries in doors.read_folder(doors.FOLDER)[0].items():
        look_at(
            language,
            {(each.context, each.source): each.translation for each in entries if each.translation},
            extension.__name__,
        )
    bpy.context.preferences.view.use_translate_interface = True
    switch_off()
    check("nothing is left", bpy.app.translations.pgettext_iface("Add Flesh", "Operator") == "Add Flesh")


try:
    main()
except Exception as error:
    import traceback

    traceback.print_exc()
    wrong.append(str(error))
print("all right" if not wrong else f"wrong: {', '.join(wrong)}", flush=True)
os._exit(bool(wrong))

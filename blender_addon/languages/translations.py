# SPDX-License-Identifier: GPL-3.0-or-later
"""The translations at work: labels and tooltips through Blender's own `bpy.app.translations`, messages through `templates`.

Blender looks up every label that it draws. It does not know the messages of an extension, since names and numbers are in them:
`translate` and `translate_report` are the two doors through which they pass to panels, status bar and reports. Both return the
English text where the artist has switched translation off, in a language without file, and in Blenders built without languages.
"""

from __future__ import annotations

from pathlib import Path

import bpy

from .contexts import OWN
from .po import MESSAGE, Entry, read_folder
from .templates import PLACE, Messages

#: Folder of the .po files, one a language, by Blender's names of languages.
FOLDER = Path(__file__).parent

#: Further contexts of texts of Blender's default context (True), and of those of operators.
CONTEXTS = {True: (OWN, "Operator"), False: (OWN, "")}

_messages: dict[str, Messages] = {}


def blender_translations():
    """Returns Blender's own translations."""
    return bpy.app.translations


def blender_table(entries: list[Entry]) -> dict[tuple[str, str], str]:
    """Returns the texts that Blender looks up: (context, English): translation.

    Sentences without places are drawn as labels too. A text counts in all contexts in which it may be drawn, unless it has another
    translation there: names of operators head foldouts, and a button may show another text than the name of its property.
    """
    default = blender_translations().contexts.default
    table = {
        (default if entry.context in {"", MESSAGE} else entry.context, entry.source): entry.translation
        for entry in entries
        if entry.translation and not (entry.context == MESSAGE and PLACE.search(entry.source))
    }
    for (context, source), translation in list(table.items()):
        for other in CONTEXTS[default == context]:
            table.setdefault((other or default, source), translation)
    return table


def message_table(entries: list[Entry]) -> dict[str, str]:
    """Returns the templates of messages: English: translation."""
    return {entry.source: entry.translation for entry in entries if entry.translation and entry.context == MESSAGE}


def word_table(entries: list[Entry]) -> dict[str, str]:
    """Returns the labels and tooltips, by which names of buttons in messages are translated."""
    return {entry.source: entry.translation for entry in entries if entry.translation and entry.context == ""}


def language() -> str:
    """Returns Blender's name of the language in use; "" in a Blender built without languages."""
    return blender_translations().locale


def translate(text: str) -> str:
    """Returns a message of a panel, a dialog or the status bar in the artist's language."""
    return _translate(text, bpy.context.preferences.view.use_translate_interface)


def translate_report(text: str) -> str:
    """Returns a report in the artist's language."""
    return _translate(text, bpy.context.preferences.view.use_translate_reports)


def report(operator: bpy.types.Operator, levels: set[str], text: str) -> None:
    """Reports a sentence of an operator."""
    operator.report(levels, translate_report(text))


def show_status(workspace: bpy.types.WorkSpace, text: str) -> None:
    """Shows a text in the status bar."""
    workspace.status_text_set(translate(text))


def _translate(text: str, wanted: bool) -> str:
    messages = _messages.get(language()) if wanted and text else None
    return text if messages is None else messages.translate(text)


def register() -> None:
    """Hands the labels and tooltips to Blender, and keeps the messages."""
    entries, problems = read_folder(FOLDER)
    for problem in problems:
        print(f"Thew: {problem}")
    for name, found in entries.items():
        _messages[name] = Messages(name, message_table(found), word_table(found))
    blender_translations().register(__package__, {name: blender_table(found) for name, found in entries.items()})


def unregister() -> None:
    """Takes everything back."""
    blender_translations().unregister(__package__)
    _messages.clear()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collects the extension's texts, inside Blender: `python tools/collect_strings.py OUTPUT.json`.

Labels and tooltips come from the registered classes, where every mix-in and table has been joined; texts of buttons and
messages from the sources. A message with names or numbers in it is a template: `{0}` stands for the first of them.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import runpy
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ADDON = ROOT / "blender_addon"
sys.path.insert(0, str(ROOT))
from tools.joined_texts import JOINED  # noqa: E402  (this file is run as a script too)

#: Contexts of texts: Blender's own for names of operators and their buttons, and Thew's for messages (`languages.po.MESSAGE`).
OPERATOR, MESSAGE = "Operator", "Message"
#: Keywords of layouts and dialogs that are shown, and those of them that belong to an operator's button.
SHOWN_WORDS = {"text", "heading", "placeholder", "title", "confirm_text"}
OPERATOR_BUTTONS = {"operator", "operator_menu_enum", "operator_enum"}
#: Modules whose sentences are for a terminal or a saved file, not for Blender's window.
NOT_SHOWN = {
    "cli.py",
    "operators/command_words.py",
    "operators/command_reports.py",
    "logic/states.py",
    "logic/stage_words.py",
}
#: Wings whose fixed sentences are documentation of the data.
DATA_WINGS = {"languages"}
#: What a label in the sources of panels looks like, which a variable may carry to its button: `Keep Region`.
SHORT_LABEL = re.compile(r"[A-Z][a-z]+( [A-Za-z]+)?…?")
#: A stage of two words or more in a call of the core that reports progress.
NATIVE_STAGE = re.compile(r"""(?:\.report|report_progress)\([^;"]{0,90}"([A-Za-z]\w+(?: \w+)+)\"""")
#: Notes of the core on a mesh and its lattice, which Details lists: the files, and what a note looks like in them. A count has two forms.
NATIVE_NOTES = ("lattice/assemble.rs", "lattice/bones.rs", "lattice/by_hand.rs", "surface/report.rs")
NOTE_OF_COUNT = re.compile(r"""count_sentence\(\s*self\.\w+,\s*"([^"]+)",\s*"([^"]+)",?\s*\)""")
NOTE_OF_BONES = re.compile(r"""note\(\s*&\w+,\s*"([^"]+)",""")
WHOLE_NOTE = re.compile(r"""format!\(\s*"([^"]*(?:\w+ ){4}[^"]*\.)"\s*\)|let \w+ = "([A-Z][^"]*\.)";""")
#: Mark of a place that translations may leave out, and names of variables that hold forms of English verbs.
FORM, FORM_NAMES = "(may be left out)", {"verb", "do", "lie", "article", "was", "were", "they"}
#: A place in a text that `str.format` fills.
FORMATTED = re.compile(r"\{(\w*)\}")
#: Kind of such a label while texts are collected: it is left out where the same text is known as a label of a button.
LOOSE = "loose"
#: Fewest words of a text in the sources that is taken for a message.
MIN_WORDS = 3


@dataclass(frozen=True)
class Text:
    """A text of the interface; `kind` is "label", "tooltip" or "message"; `note` says what its places (`{0}`) stand for."""

    context: str
    source: str
    kind: str
    place: str
    note: str = ""


def load_extension() -> ModuleType:
    """Imports and registers the extension from its source folder."""
    spec = importlib.util.spec_from_file_location(
        "thew_addon", ADDON / "__init__.py", submodule_search_locations=[str(ADDON)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{ADDON} holds no extension")
    package = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = package
    spec.loader.exec_module(package)
    package.register()
    return package


def collect(package: str) -> list[Text]:
    """Returns every text of the registered extension once, sorted by kind, context and text."""
    found: dict[tuple[str, str], Text] = {}
    registered = [*class_texts(package), *tool_texts(package), *native_texts()]
    hidden = {text.source for text in class_texts(package, hidden=True)}
    labels = {text.source for text in registered}
    written = [text for text in source_texts() if text.kind != "message" or text.source not in hidden | labels]
    labels |= {text.source for text in written if text.kind == "label"}
    for text in [*registered, *written]:
        if text.kind in {LOOSE, "message"} and text.source in labels:
            continue
        text = replace(text, kind="label") if text.kind == LOOSE else text
        key = text.context, text.source
        if text.source and any(map(str.isalpha, text.source)) and (key not in found or found[key].kind > text.kind):
            found[key] = text
    return sorted(found.values(), key=lambda text: (text.kind, text.context, text.source))


# registered classes -------------------------------------------------------------------------------------------------


def class_texts(package: str, hidden: bool = False) -> Iterator[Text]:
    """Returns names and descriptions of all registered classes and of their properties; `hidden`: those that no panel shows."""
    import bpy

    for base in (bpy.types.Operator, bpy.types.Panel, bpy.types.Menu, bpy.types.UIList, bpy.types.PropertyGroup):
        for cls in sorted(subclasses(base), key=lambda cls: (cls.__module__, cls.__name__)):
            if not cls.__module__.startswith(package) or not getattr(cls, "is_registered", False):
                continue
            place = cls.__module__.removeprefix(package).lstrip(".") + f".{cls.__name__}"
            if not hidden:
                context = OPERATOR if base is bpy.types.Operator else ""
                yield Text(context, getattr(cls, "bl_label", ""), "label", place)
                yield Text("", getattr(cls, "bl_description", ""), "tooltip", place)
                yield Text("", getattr(cls, "bl_category", ""), "label", place)
            for prop in own_rna(cls).properties:
                shown = not prop.is_hidden and not cls.__name__.endswith("Made") and prop.name != prop.identifier
                if shown != hidden and is_own(prop, base):
                    yield from property_texts(prop, f"{place}.{prop.identifier}")


def is_own(prop, base: type) -> bool:
    """Returns whether a property is the extension's, not that of Blender's base class; a name with another description is."""
    there = base.bl_rna.properties.get(prop.identifier)
    return there is None or there.description != prop.description


def own_rna(cls: type):
    """Returns the type that has a class's properties; those of an operator stand at the operator, not at its class."""
    import bpy

    if not issubclass(cls, bpy.types.Operator):
        return cls.bl_rna
    module, name = cls.bl_idname.split(".")
    return getattr(getattr(bpy.ops, module), name).get_rna_type()


def property_texts(prop, place: str) -> Iterator[Text]:
    """Returns name and description of a property and of the items of its enumeration."""
    yield Text("", prop.name, "label", place)
    yield Text("", prop.description, "tooltip", place)
    if prop.type == "ENUM":
        for item in prop.enum_items:
            yield Text("", item.name, "label", f"{place}.{item.identifier}")
            yield Text("", item.description, "tooltip", f"{place}.{item.identifier}")


def subclasses(base: type) -> Iterator[type]:
    """Returns all classes below one, each once."""
    seen: set[type] = set()
    waiting = list(base.__subclasses__())
    while waiting:
        cls = waiting.pop()
        if cls not in seen:
            seen.add(cls)
            waiting += cls.__subclasses__()
            yield cls


def tool_texts(package: str) -> Iterator[Text]:
    """Returns the names and tooltips of tools in the toolbar, which a Blender without window does not register."""
    for tools, _poll in sys.modules[f"{package}.operators"].TOOLS:
        for tool in tools:
            yield Text(OPERATOR, tool.bl_label, "label", f"operators.toolbar.{tool.__name__}")
            yield Text("", tool.bl_description, "tooltip", f"operators.toolbar.{tool.__name__}")


def native_texts() -> Iterator[Text]:
    """Returns the names of the core's templates of forces and of their parameters, which are buttons and sliders."""
    import thew

    for template in thew.templates():
        place = f"thew.templates().{template.name}"
        yield Text(OPERATOR, template.label, "label", place)
        yield Text("", template.label, "label", place)
        yield Text("", template.doc, "tooltip", place)
        for parameter in template.parameters:
            yield Text("", parameter.label, "label", f"{place}.{parameter.name}")
            yield Text("", parameter.doc, "tooltip", f"{place}.{parameter.name}")


# sources ------------------------------------------------------------------------------------------------------------


def source_texts(folder: Path = ADDON) -> Iterator[Text]:
    """Returns the texts of buttons and the templates of messages in the sources."""
    yield from (Text(MESSAGE, source, "message", "logic/sentences.py") for source in JOINED)
    yield from native_stages()
    yield from native_notes()
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder).as_posix()
        if place not in NOT_SHOWN and place.split("/")[0] not in DATA_WINGS:
            yield from file_texts(ast.parse(path.read_text(encoding="utf-8")), place)


def artist_words() -> dict[str, Any]:
    """Returns the extension's names for the artist's words: `STAGE_WORDS` of the core's stages, `note_text` of its notes."""
    return runpy.run_path(str(ADDON / "logic" / "stage_words.py"))


def native_stages(folder: Path = ROOT / "src") -> Iterator[Text]:
    """Returns the stages that the core reports while it works, as progress bars show them."""
    words = artist_words()["STAGE_WORDS"]
    for path in sorted(set(folder.rglob("*.rs")) - set(folder.rglob("tests/**/*.rs"))):
        for stage in NATIVE_STAGE.findall(path.read_text(encoding="utf-8")):
            told = words.get(stage, stage)
            if told:
                yield Text(MESSAGE, told, "message", f"src/{path.relative_to(folder).as_posix()}")


def native_notes(folder: Path = ROOT / "src") -> Iterator[Text]:
    """Returns the notes of the core on a mesh and its lattice."""
    note_text = artist_words()["note_text"]
    for name in NATIVE_NOTES:
        source = (folder / name).read_text(encoding="utf-8")
        found = [f"{{0}} {form}" for forms in NOTE_OF_COUNT.findall(source) for form in forms]
        found += [f"{{0}} bone(s) {fate}: {{1}}" for fate in NOTE_OF_BONES.findall(source)]
        found += ["".join(each) for each in WHOLE_NOTE.findall(source)]
        for note in found:
            yield Text(MESSAGE, re.sub(r"\{[a-z_]+\}", "{0}", note_text(note)), "message", f"src/{name}")


def file_texts(tree: ast.Module, place: str) -> Iterator[Text]:
    """Returns the texts of one file."""
    told = {expression.value for expression in ast.walk(tree) if isinstance(expression, ast.Expr)}  # documentation
    inner = {part for whole in ast.walk(tree) if isinstance(whole, ast.JoinedStr) for part in whole.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from call_texts(node, place)
        if node in told or node in inner:
            continue
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            source, note = template(node)
            if place.startswith("ui/") and SHORT_LABEL.fullmatch(source):
                yield from (Text(context, source, LOOSE, place) for context in ("", OPERATOR))
            if is_message(source) and not (place.startswith("saved/") and isinstance(node, ast.Constant)):
                yield Text(MESSAGE, source, "message", place, note)


def call_texts(call: ast.Call, place: str) -> Iterator[Text]:
    """Returns what a call shows: texts of buttons, and both forms of a counted noun."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    for word in call.keywords:
        if word.arg in SHOWN_WORDS:
            for value in alternatives(word.value):
                context = OPERATOR if function in OPERATOR_BUTTONS and word.arg == "text" else ""
                yield Text(context, value, "label", place)
    nouns = [word.value for word in call.args[1:] if isinstance(word, ast.Constant)]
    if function == "plural" and nouns:
        one, many = nouns[0], nouns[1] if len(nouns) > 1 else f"{nouns[0]}s"
        for noun in (one, many):
            yield Text(MESSAGE, f"{{0}} {noun}", "message", place, "{0}: a number")
    if function in {"translate", "Progress", "Work"}:
        for value in call.args:
            source, note = template(value)
            if any(map(str.isalpha, source)):
                yield Text(MESSAGE, source, "message", place, note)


def alternatives(value: ast.expr) -> Iterable[str]:
    """Returns the fixed texts that an expression can be."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [value.value]
    if isinstance(value, ast.IfExp):
        return [*alternatives(value.body), *alternatives(value.orelse)]
    return []


def template(node: ast.expr) -> tuple[str, str]:
    """Returns a text with `{0}`, `{1}`, … for what is put in, and a note of what that is; "" for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        names = list(dict.fromkeys(FORMATTED.findall(node.value)))  # filled in by `format` later
        source = FORMATTED.sub(lambda match: f"{{{names.index(match[1])}}}", node.value)
        return source, "; ".join(f"{{{place}}}: {name or 'what is put in'}" for place, name in enumerate(names))
    if not isinstance(node, ast.JoinedStr):
        return "", ""
    source, notes = "", []
    for part in node.values:
        if isinstance(part, ast.Constant):
            source += str(part.value).replace("{", "{{").replace("}", "}}")
        elif isinstance(part, ast.FormattedValue):
            value = ast.unparse(part.value)
            again = any(note.endswith(f": {value}") for note in notes)
            left_out = f" {FORM}" if again or is_form(part.value) else ""
            notes.append(f"{{{len(notes)}}}: {value}{left_out}")
            source += f"{{{len(notes) - 1}}}"
    return source, "; ".join(notes)


def is_form(value: ast.expr) -> bool:
    """Returns whether what is put in is a form of an English word, `is` or `are`, for which other languages have no place."""
    if isinstance(value, ast.IfExp):
        return all(isinstance(each, ast.Constant) for each in (value.body, value.orelse))
    return isinstance(value, ast.Name) and value.id in FORM_NAMES


def is_message(source: str) -> bool:
    """Returns whether a text reads like a sentence for the artist rather than a name, a path or code."""
    words = re.findall(r"[^\W\d_]{2,}", re.sub(r"\{\d+\}", "", source))
    return len(words) >= MIN_WORDS and " " in source and not re.search(r"[_=\\\n]|\w\(|^[a-z.]+: ?[a-z.]+$", source)


def main(output: Path) -> None:
    """Writes all texts to a JSON file."""
    package = load_extension()
    texts = collect(package.__name__)
    package.unregister()
    output.write_text(json.dumps([asdict(text) for text in texts], ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.flush()
    import os

    os._exit(0)  # Blender 4.2 crashes at exit after an extension was registered

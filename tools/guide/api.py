# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pages of the Python package's names, a page for each subject, from the typed stub with its docstrings."""

from __future__ import annotations

import re
from pathlib import Path

import griffe

from tools.shell import ROOT

PACKAGE = ROOT / "python" / "thew"
#: Titles of the pages, by submodule, in the order of the reference; the others go by their names.
TITLES = {
    "": "Characters and motion",
    "rigging": "Rigs",
    "bakes": "Bakes",
    "spacetime": "Keyframes",
    "modal": "Modes",
    "tets": "Tetrahedra",
    "mrep": "Medial models",
    "errors": "Errors",
}
KINDS = (("classes", "Classes"), ("functions", "Functions"))


class Reference:
    """The public names of the package."""

    def __init__(self, stub: str, package: Path = PACKAGE) -> None:
        """`stub`: the source of the typed stub, with docstrings."""
        self.module = griffe.visit("thew", filepath=package / "__init__.pyi", code=stub)
        errors = package / "_errors.py"
        self.errors = griffe.visit("_errors", filepath=errors, code=errors.read_text(encoding="utf-8"))
        self.submodules = {
            file.stem: griffe.visit(file.stem, filepath=file, code=file.read_text(encoding="utf-8"))
            for file in sorted(package.glob("*.py"))
            if not file.stem.startswith("_")
        }
        #: Texts of the private aliases of types, which signatures show in place of their names.
        self.aliases = {
            name: str(member.value)
            for name, member in self.module.attributes.items()
            if name.startswith("_") and not name.startswith("__")
        }

    def groups(self) -> dict[str, list[str]]:
        """Returns the public names of each page. The page "" has those that are in no submodule."""
        groups = {name: _exports(module) for name, module in self.submodules.items()}
        taken = {name for names in groups.values() for name in names}
        public = [name for name in _exports(self.module) if not name.startswith("__") and name not in taken]
        errors = [name for name in public if name in self.errors.members]
        groups |= {"": [name for name in public if name not in errors], "errors": errors}
        return {key: groups[key] for key in [*TITLES, *(key for key in groups if key not in TITLES)] if groups.get(key)}

    def write(self, target: Path) -> list[str]:
        """Writes the pages into a folder. Returns their names."""
        target.mkdir(parents=True, exist_ok=True)
        pages = []
        for key, names in self.groups().items():
            pages.append(f"{key or 'thew'}.md")
            (target / pages[-1]).write_text(self.page(key, names), encoding="utf-8")
        return pages

    def page(self, key: str, names: list[str]) -> str:
        """Returns the page of one subject."""
        owner = self.errors if key == "errors" else self.submodules.get(key, self.module)
        about = owner.docstring.value if owner.docstring else ""
        title = TITLES.get(key) or key.capitalize()
        # The name of the package is no sentence; the chapter's page shows the first one.
        about = re.sub(r"^Thew: (\w)", lambda found: found[1].upper(), about)
        import_line = f"\n\nThe names are in `thew`, and in `thew.{key}`, too." if key in self.submodules else ""
        parts = [f"# {title}\n\n{_text(about)}{import_line}\n\n```{{py:currentmodule}} thew\n```\n"]
        for kind, heading in KINDS:
            found = getattr(self.errors, kind) | getattr(self.module, kind)
            members = [found[name] for name in names if name in found]
            if members:
                parts.append(f"## {heading}\n")
            parts += [f"### {member.name}\n\n{self.entry(member)}" for member in members]
        return "\n".join(parts)

    def entry(self, thing: griffe.Object) -> str:
        """Returns the entry of a class or a function."""
        if thing.is_function:
            return self._directive("py:function", thing, 3)
        made = thing.members.get("__new__") or thing.members.get("__init__")
        signature = self._signature(made, returns=False) if made else ""
        bases = ", ".join(str(base) for base in thing.bases)
        text = f"Derives from {bases}.\n\n" if bases else ""
        text += (_text(thing.docstring.value) if thing.docstring else "") + (self._keywords(made) if made else "")
        members = [
            self._directive(
                "py:attribute" if member.is_attribute or "property" in member.labels else "py:method", member, 3
            )
            for name, member in thing.members.items()
            if (not name.startswith("_") or name == "__call__") and not member.is_alias
        ]
        return _fence(5, f"py:class}} {thing.name}{signature}", "\n".join([text, "", *members]))

    def _directive(self, kind: str, thing: griffe.Object, colons: int) -> str:
        text = _text(thing.docstring.value) if thing.docstring else ""
        options = [f":{label}:" for label in ("classmethod", "staticmethod") if label in thing.labels]
        if kind == "py:attribute":
            annotation = getattr(thing, "annotation", None) or getattr(thing, "returns", None)
            options += [f":type: {self._type(annotation)}"] if annotation is not None else []
            return _fence(colons, f"{kind}}} {thing.name}", text, options)
        return _fence(colons, f"{kind}}} {thing.name}{self._signature(thing)}", text + self._keywords(thing), options)

    def _signature(self, function: griffe.Function, returns: bool = True) -> str:
        """Returns the parameters of a function and what it returns, on one line."""
        words, last = [], None
        kinds = griffe.ParameterKind
        parameters = [each for each in function.parameters if each.name not in ("self", "cls")]
        for each in parameters:
            if last is kinds.positional_only and each.kind is not last:
                words.append("/")
            if each.kind is kinds.keyword_only and last not in (kinds.keyword_only, kinds.var_positional):
                words.append("*")
            stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(each.kind, "")
            unpacked = "Unpack" in str(each.annotation)
            annotation = "" if each.annotation is None or unpacked else f": {self._type(each.annotation)}"
            default = "" if each.default is None or stars else f" = {each.default}"
            words.append(f"{stars}{each.name}{annotation}{default}")
            last = each.kind
        if last is kinds.positional_only:
            words.append("/")
        result = f" -> {self._type(function.returns)}" if returns and function.returns is not None else ""
        return f"({', '.join(words)}){result}"

    def _keywords(self, function: griffe.Function) -> str:
        """Returns a table of the keywords that a function takes as `**name`, with their types."""
        rows: list[str] = []
        for each in function.parameters:
            found = re.search(r"Unpack\[(\w+)\]", str(each.annotation))
            rows += self._fields(found[1]) if found else []
        if not rows:
            return ""
        return "\n".join(["", "", "| keyword | type |", "| --- | --- |", *rows, ""])

    def _fields(self, name: str) -> list[str]:
        """Returns a row for each field of a typed dictionary, those of its bases first."""
        holder = self.module.members[name]
        rows = [row for base in holder.bases if str(base) in self.module.classes for row in self._fields(str(base))]
        for member in holder.attributes.values():
            kind = self._type(member.annotation).replace("|", "\\|")
            rows.append(f"| `{member.name}` | `{kind}` |")
        return rows

    def _type(self, annotation: object) -> str:
        """Returns the text of a type with private aliases written out."""
        text = str(annotation)
        for _ in range(3):
            text = re.sub(r"\b_[A-Za-z]\w*", lambda word: self.aliases.get(word[0], word[0]), text)
        return " ".join(text.split())


def _exports(module: griffe.Module) -> list[str]:
    """Returns the names of `__all__`, sorted as written."""
    value = module.members["__all__"].value
    return [str(each).strip("\"'") for each in value.elements]


def _text(docstring: str) -> str:
    """Returns a docstring as Markdown: an indented block is code in Python."""
    lines, block = [], False
    for line in docstring.splitlines():
        code = line.startswith("    ") or (block and not line)
        if code != block and (line or block):
            lines += ["```python"] if code else ["```", ""]
            block = code
        lines.append(line[4:] if block else line)
    return "\n".join([*lines, "```"] if block else lines)


def _fence(colons: int, head: str, body: str, options: list[str] | None = None) -> str:
    marks = ":" * colons
    return "\n".join([f"{marks}{{{head}", *(options or []), "", body, marks, ""])

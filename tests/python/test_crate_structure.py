# SPDX-License-Identifier: MIT OR Apache-2.0
"""The structure of the crate, read from its sources: one convention for module files, few circles of imports."""

import re
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"
#: Circles of imports that remain. Cut one, and lower the number.
MOST_CIRCLES = 3

Module = tuple[str, ...]


def module(path: Path, src: Path) -> Module:
    """Returns the path of modules of a file; the path of a `mod.rs` is its folder's."""
    parts = path.relative_to(src).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def strip_unused(text: str) -> str:
    """Removes comments, strings and items that only tests compile."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', " ", text, flags=re.DOTALL)
    kept, start = "", 0
    for item in re.finditer(r"#\[cfg\(test\)\]", text):
        if item.start() < start:
            continue
        kept += text[start : item.start()]
        start, depth = item.end(), 0
        while start < len(text):
            letter, start = text[start], start + 1
            depth += (letter == "{") - (letter == "}")
            if depth == 0 and (letter == ";" or (letter == "}" and text[start : start + 1] != ";")):
                break
    return kept + text[start:]


def leaves(tree: str) -> list[list[str]]:
    """Returns each path of a use tree with the name that it gets, `["crate", "a", "b", "name"]`."""
    head, brace, inner = tree.partition("{")
    if not brace:
        path, _, name = tree.strip().partition(" as ")
        parts = path.strip().split("::")
        return [[*parts, name.strip() or parts[-1]]]
    found, depth, part = [], 0, ""
    for letter in inner.rpartition("}")[0] + ",":
        if letter == "," and depth == 0:
            found += leaves(head + part.strip()) if part.strip() else []
            part = ""
        else:
            depth += (letter == "{") - (letter == "}")
            part += letter
    return found


def absolute_path(parts: list[str], here: Module, known: dict[Module, Path]) -> Module | None:
    """Returns a path from the crate's root, or `None` for a path of another crate."""
    if parts[0] == "crate":
        return tuple(parts[1:])
    if parts[0] not in ("self", "super"):
        return (*here, *parts) if (*here, parts[0]) in known else None
    at = here
    while parts and parts[0] in ("self", "super"):
        at, parts = (at[:-1] if parts[0] == "super" else at), parts[1:]
    return (*at, *parts)


def imports(src: Path) -> dict[Module, set[Module]]:
    """Returns the files that each file imports from, by where names are defined, not re-exported; tests and bindings are left out."""
    outside = re.compile(r"(^|/)(tests|python|fixture)(/|\.rs)")
    paths = (path for path in src.rglob("*.rs") if not outside.search(path.relative_to(src).as_posix()))
    known = {module(path, src): path for path in paths}
    texts = {name: strip_unused(path.read_text()) for name, path in known.items()}
    handed_on: dict[Module, Module] = {}
    for name, path in known.items():
        # Children take by `super::` whatever a folder's face imports.
        public = r"(?:pub(?:\([^)]*\))?\s+)?" if path.name in ("mod.rs", "lib.rs") else r"pub(?:\([^)]*\))?\s+"
        for use in re.finditer(rf"{public}\buse\s+([^;]+);", texts[name]):
            for *parts, given in leaves(use[1]):
                if target := absolute_path(parts, name, known):
                    handed_on[(*name, given)] = target

    def defining_module(full: Module) -> Module:
        for _ in range(8):
            via = next((full[:k] for k in range(len(full), 0, -1) if full[:k] in handed_on), None)
            if via is None or via in known:
                break
            full = handed_on[via] + full[len(via) :]
        while full and full not in known:
            full = full[:-1]
        return full

    graph = {}
    for name, text in texts.items():
        own = re.sub(r"pub(?:\([^)]*\))?\s+use\s+[^;]+;", "", text)
        used = [parts for use in re.finditer(r"\buse\s+([^;]+);", own) for *parts, _ in leaves(use[1])]
        inline = re.sub(r"\buse\s+[^;]+;", "", own)
        used += [path.split("::") for path in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", inline)]
        full = (absolute_path(parts, name, known) for parts in used)
        graph[name] = {target for path in full if path and (target := defining_module(path)) not in ((), name)}
        # The sentences of errors list the kinds whose parsers return them.
        if name[-1:] == ("error",):
            graph[name] = set()
    return graph


def circles(graph: dict[Module, set[Module]]) -> list[list[str]]:
    """Returns the groups of files in which each file reaches all others."""

    def reachable_modules(start: Module) -> set[Module]:
        found, left = set(), [start]
        while left:
            new = graph.get(left.pop(), set()) - found
            found |= new
            left += new
        return found

    reach = {name: reachable_modules(name) for name in graph}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]
    }
    return sorted(sorted("/".join(name) for name in group) for group in groups)


def test_imports_few_circles():
    """The crate's imports run in few circles."""
    found = circles(imports(SRC))
    assert len(found) <= MOST_CIRCLES, "\n".join(" <-> ".join(group) for group in found)


def test_circles_found(tmp_path):
    """A circle of imports is found, and comments and tests make none."""
    (tmp_path / "room").mkdir()
    (tmp_path / "lib.rs").write_text("mod room;\n")
    (tmp_path / "room" / "mod.rs").write_text("mod high;\nmod low;\npub use high::Thing;\n")
    (tmp_path / "room" / "high.rs").write_text("use super::{low::Other as Own, Also};\n")
    (tmp_path / "room" / "low.rs").write_text(
        "// use super::Thing;\n#[cfg(test)]\nmod tests { use super::super::Thing; }\n"
    )
    assert circles(imports(tmp_path)) == []
    (tmp_path / "room" / "low.rs").write_text("fn f(_: crate::room::Thing) {}\n")
    assert circles(imports(tmp_path)) == [["room/high", "room/low"]]


def test_module_folder_convention():
    """A module with submodules is `x/mod.rs`, and one with tests alone is `x.rs` beside `x/tests.rs`."""
    stray = []
    for path in SRC.rglob("*.rs"):
        folder = path.with_suffix("")
        if path.name != "tests.rs" and folder.is_dir():
            stray += [other for other in folder.iterdir() if other.stem != "tests"]
        if path.name == "tests.rs" and folder.is_dir():
            stray.append(path)
    assert stray == []

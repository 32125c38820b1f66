# SPDX-License-Identifier: GPL-3.0-or-later
"""The structure of the extension, read from its sources: no file imports from a wing above its own, and none in a circle.

The order of the wings is written once, in the table at the head of the package.
"""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ADDON = Path(__file__).resolve().parents[2] / "blender_addon"
HEAD = ast.get_docstring(ast.parse((ADDON / "__init__.py").read_text()))
#: The lowest first.
WINGS = re.findall(r"^\| `(\w+)/` \|", HEAD, re.MULTILINE)
#: What stands over all wings.
TOP = {"__init__", "cli"}
MOST_LINES = 400


def modules(folder: Path = ADDON) -> dict[str, Path]:
    """Returns every file by its dotted name in the package; a folder's `__init__` by the folder's."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


def type_checking_imports(tree: ast.Module) -> set[ast.AST]:
    """Returns the imports under `if TYPE_CHECKING`, which no running program imports."""
    tests = (node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return {inner for test in tests for inner in ast.walk(test)}


def imports(name: str, path: Path, known: dict[str, Path], typed: bool = True) -> list[tuple[int, str]]:
    """Returns (line, module) of all imports of a file, inside functions too; `typed`: those for types alone too."""
    tree = ast.parse(path.read_text())
    left_out = set() if typed else type_checking_imports(tree)
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    package = [] if name == "__init__" else package
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or node in left_out:
            continue
        base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            full = ".".join([*base, alias.name])
            found.append((node.lineno, full if full in known else ".".join(base)))
    return found


def upward(folder: Path, wings: list[str]) -> list[str]:
    """Returns a message for each import from a wing above, or from a module above all wings."""
    known, sentences = modules(folder), []
    for name, path in known.items():
        if name in TOP:
            continue
        for line, other in imports(name, path, known):
            mine, theirs = name.split(".")[0], other.split(".")[0]
            if theirs not in wings or wings.index(theirs) > wings.index(mine):
                sentences.append(f"{path.relative_to(folder)}:{line} imports {other}")
    return sentences


def test_modules_belong_to_wings():
    """Every module of the extension belongs to a wing."""
    assert {name.split(".")[0] for name in modules()} == {*WINGS, *TOP}


def test_imports_not_upward():
    """No module imports from a wing above its own."""
    assert upward(ADDON, WINGS) == []


@pytest.mark.parametrize(
    "text", ["from ..high import thing", "from .. import cli", "def f():\n    from ..high.thing import x"]
)
def test_upward_finds_import(tmp_path, text):
    """The check finds an upward import of any form."""
    for wing in ("low", "high"):
        (tmp_path / wing).mkdir()
        (tmp_path / wing / "__init__.py").write_text("")
    for name in ("__init__", "cli", "high/thing"):
        (tmp_path / f"{name}.py").write_text("from . import other\n")
    (tmp_path / "low" / "here.py").write_text("from ..low import more\nfrom .more import x\n")
    (tmp_path / "low" / "more.py").write_text("")
    assert upward(tmp_path, ["low", "high"]) == []
    (tmp_path / "low" / "here.py").write_text(text)
    assert len(upward(tmp_path, ["low", "high"])) == 1


def test_imports_acyclic():
    """No modules import one another in a circle."""
    known = modules()
    graph = {name: {other for _, other in imports(name, path, known, typed=False)} for name, path in known.items()}
    for name, others in graph.items():
        graph[name] = {other for other in others if other not in WINGS and other != name}  # a folder's own `__init__`
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_logic_imports_no_blender():
    """No module of `logic` imports a module of Blender."""
    bad = []
    for name, path in modules().items():
        if not name.startswith("logic"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            bad += [f"{name}: {each}" for each in names if each.split(".")[0] in {"bpy", "mathutils", "gpu", "bmesh"}]
    assert bad == []


def test_module_length_limited():
    """No module is longer than the limit."""
    long = {
        name: lines for name, path in modules().items() if (lines := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert long == {}

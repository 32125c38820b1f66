# SPDX-License-Identifier: MIT OR Apache-2.0
"""Docstrings of the typed stub, copied from the wheel: they are written once, in `src/python`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

#: Columns of a line in the stub.
WIDTH = 140


def with_docstrings(stub: str, module: ModuleType) -> str:
    """Returns the source of a stub with every docstring replaced by that of the module's object of the same name."""
    lines = stub.splitlines()
    pairs = list(_pairs(ast.parse(stub), module))
    for node, text in sorted(pairs, key=lambda pair: pair[0].lineno, reverse=True):
        lines[node.lineno - 1 : node.end_lineno] = _docstring(text, node.col_offset)
    return "\n".join(lines) + "\n"


def _pairs(tree: ast.AST, owner: Any) -> Iterator[tuple[ast.Expr, str]]:
    """Yields each docstring's statement and what the object says of itself."""
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        found = inspect.getattr_static(owner, node.name, None)
        if found is None:
            continue
        text = inspect.getdoc(getattr(found, "__func__", found))
        if ast.get_docstring(node) is not None and text and not node.name.startswith("_"):
            yield node.body[0], text
        if isinstance(node, ast.ClassDef):
            yield from _pairs(node, found)


def _docstring(text: str, indent: int) -> list[str]:
    """Returns the lines of a docstring, paragraphs and lists apart."""
    margin = " " * indent
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    wrapped: list[str] = []
    for paragraph in _paragraphs(text.splitlines()):
        hanging = "  " if paragraph.startswith("- ") else ""
        wrapped += textwrap.wrap(
            paragraph, WIDTH - indent, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
        ) or [""]
    if len(wrapped) == 1:
        return [f'{margin}"""{wrapped[0]}"""']
    first, *rest = wrapped
    rest = [margin + line if line else "" for line in rest]
    return [f'{margin}"""{first}', *rest, f'{margin}"""']


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Yields paragraphs, items of lists and empty lines, each as one line."""
    together: list[str] = []
    for line in (each.strip() for each in lines):
        if together and (not line or line.startswith("- ")):
            yield " ".join(together)
            together = []
        if line:
            together.append(line)
        else:
            yield ""
    if together:
        yield " ".join(together)

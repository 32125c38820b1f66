# SPDX-License-Identifier: MIT OR Apache-2.0
"""Docstrings of the typed stub. They are written once, in `src/python`; a packed wheel's stub has those of its module."""

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
    """Returns the source of a stub with the docstrings of the module's objects of the same names."""
    lines = stub.splitlines()
    for node, text in sorted(_pairs(ast.parse(stub), module), key=lambda pair: pair[0].lineno, reverse=True):
        body = node.body[0]
        line = min([body.lineno, *(d.lineno for d in getattr(body, "decorator_list", []))]) - 1
        written = _docstring(text, node.col_offset + 4)
        if isinstance(body, ast.Expr):
            # The ellipsis of a body without members.
            lines[line : line + 1] = [lines[line][: body.col_offset].rstrip(), *written]
        else:
            lines[line:line] = [*written, ""]
    return "\n".join(lines) + "\n"


def _pairs(tree: ast.AST, owner: Any) -> Iterator[tuple[ast.ClassDef | ast.FunctionDef, str]]:
    """Yields each public class and function without a docstring with that of its object. Setters have none."""
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_"):
            continue
        found = inspect.getattr_static(owner, node.name)
        text = inspect.getdoc(getattr(found, "__func__", found))
        is_setter = any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in node.decorator_list)
        if text and not is_setter and ast.get_docstring(node) is None:
            yield node, text
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

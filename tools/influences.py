# SPDX-License-Identifier: MIT OR Apache-2.0
"""Influences on a program: the statements of the project's own modules that it can reach, by name.

A picture is old if one of them changes. Whole files would say so too often: a character that joins a shared module changes no picture of
another. Found from the source alone: the program as a whole, then each function, class and constant whose name a reached statement uses.
Statements that bind no name count as soon as their module is imported. A module that is passed on as a value counts as a whole. Names
that are put together at run time are not found.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path


class Module:
    """One parsed file of the project."""

    def __init__(self, name: str, file: Path) -> None:
        self.name, self.file = name, file
        self.tree = ast.parse(file.read_text(encoding="utf-8"))
        self.package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        _drop_texts(self.tree)

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Returns what imported names stand for: a module, and a name in it or ""."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    found[alias.asname or whole] = (whole, "")
            if isinstance(node, ast.ImportFrom):
                base = self.package.rsplit(".", node.level - 1)[0] if node.level else ""
                base = ".".join(filter(None, (base, node.module)))
                found |= {alias.asname or alias.name: (base, alias.name) for alias in node.names}
        return found

    @cached_property
    def imported_modules(self) -> set[str]:
        """Returns the modules that it imports, with the packages around them."""
        names = {module for module, _ in self.imports.values()} | {".".join(pair) for pair in self.imports.values()}
        names |= {alias.name for node in ast.walk(self.tree) if isinstance(node, ast.Import) for alias in node.names}
        return {".".join(words[: k + 1]) for words in (name.split(".") for name in names) for k in range(len(words))}

    @cached_property
    def bindings(self) -> dict[str, list[int]]:
        """Returns the numbers of the statements that bind each name."""
        found: dict[str, list[int]] = {}
        for number, statement in enumerate(self.tree.body):
            for name in _bound(statement):
                found.setdefault(name, []).append(number)
        return found

    @cached_property
    def loose(self) -> list[int]:
        """Returns the numbers of the statements that bind no name; without imports, and without what runs in a program alone."""
        bound = {number for numbers in self.bindings.values() for number in numbers}
        return [k for k, each in enumerate(self.tree.body) if k not in bound and not _idle(each)]


class Influences:
    """The statements of modules under a root that one program can reach."""

    def __init__(self, root: Path, packages: Iterable[str], program: str) -> None:
        self.root, self.packages = root, set(packages)
        self.modules: dict[str, Module | None] = {}
        #: Numbers of the reached statements, by module.
        self.reached: dict[str, set[int]] = {}
        self._left: list[tuple[Module, int]] = []
        self._take_all(program)
        while self._left:
            self._follow(*self._left.pop())

    def files(self) -> set[Path]:
        """Returns the files with a reached statement."""
        return {self.modules[name].file for name, numbers in self.reached.items() if numbers}

    def digest(self) -> str:
        """Returns a digest of the reached statements, without comments, docstrings and layout."""
        total = hashlib.sha256()
        for name in sorted(name for name, numbers in self.reached.items() if numbers):
            total.update(name.encode())
            for number in sorted(self.reached[name]):
                total.update(ast.unparse(self.modules[name].tree.body[number]).encode())
        return total.hexdigest()[:16]

    def _module(self, name: str) -> Module | None:
        """Returns a module of the project, which is thereby imported; None for others."""
        if name not in self.modules:
            stem = self.root / name.replace(".", "/")
            files = [file for file in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py") if file.is_file()]
            own = name.partition(".")[0] in self.packages and files
            self.modules[name] = Module(name, files[0]) if own else None
            if own:
                self.reached[name] = set()
                self._take(self.modules[name], self.modules[name].loose)
                for other in self.modules[name].imported_modules:
                    self._module(other)
        return self.modules[name]

    def _take(self, module: Module, numbers: Iterable[int]) -> None:
        new = set(numbers) - self.reached[module.name]
        self.reached[module.name] |= new
        self._left += [(module, number) for number in new]

    def _take_all(self, name: str) -> None:
        if module := self._module(name):
            self._take(module, range(len(module.tree.body)))

    def _follow(self, module: Module, number: int) -> None:
        """Takes what the names in a statement stand for."""
        statement = module.tree.body[number]
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return
        for words in _dotted_names(statement):
            self._take_name(module, words)

    def _take_name(self, module: Module, words: list[str]) -> None:
        """Takes what a dotted name in a module stands for. Names without an own meaning end the search."""
        first, rest = words[0], words[1:]
        if first in module.bindings:
            self._take(module, module.bindings[first])
        elif first in module.imports:
            base, name = module.imports[first]
            self._take_from(base, [*filter(None, [name]), *rest])

    def _take_from(self, base: str, words: list[str]) -> None:
        """Takes a dotted name as seen from a module."""
        module = self._module(base)
        known = module.bindings.keys() | module.imports.keys() if module else set()
        if module and (not words or words[0] == "*"):
            self._take_all(base)
        elif words and words[0] in known and module.imports.get(words[0]) != (base, words[0]):
            self._take_name(module, words)
        elif words and self._module(f"{base}.{words[0]}"):
            self._take_from(f"{base}.{words[0]}", words[1:])


def read_code(file: Path) -> str:
    """Returns the code of a file without comments, docstrings and layout."""
    return ast.unparse(Module("", file).tree)


def _idle(statement: ast.stmt) -> bool:
    """Returns true for imports, `pass`, and `if` with `__name__` or `TYPE_CHECKING`."""
    if isinstance(statement, ast.If):
        return any(isinstance(n, ast.Name) and n.id in {"__name__", "TYPE_CHECKING"} for n in ast.walk(statement.test))
    return isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yields the names that a statement binds in its module, those of imports left out."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.iter_child_nodes(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            yield from _bound(node)


def _dotted_names(statement: ast.AST) -> Iterator[list[str]]:
    """Yields the names that a statement uses, each with the attributes that are read of it. Annotations only describe."""
    if isinstance(statement, (ast.Name, ast.Attribute)):
        words, node = [], statement
        while isinstance(node, ast.Attribute):
            words.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            yield [node.id, *words]
            return
    for field, value in ast.iter_fields(statement):
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and field not in {"annotation", "returns"}:
                yield from _dotted_names(node)


def _drop_texts(tree: ast.AST) -> None:
    """Takes docstrings out of a syntax tree, and texts that stand for themselves below a constant."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            node.body = [each for each in body if not _is_text(each)] or [ast.Pass()]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

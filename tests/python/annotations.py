# SPDX-License-Identifier: MIT OR Apache-2.0
"""The stub of thew as it is written: members, annotations as types, shapes that documentation promises."""

import ast
import collections.abc
import types
import typing
from pathlib import Path

import numpy as np
import thew

SHAPE = r"\[(?:nodes|[a-z](?:\+1)?|\d+)(?:,(?:nodes|[a-z](?:\+1)?|\d+))*\]"
TREE = ast.parse((Path(thew.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))


def names():
    """Returns the names that annotations of the stub may use: its own imports and aliases, and the module's classes."""
    known = dict(vars(thew))
    for node in TREE.body:
        alias = isinstance(node, ast.AnnAssign) and node.value is not None
        foreign = isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)
        if alias or foreign:
            exec(compile(ast.Module([node], []), "thew/__init__.pyi", "exec"), known)
    return known


def members():
    """Returns {"Surface.volume" or "simulate": the function in the stub}, without setters and construction."""
    found = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
    for owner in TREE.body:
        if isinstance(owner, ast.ClassDef):
            for node in owner.body:
                if isinstance(node, ast.FunctionDef) and node.name != "__new__" and node.returns is not None:
                    found.setdefault(f"{owner.name}.{node.name}", node)
    return found


def is_property(function):
    """Returns whether the stub's function is read like an attribute."""
    return any(isinstance(d, ast.Name) and d.id == "property" for d in function.decorator_list)


def return_type(function, known):
    """Returns the annotation of a function's result, as a type."""
    return eval(compile(ast.Expression(function.returns), "thew/__init__.pyi", "eval"), known)


def disagreements(value, hint, where="it"):
    """Returns sentences on how a value differs from a type; empty when it agrees. Numbers are exactly of their kind: True is no int."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is object or hint is typing.Any:
        return []
    if hint is None or hint is type(None):
        return [] if value is None else [f"{where} is {type(value).__name__}, not None"]
    if origin in (types.UnionType, typing.Union):
        tried = [disagreements(value, one, where) for one in arguments]
        return [] if not all(tried) else [" and ".join(text for one in tried for text in one)]
    if origin is typing.Literal:
        return [] if value in arguments else [f"{where} is {value!r}, none of {arguments}"]
    if origin is np.ndarray:
        return array_disagreements(value, typing.get_args(arguments[1])[0], where)
    if origin is collections.abc.Iterator:
        return [] if isinstance(value, origin) else [f"{where} is {type(value).__name__}, not an iterator"]
    if hint is Path:  # whose instances are of the system's own class
        hint = type(Path())
    if type(value) is not (origin or hint):
        return [f"{where} is {type(value).__name__}, not {getattr(origin or hint, '__name__', hint)}"]
    if origin is tuple and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return [f"{where} has {len(value)} parts, not {len(arguments)}"]
        pairs = [(f"{where}[{i}]", part, one) for i, (part, one) in enumerate(zip(value, arguments, strict=True))]
    elif origin in (tuple, list):
        pairs = [(f"{where}[{i}]", part, arguments[0]) for i, part in enumerate(value)]
    elif origin is dict:
        pairs = [(f"a key of {where}", key, arguments[0]) for key in value]
        pairs += [(f"{where}[{key!r}]", part, arguments[1]) for key, part in value.items()]
    else:
        pairs = []
    return [text for name, part, one in pairs for text in disagreements(part, one, name)]


def array_disagreements(value, kind, where):
    """Returns sentences on how a value differs from an array of a kind of number, C-contiguous and the caller's to write to."""
    if type(value) is not np.ndarray:
        return [f"{where} is {type(value).__name__}, not an array"]
    if not np.issubdtype(value.dtype, kind):
        return [f"{where} holds {value.dtype}, not {kind.__name__}"]
    if not value.flags.c_contiguous or not value.flags.writeable:
        return [f"{where} is not C-contiguous, or cannot be written to"]
    return []


def arrays(value):
    """Returns all arrays in a value, in order."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays(part)]
    return []

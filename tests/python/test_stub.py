# SPDX-License-Identifier: MIT OR Apache-2.0
"""The typed stub says what the module has: names, parameters and defaults, documentation. Types: the files beside this."""

import ast
import importlib
import inspect
from importlib.metadata import version
from pathlib import Path

import pytest
import thew

from tools.stub import with_docstrings

STUB = ast.parse((Path(thew.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
CLASSES = {n.name: n for n in STUB.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")}
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
IMPORTED = {
    alias.asname for node in STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname
}
SUBMODULES = {"bakes", "modal", "mrep", "rigging", "spacetime", "tets"}


def parameters(function):
    """Returns (name, default as source) of each parameter of a function in the stub."""
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    defaults = [ast.literal_eval(d) for d in function.args.defaults]
    if function.args.kwarg:
        names.append(function.args.kwarg.arg)
        defaults.append(inspect.Parameter.empty)
    found = dict(zip(names, [inspect.Parameter.empty] * (len(names) - len(defaults)) + defaults, strict=True))
    for name, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        found[name.arg] = inspect.Parameter.empty if default is None else ast.literal_eval(default)
    return found


def is_setter(function):
    """Returns whether the stub's function is a setter."""
    return any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in function.decorator_list)


def real_parameters(thing):
    """Returns {name: default} of a callable's parameters, without self."""
    signature = inspect.signature(thing)
    return {p.name: p.default for p in signature.parameters.values() if p.name not in ("self", "cls")}


def test_stub_beside_module():
    """The stub's marker lies beside the module, whose version is the package's."""
    folder = Path(thew.__file__).parent
    assert (folder / "py.typed").is_file()
    assert version("thew") == thew.__version__


def test_stub_docstrings_once():
    """A stub with docstrings gets no second ones."""
    source = (Path(thew.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    assert with_docstrings(source, thew) == source


def check_docstring(node, thing):
    """Checks that the stub's docstring says in the same words what the module's object says."""
    assert thing.__doc__ and ast.get_docstring(node).split() == inspect.getdoc(thing).split(), node.name


def test_stub_public_names():
    """Stub and module have the same public names."""
    assert {*CLASSES, *FUNCTIONS, *IMPORTED, "__version__"} == {*thew.__all__, *SUBMODULES}
    assert all(hasattr(thew, name) for name in thew.__all__)


@pytest.mark.parametrize("name", sorted(SUBMODULES))
def test_submodules_hold_module_names(name):
    """Submodules hold names of the module."""
    module = getattr(thew, name)
    assert importlib.import_module(f"thew.{name}") is module and module.__doc__
    assert set(module.__all__) <= set(thew.__all__)
    assert all(getattr(module, each) is getattr(thew, each) for each in module.__all__)


def test_submodules_disjoint():
    """Every name is in one submodule at most, and the general ones are in none."""
    held = [name for module in SUBMODULES for name in getattr(thew, module).__all__]
    assert len(held) == len(set(held))
    # What works on characters and is of no single subject.
    assert not {"Body", "Clip", "Lattice", "Material", "Scene", "Simulation", "simulate"} & set(held)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_stub_functions(name):
    """The functions of the stub have the module's parameters and documentation."""
    function = getattr(thew, name)
    assert parameters(FUNCTIONS[name]) == real_parameters(function)
    check_docstring(FUNCTIONS[name], function)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_stub_classes(name):
    """The classes of the stub have the module's members, parameters and documentation."""
    real, stub = getattr(thew, name), CLASSES[name]
    check_docstring(stub, real)
    assert real.__module__ == "thew"
    written = [node for node in stub.body if isinstance(node, ast.FunctionDef) and not is_setter(node)]
    members = {node.name: node for node in written}
    public = {m for m in vars(real) if not m.startswith("_")}
    assert {m for m in members if not m.startswith("_")} == public
    for member, node in members.items():
        if member == "__new__":
            assert parameters(node) == real_parameters(real)
        elif not member.startswith("_"):
            thing = inspect.getattr_static(real, member)
            check_docstring(node, getattr(thing, "__func__", thing))
            is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
            assert is_property == inspect.isdatadescriptor(thing), member
            if not is_property:
                assert parameters(node) == real_parameters(getattr(real, member)), member

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every property, method and function, called once: results are of the types and shapes in the stub."""

import ast
import copy
import re

import annotations
import pytest
import shapes
import thew
from typed.every_call import CALLS, FILLED, Scene

KNOWN = annotations.names()
MEMBERS = annotations.members()

ALIKE = {"__len__": len, "__copy__": copy.copy, "__deepcopy__": copy.deepcopy}


@pytest.fixture(scope="module")
def scene(arm, tmp_path_factory):
    """Builds one object of every class, and the arguments of their methods."""
    folder = tmp_path_factory.mktemp("scene")
    return Scene(folder, arm.surface, arm.skeleton, arm.weights, shapes.bend(0.3), thew.Surface(*open_box()))


def open_box():
    """Builds a box without its last triangle."""
    vertices, triangles = shapes.box()
    return vertices, triangles[:-1]


def call_member(name, scene):
    """Returns the value of a member."""
    owner, _, member = name.rpartition(".")
    if name in CALLS:
        return CALLS[name](scene)
    this = getattr(scene, owner)
    if member == "__eq__":
        return this == copy.copy(this)
    if member in ALIKE:
        return ALIKE[member](this)
    if annotations.is_property(MEMBERS[name]):
        return getattr(this, member)
    assert member.startswith("__"), f"{name} is new: say in CALLS how to call it"
    return getattr(this, member)()


def promised_shapes(documentation):
    """Returns the shapes of the result in a member's documentation: those after the arrow, else those that stand alone (shapes of arguments stand at their names), else the first."""
    after = documentation.partition("->")[2]
    alone = re.findall(rf"(?<!\w){annotations.SHAPE}", documentation)
    return re.findall(annotations.SHAPE, after) or alone or re.findall(annotations.SHAPE, documentation)


def has_wrong_shape(found, shape, nodes):
    """Returns whether an array lacks the shape "[k,3]"; letters stand for any number."""
    wanted = shape.strip("[]").split(",")
    sizes = {"nodes": nodes}
    return len(found) != len(wanted) or any(
        size != (int(name) if name.isdecimal() else sizes.get(name, size))
        for size, name in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_stub_return_values(name, scene):
    """Every member returns a value of the type and shape that the stub gives."""
    function = MEMBERS[name]
    value = call_member(name, scene)
    wrong = annotations.disagreements(value, annotations.return_type(function, KNOWN))
    assert not wrong, f"{name}: {'; '.join(wrong)}, says the stub: {ast.unparse(function.returns)}"
    hint = ast.unparse(function.returns)
    documentation = ast.get_docstring(function)
    if documentation and re.search(r"_Floats|_Places|_Indices|NDArray", hint) and "list[" not in hint:
        found = [array.shape for array in annotations.arrays(value)]
        if value is not None and "_Sparse" not in hint:
            shapes_said = promised_shapes(documentation)
            assert shapes_said, f"{name} gives back an array, but its documentation tells no shape"
            for shape, said in zip(found, shapes_said, strict=False):
                assert not has_wrong_shape(shape, said, scene.Body.node_count), (
                    f"{name} has shape {shape}, said to be {said}"
                )
            assert len(shapes_said) >= len(found), f"{name}: {len(found)} arrays, {len(shapes_said)} shapes"


@pytest.mark.parametrize(
    "name", sorted(name for name in MEMBERS if "None" in ast.unparse(MEMBERS[name].returns).split())
)
def test_stub_optional_values(name, scene):
    """Every member that may return None is also seen with a value."""
    hint = annotations.return_type(MEMBERS[name], KNOWN)
    if hint is not None:
        value = FILLED[name](scene) if name in FILLED else call_member(name, scene)
        assert value is not None, f"say in FILLED where {name} is not None"
        assert not annotations.disagreements(value, hint)


def test_calls_belong_to_members():
    """Every call of the table belongs to a member."""
    assert set(CALLS) <= set(MEMBERS)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("Surface.vertices", "int"),  # an array that is said to be a number
        ("Surface.vertices", "_Places"),  # f32 for f64
        ("Surface.triangles", "_Floats"),
        ("Surface.volume", "int"),
        ("Surface.volume", "_Floats"),
        ("Surface.closest_point", "tuple[_Floats, _Floats]"),
        ("Surface.closest_point", "tuple[_Floats, _Floats, _Floats]"),
        ("SurfaceReport.closed", "int"),  # True counts as a number nowhere
        ("SurfaceReport.components", "bool"),
        ("SurfaceReport.sentences", "list[int]"),
        ("Skeleton.names", "tuple[str, ...]"),
        ("Lattice.copies", "str"),
        ("TetMesh.mass", "tuple[_Floats, _Floats, _Indices]"),
        ("Simulation.amplitudes", "_Floats"),  # None with this method
        ("Simulation.advance", "bool"),
        ("Rig.parameters", "dict[str, int]"),
        ("Rig.guide", "SkinGuide | FreeGuide"),
        ("Template.kind", "Literal['radial', 'bulge']"),
        ("simulate", "Body"),
    ],
)
def test_wrong_annotation_found(name, wrong, scene):
    """A wrong annotation is found."""
    assert annotations.disagreements(call_member(name, scene), eval(wrong, KNOWN))


def test_wrong_shape_found():
    """A wrong shape is found."""
    assert promised_shapes("Points at amplitudes[m] -> (indices[p,8], weights[p]) [capell2002, §3.1].") == [
        "[p,8]",
        "[p]",
    ]
    assert promised_shapes("Displacements at amplitudes[m], [n,3], metres.") == ["[n,3]"]
    assert not has_wrong_shape((7, 3), "[n,3]", 9) and not has_wrong_shape((9, 3), "[nodes,3]", 9)
    assert (
        has_wrong_shape((7, 4), "[n,3]", 9)
        and has_wrong_shape((7,), "[n,3]", 9)
        and has_wrong_shape((7, 3), "[nodes,3]", 9)
    )

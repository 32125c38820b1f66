# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of hard and soft parts: its rules on a made-up mesh, and that every row says something."""

import numpy as np
import pytest

from assets import characters
from demo.look import parts

NAMES = ["spine", "head", "foot.L", "foot.R"]


@pytest.fixture
def mesh():
    """Builds vertices along z from 0 to 2, carried by foot, spine and head in turn: rest, weights."""
    rest = np.stack([np.tile([-1.0, 3.0], 10), np.zeros(20), np.repeat(np.linspace(0.0, 2.0, 10), 2)], axis=1)
    carrier = np.select([rest[:, 2] < 0.4, rest[:, 2] > 1.6], [2 + (rest[:, 0] > 0.0), 1], 0)
    return rest, np.eye(4)[carrier]


def parts_under(monkeypatch, mesh, rules, name="Body"):
    """Returns the parts of a mesh under given rules."""
    monkeypatch.setattr(parts, "table", lambda: {"someone": rules})
    return parts.parts_of("someone", name, mesh[0], NAMES, mesh[1])


def test_parts_from_bones_or_box(monkeypatch, mesh):
    """A part is the vertices that bones carry, those in a box, or those in both."""
    rest, weights = mesh
    rules = {
        "hard": {"head": {"bones": ["head"]}, "left foot": {"bones": ["foot.*"], "box": {"x": [0.0, 0.5]}}},
        "soft": {"belly": {"box": {"z": [0.4, 0.6]}}},
    }
    got = parts_under(monkeypatch, mesh, rules)
    assert np.array_equal(got.hard["head"], weights[:, 1] > 0)
    assert np.array_equal(got.hard["left foot"], weights[:, 2] > 0)
    assert np.array_equal(got.soft["belly"], np.abs(rest[:, 2] - 1.0) <= 0.2)
    assert np.array_equal(got.union("hard"), (weights[:, 1] + weights[:, 2]) > 0)


def test_parts_half_weight_excluded(monkeypatch, mesh):
    """A vertex with exactly half a weight does not belong to the part."""
    rest, weights = mesh
    shared = np.where(weights[:, [1]] > 0, [0.5, 0.5, 0.0, 0.0], weights)
    shared[-1] = [0.98, 1.02, 0.0, 0.0]  # painted weights need not add up to one
    assert np.flatnonzero(
        parts_under(monkeypatch, (rest, shared), {"hard": {"head": {"bones": ["head"]}}}).hard["head"]
    ) == [19]


def test_parts_by_mesh(monkeypatch, mesh):
    """A part of another mesh is left out."""
    rules = {"hard": {"head": {"bones": ["head"], "meshes": ["Head"]}}}
    assert parts_under(monkeypatch, mesh, rules, "Body").union("hard") is None
    assert parts_under(monkeypatch, mesh, rules, "Head").union("hard").any()


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"hard": {"tail": {"bones": ["tail*"]}}}, "no vertex"),
        ({"hard": {"head": {"bone": ["head"]}}}, "bones or a box"),
        ({"hard": {"head": {"meshes": ["Body"]}}}, "bones or a box"),
        ({"hard": {"head": {"bones": ["head"]}}, "soft": {"all": {"box": {"z": [0, 1]}}}}, "both head and all"),
    ],
)
def test_parts_refuse_bad_rules(monkeypatch, mesh, rules, said):
    """Rules without meaning are refused."""
    with pytest.raises(ValueError, match=said):
        parts_under(monkeypatch, mesh, rules)


def test_parts_unknown_character(mesh):
    """A character without a row has no parts."""
    got = parts.parts_of("nobody", "Body", mesh[0], NAMES, mesh[1])
    assert got.union("hard") is None and got.union("soft") is None


def test_parts_size_independent(monkeypatch, mesh):
    """Rules select the same vertices at any size and position."""
    rules = {"hard": {"low": {"box": {"z": [0.0, 0.15], "x": [0.5, 1.0]}}}}
    plain = parts_under(monkeypatch, mesh, rules).hard["low"]
    moved = parts_under(monkeypatch, (300.0 * mesh[0] + [5.0, 6.0, 7.0], mesh[1]), rules).hard["low"]
    assert plain.any() and np.array_equal(plain, moved)


@pytest.mark.parametrize("name", characters.FIGURES)
def test_demo_characters_have_parts(name):
    """The demo characters have hard and soft parts."""
    figure = characters.FIGURES[name]()
    skin = characters.skin(figure)
    got = parts.parts_of(
        name, "", np.asarray(skin.vertices), [bone.name for bone in figure.bones], np.asarray(skin.weights)
    )
    for kind in ("hard", "soft"):
        assert 0.05 < got.union(kind).mean() < 0.7


def test_table_rows_valid():
    """Every row of the table has hard parts and only known rules."""
    for character, kinds in parts.table().items():
        assert set(kinds) <= {"hard", "soft"} and kinds.get("hard"), character
        for rules in kinds.values():
            for part, rule in rules.items():
                assert set(rule) <= {"bones", "box", "meshes"}, f"{character}, {part}"
                for first, last in rule.get("box", {}).values():
                    assert 0.0 <= first < last <= 1.0, f"{character}, {part}"

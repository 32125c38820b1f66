# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes of stiffness: each is told where it alone limits the flesh, with its remedy, and nothing where nothing does."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
causes = importlib.import_module("logic.stiffness_causes")

N, V = 40, 7


def facts(**changes):
    """Returns flesh of which nothing is limited, with changes at vertex `V` alone where these are numbers for arrays."""
    free = causes.SkinFacts(
        np.full(N, 0.9), np.full(N, 0.2), np.full(N, 0.01), 1.8, 0.1, ("Spine", "Arm"), np.tile((0.3, 0.7), (N, 1)),
        motion=np.full(N, 0.02), swing=0.15, unlimited=0.02,
    )  # fmt: skip
    for name, value in changes.items():
        arrays = {
            "flesh": 0.9,
            "thickness": 0.2,
            "sag": 0.01,
            "motion": 0.02,
            "rigid": 0.0,
            "hard": 0.0,
            "stiffness": 1.0,
        }
        if name in arrays:
            array = np.full(N, arrays[name])
            array[V] = value
            value = array
        free = replace(free, **{name: value})
    return free


def cause(**changes) -> list[str]:
    """Returns the name of the cause at `V`, and those elsewhere."""
    found = causes.StiffnessMap.find(facts(**changes))
    elsewhere = {causes.CAUSES[k].name for k in np.delete(found.causes, V)}
    return [causes.CAUSES[found.causes[V]].name, *elsewhere]


def test_causes_of_free_flesh():
    """Nothing limits free flesh, and the sentence says so."""
    assert cause() == ["free", "free"]
    text = causes.StiffnessMap.find(facts()).sentence(V, "{:.3g} m".format)
    assert text.startswith(
        f"Vertex {V}: the flesh is 0.2 m thick here over the bone “Arm”. It gives 0.01 m under its own weight. It moves by 0.02 m at most in"
    )
    assert "Nothing limits it: it is as soft as Softness 0.5 makes flesh." in text
    assert (
        causes.StiffnessMap.find(facts()).plain(V)
        == "Nothing limits the flesh here: it is as soft as Softness makes it."
    )


@pytest.mark.parametrize(
    ("changes", "name", "words"),
    [
        ({"rigid": 0.85}, "rigid", "Rigid leaves 15 % of its motion: paint Rigid less"),
        ({"flesh": 0.2}, "automatic", "The automatic map has 0.2 here, which leaves 4 %: set Kind, or paint Flesh"),
        ({"flesh": 0.2, "is_painted": True}, "painted", "Flesh is painted 0.2 here, which leaves 4 %"),
        ({"flesh": 0.02, "hard": 1.0, "materials": ("Hooves",)}, "material", "(Hooves): paint Flesh"),
        ({"stiffness": 8.0}, "stiffness", "Stiffness is painted 8 times as high"),
        ({"thickness": -0.004}, "thin", "shown at most 0.003 m away from its skin"),
        ({"sag": 0.001}, "bones", "Bones around hold it: it gives 10 % of what such flesh gives elsewhere"),
        ({"sag": 0.001, "thickness": 0.08}, "cells", "A block of Detail is 0.1 m wide"),
    ],
)
def test_cause_at_one_vertex(changes, name, words):
    """Each cause is found where it is, and nowhere else."""
    assert cause(**changes) == [name, "free"]
    found = causes.StiffnessMap.find(facts(**changes))
    assert words in found.sentence(V, "{:.3g} m".format)
    assert found.plain(V).count(".") == 1 and not any(map(str.isdigit, found.plain(V)))


def test_painted_part_of_map():
    """The automatic map and hard materials are told where a painted map is as the automatic one."""
    painted = np.zeros(N, dtype=bool)
    assert cause(flesh=0.2, is_painted=painted)[0] == "automatic"
    assert cause(flesh=0.02, hard=1.0, materials=("Hooves",), is_painted=painted)[0] == "material"
    painted[V] = True
    assert cause(flesh=0.2, is_painted=painted)[0] == "painted"
    assert cause(flesh=0.02, hard=1.0, materials=("Hooves",), is_painted=painted)[0] == "painted"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"softness": 0.0}, "softness"),
        ({"influence": 0.1}, "influence"),
        ({"swing": 0.015, "unlimited": 0.2}, "swing"),
    ],
)
def test_cause_everywhere(changes, name):
    """What acts on the whole character is told everywhere."""
    assert cause(**changes) == [name, name]
    assert causes.StiffnessMap.find(facts(**changes)).reason(V, "{:.3g} m".format)


def test_cause_is_the_gravest():
    """Of several causes that is told which leaves the least."""
    assert cause(flesh=0.3, rigid=0.95)[0] == "rigid" and cause(flesh=0.15, rigid=0.85)[0] == "automatic"


def test_colours_and_legend():
    """Colours are those of the causes, paler where more is left; the legend lists what is seen, the most frequent first."""
    weak, strong = (causes.StiffnessMap.find(facts(rigid=rigid)) for rigid in (0.85, 1.0))
    free, dark = np.array(causes.FREE.colour), np.array(causes.CAUSES[causes.INDEX["rigid"]].colour)
    np.testing.assert_allclose(np.delete(strong.colours(), V, 0), np.tile(free, (N - 1, 1)))
    np.testing.assert_allclose(strong.colours()[V], dark)
    assert np.linalg.norm(weak.colours()[V] - free) < np.linalg.norm(strong.colours()[V] - free)
    assert [each.name for each in strong.legend()] == ["free", "rigid"]


def test_causes_without_bones_and_numbers():
    """Skin that no bone carries, infinite thickness, no motion and a map of zeros give finite colours and a sentence."""
    bare = facts(thickness=np.inf, motion=None, weights=np.zeros((N, 2)))
    bare = replace(bare, flesh=np.zeros(N), sag=np.zeros(N), motion=None, swing=0.0)
    found = causes.StiffnessMap.find(bare)
    assert np.isfinite(found.colours()).all() and "no bone carries the skin here" in found.sentence(
        V, "{:.3g} m".format
    )


def test_map_share_of_core():
    """The share of the map is one at full flesh, falls with its square, and ends at none."""
    share = causes.map_share(np.array([0.0, 0.05, 0.1, 0.5, 1.0]))
    np.testing.assert_allclose(share, [0.0, 0.005, 0.01, 0.25, 1.0])

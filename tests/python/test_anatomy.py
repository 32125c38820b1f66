# SPDX-License-Identifier: MIT OR Apache-2.0
"""The anatomy of real characters, from shape and rig: soft and hard parts, whatever bones are called."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import thew
from glb import character
from scipy.spatial.transform import Rotation

#: Bones of hard and of soft parts by character: how their names begin. The table that the look is measured by.
PARTS = {
    "Fox": (("b_Head", "b_LeftFoot02", "b_RightFoot02", "b_LeftHand", "b_RightHand"), ("b_Spine", "b_Hip")),
    "m2m_human": (("head", "foot", "ball", "calf", "hand", "thumb"), ("spine_01", "spine_02", "pelvis")),
    "mh_male_heavy": (
        ("Head", "LeftToe", "RightToe", "LeftHand", "LeftLeg", "RightLeg"),
        ("Spine", "LowerBack", "Hips"),
    ),
    "kaykit_manny": (("head", "hand", "foot", "toes", "wrist"), ("spine", "hips")),
    "sintel_m2m": (("head", "foot", "ball", "calf", "hand"), ("spine_01", "spine_02", "pelvis")),
    "m2m_horse": (("head", "nose", "mouth", "front_leg_foot", "back_leg_toe"), ("spine_2", "spine_3", "spine_4")),
    "q_bull": (("Head", "FF.", "IKFrontLeg"), ("Torso",)),
    "q_frog": (("Head", "FrontFoot", "BackFoot"), ("Hips", "Torso", "Shoulders")),
    "m2m_spider": (("head", "leg"), ("tail_1", "tail_2")),
    "q_apatosaurus": (("Head", "FrontFoot", "BackFoot"), ("Torso", "Hips")),
}
HUMANS = ["m2m_human", "mh_male_heavy", "kaykit_manny", "sintel_m2m"]
#: A quadruped, a toon, a human and an insect: what holds for every character is tried on these.
SHAPES = ["Fox", "kaykit_manny", "m2m_human", "m2m_spider"]


def body(found, **options):
    """Builds a coarse body of a character; its flesh map does not depend on the lattice."""
    names = options.pop("names", found.names)
    skeleton = thew.Skeleton(names, list(found.skeleton.parents), found.skeleton.heads, found.skeleton.tails)
    surface = thew.Surface(found.vertices, found.triangles)
    lattice = thew.Lattice.enclose(surface, skeleton, found.weights, cells_across=8)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=found.weights, **options)


def carried_mask(found, starts):
    """Returns a mask of the vertices that are carried mostly by bones whose names begin with one of `starts`."""
    mine = [i for i, name in enumerate(found.names) if name.startswith(starts)]
    assert mine, starts
    return found.weights[:, mine].sum(axis=1) > 0.7


@cache
def plain(name):
    """Returns a character and its body, built once."""
    found = character(name)
    return found, body(found)


@pytest.fixture(params=SHAPES)
def case(request):
    """Returns a character and its body."""
    return plain(request.param)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_flesh_map_hard_and_soft(name):
    """The flesh map of a real character is low on its hard parts and high on its soft ones."""
    found, made = plain(name)
    hard, soft = (carried_mask(found, starts) for starts in PARTS[name])
    assert np.quantile(made.flesh[hard], 0.9) <= 0.1, np.quantile(made.flesh[hard], [0.5, 0.9])
    assert np.quantile(made.flesh[soft], 0.9) >= 0.5, np.quantile(made.flesh[soft], [0.5, 0.9])


def test_flesh_map_ignores_bone_names(case):
    """The flesh map is the same when the bones have numbers instead of names."""
    found, made = case
    numbered = body(found, names=[f"b{i:03d}" for i in range(len(found.names))])
    assert np.array_equal(numbered.flesh, made.flesh)


def test_flesh_map_turned_and_scaled(case):
    """The flesh map hardly changes when the character is turned and scaled."""
    found, made = case
    turn = Rotation.from_rotvec([0.3, -1.2, 0.7]).as_matrix().T * 0.03
    surface = thew.Surface(found.vertices @ turn, found.triangles)
    bones = found.skeleton
    skeleton = thew.Skeleton(found.names, list(bones.parents), bones.heads @ turn, bones.tails @ turn)
    lattice = thew.Lattice.enclose(surface, skeleton, found.weights, cells_across=8)
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        other = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=found.weights)
    apart = np.abs(other.flesh - made.flesh)
    assert apart.mean() < 0.01 and np.quantile(apart, 0.99) < 0.1, (apart.mean(), apart.max())


def test_flesh_map_loose_vertex(case):
    """A loose vertex far away has no flesh and leaves the map and the softness of the rest as they are."""
    found, made = case
    vertices = np.vstack([found.vertices, [[50.0, 0.0, 0.0]]])
    weights = np.vstack([found.weights, np.eye(1, len(found.names))])
    surface = thew.Surface(vertices, found.triangles)
    other = thew.Body(surface, made.skeleton, made.lattice, thew.Material(), region_weights=weights)
    assert np.array_equal(other.flesh[:-1], made.flesh) and other.flesh[-1] == 0.0
    assert other.with_softness(0.5).material.young == pytest.approx(made.with_softness(0.5).material.young, rel=1e-6)


def test_softness_dial_monotonic(case):
    """Every step up of the softness dial lowers Young's modulus."""
    _, made = case
    young = [made.with_softness(dial).material.young for dial in np.linspace(0.0, 1.0, 6)]
    assert np.all(np.diff(young) < 0.0), young


@pytest.mark.parametrize("name", HUMANS)
def test_parts_human_places(name):
    """Belly, chest, buttocks and cheeks of a human are found at their places on the body."""
    found, made = plain(name)
    parts = made.parts()
    low, high = found.vertices[:, 2].min(), found.vertices[:, 2].max()
    height = {part: (patches[:, 2].mean() - low) / (high - low) for part, (patches, _) in parts.items()}
    chubby = name == "kaykit_manny"  # whose head is as large as the rest of it
    assert (0.25 if chubby else 0.5) < height["belly"] < 0.66, height
    assert height["belly"] < height["chest"] < 0.8 and height["buttocks"] < height["belly"], height
    assert height["cheeks"] > (0.6 if chubby else 0.84), height
    for part in ("chest", "buttocks", "cheeks"):
        (a, b), share = parts[part]
        assert a[0] * b[0] < 0.0 and np.abs(a[1:] - b[1:]).max() < 0.06 * (high - low), (part, a, b)
        assert 0.5 < share.max() <= 1.0


def test_human_found_by_itself():
    """A human is found without being told."""
    found, made = plain("m2m_human")
    assert np.array_equal(body(found, kind="human").flesh, made.flesh)


def test_robot_stays_hard():
    """A machine has almost no flesh, and the softness dial hardly softens it."""
    found = character("robot")
    made = body(found)
    assert made.flesh.max() <= 0.02 + 1e-12
    toon = body(found, kind="toon")
    assert toon.flesh.max() > 0.5
    # Flesh that is nowhere soft yields by a hundredth of what the dial asks for; its map adds what it does not show.
    assert made.with_softness(1.0).softness() < 0.02


def test_saved_body_keeps_kind(tmp_path):
    """A saved body keeps its kind and the record of which bones carry other meshes."""
    found = character("robot")
    skeleton = thew.Skeleton(
        found.names, list(found.skeleton.parents), found.skeleton.heads, found.skeleton.tails, [-1, 0, 0]
    )
    made = body(found, kind="robot")
    made = thew.Body(
        made.surface, skeleton, made.lattice, made.material, region_weights=found.weights, kind="robot", softness=0.5
    )
    made.save(tmp_path / "body.thew")
    again = thew.Body.load(tmp_path / "body.thew")
    assert list(again.skeleton.elsewhere) == [-1, 0, 0]
    assert again.with_softness(1.0).material.young == made.with_softness(1.0).material.young
    toon = body(found, kind="toon", softness=0.5)
    toon.save(tmp_path / "toon.thew")
    # The dial of an automatic one, which is a machine, would not turn.
    assert thew.Body.load(tmp_path / "toon.thew").with_softness(1.0).softness() == toon.with_softness(1.0).softness()


def test_hard_mask_hardens():
    """Skin marked as hard loses its flesh, painted flesh overrules the mark, and bad marks are refused."""
    found, unmarked = plain("q_bull")
    n = len(found.vertices)
    torso = carried_mask(found, ("Torso",))
    armoured = body(found, hard=torso.astype(float))
    assert np.median(armoured.flesh[torso]) < 0.1 < 0.3 < np.median(unmarked.flesh[torso])
    assert (armoured.flesh <= unmarked.flesh + 1e-12).all()
    np.testing.assert_array_equal(body(found, hard=np.zeros(n)).flesh, unmarked.flesh)
    painted = np.linspace(0.0, 1.0, n)
    np.testing.assert_array_equal(body(found, hard=np.ones(n), flesh=painted).flesh, painted)  # paint overrules
    with pytest.raises(thew.InputError, match=r"part that is hard .*between 0 and 1"):
        body(found, hard=np.full(n, 1.5))
    with pytest.raises(thew.InputError, match="part that is hard"):
        body(found, hard=np.zeros(n - 1))


def test_kinds_change_flesh_map():
    """Each kind of character gives its own flesh map, and an unknown kind is refused."""
    found = character("Fox", height=1.0)
    flesh = {kind: body(found, kind=kind).flesh for kind in ("automatic", "animal", "toon", "insect", "robot")}
    assert np.array_equal(flesh["animal"], flesh["automatic"])
    head = carried_mask(found, ("b_Head",))
    assert np.median(flesh["toon"][head]) > 0.2 > np.median(flesh["animal"][head])
    assert flesh["insect"].mean() < flesh["animal"].mean() and flesh["robot"].max() <= 0.02 + 1e-12
    with pytest.raises(thew.InputError, match="kind must be one of"):
        body(found, kind="fish")

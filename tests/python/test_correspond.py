# SPDX-License-Identifier: MIT OR Apache-2.0
"""Correspondence of characters: pairs of bones, the map, and rigs and poses carried along it."""

import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import shapes
import thew
from glb import character
from scipy.spatial.transform import Rotation

from assets import characters


def make_body(vertices, triangles, weights, skeleton, cells=8, **material):
    """Builds a body in a coarse lattice of its own."""
    surface = thew.Surface(vertices, triangles)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=cells)
    return thew.Body(surface, skeleton, lattice, thew.Material(**material), region_weights=weights)


@cache
def demo(name):
    """Returns arrays, skeleton and body of one of our own characters, built once."""
    figure = characters.FIGURES[name]()
    figure.cell = 0.028  # a coarse skin is enough
    skin = characters.skin(figure)
    names = [bone.name for bone in figure.bones]
    parents = [names.index(bone.parent) if bone.parent else -1 for bone in figure.bones]
    ends = [np.array([getattr(bone, end) for bone in figure.bones], dtype=float) for end in ("head", "tail")]
    found = SimpleNamespace(vertices=skin.vertices, triangles=skin.triangles(), weights=skin.weights, names=names)
    found.skeleton = thew.Skeleton(names, parents, *ends)
    found.body = make_body(found.vertices, found.triangles, found.weights, found.skeleton)
    return found


@cache
def real(name):
    """Returns a character of the shared data with its body, built once."""
    found = character(name)
    found.body = make_body(found.vertices, found.triangles, found.weights, found.skeleton)
    return found


def deformed(found, move, order=None, names=None):
    """Returns a body of a character with all points moved, its bones in another order and under other names."""
    bones, order = found.skeleton, np.arange(len(found.names)) if order is None else order
    place = np.argsort(order)
    parents = [-1 if p < 0 else int(place[p]) for p in np.asarray(bones.parents)[order]]
    names = [found.names[b] for b in order] if names is None else names
    skeleton = thew.Skeleton(names, parents, move(bones.heads)[order], move(bones.tails)[order])
    return make_body(move(found.vertices), found.triangles, found.weights[:, order], skeleton)


def stocky(points):
    """Makes a character lower and wider, with a bow to its side."""
    points = np.asarray(points)
    out = points * [1.15, 1.1, 0.8]
    out[:, 0] += 0.05 * np.sin(2.0 * points[:, 2])
    return out


@pytest.mark.parametrize("name", sorted(characters.FIGURES))
def test_same_character_identity(name):
    """A character is mapped to itself, bone by bone."""
    found = demo(name)
    link = thew.Correspondence(found.body, found.body, names=False)
    assert [a for a, _ in link.bones] == [b for _, b in link.bones]
    assert np.abs(link.places - found.vertices).max() < 1e-9
    assert link.report.mean_distance < 1e-9 and link.report.inverted == 0.0 and not link.report.turned
    pose = shapes.turned_branch(found.skeleton, 2, [0.4, -0.3, 0.2])
    np.testing.assert_allclose(link.pose(pose), pose, atol=1e-12)


@pytest.mark.parametrize("name", sorted(characters.FIGURES))
def test_other_build_without_names(name):
    """Another build of one character: all bones right without names and in another order, no side exchanged, the map near the true vertices."""
    found = demo(name)
    order = np.random.default_rng(5).permutation(len(found.names))
    other = deformed(found, stocky, order, [f"b{i:02}" for i in range(len(order))])
    link = thew.Correspondence(found.body, other, names=False)
    assert np.array_equal(order[link.pairs[:, 1]], link.pairs[:, 0])
    assert len(link.pairs) >= len(found.names) - 2
    size = other.surface.size
    away = np.linalg.norm(link.places - stocky(found.vertices), axis=1)
    assert np.sqrt((away**2).mean()) < 0.02 * size, away.mean() / size
    assert link.report.mean_distance < 0.003 * size


def test_scaled_and_turned():
    """A character three times as large that lies on its side is found without names, and the map is exact."""
    found = demo("biped")
    turn = Rotation.from_euler("xyz", [90, 20, -35], degrees=True).as_matrix()
    other = deformed(found, lambda points: 3.0 * np.asarray(points) @ turn.T + [1.0, -2.0, 0.5])
    link = thew.Correspondence(found.body, other, names=False)
    assert link.report.turned and [a for a, _ in link.bones] == [b for _, b in link.bones]
    np.testing.assert_allclose(link.places, 3.0 * found.vertices @ turn.T + [1.0, -2.0, 0.5], atol=1e-6)
    pose = shapes.turned_branch(found.skeleton, 3, [0.0, 0.5, 0.0])
    np.testing.assert_allclose(link.pose(pose)[:, :3, :3], turn @ pose[:, :3, :3] @ turn.T, atol=1e-6)


def test_rig_retargeted():
    """A rig on a bone arrives on its partner, in proportion to limb and modulus, and pushes there."""
    found = demo("biped")
    other = deformed(found, lambda points: 2.0 * np.asarray(points))
    link = thew.Correspondence(found.body, other)
    bone = next(name for name in found.names if name.endswith(".L") and "thigh" in name.lower())
    rig = thew.Rig(
        thew.Template("bulge", radius=0.1, strength=1e4),
        thew.BoneGuide(bone, 0.4, 0.5, 0.02),
        [(0.0, {}), (1.0, {"radius": 0.12})],
    )
    carried = rig.retarget(link)
    assert carried.guide.bone == bone and carried.name == rig.name
    for gamma in (0.0, 1.0):
        own, theirs = rig.parameters(gamma), carried.parameters(gamma)
        assert theirs["radius"] == pytest.approx(2.0 * own["radius"]) and theirs["strength"] == pytest.approx(
            own["strength"] / 2
        )
        assert theirs["distance"] == pytest.approx(2.0 * own["distance"]) and theirs["angle"] == pytest.approx(
            own["angle"]
        )
    force, theirs = rig.forces(found.body), carried.forces(other)
    assert np.abs(theirs).sum() == pytest.approx(4.0 * np.abs(force).sum(), rel=0.05)


def test_guide_at_skin_and_free():
    """Rigs under the skin and free ones arrive at the corresponding places."""
    found = demo("quadruped")
    other = deformed(found, stocky)
    link = thew.Correspondence(found.body, other)
    template = thew.Template("bump", radius=0.08, strength=1e4)
    face = len(found.triangles) // 3
    spot = stocky(found.vertices[found.triangles[face]].mean(axis=0)[None])[0]
    skin = thew.Rig(template, thew.SkinGuide(face, depth=0.01)).retarget(link)
    assert np.linalg.norm(skin.frame(other)[:3, 3] - spot) < 0.03 * other.surface.size
    frame = np.eye(4)
    frame[:3, 3] = found.vertices[found.triangles[face]].mean(axis=0)
    free = thew.Rig(template, thew.FreeGuide(frame)).retarget(link)
    assert np.linalg.norm(free.frame(other)[:3, 3] - spot) < 0.03 * other.surface.size
    assert not skin.check(other) and not free.check(other)


@cache
def swelling():
    """Returns a rig that makes a thigh of our biped swell at a bent hip, and its wish, [n,3]."""
    found = demo("biped")
    thigh = next(b for b, name in enumerate(found.names) if name.endswith(".L") and "thigh" in name.lower())
    pose = shapes.turned_branch(found.skeleton, thigh, [0.5, 0.0, 0.0])
    middle = 0.5 * (found.skeleton.heads[thigh] + found.skeleton.tails[thigh])
    away = found.vertices - middle
    reach = 0.5 * np.linalg.norm(found.skeleton.tails[thigh] - found.skeleton.heads[thigh])
    wish = 0.02 * np.exp(-((np.linalg.norm(away, axis=1) / reach) ** 2))[:, None] * [0.0, -1.0, 0.0]
    start = skin_of(found.body, pose)
    turned = pose[thigh, :3, :3]
    rig = thew.fit_surface(found.body, pose, start + wish @ turned.T, gravity=(0, 0, 0), name="Thigh")
    return rig, pose, wish


def skin_of(body, pose, forces=None):
    """Returns the skin in balance without gravity."""
    q = thew.equilibrium(body, pose, gravity=(0, 0, 0), rest_forces=forces)
    indices, weights = body.lattice.embed_surface(body.surface)
    return np.einsum("ij,ijk->ik", weights, (body.lattice.vertices + q)[indices])


def test_sculpted_rig_of_same_character():
    """A sculpted rig that is carried to its own character keeps its forces; to the same one at twice the size they are four times as large."""
    found, (rig, _, _) = demo("biped"), swelling()
    own = rig.forces(found.body)
    carried = rig.retarget(thew.Correspondence(found.body, found.body))
    assert carried.kind == "sculpted" and carried.name == "Thigh"
    np.testing.assert_allclose(carried.forces(found.body), own, atol=1e-6 * np.abs(own).max())
    large = deformed(found, lambda points: 2.0 * np.asarray(points))
    theirs = rig.retarget(thew.Correspondence(found.body, large)).forces(large)
    np.testing.assert_allclose(theirs, 4.0 * own, atol=4e-6 * np.abs(own).max())


def test_sculpted_rig_swells_other_character():
    """A sculpted rig makes the corresponding place of a character of another shape, with other bones, swell as far."""
    found, (rig, pose, wish) = demo("biped"), swelling()
    order = np.random.default_rng(3).permutation(len(found.names))
    other = deformed(found, stocky, order, [f"b{i:02}" for i in range(len(order))])
    link = thew.Correspondence(found.body, other)
    carried = rig.retarget(link)
    there = link.pose(pose)
    moved = skin_of(other, there, carried.forces(other)) - skin_of(other, there)
    own = skin_of(found.body, pose, rig.forces(found.body)) - skin_of(found.body, pose)
    # The two have the same vertices, so that displacements compare one by one; the other shape is wider and lower.
    wanted = own * [1.15, 1.1, 0.8]
    alike = np.sum(moved * wanted) / (np.linalg.norm(moved) * np.linalg.norm(wanted))
    middle = np.linalg.norm(wish, axis=1) > 0.5 * np.linalg.norm(wish, axis=1).max()
    grown = np.linalg.norm(moved[middle], axis=1).mean() / np.linalg.norm(wanted[middle], axis=1).mean()
    assert alike > 0.9 and 0.7 < grown < 1.4, (alike, grown)
    far = np.linalg.norm(wish, axis=1) < 1e-3 * np.linalg.norm(wish, axis=1).max()
    assert np.linalg.norm(moved[far], axis=1).mean() < 0.05 * np.linalg.norm(moved[middle], axis=1).mean()


def test_foreign_sculpted_rig_is_refused():
    """A sculpted rig with a bone that the source lacks is told by its name and the bone."""
    rig, _, _ = swelling()
    other = demo("quadruped").body
    with pytest.raises(thew.CorrespondenceError, match=r"'Thigh' does not belong to the source character.*bone"):
        rig.retarget(thew.Correspondence(other, other))


def branch_of(found, root):
    """Returns the body and the names of the part of a character that a bone and those below it lead."""
    parents, kept = np.asarray(found.skeleton.parents), [found.names.index(root)]
    for _ in parents:
        kept = sorted({*kept, *np.flatnonzero(np.isin(parents, kept)).tolist()})
    weights = found.weights[:, kept]
    triangles = found.triangles[(weights.sum(axis=1) > 0.5)[found.triangles].all(axis=1)]
    used, index = np.unique(triangles, return_inverse=True)
    weights = weights[used] / weights[used].sum(axis=1, keepdims=True)
    names = [found.names[b] for b in kept]
    above = [kept.index(parents[b]) if parents[b] in kept else -1 for b in kept]
    skeleton = thew.Skeleton(names, above, found.skeleton.heads[kept], found.skeleton.tails[kept])
    return make_body(found.vertices[used], index.reshape(-1, 3), weights, skeleton, cells=6), names


@pytest.mark.parametrize("root", ["upperarm.L", "thigh.R", "shoulder.R"])
def test_lone_limb_pairs_with_namesakes(root):
    """A body that is only an arm or a leg finds its bones on a whole person by their names, both ways, and its skin lies on the person's."""
    found = demo("biped")
    limb, names = branch_of(found, root)
    other = deformed(found, stocky)
    link = thew.Correspondence(limb, other)
    assert link.bones == [(name, name) for name in names]
    assert link.report.mean_distance < 0.004 * other.surface.size
    assert sorted(thew.Correspondence(other, limb).bones) == sorted(link.bones)


def test_lone_limb_pairs_by_part_and_side():
    """Names in another language count as well, and names that say nothing do not."""
    found = demo("biped")
    limb, names = branch_of(found, "upperarm.L")
    german = {"upperarm.L": "Oberarm.L", "forearm.L": "Unterarm.L", "hand.L": "Handgelenk.L"}
    other = deformed(found, stocky, names=[german.get(name, name) for name in found.names])
    assert thew.Correspondence(limb, other).bones == [(name, german[name]) for name in names]
    numbers = deformed(found, stocky, names=[f"bone.{i:03}" for i in range(len(found.names))])
    blind, unnamed = (thew.Correspondence(limb, numbers, names=use).bones for use in (True, False))
    assert blind == unnamed


def test_given_pairs_and_swapped_sides():
    """Pairs that are passed win; swapped sides exchange left and right."""
    found = demo("biped")
    left = next(name for name in found.names if name.endswith(".L"))
    right = left.replace(".L", ".R")
    link = thew.Correspondence(found.body, found.body, bones=[(left, right), [right, left]])
    assert dict(link.bones)[left] == right and np.isnan(link.costs).sum() == 2
    plain = thew.Correspondence(found.body, found.body)
    mirrored = thew.Correspondence(found.body, found.body, bones=plain.swapped_sides(), names=False)
    assert all(b == re.sub(r"\.[LR]$", lambda m: {".L": ".R", ".R": ".L"}[m[0]], a) for a, b in mirrored.bones)


def test_landmarks():
    """The map brings landmarks nearer together."""
    found = demo("quadruped")
    other = deformed(found, stocky)
    vertex = len(found.vertices) // 2
    pairs = [[found.vertices[vertex], stocky(found.vertices)[vertex + 1]]]
    pulled, plain = (thew.Correspondence(found.body, other, landmarks=marks) for marks in (pairs, ()))
    away = [np.linalg.norm(link.places[vertex] - pairs[0][1]) for link in (pulled, plain)]
    assert away[0] < 0.5 * away[1] or away[0] < 1e-3, away


def test_bad_input_sentences():
    """Bad input raises errors of its kind, which say what is wrong."""
    found = demo("biped")
    body = found.body
    for arguments, words in [
        ({"bones": [("nobody", 0)]}, "'nobody', which the source character does not have"),
        ({"bones": [(0, 9999)]}, "target character has"),
        ({"bones": [(0, 0), (0, 1)]}, "earlier pair"),
        ({"landmarks": [[[0, 0, np.nan], found.vertices[0]]]}, "landmark 0 is not finite on the source"),
        ({"landmarks": [[found.vertices[0], [9, 9, 9]]]}, "off the skin of the target"),
    ]:
        with pytest.raises(thew.CorrespondenceError, match=words):
            thew.Correspondence(body, body, **arguments)
    link = thew.Correspondence(body, body)
    foreign = thew.Rig(thew.Template("bump", radius=0.1, strength=1.0), thew.BoneGuide("nobody"), name="Flap")
    with pytest.raises(thew.CorrespondenceError, match="'Flap' does not belong to the source character"):
        foreign.retarget(link)
    with pytest.raises(thew.InputError, match="bones"):
        link.pose(np.tile(np.eye(4), (2, 1, 1)))
    with pytest.raises(thew.Cancelled):
        thew.Correspondence(body, body, progress=lambda fraction, stage: False)
    ball, triangles = shapes.ball()
    ends = np.array([[0.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 0.1]])
    tail, head = (
        make_body(ball, triangles, np.ones((len(ball), 1)), thew.Skeleton([name], [-1], *ends))
        for name in ("Tail", "Head")
    )
    with pytest.raises(thew.CorrespondenceError, match="no bones in common"):
        thew.Correspondence(tail, head)


#: Pairs of bones that every picture of the two shows.
KNOWN = {
    ("m2m_human", "mh_male_heavy"): {
        "pelvis": "Hips", "head_leaf": "Head", "upperarm_l": "LeftArm", "lowerarm_r": "RightForeArm", "hand_l": "LeftHand",
        "thigh_r": "RightUpLeg", "calf_l": "LeftLeg", "foot_r": "RightFoot", "ball_l": "LeftToeBase",
    },
    ("m2m_human", "kaykit_manny"): {
        "pelvis": "hips", "head": "head", "upperarm_l": "upperarm.l", "lowerarm_r": "lowerarm.r", "thigh_r": "upperleg.r",
        "calf_l": "lowerleg.l", "foot_r": "foot.r",
    },
    ("q_bull", "Fox"): {
        "Torso2": "b_Spine02_03", "Head": "b_Head_05", "FrontUpperLeg.L": "b_LeftUpperArm_09", "BackUpperLeg.R": "b_RightLeg02_020",
    },
    ("Fox", "m2m_horse"): {
        "b_Head_05": "head", "b_LeftForeArm_010": "front_leg_upper_l", "b_RightLeg02_020": "back_leg_lower_r", "b_Tail01_012": "tail_1",
    },
}  # fmt: skip


@pytest.mark.parametrize("pair", sorted(KNOWN), ids="-".join)
def test_real_characters_known_bones(pair):
    """Bones of real characters are paired as a picture shows them, humans and quadrupeds, whatever rigs and meshes."""
    source, target = (real(name) for name in pair)
    link = thew.Correspondence(source.body, target.body)
    found = dict(link.bones)
    assert {bone: found.get(bone) for bone in KNOWN[pair]} == KNOWN[pair]
    assert link.report.mean_distance < 0.006 * target.surface.size


def test_no_side_exchanged_without_names():
    """Real characters that face the same way keep left and right without names."""
    source, target = real("m2m_human"), real("mh_male_heavy")
    link = thew.Correspondence(source.body, target.body, names=False)
    sides = [(a[-2:], b[:4]) for a, b in link.bones if a[-2:] in ("_l", "_r") and b[:4] in ("Left", "Righ")]
    assert len(sides) >= 16 and set(sides) == {("_l", "Left"), ("_r", "Righ")}

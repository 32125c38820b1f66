# SPDX-License-Identifier: MIT OR Apache-2.0
"""Muscles: rigs between two places on bones, found on real characters, and their bulges at constant volume."""

import tomllib
import warnings

import glb
import numpy as np
import pytest
import shapes
import thew

CHARACTERS = ["mh_male_heavy", "m2m_horse"]
UPRIGHT = {"mh_male_heavy"}


@pytest.fixture(scope="module", params=CHARACTERS)
def fleshed(request):
    """Returns a character with its body, its muscles by name, and the displacements of its flesh under each at rest."""
    found = glb.character(request.param)
    lattice = thew.Lattice.enclose(found.surface, found.skeleton, found.weights, cells_across=12)
    found.body = thew.Body(found.surface, found.skeleton, lattice, thew.Material(), region_weights=found.weights)
    found.name = request.param
    found.muscles = {rig.name: rig for rig in thew.muscles(found.body)}
    balance = thew.Equilibrium(found.body)
    zero = [0.0, 0.0, 0.0]
    found.moved = {
        name: balance.solve(rest_forces=rig.forces(found.body), gravity=zero) for name, rig in found.muscles.items()
    }
    return found


def test_character_has_muscles(fleshed):
    """Every character has the muscles of its four limbs, upright ones those of the chest too, on both sides alike."""
    wanted = {"Biceps", "Triceps", "Quadriceps", "Calf"}
    if fleshed.name in UPRIGHT:
        wanted |= {"Pectoral", "Trapezius"}
    sides = {side: {name.split()[0] for name in fleshed.muscles if name.endswith(side)} for side in ("left", "right")}
    assert wanted <= sides["left"] and wanted <= sides["right"]
    for name in wanted:
        lines = [thew.muscle_line(fleshed.muscles[f"{name} {side}"], fleshed.body) for side in ("left", "right")]
        lengths = [np.linalg.norm(np.diff(line[:, :3], axis=0), axis=1).sum() for line in lines]
        assert abs(lengths[0] / lengths[1] - 1) < 0.1, name
        # In the skin, not beside it.
        assert (fleshed.surface.winding_number(lines[0][4:13, :3]) > 0.5).mean() > 0.7, name


def test_forces_act_on_free_flesh(fleshed):
    """Muscles push free flesh only: bones bear the rest."""
    held = np.asarray(fleshed.body.bone_vertices)
    for name, rig in fleshed.muscles.items():
        forces = rig.forces(fleshed.body)
        assert np.abs(forces).max() > 0.0 and not forces[held].any(), name


def test_volume_is_kept(fleshed):
    """The muscle's flesh keeps its volume within a hundredth."""
    for name, rig in fleshed.muscles.items():
        assert abs(thew.muscle_growth(rig, fleshed.body, fleshed.moved[name])) < 0.01, name


def outward(found, rig, line):
    """Returns the direction from the bones of a muscle's ends to the muscle, across it."""
    chord = line[-1, :3] - line[0, :3]
    ways = []
    for end, point in zip(rig.ends, line[[0, -1], :3], strict=True):
        bone = found.names.index(end.bone)
        head, axis = found.skeleton.heads[bone], found.skeleton.tails[bone] - found.skeleton.heads[bone]
        way = point - head - axis * ((point - head) @ axis) / (axis @ axis)
        ways.append(way / np.linalg.norm(way))
    out = sum(ways)
    out = out - chord * (out @ chord) / (chord @ chord)
    return out / np.linalg.norm(out)


def test_muscle_bulges_outwards(fleshed):
    """Skin over the belly of every muscle moves away from the bone and hardly along it, none moves far, and the belly gets shorter."""
    indices, weights = fleshed.body.lattice.embed_surface(fleshed.surface)
    seen = 0
    for name, rig in fleshed.muscles.items():
        moved = fleshed.moved[name][: len(fleshed.body.lattice.vertices)]
        skin = np.einsum("nk,nkj->nj", weights, moved[np.maximum(indices, 0)])
        line = thew.muscle_line(rig, fleshed.body)
        radius, out = line[8, 3], outward(fleshed, rig, line)
        chord = line[-1, :3] - line[0, :3]
        along = (fleshed.vertices - line[0, :3]) @ chord / (chord @ chord)
        away = fleshed.vertices - line[0, :3] - np.outer(np.clip(along, 0.0, 1.0), chord)
        over = (
            (np.abs(along - 0.5) < 0.25) & (np.linalg.norm(away, axis=1) < 2.5 * radius) & (away @ out > 0.3 * radius)
        )
        if over.any():
            seen += 1
            assert (skin[over] @ out).mean() > 0.08 * radius, name
            assert np.abs(skin[over] @ chord).mean() < 0.1 * radius * np.linalg.norm(chord), name
        assert np.linalg.norm(skin, axis=1).max() < 0.6 * radius, name
        ends = fleshed.body.lattice.embed(line[[5, 11], :3])
        first, last = (np.einsum("k,kj->j", w, moved[np.maximum(i, 0)]) for i, w in zip(*ends, strict=True))
        assert (last - first) @ chord < 0.0, name
    assert seen >= 0.7 * len(fleshed.muscles)


def bent(found, rig, angle):
    """Returns the two poses in which the lower bone of a muscle's joint turns about the axis across muscle and bone, either way."""
    insertion = tomllib.loads(thew.format_rigs([rig]))["rigs"][0]["insertion"]["bone"]
    bone = found.names.index(insertion)
    line = thew.muscle_line(rig, found.body)
    head = found.skeleton.heads[bone]
    axis = np.cross(line[-1, :3] - line[0, :3], line[8, :3] - head)
    axis *= angle / np.linalg.norm(axis)
    return [shapes.turned_branch(found.skeleton, bone, turn) for turn in (axis, -axis)]


@pytest.mark.parametrize(("one", "other"), [("Biceps", "Triceps")])
@pytest.mark.parametrize("side", ["left", "right"])
def test_antagonists(fleshed, one, other, side):
    """A bend of the joint that shortens one muscle hardly shortens its antagonist, if at all."""
    rig, against = fleshed.muscles[f"{one} {side}"], fleshed.muscles[f"{other} {side}"]
    poses = bent(fleshed, rig, 0.6)
    shorter = thew.muscle_shortening(rig, fleshed.body, poses)
    longer = thew.muscle_shortening(against, fleshed.body, poses)
    bend = int(shorter.argmax())
    assert shorter[bend] > 0.02 and shorter[1 - bend] < 0.0
    assert longer[bend] < 0.2 * shorter[bend]
    rest = np.tile(np.eye(4), (1, len(fleshed.names), 1, 1))
    assert abs(thew.muscle_shortening(rig, fleshed.body, rest)[0]) < 1e-12


@pytest.fixture(scope="module")
def flexor(arm):
    """Returns a muscle over the arm's joint."""
    origin = thew.BoneGuide("upper", along=0.3, distance=0.05)
    return thew.muscle(origin, thew.BoneGuide("lower", along=0.5, distance=0.05), radius=0.04, name="Flexor")


def test_muscle_in_a_clip(arm, flexor):
    """A muscle led by its own length bulges as the joint bends and not before."""
    poses = np.stack([shapes.turned_branch(arm.skeleton, 1, [0.0, 0.0, -angle]) for angle in (0.0, 0.4, 0.8)])
    shorter = thew.muscle_shortening(flexor, arm.body, poses)
    assert shorter[0] == 0.0 and (np.diff(shorter) > 0.01).all()
    controls = (shorter / flexor.parameters()["contraction"])[:, None]
    plain = thew.simulate(arm.body, poses, 24.0)
    led = thew.simulate(arm.body, poses, 24.0, rigs=[flexor], controls=controls)
    change = np.abs(np.asarray(led) - np.asarray(plain)).max(axis=(1, 2))
    assert change[0] == 0.0 and change[2] > 1e-3


def test_muscle_parameters(arm, flexor):
    """A muscle has a contraction, sizes and places; without contraction it does nothing, and files keep it to the bit."""
    assert flexor.kind == "muscle" and flexor.template is None and flexor.guide is None
    assert flexor.ends == (
        thew.BoneGuide("upper", along=0.3, distance=0.05),
        thew.BoneGuide("lower", along=0.5, distance=0.05),
    )
    assert thew.Rig(thew.Template("bump", radius=0.1, strength=1e4), flexor.ends[0]).ends is None
    names = [
        "contraction",
        "radius",
        "bow",
        *(f"{e}_{p}" for e in ("origin", "insertion") for p in ("along", "angle", "distance")),
    ]
    assert list(flexor.parameter_names) == names
    assert flexor.units["contraction"] == "" and flexor.units["bow"] == "m" and flexor.units["origin_angle"] == "rad"
    assert [gamma for gamma, _ in flexor.samples] == [0.0, 1.0]
    assert not flexor.forces(arm.body, 0.0).any()
    half = flexor.forces(arm.body, 0.5)
    assert np.abs(half - flexor.forces(arm.body, parameters={"contraction": 0.15})).max() < 1e-12
    (again,) = thew.parse_rigs(thew.format_rigs([flexor]))
    assert again == flexor and "Flexor" in repr(again)
    assert flexor.compliance(arm.body) > 0.0 and flexor.check(arm.body) == []
    assert flexor.clamped(arm.body) == flexor


def test_contraction_for_a_distance(arm, flexor):
    """A muscle is given the contraction that moves the skin by a distance, and refused one that no contraction reaches."""
    found = flexor.with_peak_displacements(arm.body, [None, 0.004])
    moved = thew.Equilibrium(arm.body).solve(rest_forces=found.forces(arm.body, 1.0), gravity=[0.0, 0.0, 0.0])
    skin = np.asarray(arm.body.shown(moved)) - arm.body.surface.vertices
    assert np.linalg.norm(skin, axis=1).max() == pytest.approx(0.004, rel=1e-4)
    assert found.peak_displacements(arm.body) == pytest.approx([0.0, 0.004], rel=1e-8)
    with pytest.raises(thew.RigError, match="give it a larger radius, or ask for less"):
        flexor.with_peak_displacements(arm.body, [None, 1.0])


def test_lowered_contraction_is_told(arm, flexor):
    """A contraction that would press flesh flat is lowered, with a warning and in the warnings of a clip; others pass in silence."""
    thick = thew.muscle(*flexor.ends, radius=0.3, contraction=0.7, name="Thick")
    with pytest.warns(RuntimeWarning, match="rig 'Thick': a contraction of 0.700 would fold flesh"):
        forces = thick.forces(arm.body, 1.0)
    kept = thick.clamped(arm.body)
    assert 0.0 < kept.parameters()["contraction"] < 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(kept.forces(arm.body, 1.0), forces)
        flexor.forces(arm.body)
    rest = np.tile(np.eye(4), (2, len(arm.skeleton.names), 1, 1))
    (said,) = thew.simulate(arm.body, rest, 24.0, rigs=[thick]).warnings
    assert "rig 'Thick' at control 1: a contraction" in said
    assert thew.simulate(arm.body, rest, 24.0, rigs=[flexor]).warnings == []


def test_bad_muscles_refused(arm, flexor):
    """Muscles that cannot be are refused with a sentence."""
    one, two = thew.BoneGuide("upper", distance=0.03), thew.BoneGuide("lower", distance=0.03)
    for arguments, words in [
        ((one, two, 0.0), "'radius' is 0 m"),
        ((one, two, 0.05, 0.9), "the contraction is 0.9"),
        ((one, two, 0.05, np.nan), "'contraction' is NaN"),
        ((one, two, 0.05, 0.3, 0.0, [(0.0, {"strength": 1.0})]), "no parameter 'strength'"),
    ]:
        with pytest.raises(thew.RigError, match=words):
            thew.muscle(*arguments)
    with pytest.raises(thew.RigError, match="the ends of the muscle are one place"):
        thew.muscle(one, one, 0.05).forces(arm.body)
    with pytest.raises(thew.RigError, match="no bone 'tail'"):
        thew.muscle(one, thew.BoneGuide("tail"), 0.05).forces(arm.body)
    far = [thew.BoneGuide(bone, distance=9.0) for bone in ("upper", "lower")]
    with pytest.raises(thew.OutsideError):
        thew.muscle(*far, 0.05).forces(arm.body)
    bump = thew.Rig(thew.Template("bump", radius=0.1, strength=1e4), one)
    with pytest.raises(thew.InputError, match="of the kind 'force', not a muscle"):
        thew.muscle_line(bump, arm.body)
    with pytest.raises(thew.RigError, match="of the kind 'muscle', but a fit to points"):
        thew.RigFit(arm.body, flexor, shapes.bend(0.1)).fit([(0, [0.0, 0.0, 0.1])])
    text = thew.format_rigs([flexor])
    for wrong, words in [
        (text.replace("radius = 0.04", "radius = -1.0", 1), "radius"),
        (text.replace("[rigs.origin]", "[rigs.start]"), "start"),
        (text.replace('kind = "muscle"', 'kind = "sinew"'), "no kind of rig 'sinew'"),
    ]:
        with pytest.raises(thew.RigFileError, match=words):
            thew.parse_rigs(wrong)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The arithmetic of the maps, the places of parts of a body, and the line of health; imported without Blender."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
body_parts, flesh_map, health = (importlib.import_module(f"logic.{n}") for n in ("body_parts", "flesh_map", "health"))
pin_gaps, states = (importlib.import_module(f"logic.{n}") for n in ("pin_gaps", "states"))
Cut = importlib.import_module("logic.cuts").Cut


def sphere(rings=24, sides=32):
    """Returns a unit sphere with poles: (points [n, 3], triangles [t, 3])."""
    points, triangles = [(0.0, 0.0, 1.0)], []
    for i in range(1, rings):
        polar = np.pi * i / rings
        for j in range(sides):
            turn = 2.0 * np.pi * j / sides
            points.append((np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)))
    points.append((0.0, 0.0, -1.0))
    for j in range(sides):
        k = (j + 1) % sides
        triangles.append((0, 1 + j, 1 + k))
        for i in range(rings - 2):
            a, b = 1 + i * sides, 1 + (i + 1) * sides
            triangles += [(a + j, b + j, b + k), (a + j, b + k, a + k)]
        last = 1 + (rings - 2) * sides
        triangles.append((last + k, last + j, len(points) - 1))
    return np.array(points), np.array(triangles)


def test_distances_geodesic():
    """Distances run along the skin, up to the given range."""
    points, triangles = sphere()
    away = flesh_map.distances(points, triangles, [(0, 0.0)], 10.0)
    np.testing.assert_allclose(away, np.arccos(np.clip(points[:, 2], -1.0, 1.0)), atol=0.01)
    near = flesh_map.distances(points, triangles, [(0, 0.0)], 1.0)
    assert np.isinf(near[np.arccos(points[:, 2].clip(-1, 1)) > 1.01]).all()
    assert np.array_equal(near[np.isfinite(near)], away[np.isfinite(near)])


def test_distances_cross_seams():
    """Distances go on across seams of doubled vertices."""
    points, triangles = sphere()
    upper = points[triangles].mean(axis=1)[:, 2] > 0.0
    cut = triangles.copy()
    cut[~upper] += len(points)  # the lower half has vertices of its own
    twice = np.vstack([points, points])
    away = flesh_map.distances(twice, cut, [(0, 0.0)], 10.0)
    assert away[2 * len(points) - 1] == pytest.approx(np.pi, abs=0.02)


def test_patch_shape():
    """A patch is round, falls off smoothly, and does not reach a sheet beside its own."""
    points, triangles = sphere()
    share = flesh_map.patch(points, triangles, np.array([0.0, 0.0, 1.0]), 0, 0.8)
    straight = np.linalg.norm(points - [0.0, 0.0, 1.0], axis=1)
    assert share[0] == pytest.approx(1.0) and (share[straight >= 0.8] == 0.0).all()
    rings = share[1 : 1 + 32 * 8].reshape(8, 32)
    np.testing.assert_allclose(rings, rings[:, :1].repeat(32, axis=1), atol=1e-6)
    assert (np.diff(rings[:, 0]) <= 1e-9).all()
    # Two sheets close to each other: only the one that is meant.
    flat = np.array([(x, y, 0.0) for x in range(9) for y in range(9)], float)
    i = np.array([(9 * x + y, 9 * x + y + 1, 9 * (x + 1) + y) for x in range(8) for y in range(8)])
    sheets = np.vstack([flat, flat + [0.0, 0.0, 0.3]])
    both = np.vstack([i, i + len(flat)])
    share = flesh_map.patch(sheets, both, sheets[40], int(np.flatnonzero((both == 40).any(axis=1))[0]), 3.0)
    assert share[:81].max() == pytest.approx(1.0) and not share[81:].any()


def test_patch_within_face():
    """A patch that is smaller than a face still marks one vertex."""
    points, triangles = sphere(6, 6)
    centre = points[triangles[20]].mean(axis=0)
    share = flesh_map.patch(points, triangles, centre, 20, 1e-3)
    assert np.count_nonzero(share) == 1 and share.max() == 1.0 and np.flatnonzero(share)[0] in triangles[20]


def test_mixed_range():
    """Mixing keeps the map in its range."""
    old, share = np.linspace(0.0, 1.0, 5), np.array([0.0, 0.25, 0.5, 1.0, 1.5])
    new = flesh_map.mix(old, share, 0.0)
    np.testing.assert_allclose(new, [0.0, 0.1875, 0.25, 0.0, 0.0], atol=1e-7)
    assert new.dtype == np.float32
    np.testing.assert_array_equal(flesh_map.mix(old, 0.0 * share, 1.0), old.astype(np.float32))


def test_stiffness_factors():
    """The factor of stiffness is 1 in the middle of the map's range."""
    np.testing.assert_allclose(flesh_map.stiffness_factors([0.0, 0.5, 1.0, 2.0]), [0.25, 1.0, 4.0, 4.0])


def test_colours_ramp():
    """The colours are those of Blender's weights."""
    np.testing.assert_allclose(flesh_map.colours([-1.0, 0.0, 0.5, 1.0]), flesh_map.RAMP[[0, 0, 2, 4]])


# parts of a body ----------------------------------------------------------------------------------------------------


def skeleton(*bones):
    """Builds a skeleton from (name, parent's name, head, tail) of each bone."""
    names = [bone[0] for bone in bones]
    parents = [names.index(bone[1]) if bone[1] else -1 for bone in bones]
    return body_parts.Skeleton(
        names, np.array(parents), np.array([b[2] for b in bones], float), np.array([b[3] for b in bones], float)
    )


PERSON = (
    ("Hips", "", (0, 0, 1.0), (0, 0, 1.1)),
    ("Spine", "Hips", (0, 0, 1.1), (0, 0, 1.25)),
    ("Spine1", "Spine", (0, 0, 1.25), (0, 0, 1.4)),
    ("Head", "Spine1", (0, 0, 1.5), (0, 0, 1.75)),
    ("LeftFoot", "Hips", (0.1, 0, 0.1), (0.1, -0.2, 0.02)),
    ("RightFoot", "Hips", (-0.1, 0, 0.1), (-0.1, -0.2, 0.02)),
)
DOG = (
    ("hips", "", (0, 0.5, 0.5), (0, 0.4, 0.5)),
    ("spine_01", "hips", (0, 0.4, 0.5), (0, 0.1, 0.5)),
    ("spine_02", "spine_01", (0, 0.1, 0.5), (0, -0.3, 0.5)),
    ("tail_01", "hips", (0, 0.5, 0.5), (0, 0.7, 0.5)),
    ("tail_02", "tail_01", (0, 0.7, 0.5), (0, 0.9, 0.5)),
    ("foot.L", "hips", (0.1, 0.5, 0.05), (0.1, 0.4, 0.0)),
)


def no_points(_bone):
    return np.empty((0, 3))


@pytest.mark.parametrize("turn", [0, 1, 2, 3])
def test_person_forward(turn):
    """A person looks where the feet point, with the belly in front and the buttocks behind."""
    angle = 0.5 * np.pi * turn
    about = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
    person = skeleton(*PERSON)
    turned = body_parts.Skeleton(person.names, person.parents, person.heads @ about.T, person.tails @ about.T)
    front = about @ [0.0, -1.0, 0.0]
    np.testing.assert_allclose(turned.forward(), front, atol=1e-9)
    (belly,) = body_parts.patch_centres(body_parts.PARTS["BELLY"], turned, no_points)
    np.testing.assert_allclose(belly.direction, front, atol=1e-9)
    behind = body_parts.patch_centres(body_parts.PARTS["BUTTOCKS"], turned, no_points)
    assert len(behind) == 2 and all(centre.direction @ front < -0.5 for centre in behind)
    assert behind[0].direction @ np.cross(front, [0, 0, 1.0]) == pytest.approx(
        -(behind[1].direction @ np.cross(front, [0, 0, 1.0]))
    )


def test_quadruped_belly():
    """The belly of a character on four legs is below."""
    (belly,) = body_parts.patch_centres(body_parts.PARTS["BELLY"], skeleton(*DOG), no_points)
    np.testing.assert_allclose(belly.direction, [0.0, 0.0, -1.0], atol=1e-9)


def test_cheeks_height():
    """Cheeks and jowls lie at their heights on the face."""
    face = np.random.default_rng(1).uniform(
        [-0.1, -0.15, 1.4], [0.1, 0.1, 1.8], (4000, 3)
    )  # the bone begins at its middle
    person = skeleton(*PERSON)
    cheeks = body_parts.patch_centres(body_parts.PARTS["CHEEKS"], person, lambda bone: face)
    jowls = body_parts.patch_centres(body_parts.PARTS["JOWLS"], person, lambda bone: face)
    assert len(cheeks) == len(jowls) == 2
    assert 1.4 < jowls[0].origin[2] < cheeks[0].origin[2] - 0.05 < 1.55
    assert all(centre.direction[1] < -0.5 and centre.direction[2] == 0.0 for centre in cheeks)
    assert cheeks[0].direction[0] == pytest.approx(-cheeks[1].direction[0])


def test_limb_bones():
    """A limb is found with all bones that hang on it."""
    dog = skeleton(*DOG, ("knot", "tail_02", (0, 0.9, 0.5), (0, 1.0, 0.5)))
    assert [dog.names[i] for i in dog.limb(("tail",))] == ["tail_01", "tail_02", "knot"]
    assert not dog.limb(("ear",))


def test_patch_own_bones():
    """Bones that have a part's own name come first, and a chosen bone before them."""
    person = skeleton(
        *PERSON,
        ("breast.L", "Spine1", (0.05, 0, 1.3), (0.08, -0.1, 1.28)),
        ("breast.R", "Spine1", (-0.05, 0, 1.3), (-0.08, -0.1, 1.28)),
    )
    found = body_parts.patch_centres(body_parts.PARTS["CHEST"], person, no_points)
    assert [person.names[centre.bone] for centre in found] == ["breast.L", "breast.R"]
    at_hips = body_parts.patch_centres(body_parts.PARTS["CHEST"], person, no_points, "Hips")
    assert len(at_hips) == 2 and all(person.names[centre.bone] == "Hips" for centre in at_hips)


def test_patch_no_bones():
    """A part without bones of its name has no place."""
    strange = skeleton(("a", "", (0, 0, 0), (0, 0, 1)))
    assert not any(body_parts.patch_centres(part, strange, no_points) for part in body_parts.PARTS.values())


# health -------------------------------------------------------------------------------------------------------------


KEYED = states.Condition(motion=states.Motion.KEYED)


def state(**changes):
    """Returns settings, notes and flesh of a healthy character."""
    settings = SimpleNamespace(enabled=True, settled=False)
    made = SimpleNamespace(shows_bake=False)
    flesh = SimpleNamespace(
        problem="", rig_problems={}, character=SimpleNamespace(apart="", ignored=SimpleNamespace(problem="The group is gone.")), defects=[], clip=SimpleNamespace(unconverged_steps=np.zeros(20, int)), inverted_count=0,
        clip_start=1, clip_end=20, lattice=SimpleNamespace(cells=range(200)), build_settings=SimpleNamespace(touches=None, live=(1, 20)),
        motion=None, condition=states.Condition(), open_cuts=(), pin_gaps=pin_gaps.PinGaps(),
    )  # fmt: skip
    flesh.pin_warnings = lambda: flesh.pin_gaps.warnings("{:g} m".format)
    flesh.drive_warnings = list
    for name, value in changes.items():
        owner = next(o for o in (settings, made, flesh, flesh.character, flesh.build_settings) if hasattr(o, name))
        setattr(owner, name, value)
    return settings, made, flesh


def one_pin(gap):
    """Returns the gaps of a pin that stops short by `gap` in the second of two frames."""
    return pin_gaps.PinGaps(("Belt",), np.zeros((2, 1, 2, 3)), np.array([[0.0], [gap]]), (False,), (False,))


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, "GOOD", "frames 1 to 20"),
        ({"settled": True}, "GOOD", "At rest"),
        ({"shows_bake": True}, "GOOD", "Bake plays, 1 to 20"),
        ({"enabled": False}, "OFF", "Off"),
        ({"clip": None}, "WAITING", "Simulate"),
        ({"condition": states.Condition(motion=states.Motion.EDITED)}, "GOOD", "frames 1 to 20"),
        ({"live": (5, 12)}, "GOOD", "frames 5 to 12"),
        ({"condition": KEYED}, "NOTICE", "Edited since it was simulated: play, or press Simulate."),
        ({"condition": KEYED, "problem": health.POSE_CHANGED_TEXT}, "NOTICE", "Edited since it was simulated"),
        ({"problem": health.POSE_CHANGED_TEXT}, "NOTICE", "key it, or press Simulate"),
        ({"condition": KEYED, "shows_bake": True}, "GOOD", "Bake plays"),
        ({"condition": KEYED, "clip": None}, "WAITING", "Simulate"),
        ({"problem": "the bones have changed"}, "ERROR", "The bones have changed."),
        ({"apart": "“A” stands apart"}, "WARNING", "“A” stands apart"),
        (
            {"clip": SimpleNamespace(unconverged_steps=np.array([0, 2, 0, 1]))},
            "WARNING",
            "exact in 2 frames: raise Steps per Second",
        ),
        ({"inverted_count": 2}, "GOOD", "frames 1 to 20"),
        ({"inverted_count": 30}, "WARNING", "Flesh limited in 30 places: lower Softness"),
        (
            {"inverted_count": 30, "motion": SimpleNamespace(driven=SimpleNamespace(fields=("Wind",)))},
            "WARNING",
            "in 30 places: weaken its force fields, or lower Softness",
        ),
        (
            {"inverted_count": 30, "pin_gaps": one_pin(0.0)},
            "WARNING",
            "in 30 places: pull its pins less, or lower Softness",
        ),
        (
            {"inverted_count": 30, "pin_gaps": one_pin(0.234)},
            "WARNING",
            "“Belt” stops 0.23 m short: move its target nearer (and 1 other)",
        ),
        (
            {"open_cuts": (Cut(7, 2.0),)},
            "WARNING",
            "Everything jumps in frame 7: where that is a cut, press Restart Here",
        ),
        (
            {"open_cuts": (Cut(7, 2.0), Cut(9, 0.3, ("Hand",)), Cut(12, 1.0)), "inverted_count": 30},
            "WARNING",
            "jumps in frames 7 and 12: where",
        ),
        ({"defects": ["one", "two"]}, "WARNING", "One (and 1 other)"),
        ({"touches": object()}, "WARNING", "The group is gone"),
        ({"rig_problems": {0: "no bone"}, "defects": ["x"]}, "WARNING", "No bone (and 1 other)"),
    ],
)
def test_health_levels(changes, level, words):
    """The line of health shows the most urgent state in one line."""
    found = health.health(*state(**changes), 5, played=health.PlayedBake(1, 20))
    assert found.level == level and words in found.text and "\n" not in found.text


@pytest.mark.parametrize(
    ("played", "level", "words"),
    [
        ({"start": 1, "end": 20}, "GOOD", "Bake plays, 1 to 20"),
        ({"start": 1, "end": 20, "clip": "Run"}, "GOOD", "Bake plays “Run”, 1 to 20"),
        ({"start": 1, "end": 4}, "NOTICE", "Outside its bake, 1 to 4: the plain skin. Bake more"),
        ({"start": 6, "end": 9, "clip": "Run"}, "NOTICE", "Outside its clip, 6 to 9: the plain skin."),
        ({"start": 1, "end": 4, "holds": True}, "NOTICE", "the last key stays on. Bake more frames"),
        ({"start": 6, "end": 9, "holds": True}, "NOTICE", "the first key stays on"),
        ({"missing": "Walk"}, "NOTICE", "No clip of “Walk” in the bake"),
        ({"strips": True}, "GOOD", "along the NLA strips"),
    ],
)
def test_health_played_bake(played, level, words):
    """The line of health says what a bake plays at frame 5, and where the plain skin shows."""
    found = health.bake_health(health.PlayedBake(**played), 5)
    assert found.level == level and words in found.text


def test_health_of_long_names():
    """A long name of a clip is shortened in the middle, so that the line has its beginning, its end and the last frame."""
    found = health.bake_health(health.PlayedBake(0, 61, "FrogArmature|Frog_Attack"), 5)
    assert found.text == "Bake plays “FrogArm…g_Attack”, 0 to 61"
    assert "“FrogArm…g_Attack”" in health.bake_health(health.PlayedBake(missing="FrogArmature|Frog_Attack"), 5).text
    for width in range(3, 12):
        short = health.shorten_middle("abcdefghij", width)
        assert len(short) == min(width, 10) and short.startswith("a") and short.endswith("j")


def test_health_without_flesh():
    """The line of health waits while nothing is built."""
    settings, made, _ = state()
    assert health.health(settings, made, None, 1).level == "WAITING"


def test_cost_many_cells():
    """Many cells give a warning with the time that they take."""
    assert health.cost(12) == health.cost(32) == ""
    times = [int(health.cost(n).split("about ")[1].split()[0]) for n in (33, 48, 64, 96)]
    assert times == sorted(times) and 10 <= times[1] <= 16


@pytest.mark.parametrize("width", [5, 12, 30, 200])
def test_shortened_words(width):
    """A text that is too long is cut after a word."""
    text = "The vertex group of that name, which is its weight."
    cut = health.shorten(text, width)
    assert len(cut) <= max(width, 5) + 1
    assert cut == text if width >= len(text) else cut.endswith("…") and text.startswith(cut[:-1])


def test_cost_slow_methods():
    """Methods that take far longer than the usual one say so, and how Elastic Joints change it."""
    assert health.method_cost("hyperelastic", 0.0) == health.method_cost("blended", 0.5) == ""
    assert health.method_cost("nonlinear", 1.0) == "Takes 2 to 7 times as long as Hyperelastic"
    assert health.method_cost("linearised", 1.0) == ""
    for method, less in (("nonlinear", "with Elastic Joints at 1 2 to 7 times"), ("linearised", "at 1 no longer")):
        assert less in health.method_cost(method, 0.5)

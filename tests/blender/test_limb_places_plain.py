# SPDX-License-Identifier: GPL-3.0-or-later
"""Places, directions and sizes from one limb to another, and the numbers of guides there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
places, guides = (importlib.import_module(f"logic.{name}") for name in ("limb_places", "guides"))


def tube(count=7, spokes=8, bend=0.5, length=1.0, thick=0.1, joint=0.45):
    """Builds a bent limb that swells, of two bones."""
    t = np.linspace(0.0, 1.0, count)
    angle = bend * (t - 0.5)
    way = np.stack([np.cos(angle), 0.0 * t, np.sin(angle)], axis=1)
    hubs = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * (way[1:] + way[:-1]), axis=0)]) * length / (count - 1)
    side = np.stack([0.0 * t, 1.0 + 0.0 * t, 0.0 * t], axis=1)
    frames = np.stack([way, side, np.cross(way, side)], axis=2)
    radii = thick * (1.0 + 0.5 * np.sin(np.pi * t))
    lengths = 1.0 + 0.2 * np.cos(2.0 * np.pi * np.arange(spokes) / spokes)
    import thew  # the extension's own, once that is switched on

    return thew.MRep.tube(hubs, radii, frames, np.full(count, np.pi / 2), np.tile(lengths, (count, 1)), knots=t, joints=[0.0, joint, 1.0])  # fmt: skip


def similarity(scale=1.7, mirrored=False):
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    matrix = np.eye(4)
    matrix[:3, :3] = scale * rotation @ np.diag([-1.0 if mirrored else 1.0, 1.0, 1.0])
    matrix[:3, 3] = (3.0, -1.0, 0.5)
    return matrix


@pytest.fixture(scope="module")
def limbs(addon):
    return places.Limb(tube(), np.eye(4)), places.Limb(tube(9, 10, -0.8, 1.6, 0.2, 0.6), similarity())


def sample_coordinates(count=40):
    """Returns coordinates all over the limb, its caps and hubs included."""
    rng = np.random.default_rng(1)
    c = np.stack([rng.uniform(-0.9, 1.9, count), np.zeros(count), rng.uniform(0, 2 * np.pi, count), rng.uniform(0, 1.2, count)], axis=1)  # fmt: skip
    c[:5, 3] = 0.0
    return c


def test_over_matches_core(limbs):
    """Points carried from one limb to another land where the core's correspondence puts them."""
    one, other = limbs
    over = places.LimbMap(one, other)
    points = one.points_at(sample_coordinates())
    there = one.model.correspond(other.model, points) @ other.into[:3, :3].T + other.into[:3, 3]
    known = np.isfinite(there[:, 0])
    assert known.mean() > 0.9
    for point, expected in zip(points[known], there[known], strict=True):
        np.testing.assert_allclose(other.place(over.map_place(one.locate(point))), expected, atol=1e-9)


def test_over_round_trip(limbs):
    """A point carried to another limb and back returns to its first position."""
    over, back = places.LimbMap(*limbs), places.LimbMap(*reversed(limbs))
    for point in limbs[0].points_at(sample_coordinates()):
        located = limbs[0].locate(point)
        moved = over.map_place(located)
        there = limbs[1].locate(limbs[1].place(moved))
        near = 1e-8 if located.inside else 1e-5  # by the nearest hub, which is searched for
        np.testing.assert_allclose(limbs[0].place(back.map_place(there)), point, atol=near)
        np.testing.assert_allclose(back.turn(moved) @ over.turn(located), np.eye(3), atol=1e-9)
        assert back.growth(moved) * over.growth(located) == pytest.approx(1.0)
        assert back.depth_ratio(moved) * over.depth_ratio(located) == pytest.approx(1.0)


def test_over_roll_between_limbs(addon):
    """The angle around begins alike on a straight and a bent limb, and a rolled limb shows its roll."""
    straight, bent = (places.Limb(tube(bend=bend), np.eye(4)) for bend in (0.0, 0.5))
    quarter = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    rolled = places.Limb(straight.model.transformed(1.0, quarter), np.eye(4))
    point = straight.points_at([[0.5, 0.0, 1.2, 0.8]])[0]
    from_one, from_other = (
        places.LimbMap(limb, bent).map_place(limb.locate(point)).coordinates for limb in (straight, rolled)
    )
    assert abs(np.remainder(from_one[2] - from_other[2] + np.pi, 2 * np.pi) - np.pi) < 0.15, "by what lies there"
    over, back = places.LimbMap(rolled, bent), places.LimbMap(bent, rolled)
    assert abs(over.roll) > 1.0 and over.roll == pytest.approx(-back.roll)
    assert places.LimbMap(straight, rolled).roll == 0.0


@pytest.mark.parametrize("mirrored", [False, True])
def test_over_similar_limb(limbs, mirrored):
    """A limb that is turned, scaled or mirrored turns and scales every place by the same amount."""
    matrix = similarity(2.5, mirrored)
    over = places.LimbMap(limbs[0], places.Limb(limbs[0].model, matrix))
    for point in [*limbs[0].points_at(sample_coordinates()), np.array([0.5, 2.0, 0.0])]:
        located = limbs[0].locate(point)
        np.testing.assert_allclose(over.turn(located), matrix[:3, :3] / 2.5, atol=1e-6)
        assert over.growth(located) == pytest.approx(2.5)
        moved = over.other.place(over.map_place(located))
        np.testing.assert_allclose(moved, matrix[:3, :3] @ point + matrix[:3, 3], atol=1e-6)


def test_over_uses_nearest_hub_outside(limbs):
    """Points outside a limb are located by the nearest hub and keep their distance in radii."""
    one, other = limbs
    for point in ([0.4, 0.8, 0.2], [-1.0, 0.0, 0.3], [1.6, -0.4, 0.0]):
        located = one.locate(np.array(point))
        assert not located.inside
        np.testing.assert_allclose(one.place(located), point, atol=1e-12)
        moved = places.LimbMap(one, other).map_place(located)
        hub = other.points_at([[moved.coordinates[0], 0.0, 0.0, 0.0]])[0]
        away = np.linalg.norm(other.place(moved) - hub) / other.radius(moved.coordinates[0])
        near = np.linalg.norm(point - one.points_at([[located.coordinates[0], 0.0, 0.0, 0.0]])[0])
        assert away == pytest.approx(near / one.radius(located.coordinates[0]))


def test_limb_frame_orthonormal(limbs):
    """The frame of a limb is orthonormal at every coordinate, and left-handed on a mirrored limb."""
    for limb, hand in ((limbs[0], 1.0), (places.Limb(limbs[0].model, similarity(mirrored=True)), -1.0)):
        for c in sample_coordinates():
            frame = limb.frame(c)
            np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)
            assert np.linalg.det(frame) == pytest.approx(hand)


def test_stretched_keeps_caps():
    """The parameter along a limb maps joints to joints and leaves the caps unchanged."""
    here, there = np.array([0.0, 0.4, 1.0]), np.array([0.0, 0.7, 1.0])
    assert places.map_knot(0.4, here, there) == pytest.approx(0.7)
    assert places.map_knot(0.2, here, there) == pytest.approx(0.35)
    assert [places.map_knot(u, here, there) for u in (-0.3, 0.0, 1.0, 1.5)] == [-0.3, 0.0, 1.0, 1.5]
    assert places.map_knot(0.3, here, np.array([])) == 0.3


def test_bone_numbers_round_trip():
    """The numbers of a guide on a bone are recovered from its point and direction."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        head, tail = rng.normal(size=(2, 3))
        along = (tail - head) / np.linalg.norm(tail - head)
        zero = guides.zero_direction(along)
        part, angle, distance = rng.uniform(-0.5, 1.5), rng.uniform(-3.1, 3.1), rng.choice([-0.4, 0.0, 0.001, 0.4])
        out = np.cos(angle) * zero + np.sin(angle) * np.cross(along, zero)
        point = head + part * (tail - head) + distance * out
        found = places.bone_numbers(point, out, head, tail, distance, min(abs(distance) / 0.05, 1.0))
        np.testing.assert_allclose(found, (part, angle, distance), atol=1e-9)


def test_wound_keeps_turns():
    """An angle keeps its number of whole turns when it is replaced."""
    assert places.unwrapped_angle(0.1, 0.1 + 4.0 * np.pi) == pytest.approx(0.1 + 4.0 * np.pi)
    assert places.unwrapped_angle(3.0, -3.0) == pytest.approx(3.0 - 2.0 * np.pi)


def test_same_axis_finds_sign():
    """The matching axis is found together with its sign."""
    axes = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    for axis in (0, 2):
        for sign in (1.0, -1.0):
            assert places.nearest_axis(3.0 * axes, sign * axes[:, axis] + 0.3 * axes[:, 2 - axis]) == (axis, sign)


def test_skin_numbers_round_trip():
    """The roll and tilt of a guide in the skin are recovered from its axes."""
    rng = np.random.default_rng(7)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    basis[:, 1] = np.cross(basis[:, 2], basis[:, 0])
    for roll in (-3.0, 0.0, 0.4, 8.0):
        for tilt in (-2.0, -0.3, 0.0, 0.9, 2.5, 4.0):
            across = np.cos(roll) * basis[:, 0] + np.sin(roll) * basis[:, 1]
            axis = np.cos(tilt) * basis[:, 2] + np.sin(tilt) * across
            np.testing.assert_allclose(places.skin_numbers(axis, across, basis, roll, tilt), (roll, tilt), atol=1e-9)


def test_turned_mirror_gives_rotation():
    """A mirroring matrix is reduced to a proper rotation."""
    rotation = places.turned_frame(np.diag([-1.0, 1.0, 1.0]), np.eye(3))
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3))
    assert np.linalg.det(rotation) == pytest.approx(1.0)

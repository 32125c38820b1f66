# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects with Collision physics as the core receives them, in numbers: needs no scene."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import part

TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.int32)
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def load_modules(addon):
    """Loads the extension's modules."""


def place():
    return part("logic.spaces").MetricSpace(np.array([3.0, -1.0, 0.5]), 0.25)


def world_matrix(angle, x=0.0, scale=(1.0, 1.0, 1.0)) -> np.ndarray:
    """Returns a world matrix as Blender gives it, in single precision."""
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.array([[c, -s, 0, x], [s, c, 0, 2.0], [0, 0, 1, 0], [0, 0, 0, 1.0]]) @ np.diag([*scale, 1.0])
    return matrix.astype(np.float32).astype(np.float64)


def collider(matrices, shapes=None):
    shapes = shapes or (CORNERS,) * len(matrices)
    return part("logic.colliders").Collider(("Bench", ""), TRIANGLES, np.stack(matrices), tuple(shapes))


def world(one, place_) -> np.ndarray:
    """Returns the vertices at each pose as the core receives them, metres, [f, n, 3]."""
    vertices, motion = one.core_motion(place_)
    if motion is None:
        return np.stack([vertices] * len(one.shapes))
    if motion.shape[1:] == (4, 4):
        return np.einsum("fij,nj->fni", motion[:, :3, :3], vertices) + motion[:, None, :3, 3]
    return motion


CASES = {
    "still": [world_matrix(0.3)] * 3,
    "rigid": [world_matrix(0.3 * i, x=i) for i in range(3)],
    "rigid and uneven": [world_matrix(0.3 * i, x=i, scale=(2.0, -0.1, 7.0)) for i in range(3)],
    "growing": [world_matrix(0.3, scale=(i, i, i)) for i in range(3)],  # from nothing
    "flat": [world_matrix(0.3 * i, scale=(1.0, 1.0, 0.0)) for i in range(3)],
}


@pytest.mark.parametrize("case", CASES)
def test_collider_vertices(case):
    """The core receives each vertex where Blender shows it, and rigid motion as exact turns."""
    one = collider(CASES[case])
    expected = np.stack([place().points(one.world(index)) for index in range(3)])
    assert np.abs(world(one, place()) - expected).max() < 1e-6
    motion = one.core_motion(place())[1]
    assert (motion is None) is (case == "still") is (not one.moves)
    if case.startswith("rigid"):
        turns = motion[:, :3, :3]
        assert np.abs(turns @ turns.swapaxes(1, 2) - np.eye(3)).max() < 1e-14, "single precision is rounded off"


def test_collider_changing_shape():
    """A shape that changes reaches the core vertex by vertex."""
    one = collider([world_matrix(0.0)] * 3, [CORNERS, CORNERS, 2.0 * CORNERS])
    assert not one.rigid and one.moves and one.core_motion(place())[1].shape == (3, 4, 3)
    assert np.abs(world(one, place())[2] - place().points(one.world(2))).max() < 1e-12


def test_collider_rest_pose():
    """The rest pose is the first one in which the shape has a size."""
    assert collider(CASES["growing"]).first_solid_pose == 1
    assert collider([world_matrix(0.0, scale=(0, 0, 0))] * 2).first_solid_pose == -1
    assert collider([world_matrix(0.0, scale=(1, 0, 0))] * 2).first_solid_pose == -1
    assert collider(CASES["flat"]).first_solid_pose == 0


def test_colliders_digest():
    """The digest differs for every change of a place, a shape or an order."""
    made = part("logic.colliders").Colliders
    variants = [
        [],
        [collider(CASES["still"])],
        [collider(CASES["rigid"])],
        [collider(CASES["rigid"][::-1])],
        [collider(CASES["still"], [CORNERS, CORNERS, 2.0 * CORNERS])],
        [collider(CASES["still"], [CORNERS, 2.0 * CORNERS, CORNERS])],
        [collider(CASES["still"]), collider(CASES["rigid"])],
    ]
    digests = [made((), tuple(each)).digest for each in variants]
    assert digests[0] == b"" and len(set(digests)) == len(digests)
    assert made((), (collider(CASES["rigid"]),)).digest == digests[2]
    rows = np.array([2, 1, 0])
    assert made((), (collider(CASES["rigid"]),)).at_poses(rows).digest == digests[3]


def test_colliders_led():
    """Colliders are moved along with the world."""
    made = part("logic.colliders").Colliders((), (collider(CASES["rigid"]),))
    move = np.stack([world_matrix(0.5, x=4.0)] * 3)
    (led,) = made.moved_by_maps(move).each
    expected = np.einsum("ij,nj->ni", move[0][:3, :3], made.each[0].world(1)) + move[0][:3, 3]
    np.testing.assert_allclose(led.world(1), expected, atol=1e-12)


def test_colliders_trace():
    """The trace of a collider is clipped to the reach of the body."""
    made = part("logic.colliders").Colliders
    assert made((), (collider(CASES["still"]),)).trace(place(), 1.0) is None
    far = collider([world_matrix(0.0, x=1000.0 * i) for i in range(3)])
    trace = made((), (far, collider(CASES["still"]))).trace(place(), 0.5)
    assert trace.shape == (3, 4, 4, 3) and np.ptp(trace, axis=0).max() == pytest.approx(0.5)
    np.testing.assert_allclose(far.path(place())[:, 0], far.path(place())[0, 0] + 250.0 * np.arange(3))

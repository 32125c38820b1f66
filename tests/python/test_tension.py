# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tension of skin: relative lengths of edges against the plain skin."""

import numpy as np
import pytest
import shapes
import thew


def relative_lengths(edges, plain, shown):
    """Returns the tension by its definition, in double precision."""
    edges, plain, shown = np.asarray(edges), np.asarray(plain, float), np.asarray(shown, float)
    sums = np.zeros((2, len(plain)))
    for total, points in zip(sums, (plain, shown), strict=True):
        lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
        np.add.at(total, edges[:, 0], lengths)
        np.add.at(total, edges[:, 1], lengths)
    return np.where(sums[0] > 0, sums[1] / np.where(sums[0] > 0, sums[0], 1), 1) - 1


def unique_edges(triangles):
    """Returns each edge of triangles once."""
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0)


def test_tension_definition(arm):
    """Tension follows its definition, for edges and for triangles, whose edges count once each."""
    shown = arm.vertices * (1.0, 0.7, 1.3) + 0.01 * np.sin(40 * arm.vertices)
    edges = unique_edges(np.asarray(arm.triangles))
    expected = relative_lengths(edges, arm.vertices, shown)
    assert expected.min() < -0.1 and expected.max() > 0.1
    for corners in (edges, arm.triangles):
        found = thew.tension(corners, arm.vertices, shown)
        assert found.dtype == np.float32 and found.shape == (len(arm.vertices),)
        # Edges of 5 mm in single precision, 0.5 m from the origin.
        assert np.abs(found - expected).max() < 5e-5


def test_tension_of_scale(arm):
    """Plain skin and rigid motion have no tension, half the length −0.5, twice the length 1, in any unit."""
    plain = arm.vertices
    turn = shapes.bend(0.8)[1][:3, :3]
    assert np.all(thew.tension(arm.triangles, plain, plain) == 0)
    assert np.abs(thew.tension(arm.triangles, plain, plain @ turn.T + 0.3)).max() < 5e-5
    assert np.abs(thew.tension(arm.triangles, plain, 0.5 * plain @ turn.T) + 0.5).max() < 5e-5
    assert np.abs(thew.tension(arm.triangles, plain, 2 * plain) - 1).max() < 1e-6
    shown = plain * (1.0, 0.5, 1.0)
    metres, millimetres = (thew.tension(arm.triangles, unit * plain, unit * shown) for unit in (1, 1000))
    assert np.abs(metres - millimetres).max() < 1e-5


def test_tension_of_clip(arm):
    """The tension of a clip is that of its skin against the artist's skin in the same pose, and 0 where flesh is at rest."""
    poses = np.array([np.tile(np.eye(4), (2, 1, 1)), *[shapes.bend(0.3 * f) for f in range(1, 6)]])
    clip = thew.simulate(arm.body, poses, 24.0)
    for frame in range(len(poses)):
        shown = clip.positions(frame).astype(float)
        expected = relative_lengths(unique_edges(np.asarray(arm.triangles)), shown - clip.offsets(frame), shown)
        found = clip.tension(frame)
        assert found.shape == (len(arm.vertices),)
        assert np.abs(found - expected).max() < 1e-4
        assert frame == 0 or np.abs(found).max() > 0.01
    assert np.array_equal(clip.tension(-3), clip.tension(0)) and np.array_equal(clip.tension(99), clip.tension(5))


def test_tension_far_from_origin(arm):
    """A clip far from the world's origin has the same tension."""
    away = np.eye(4)
    away[:3, 3] = 2000.0, -3000.0, 500.0
    poses = np.array([shapes.bend(0.3 * f) for f in range(4)])
    near, far = (thew.simulate(arm.body, at @ poses, 24.0, gravity=(0, 0, 0)) for at in (np.eye(4), away))
    # Poses themselves are in double precision; flesh moves alike to a few micrometres.
    assert np.abs(near.tension(3) - far.tension(3)).max() < 2e-3 < np.abs(near.tension(3)).max()


@pytest.mark.parametrize(
    ("edges", "plain", "shown", "sentence"),
    [
        ([[0, 3]], np.zeros((3, 3)), np.zeros((3, 3)), "edge 0 names vertex 3, but the mesh has 3 vertices"),
        ([[0, -1]], np.zeros((3, 3)), np.zeros((3, 3)), "negative index"),
        ([[0, 1, 7]], np.zeros((3, 3)), np.zeros((3, 3)), "names vertex 7"),
        ([[0, 2**40]], np.zeros((3, 3)), np.zeros((3, 3)), "names vertex"),
        ([[0.0, 1.0]], np.zeros((3, 3)), np.zeros((3, 3)), "whole numbers"),
        ([[0, 1, 2, 0]], np.zeros((3, 3)), np.zeros((3, 3)), "edges of shape"),
        (
            [[0, 1]],
            np.zeros((3, 3)),
            np.zeros((2, 3)),
            "shown has 2 vertices, and plain has 3: give both of the same mesh",
        ),
        ([[0, 1]], np.zeros((3, 2)), np.zeros((3, 3)), "plain: expected an array of shape"),
        ([[0, 1]], np.zeros((3, 3)), np.full((3, 3), np.nan), "shown has no usable position for vertex 0"),
        ([[0, 1]], np.full((3, 3), 1e30), np.zeros((3, 3)), "plain has no usable position"),
    ],
)
def test_tension_refusals(edges, plain, shown, sentence):
    """What does not fit is refused by its place."""
    with pytest.raises(thew.InputError, match=sentence):
        thew.tension(edges, plain, shown)


def test_tension_of_nothing():
    """Vertices without edges, or with edges without length, have no tension."""
    assert np.array_equal(thew.tension([], np.zeros((2, 3)), np.ones((2, 3))), [0, 0])
    assert np.array_equal(thew.tension([[0, 1]], np.zeros((2, 3)), np.eye(3)[:2]), [0, 0])
    assert thew.tension([], np.zeros((0, 3)), np.zeros((0, 3))).shape == (0,)

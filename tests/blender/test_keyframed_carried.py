# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of keyframed surfaces: small ones ride on it, sculpts tear doubled vertices, large ones move by themselves."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, part, play
from keyframing import add_shapes, motion_of


def make_object(vertices, faces, **shapes):
    """Builds an object with shape keys, active."""
    mesh = bpy.data.meshes.new("Made")
    mesh.from_pydata(np.asarray(vertices, float).tolist(), [], [list(map(int, face)) for face in faces])
    obj = bpy.data.objects.new("Made", mesh)
    bpy.context.scene.collection.objects.link(obj)
    activate(obj)
    add_shapes(obj, shapes)
    return obj


def sheet(columns=24, rows=10, height=0.0):
    u, v = np.meshgrid(np.linspace(0, 6, columns), np.linspace(0, 2.5, rows), indexing="ij")
    at = np.arange(columns * rows).reshape(columns, rows)
    quads = np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]], axis=-1).reshape(-1, 4)
    return np.stack([u, v, 0 * u + height], axis=-1).reshape(-1, 3), quads


def bend(points, angle=1.4):
    p = np.array(points, dtype=float)
    turn = angle * p[:, 0] / 6
    radius = 6 / angle - p[:, 2]
    return np.stack([radius * np.sin(turn), p[:, 1], 6 / angle - radius * np.cos(turn)], axis=1)


TETRA = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.08
TETRA_FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def studded_sheet(count=20):
    """Builds a sheet with small tetrahedra on it, and returns which vertices are theirs."""
    points, quads = sheet()
    faces = [*quads.tolist()]
    rng = np.random.default_rng(1)
    for _ in range(count):
        faces += (TETRA_FACES + len(points)).tolist()
        points = np.vstack([points, TETRA + [*rng.uniform([0.4, 0.4], [5.4, 2.0]), 0.02]])
    return points, faces, np.arange(len(points)) >= 240


def lengths(points, own):
    """Returns the edge lengths of the tetrahedra, [..., count, 6]."""
    each = points[..., own, :].reshape(*points.shape[:-2], -1, 4, 3)
    a, b = np.triu_indices(4, 1)
    return np.linalg.norm(each[..., a, :] - each[..., b, :], axis=-1)


@pytest.mark.parametrize("rest", ["KEYS", "BASIS"])
def test_small_parts_ride(addon, rest):
    """Small parts ride on the surface and keep their shape."""
    points, faces, small = studded_sheet()
    # Moved as one, so that what an edge of them changes by is the motion's own.
    place = points.copy()
    for i in np.flatnonzero(small)[::4]:
        place[i : i + 4] = points[i]
    obj = make_object(points, faces, Bent=lambda v: bend(place) + (points - place), End=lambda v: v + 0.0)
    assert bpy.ops.thew.keyframed_add(frame_start=1, frame_end=25) == {"FINISHED"}
    obj.thew.keyframed.rest = rest
    moving = play(obj, range(1, 26))
    np.testing.assert_allclose(lengths(moving, small), np.broadcast_to(lengths(points, small), (25, 20, 6)), atol=2e-5)
    assert np.abs(play(obj, [1])[0] - (bend(place) + points - place)).max() < 1e-4
    # They stay on the sheet, which swings as it does alone.
    alone = motion_of(obj).surface
    assert len(alone.riders.vertices) == small.sum() and len(alone.welded.first) == 240
    gap = np.linalg.norm(moving[:, small][:, ::4, None] - moving[:, None, :240], axis=-1).min(axis=2)
    assert gap.max() < 0.35 and "ride on the surface" in obj.thew.made.notes


def test_torn_doubles_hold(addon):
    """Doubled vertices that a sculpt tears apart do not let the mesh fall apart."""
    points, quads = sheet(height=1.0)
    # Every face has vertices of its own, as glTF writes hard edges; the sculpt pushes each along its own normal.
    split, faces = points[quads].reshape(-1, 3), np.arange(quads.size).reshape(-1, 4)
    lift = np.repeat(np.random.default_rng(2).normal(0.0, 0.02, (len(quads), 3)), 4, axis=0)
    obj = make_object(split, faces, Torn=lambda v: bend(v) + lift, End=lambda v: v + 0.0)
    assert bpy.ops.thew.keyframed_add(frame_start=1, frame_end=25) == {"FINISHED"}
    assert len(motion_of(obj).surface.welded.first) == len(points)
    assert "that sculpts part" in obj.thew.made.notes
    first, middle, last = play(obj, [1, 13, 25])
    assert np.abs(first - bend(split) - lift).max() < 1e-4 and np.abs(last - split).max() < 1e-4
    # Between keys doubles are as far apart as plain curves have them: no farther than in the sculpt.
    assert np.isfinite(middle).all() and np.abs(middle - split).max() < 1.2 * np.abs(first - split).max()


def test_large_parts_lead(addon):
    """Large parts that stand apart move by themselves."""
    carried = part("logic.carried_vertices")
    points, quads = sheet()
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    near, far = points + [0, 0, 0.02], points + [0, 0, 3.0]
    for other, alone in ((far, True), (near, False)):
        both = np.vstack([points, other])
        faces = np.vstack([triangles, triangles + len(points)])
        label = carried.parts(faces, len(both))
        assert label.max() == 1
        assert carried.leading_triangles(both, faces, label).sum() == len(triangles) * (2 if alone else 1)


def test_parts_connected(addon):
    """Parts are the vertices that triangles join."""
    carried = part("logic.carried_vertices")
    chain = np.array([[0, 1, 2], [2, 3, 4], [9, 8, 7], [5, 6, 4]])
    label = carried.parts(chain, 11)
    assert len(set(label[:7])) == 1 and len(set(label[[7, 8, 9]])) == 1 and len(set(label)) == 3

# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers over the skin, without Blender."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
layers = importlib.import_module("logic.layers")

rng = np.random.default_rng(5)


class Floor:
    """A flat square of four triangles around the origin, as the native surface answers."""

    vertices = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 0]], float)
    triangles = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    size = float(np.sqrt(8.0))

    def closest_point(self, points):
        points = np.asarray(points)
        foot = np.concatenate([np.clip(points[:, :2], -1, 1), np.zeros((len(points), 1))], axis=1)
        side = np.stack([-foot[:, 1], foot[:, 0], foot[:, 1], -foot[:, 0]], axis=1).argmax(axis=1)
        return foot, np.linalg.norm(points - foot, axis=1), side


def sheet(count: int, height) -> tuple[np.ndarray, np.ndarray]:
    """Builds a square grid over the floor: points [m, 3] and edges [e, 2]."""
    x, y = np.meshgrid(np.linspace(-0.9, 0.9, count), np.linspace(-0.9, 0.9, count), indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), np.broadcast_to(height, x.shape).ravel()], axis=1)
    number = np.arange(count * count).reshape(count, count)
    rows, columns = (np.stack([a.ravel(), b.ravel()], axis=1) for a, b in (
        (number[:, :-1], number[:, 1:]), (number[:-1], number[1:])
    ))  # fmt: skip
    return points, np.concatenate([rows, columns])


def test_layer_close_follows_skin():
    """A close layer takes exactly any field that is linear on the skin's triangles."""
    points, edges = sheet(12, 0.01)
    layer = layers.layer(Floor(), points, edges, rng.random((len(points), 2)))
    skin = rng.normal(size=(5, 3))
    added = layer.offsets(skin)
    foot, _, faces = Floor().closest_point(points)
    corners = Floor.triangles[faces]
    a, b, c = (Floor.vertices[corners[:, i], :2] for i in range(3))
    shares = np.linalg.solve(np.stack([b - a, c - a], axis=2), (foot[:, :2] - a)[:, :, None])[:, :, 0]
    wanted = skin[corners[:, 0]] + np.einsum("mk,mkj->mj", shares, skin[corners[:, 1:]] - skin[corners[:, :1]])
    np.testing.assert_allclose(added, wanted, atol=1e-6)
    np.testing.assert_allclose(layer.distance, 0.01, atol=1e-12)


def test_layer_keeps_uniform_offset():
    """A uniform offset stays uniform at any distance."""
    points, edges = sheet(12, 0.5)
    layer = layers.layer(Floor(), points, edges, None)
    np.testing.assert_allclose(
        layer.offsets(np.tile([1.0, -2.0, 3.0], (5, 1))), np.tile([[1, -2, 3]], (144, 1)), atol=1e-5
    )


def test_layer_far_smooth():
    """A sheet that hangs over two parting limbs is torn less than the limbs part."""
    points, edges = sheet(40, 0.4)

    class Limbs(Floor):
        vertices = np.array([[-1, -1, 0], [-1, 1, 0], [-0.1, 0, 0], [1, -1, 0], [1, 1, 0], [0.1, 0, 0]], float)
        triangles = np.array([[0, 2, 1], [3, 4, 5]])

        def closest_point(self, points):
            right = points[:, 0] > 0.0
            return points, np.full(len(points), 0.4), right.astype(int)

    layer = layers.layer(Limbs(), points, edges, rng.random((len(points), 2)))
    skin = np.repeat([[-1.0, 0, 0], [1.0, 0, 0]], 3, axis=0)
    added = layer.offsets(skin)
    step = np.abs(added[edges[:, 0]] - added[edges[:, 1]]).max()
    assert step < 0.5  # 2 without
    assert np.abs(added[:, 0]).max() > 0.99


@pytest.mark.parametrize("weighted", [False, True])
def test_layer_small_pieces_rigid(weighted):
    """Small pieces such as buttons move rigidly, and a larger sheet bends."""
    sheet_points, sheet_edges = sheet(6, 0.01)
    button = rng.uniform(-0.02, 0.02, (8, 3))
    ring = np.stack([np.arange(8), (np.arange(8) + 1) % 8], axis=1)
    points = np.concatenate([sheet_points, button + [0.5, 0, 0.03], button + [-0.5, 0, 0.03]])
    edges = np.concatenate([sheet_edges, ring + 36, ring + 44])
    weights = np.ones((len(points), 1)) if weighted else None
    layer = layers.layer(Floor(), points, edges, weights)
    assert (layer.pieces[:36] == -1).all() and (layer.pieces[36:] == np.repeat([0, 1], 8)).all()
    added = layer.offsets(rng.normal(size=(5, 3)))
    assert np.ptp(added[36:44], axis=0).max() == 0.0 and np.ptp(added[44:], axis=0).max() == 0.0
    assert np.ptp(added[:36], axis=0).max() > 0.1


def test_hard_pieces_exclude_bent():
    """A small piece that bones bend, or that is too large, is not rigid."""
    button = rng.uniform(-0.02, 0.02, (8, 3))
    ring = np.stack([np.arange(8), (np.arange(8) + 1) % 8], axis=1)
    weights = np.stack([np.linspace(0, 1, 8), np.linspace(1, 0, 8)], axis=1)
    assert (layers.hard_pieces(button, ring, weights, 0.2) == -1).all()
    assert (layers.hard_pieces(button, ring, None, 0.2) == 0).all()
    assert (layers.hard_pieces(button, ring, None, 0.001) == -1).all()


def test_components_match_brute_force():
    """The connected components are those of a search by matrix powers."""
    for _ in range(20):
        count = int(rng.integers(1, 60))
        edges = rng.integers(0, count, (int(rng.integers(0, count)), 2))
        found = layers.components(count, edges)
        near = np.eye(count, dtype=bool)
        near[edges[:, 0], edges[:, 1]] = near[edges[:, 1], edges[:, 0]] = True
        for _ in range(6):
            near = (near.astype(int) @ near.astype(int)) > 0
        assert np.array_equal(found[:, None] == found[None], near)


def test_layer_sword_follows_hand():
    """A long piece on one bone stays rigid and follows its near end; one that lies on the skin bends with it."""
    points = np.stack([np.linspace(-0.8, 0.8, 33), np.zeros(33), np.linspace(0.01, 1.2, 33)], axis=1)
    edges = np.stack([np.arange(32), np.arange(1, 33)], axis=1)
    skin = rng.normal(size=(5, 3))
    one = np.ones((33, 1))
    stood = layers.layer(Floor(), points, edges, one).offsets(skin)
    assert np.ptp(stood, axis=0).max() < 1e-6
    near = layers.layer(Floor(), points[:1], np.zeros((0, 2), int), one[:1]).offsets(skin)
    np.testing.assert_allclose(stood[0], near[0], atol=0.1)
    flat = points * (1.0, 1.0, 0.0) + (0.0, 0.0, 0.01)
    assert np.ptp(layers.layer(Floor(), flat, edges, one).offsets(skin), axis=0).max() > 0.1
    assert np.ptp(layers.layer(Floor(), points, edges, None).offsets(skin), axis=0).max() > 0.1  # a cloth that hangs

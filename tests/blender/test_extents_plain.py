# SPDX-License-Identifier: MIT OR Apache-2.0
"""The size of a character of several meshes: props far away, and meshes that surround everything, do not count."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
extents = importlib.import_module("logic.extents")


def cube(half, at=0.0):
    return np.array([at - half, -half, -half]), np.array([at + half, half, half])


BONES = np.array([[0.0, 0.0, z] for z in (-0.9, -0.3, -0.3, 0.3, 0.3, 0.9)])


def test_whole_near_and_far():
    """A mesh that is near counts for the size, and one that is far does not."""
    own, hat, cart = cube(1.0), cube(0.2, 1.5), cube(1.0, 30.0)
    low, high = extents.whole_box(own, [cart, hat], BONES)
    assert high[0] == pytest.approx(1.7) and low[0] == -1.0
    assert all(np.array_equal(a, b) for a, b in zip(extents.whole_box(own, [cart], BONES), own, strict=True))


def test_whole_row_of_meshes():
    """A row of meshes counts in whatever order they are given."""
    row = [cube(0.5, x) for x in (4.0, 2.0, 6.0, 8.0)]
    for others in (row, row[::-1]):
        assert extents.whole_box(cube(1.0), others, BONES)[1][0] == pytest.approx(8.5)


def test_whole_ignores_dome():
    """A dome around everything does not count."""
    assert extents.whole_box(cube(1.0), [cube(100.0)], BONES)[1][0] == 1.0
    # An eye's own body is far larger than the eye.
    assert extents.whole_box(cube(0.02), [cube(1.0)], BONES)[1][0] == 1.0


def test_box_without_points():
    """A mesh without finite points has an empty box, and does not count."""
    for points in (np.empty((0, 3)), np.full((2, 3), np.nan)):
        low, high = extents.box(points)
        assert np.isinf(low).all() and np.isinf(high).all()
        assert extents.whole_box(cube(1.0), [(low, high)], BONES)[1][0] == 1.0

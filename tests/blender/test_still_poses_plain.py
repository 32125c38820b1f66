# SPDX-License-Identifier: MIT OR Apache-2.0
"""Poses that stand still at the end of a range: found where they are most of it, and nowhere else."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
still_poses = importlib.import_module("logic.still_poses")


def rows(moving: int, still: int, scale: float = 1.0) -> np.ndarray:
    """Returns rows of which the first `moving` differ from all others."""
    rng = np.random.default_rng(moving)
    found = rng.normal(size=(moving + still, 32))
    found[moving:] = found[moving]
    return (scale * found).astype(np.float32)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 300.0])
@pytest.mark.parametrize(("moving", "still"), [(1, 9), (30, 220), (30, 33)])
def test_still_end_found(moving, still, scale):
    """The first of the rows that stand still is found at every scale; rounding of single precision is no motion."""
    found = rows(moving, still, scale)
    assert still_poses.still_row(found) == moving
    noise = np.random.default_rng(0).uniform(-1.0, 1.0, found.shape) * np.finfo(np.float32).eps
    assert still_poses.still_row(found * (1.0 + noise)) == moving


@pytest.mark.parametrize(("moving", "still"), [(10, 5), (30, 25), (0, 40), (2, 0), (40, 1)])
def test_no_still_end(moving, still):
    """A held last pose, a range without any motion, and one of few frames are not told."""
    assert still_poses.still_row(rows(moving, still) if still else rows(1, 1)[:moving]) is None


def test_motion_after_standstill():
    """A character that stands still for long and then goes on moves to the end."""
    found = rows(5, 100)
    found[-3:] += 1.0
    found[-2:] += 1.0
    found[-1:] += 1.0
    assert still_poses.still_row(found) is None

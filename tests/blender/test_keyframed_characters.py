# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh on characters of the folder THEW_DATA: two sculpts of the belly enrich a walk, and the face is left
alone."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import clips, load, meshes, play_clip
from conftest import data_folder
from helpers import activate, play, size_of
from keyframing import add_shapes, motion_of

FOLDER = data_folder("characters")


@pytest.mark.skipif(FOLDER is None or not (FOLDER / "Fox.glb").exists(), reason="no Fox.glb: set THEW_DATA")
def test_keyframed_fox(addon):
    """Two sculpts of a running fox's belly move it, leave the rest alone, and bake as they play."""
    load(FOLDER / "Fox.glb")
    action = next(action for action in clips() if "Run" in action.name)
    frames = play_clip(action, 24)
    body = meshes()[0]
    activate(body)
    points = np.array([v.co for v in body.data.vertices])
    low, high = points.min(axis=0), points.max(axis=0)
    size, along = size_of(points), int(np.argmax(high - low))
    middle = np.exp(-(((points[:, along] - (low + high)[along] / 2) / (0.12 * size)) ** 2))
    middle[middle < 0.05] = 0.0
    out = (points - points.mean(axis=0)) / size
    add_shapes(body, {
        "In": lambda v: v - 0.05 * size * middle[:, None] * out, "Out": lambda v: v + 0.25 * size * middle[:, None] * out,
    })  # fmt: skip
    still = body.vertex_groups.new(name="Still")
    still.add(np.flatnonzero(middle == 0.0).tolist(), 1.0, "REPLACE")
    chosen = list(frames)[:: max(1, len(frames) // 8)]
    skinned = play(body, chosen)
    assert bpy.ops.thew.keyframed_add(cyclic=True, frame_start=frames[0], frame_end=frames[-1]) == {"FINISHED"}
    body.thew.keyframed.fixed = "Still"
    moving = play(body, chosen)
    away = np.linalg.norm(moving - skinned, axis=2)
    assert np.isfinite(moving).all() and not body.thew.made.notes.count("not a number")
    assert away[:, middle == 0.0].max() < 1e-4 * size and 0.005 * size < away.max() < 0.5 * size
    assert motion_of(body).surface.welded.doubled > 0  # glTF parts vertices at seams
    assert bpy.ops.thew.keyframed_bake(frame_start=frames[0], frame_end=frames[-1]) == {"FINISHED"}
    assert np.abs(play(body, chosen) - moving).max() < 1e-5 * size

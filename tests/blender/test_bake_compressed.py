# SPDX-License-Identifier: GPL-3.0-or-later
"""Compressed Keys: few keys within the error that was asked for, against the bake of a key a frame."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, part, play

FRAMES = range(1, 21)


@pytest.fixture
def exact(character):
    """Returns (body with an exact bake of the scene's range, its positions in each frame)."""
    body, _ = character
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.bake() == {"FINISHED"}
    return body, np.stack(play(body, FRAMES))


def compressed(body, tolerance: float, **more):
    assert bpy.ops.thew.bake(target="COMPRESSED", tolerance=tolerance, **more) == {"FINISHED"}
    return body.thew.bakes[more.get("name", "Compressed Keys")]


def test_compressed_keys_keep_the_error(exact):
    """At each error allowed the shown mesh is within it, the record says how far off, and less error needs more keys."""
    body, wanted = exact
    counts = []
    for tolerance in (5.0, 1.0, 0.1):
        bake = compressed(body, tolerance)
        clip = bake.clips[0]
        metres = part("bake.body_source").metres_per_unit(part("live.session").register.state_of(body), np.eye(4))
        missed = 1e3 * metres * np.linalg.norm(np.stack(play(body, FRAMES)) - wanted, axis=2)
        off = missed.max()
        assert off <= 1.02 * tolerance
        assert 1e3 * clip.error == pytest.approx(off, rel=0.1, abs=0.01)
        there = missed[clip.error_frame - FRAMES[0], clip.error_vertex]
        assert there == pytest.approx(off, rel=0.1, abs=0.01)
        assert bake.tolerance == pytest.approx(1e-3 * tolerance)
        counts.append(len(bake.key_names))
    assert counts[0] < counts[1] < counts[2] <= len(FRAMES) + 1  # one holds the weights below 0


def test_compressed_keys_are_still_outside_the_clip(exact):
    """Outside the frames of the clip every weight is 0, and the stored values are 0."""
    body, _ = exact
    bake = compressed(body, 1.0)
    names = set(bake.key_names)
    bpy.context.scene.frame_set(FRAMES[-1] + 1)
    assert all(abs(key.value) < 1e-6 for key in body.data.shape_keys.key_blocks if key.name in names)


def test_compressed_bake_stands_beside_the_exact_one(exact):
    """Two bakes of an object stand side by side; removing one leaves the other as it was."""
    body, wanted = exact
    compressed(body, 1.0)
    assert [bake.name for bake in body.thew.bakes] == ["Shape Keys", "Compressed Keys"]
    assert bpy.ops.thew.bake_remove(name="Compressed Keys") == {"FINISHED"}
    assert bpy.ops.thew.bake_show(name="Shape Keys") == {"FINISHED"}
    assert np.abs(np.stack(play(body, FRAMES)) - wanted).max() < 1e-6


def test_clips_baked_together_share_keys(exact):
    """All actions in one bake need fewer keys than each by itself, and every clip keeps the error."""
    body, _ = exact
    armature = part("scene.key_playing").moving_armature(body)
    other = armature.animation_data.action.copy()
    other.name = "Copy"
    bake = compressed(body, 1.0, clips="ALL")
    assert sorted(clip.label for clip in bake.clips) == sorted(
        action.name for action in bpy.data.actions if action.name in {"Copy", armature.animation_data.action.name}
    )
    assert all(clip.error <= 1.02e-3 for clip in bake.clips)
    both = len(bake.key_names)
    alone = compressed(body, 1.0, clips="CHOSEN", actions="Copy", name="Alone")
    assert both <= len(alone.key_names) + 2


def test_sizes_in_words():
    """Sizes and limits are told in words."""
    sizes = part("logic.bake_sizes")
    assert sizes.estimate("SHAPE_KEYS", 260, 13380) == "260 keys, 41.7 MB"
    assert sizes.estimate("COMPRESSED", 20, 1000) == "usually 8 to 20 keys, 96 kB to 240 kB"
    assert "Filament" in sizes.limit_text(300) and "4 keys" in sizes.limit_text(30) and sizes.limit_text(3) == ""

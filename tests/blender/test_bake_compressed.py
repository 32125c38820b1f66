# SPDX-License-Identifier: GPL-3.0-or-later
"""Compressed Keys: few keys within the error that was asked for, against the bake of a key a frame."""

from __future__ import annotations

import contextlib
import io

import bpy
import numpy as np
import pytest
import roundtrips
from gltf_file import GltfFile
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


def test_regions_in_words():
    """Regions take more keys and fewer bytes, in words before the bake."""
    sizes = part("logic.bake_sizes")
    assert sizes.estimate("COMPRESSED", 200, 1000, regions=16).startswith(
        "usually 32 to 192 keys, 39.1 kB to 179 kB in glTF"
    )
    words = " ".join(sizes.estimate_lines("COMPRESSED", [200], 1000, regions=32))
    assert "Filament" in words and "fewer regions" in words and "bake Compressed Keys" not in words


def test_regions_of_bones():
    """Regions are whole bones' skins: the smallest joins the one with which it blends, and without bones parts are near each other."""
    regions = part("logic.key_regions")
    rng = np.random.default_rng(3)
    points = rng.normal(size=(60, 3))
    weights = np.zeros((60, 4))
    weights[:30, 0] = weights[30:50, 1] = weights[50:58, 2] = weights[58:, 3] = 1.0
    weights[58:, 3], weights[58:, 2] = 0.6, 0.4
    labels = regions.bone_regions(weights, points, 3)
    assert [len(set(labels[part].tolist())) for part in (slice(30), slice(30, 50), slice(50, 60))] == [1, 1, 1]
    assert len(set(labels.tolist())) == 3 and len(set(regions.bone_regions(weights, points, 9).tolist())) == 4
    assert set(regions.bone_regions(weights, points, 1).tolist()) == {0}
    apart = np.concatenate([points[:20], points[:20] + 50.0, points[:20] - 50.0])
    near = regions.near_regions(apart, 3)
    assert [len(set(near[at : at + 20].tolist())) for at in (0, 20, 40)] == [1, 1, 1] and len(set(near.tolist())) == 3
    assert len(set(regions.near_regions(points[:2], 8).tolist())) == 2


def test_regions_come_back(exact, tmp_path):
    """Keys of regions keep the error, move parts of the mesh, come back from glTF, and its sparse accessors make the file smaller."""
    body, wanted = exact
    tolerance = 0.5
    whole = compressed(body, tolerance)
    count = len(whole.key_names)
    parts = compressed(body, tolerance, regions=3, name="Regions")
    assert parts.regions == 3 and part("bake.remaking").form_of(parts)["regions"] == 3
    shown = np.stack(play(body, FRAMES))
    metres = part("bake.body_source").metres_per_unit(part("live.session").register.state_of(body), np.eye(4))
    assert 1e3 * metres * np.linalg.norm(shown - wanted, axis=2).max() <= 1.02 * tolerance
    blocks = body.data.shape_keys.key_blocks
    basis = part("scene.mesh").key_positions(blocks[0])
    moved = [(part("scene.mesh").key_positions(blocks[name]) != basis).any(axis=1).mean() for name in parts.key_names]
    assert len(moved) > count and sorted(moved)[-2] < 0.75, "all but the key that holds smallest weights move a part"
    sizes = {}
    for sparse in (True, False):
        path = tmp_path / f"{sparse}.glb"
        options = {"export_try_sparse_sk": sparse, "export_morph_normal": False}
        with contextlib.redirect_stdout(io.StringIO()):
            assert bpy.ops.export_scene.gltf(filepath=str(path), **options) == {"FINISHED"}
        sizes[sparse] = GltfFile(path).size
    assert sizes[True] < 0.8 * sizes[False]
    action = part("scene.key_playing").moving_armature(body).animation_data.action.name
    shown = roundtrips.shapes(body, FRAMES)
    roundtrips.bring_back(tmp_path / "True.glb")
    back = roundtrips.baked_mesh()
    roundtrips.play_animation(back, action)
    came = roundtrips.shapes(back, FRAMES)
    owners = roundtrips.owners(shown, came)
    assert roundtrips.largest_distances(shown[:, owners], came).max() < 1e-4

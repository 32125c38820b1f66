# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF files of several clips in programs of others: the Khronos validator finds no error, and three.js plays what was seen.

Both come from npm, and the tests are skipped where it is away.
"""

from __future__ import annotations

import bpy
import npm
import numpy as np
import pytest
import roundtrips
from conftest import in_one_blender
from dancing import ACTIONS, clip_shapes, make_dancer
from gltf_file import GltfFile
from helpers import activate, size_of

#: What exporters and three.js round, as a share of the size: they compute in single precision.
ROUNDING = 2e-5
FRAMES = {name: np.arange(int(first), int(last) + 1) for name, (first, last, *_) in ACTIONS.items()}
#: Times of the frames in a file, s: the exporter lets those before frame 0 begin at 0.
TIMES = {name: (frames - min(frames[0], 0)) / 24.0 for name, frames in FRAMES.items()}


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature) with the actions Run, Walk and Turn, and Idle, of which there is no clip."""
    npm.modules()
    body, rig = make_dancer()
    body.parent = rig
    bpy.data.actions["Walk"].copy().name = "Idle"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def bake(body, **options) -> None:
    activate(body)
    assert bpy.ops.thew.bake(clips="CHOSEN", actions="Run;Walk;Turn", **options) == {"FINISHED"}


def check_file(path, body, rig, keys: int) -> None:
    """Exports, and asserts that the validator finds no fault and that three.js plays each clip as Blender shows it."""
    shown = {name: clip_shapes(body, rig, name, frames) for name, frames in FRAMES.items()}
    assert bpy.ops.export_scene.gltf(filepath=str(path)) == {"FINISHED"}
    # The exporter puts a mesh below the armature that moves it.
    issues = [
        issue for issue in npm.validate(path)["issues"]["messages"] if issue["code"] != "NODE_SKINNED_MESH_NON_ROOT"
    ]
    assert [issue for issue in issues if issue["severity"] < 2] == []
    file = GltfFile(path)
    assert file.target_count("Body") == keys and set(file.animation_names()) == {*ACTIONS, "Idle"}
    assert not file.weights("Body", None, 0.0).any()
    still, played = npm.play_in_three(
        path, "Body", {name: times.tolist() for name, times in TIMES.items()} | {"Idle": [0.7]}
    )
    size = size_of(still)
    assert np.abs(still - file.positions("Body", None, 0.0)).max() < ROUNDING * size
    assert np.abs(played["Idle"] - file.positions("Body", "Idle", 0.7)).max() < ROUNDING * size
    for name, shapes in shown.items():
        owner = roundtrips.owners(shapes, played[name])
        assert np.linalg.norm(played[name] - shapes[:, owner], axis=2).max() < ROUNDING * size, name


def test_three_compressed_clips(dancer, tmp_path):
    """Compressed keys of several clips play in three.js, each with its action, and an action without a clip has the plain skin."""
    body, rig = dancer
    bake(body, target="COMPRESSED", tolerance=2.0)
    check_file(tmp_path / "dancer.glb", body, rig, len(body.thew.bakes[0].key_names))


@in_one_blender
def test_three_several_bakes(dancer, tmp_path):
    """Of several named bakes the one that is shown leaves, without the keys of the others."""
    body, rig = dancer
    bake(body, target="COMPRESSED", tolerance=2.0, name="Fine")
    bake(body, target="COMPRESSED", tolerance=20.0, name="Coarse")
    bake(body, name="Exact")
    keys = {each.name: len(each.key_names) for each in body.thew.bakes}
    assert keys["Coarse"] < keys["Fine"] < keys["Exact"] == 58
    for name in ("Exact", "Coarse"):
        assert bpy.ops.thew.bake_show(name=name) == {"FINISHED"}
        check_file(tmp_path / f"{name}.glb", body, rig, keys[name])

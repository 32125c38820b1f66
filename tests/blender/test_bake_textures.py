# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex textures: what an engine reads is what was shown, the node group plays it, and removal takes everything."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np
import pytest
from helpers import activate, part, play, refusal, size_of, snapshot, world
from test_tension import tension_of

FRAMES = range(1, 21)


@pytest.fixture
def saved(fleshed_character, tmp_path):
    """Builds (mesh, armature) with flesh, in a saved file."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    return fleshed_character


def described(body) -> tuple[Path, dict]:
    """Returns the description of the only texture, and its path."""
    (path,) = {Path(bpy.path.abspath(clip.file)) for bake in body.thew.bakes for clip in bake.clips}
    return path, json.loads(path.read_text())


def engine_offsets(body, path: Path, told: dict, clip: dict) -> np.ndarray:
    """Returns the offsets that a shader would read by the UV layer, [f, n, 3]."""
    texels = engine_texels(body, path, told, clip)
    return np.array(told["offset_min"]) + np.array(told["offset_scale"]) * texels[..., :3]


def engine_tension(body, path: Path, told: dict, clip: dict) -> np.ndarray:
    """Returns the tension that a shader would read, [f, n]."""
    return told["tension"]["min"] + told["tension"]["scale"] * engine_texels(body, path, told, clip)[..., 3]


def engine_texels(body, path: Path, told: dict, clip: dict) -> np.ndarray:
    """Returns the texels of the vertices by the UV layer, [f, n, 4]; written without the extension's reader."""
    image = bpy.data.images.load(str(path.with_name(told["texture"])), check_existing=False)
    image.colorspace_settings.name = "Non-Color"
    image.alpha_mode = "CHANNEL_PACKED"
    width, height = image.size
    flat = np.empty(4 * width * height, dtype=np.float32)
    image.pixels.foreach_get(flat)
    pixels = flat.reshape(height, width, 4).astype(np.float64)
    layer = body.data.uv_layers["Thew Offsets"]
    texel = np.zeros((len(body.data.vertices), 2))
    for loop, uv in zip(body.data.loops, layer.uv, strict=True):
        texel[loop.vertex_index] = uv.vector
    rows = []
    for frame in range(clip["frames"]):
        shift = (clip["first_row"] + frame * told["rows_per_frame"]) * told["v_from_bottom"]["step"]
        x = np.floor(texel[:, 0] * width).astype(int)
        y = np.floor((texel[:, 1] + shift) * height).astype(int)
        rows.append(pixels[y, x])
    bpy.data.images.remove(image)
    return np.array(rows)


@pytest.mark.parametrize("image", ["EXR", "PNG"])
def test_texture_comes_back(saved, image):
    """The shader's offsets equal the rest-space keys, the node group plays them, and Remove leaves nothing."""
    body, _ = saved
    body.data.uv_layers.new(name="UVMap")
    live, before, size = play(body, FRAMES), snapshot(body), None
    size = size_of(live[0])
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", image=image) == {"FINISHED"}
    path, told = described(body)
    assert [clip["name"] for clip in told["clips"]] == ["Scene"] and told["fps"] == 24
    found = engine_offsets(body, path, told, told["clips"][0])
    shown = play(body, FRAMES)
    assert np.abs(shown - live).max() < 2e-4 * size
    assert body.data.uv_layers.active.name == "UVMap"
    assert bpy.ops.thew.bake(target="SHAPE_KEYS", space="REST") == {"FINISHED"}
    keys = body.data.shape_keys.key_blocks
    rest = np.array([point.co for point in keys[0].points])
    wanted = np.array([[point.co for point in key.points] for key in list(keys)[1:]]) - rest
    assert np.abs(found - wanted).max() <= told["max_error"] + 1e-6
    assert np.abs(found - wanted).max() < 1e-4 * size
    assert bpy.ops.thew.bake_remove(name="Shape Keys") == {"FINISHED"}
    assert bpy.ops.thew.bake_remove(name="Vertex Texture") == {"FINISHED"}
    assert bpy.ops.thew.show_live.poll() and not path.exists() and not path.parent.exists()
    after = snapshot(body)
    assert after["modifiers"] == before["modifiers"] and after["attributes"] == before["attributes"]
    assert after["data"] == before["data"] and not len(bpy.data.images)
    assert np.array_equal(play(body, FRAMES), live)


@pytest.mark.parametrize("image", ["EXR", "PNG"])
def test_texture_tension(saved, image):
    """Alpha is the tension of the live flesh, the node group stores it, and offsets are as without it."""
    body, _ = saved
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", image=image) == {"FINISHED"}
    path, told = described(body)
    without = engine_offsets(body, path, told, told["clips"][0])
    assert "tension" not in told and tension_of(body) is None
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    body.thew.store_tension = True
    live, shapes = play(body, FRAMES, tension_of), play(body, FRAMES)
    assert np.abs(live).max() > 0.05
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", image=image) == {"FINISHED"}
    path, told = described(body)
    found = engine_tension(body, path, told, told["clips"][0])
    assert np.abs(found - live).max() <= told["tension"]["max_error"] + 2e-5
    assert told["tension"]["max_error"] < 1e-4
    assert np.abs(engine_offsets(body, path, told, told["clips"][0]) - without).max() < 1e-6
    shown = play(body, FRAMES, tension_of)
    assert np.abs(shown - found).max() < 1e-5
    assert np.abs(play(body, FRAMES) - shapes).max() < 2e-4 * size_of(shapes[0])
    bpy.context.scene.frame_set(FRAMES[-1] + 5)
    assert not tension_of(body).any()
    body.thew.store_tension = False
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", image=image) == {"FINISHED"}
    bpy.context.scene.frame_set(9)
    assert tension_of(body) is None and len(bpy.data.images) == 1
    assert len([group for group in bpy.data.node_groups if "thew_texture" in group]) == 1
    assert bpy.ops.thew.bake_remove(name="Vertex Texture") == {"FINISHED"}
    assert not len(bpy.data.images)


def test_texture_tension_of_actions(saved):
    """Clips that were baked without tension get that before the armature acts when one with it joins them."""
    body, armature = saved
    first = armature.animation_data.action
    other = first.copy()
    other.name = "Other"
    name = {"target": "VERTEX_TEXTURE", "clips": "CHOSEN"}
    assert bpy.ops.thew.bake(actions=first.name, **name) == {"FINISHED"}
    body.thew.store_tension = True
    assert bpy.ops.thew.bake(actions="Other", **name) == {"FINISHED"}
    path, told = described(body)
    by_name = {clip["name"]: engine_tension(body, path, told, clip) for clip in told["clips"]}
    # The actions are alike, so that the two differ by what bones do to edges between them.
    largest = np.abs(by_name["Other"]).max()
    assert largest > 0.05
    assert 1e-4 < np.abs(by_name["Other"] - by_name[first.name]).max() < 0.2 * largest
    assert bpy.ops.thew.bake(actions="Other", **name) == {"FINISHED"}
    path, told = described(body)
    again = {clip["name"]: engine_tension(body, path, told, clip) for clip in told["clips"]}
    assert all(np.abs(again[each] - by_name[each]).max() < 2e-4 for each in again)


def test_texture_of_actions(saved):
    """A new clip joins the texture, the former clip's rows stay, and the node group follows the armature."""
    body, armature = saved
    animation = part("scene.animation")
    first = armature.animation_data.action
    other = first.copy()
    other.name = "Other"
    for curve in animation.curves_of(other, animation.slots_of(other, "OBJECT")[0]):
        for point in curve.keyframe_points:
            point.co.y *= 0.5
    name = {"target": "VERTEX_TEXTURE", "clips": "CHOSEN"}
    assert bpy.ops.thew.bake(actions=first.name, **name) == {"FINISHED"}
    path, told = described(body)
    former = engine_offsets(body, path, told, told["clips"][0])
    assert bpy.ops.thew.bake(actions="Other", **name) == {"FINISHED"}
    path, told = described(body)
    assert {clip["name"] for clip in told["clips"]} == {first.name, "Other"}
    by_name = {clip["name"]: engine_offsets(body, path, told, clip) for clip in told["clips"]}
    assert np.abs(by_name[first.name] - former).max() < 1e-6
    group = next(each for each in body.modifiers if each.node_group and "thew_texture" in each.node_group).node_group
    for clip in told["clips"]:
        action = bpy.data.actions[clip["name"]]
        animation.assign(armature.animation_data, action, animation.slots_of(action, "OBJECT")[0])
        bpy.context.scene.frame_set(4)
        assert group.nodes["First Row"].outputs[0].default_value == clip["first_row"]


def test_texture_states_its_unit(saved):
    """The description states the length of a unit: by the scene's scale and the object's, metres where both are 1."""
    body, _ = saved
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE") == {"FINISHED"}
    _, told = described(body)
    assert (told["units"], told["metres_per_unit"]) == ("metres", [1.0, 1.0, 1.0])
    assert told["space"] == "rest"
    bpy.context.scene.unit_settings.scale_length = 0.01
    body.scale = (2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE") == {"FINISHED"}
    path, told = described(body)
    assert told["units"] == "units of the mesh"
    np.testing.assert_allclose(told["metres_per_unit"], 0.02, rtol=1e-6)
    moved = engine_offsets(body, path, told, told["clips"][0])[9] * told["metres_per_unit"]
    live, body.thew.enabled = play(body, (10,), world)[0], False
    seen = (
        np.linalg.norm(live - play(body, (10,), world)[0], axis=1) * 0.01
    )  # bones turn offsets and do not stretch them
    rigid = np.array([max((g.weight for g in v.groups), default=0.0) > 0.999 for v in body.data.vertices])
    assert rigid.sum() > 20 and seen[rigid].max() > 1e-4
    assert np.abs(np.linalg.norm(moved, axis=1) - seen)[rigid].max() < 1e-3 * seen.max() + 1e-6


def test_texture_states_rates(saved):
    """A rate with a base is stated in full, and a clip that was baked at another rate keeps its own."""
    body, armature = saved
    scene, name = bpy.context.scene, armature.animation_data.action.name
    other = armature.animation_data.action.copy()
    other.name = "Other"
    scene.render.fps, scene.render.fps_base = 24, 1.001
    for action in (name, "Other"):
        assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", clips="CHOSEN", actions=action) == {"FINISHED"}
    _, told = described(body)
    assert told["fps"] == pytest.approx(24.0 / 1.001, rel=1e-6) and all("fps" not in clip for clip in told["clips"])
    scene.render.fps, scene.render.fps_base = 30, 1.0
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", clips="CHOSEN", actions="Other") == {"FINISHED"}
    _, told = described(body)
    rates = {clip["name"]: clip.get("fps", told["fps"]) for clip in told["clips"]}
    assert rates == {name: pytest.approx(24.0 / 1.001, rel=1e-6), "Other": 30.0}


def test_texture_of_another_format_leaves_no_file(saved):
    """Baked again in the other format, the former image goes."""
    body, _ = saved
    for image in ("EXR", "PNG", "EXR"):
        assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", image=image) == {"FINISHED"}
        path, _ = described(body)
        assert {each.suffix for each in path.parent.iterdir()} == {".json", f".{image.lower()}"}
    assert part("bake.vertex_textures").image_of(body.thew.bakes[0]) == "EXR"


def test_texture_refusals(saved, monkeypatch):
    """Too many UV maps, and a disk that is full, are refused by a sentence, and nothing is left."""
    body, _ = saved
    before = snapshot(body)

    def fails(folder, *_args, **_options):
        (Path(folder) / "half.exr").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    native = part("bake.vertex_textures").core()
    monkeypatch.setattr(native, "write_vertex_texture", fails)
    assert "No space left" in refusal(bpy.ops.thew.bake, target="VERTEX_TEXTURE")
    monkeypatch.undo()
    after = snapshot(body)
    assert after["modifiers"] == before["modifiers"] and after["attributes"] == before["attributes"]
    assert not (Path(bpy.data.filepath).parent / "hero.bakes").exists() and not len(body.thew.bakes)
    for i in range(8):
        body.data.uv_layers.new(name=f"UV {i}")
    assert "UV maps" in refusal(bpy.ops.thew.bake, target="VERTEX_TEXTURE")
    activate(body)

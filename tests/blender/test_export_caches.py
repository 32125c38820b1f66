# SPDX-License-Identifier: GPL-3.0-or-later
"""Export Cache: USD and Alembic come back as what was seen, with velocities by which Cycles blurs motion."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, part, play, refusal, size_of, snapshot, world

FRAMES = range(1, 13)
SUFFIX = {"USD": ".usdc", "ALEMBIC": ".abc"}


@pytest.fixture
def lively(fleshed_character):
    body, _ = fleshed_character
    bpy.context.scene.frame_end = 12
    activate(body)
    return body


def bring_back(kind: str, path, body):
    """Imports a file into the scene, and returns its mesh."""
    known = set(bpy.data.objects)
    operator = bpy.ops.wm.usd_import if kind == "USD" else bpy.ops.wm.alembic_import
    extra = {} if kind == "USD" else {"as_background_job": False}
    operator(filepath=str(path), **extra)
    return next(obj for obj in set(bpy.data.objects) - known if obj.type == "MESH")


@pytest.mark.parametrize("kind", ["USD", "ALEMBIC"])
@pytest.mark.parametrize("baked", [False, True])
def test_export_cache_comes_back(lively, kind, baked, tmp_path):
    """The imported mesh moves as the flesh did, live or baked, with the velocity of its vertices."""
    body = lively
    if baked:
        assert bpy.ops.thew.bake(target="PC2", folder=str(tmp_path)) == {"FINISHED"}
    live, before = play(body, FRAMES, world), snapshot(body)
    path = tmp_path / f"hero{SUFFIX[kind]}"
    assert bpy.ops.thew.export_cache(format=kind, filepath=str(path)) == {"FINISHED"}
    after = snapshot(body)
    assert after["attributes"] == before["attributes"] and after["modifiers"] == before["modifiers"]
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    assert np.array_equal(play(body, FRAMES, world), live)
    back = bring_back(kind, path, body)
    come = play(back, FRAMES, world)
    assert np.abs(come - live).max() < 1e-5 * size_of(live[0])
    bpy.context.scene.frame_set(6)
    mesh = back.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.attributes["velocity"].data.foreach_get("vector", flat)
    wanted = 24.0 * 0.5 * (live[6] - live[4])
    turn = np.array(back.matrix_world)[:3, :3]
    found = flat.reshape(-1, 3) @ turn.T
    assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


def test_export_cache_refusals(lively, tmp_path, monkeypatch):
    """Missing exporters and places that cannot be written are refused by a sentence, and an earlier file stays."""
    path = tmp_path / "hero.abc"
    path.write_bytes(b"earlier")
    export = part("bake.cache_export")
    assert "does not exist" in refusal(bpy.ops.thew.export_cache, filepath=str(tmp_path / "no" / "a.usdc"))
    folder = tmp_path / "folder.usdc"
    folder.mkdir()
    assert "is a folder" in refusal(bpy.ops.thew.export_cache, filepath=str(folder), format="USD")
    folder.rmdir()
    monkeypatch.setattr(export, "has_exporter", lambda _option: False)
    assert "no exporter" in refusal(bpy.ops.thew.export_cache, filepath=str(path), format="ALEMBIC")
    monkeypatch.setattr(export, "has_exporter", lambda option: option == "usd")
    assert "choose USD" in refusal(bpy.ops.thew.export_cache, filepath=str(path), format="ALEMBIC")
    monkeypatch.undo()

    def fails(_form, part_path, _scene):
        part_path.write_bytes(b"half")
        raise RuntimeError("Error: disk full")

    monkeypatch.setattr(export, "run_exporter", fails)
    assert "disk full" in refusal(bpy.ops.thew.export_cache, filepath=str(path), format="ALEMBIC")
    assert path.read_bytes() == b"earlier" and list(tmp_path.iterdir()) == [path]
    assert "velocity" not in lively.data.attributes


def render(path, shown) -> np.ndarray:
    """Renders one object with motion blur, and returns the picture float[h, w, 4]."""
    scene = bpy.context.scene
    for obj in scene.objects:
        obj.hide_render = obj.type == "MESH" and obj != shown
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(path))
    pixels = np.empty(len(image.pixels), dtype=np.float32)
    image.pixels.foreach_get(pixels)
    return pixels.reshape(image.size[1], image.size[0], 4)


def set_up_render() -> None:
    scene = bpy.context.scene
    scene.render.engine, scene.cycles.samples, scene.cycles.use_denoising = "CYCLES", 64, False
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.resolution_percentage, scene.render.film_transparent = 100, True
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, 1.0
    scene.render.image_settings.file_format = "PNG"
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location, camera.rotation_euler = (5.0, 0.0, 1.0), (1.5707963, 0.0, 1.5707963)
    scene.collection.objects.link(camera)
    scene.camera = camera


def test_export_cache_motion_blur(lively, tmp_path):
    """A file with velocities renders with motion blur as the point cache does; without blur the picture is another one."""
    body, scene = lively, bpy.context.scene
    armature = next(each for each in body.modifiers if each.type == "ARMATURE").object
    for curve in part("scene.animation").curves_in(armature.animation_data):
        if "Spine" in curve.data_path:
            curve.keyframe_points.clear()
    bone = armature.pose.bones["Spine"]
    for frame, angle in ((1, 0.0), (12, 2.4)):  # one steady turn
        bone.rotation_euler = (angle, 0.0, 0.0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    path = tmp_path / "hero.abc"
    assert bpy.ops.thew.export_cache(format="ALEMBIC", filepath=str(path)) == {"FINISHED"}
    assert bpy.ops.thew.bake(target="PC2", folder=str(tmp_path)) == {"FINISHED"}
    back = bring_back("ALEMBIC", path, body)
    scene.frame_set(6)
    set_up_render()
    cache, alembic = render(tmp_path / "a.png", body), render(tmp_path / "b.png", back)
    scene.render.use_motion_blur = False
    sharp = render(tmp_path / "c.png", back)
    blur = np.abs(alembic[..., 3] - sharp[..., 3]).mean()
    apart = np.abs(alembic[..., 3] - cache[..., 3]).mean()
    print("blur", blur, "cache", np.abs(cache[..., 3] - sharp[..., 3]).mean(), "apart", apart)
    assert blur > 0.002 and apart < 0.35 * blur

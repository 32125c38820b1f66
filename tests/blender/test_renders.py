# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders show what the view played: an engine of our own notes the very mesh that it is given to draw."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import animate, evaluated_positions, flesh_of, play, size_of

FRAMES = range(1, 21)


class Probe(bpy.types.RenderEngine):
    """Draws nothing; `seen` holds, in the order of rendering, (frame, subframe, vertices in object space)."""

    bl_idname = "THEW_PROBE"
    bl_label = "Probe"
    seen: list = []

    def render(self, depsgraph):
        for obj in depsgraph.objects:
            if obj.name == "Body":
                scene = depsgraph.scene
                mesh = obj.data
                flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
                mesh.attributes["position"].data.foreach_get("vector", flat)
                self.seen.append((scene.frame_current, scene.frame_subframe, flat.reshape(-1, 3).copy()))


@pytest.fixture
def film(scene, character, tmp_path):
    """Builds a character to be rendered by the probe; `film(frames)` returns what it saw."""
    bpy.utils.register_class(Probe)
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    scene.camera, scene.render.engine = camera, Probe.bl_idname
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.render.image_settings.file_format = "PNG"

    def film(start: int, end: int) -> np.ndarray:
        Probe.seen.clear()
        render = bpy.context.scene.render
        render.filepath = str(tmp_path / "frame-")
        kept = bpy.context.scene.frame_start, bpy.context.scene.frame_end
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = start, end
        bpy.ops.render.render(animation=True)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = kept
        assert [frame for frame, _, _ in Probe.seen] == list(range(start, end + 1))
        return np.array([shape for _, _, shape in Probe.seen])

    yield film
    bpy.utils.unregister_class(Probe)


def add(body) -> None:
    bpy.context.view_layer.objects.active = body
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    body.thew.use_scene_range, body.thew.frame_start, body.thew.frame_end = False, 1, 20


def test_render_matches_playback(scene, character, film):
    """A rendered animation shows what was played."""
    body, _ = character
    skin = film(1, 20)
    add(body)
    played = play(body, FRAMES)
    scene.frame_set(11)
    rendered = film(1, 20)
    assert np.abs(rendered - played).max() < 1e-5 * size_of(skin[0])
    np.testing.assert_array_equal(play(body, FRAMES), played)
    # Frames differ from the skin exactly where and when flesh moves.
    added = np.array([flesh_of(body).offsets(frame) for frame in FRAMES])
    assert np.abs(added).max() > 1e-3
    np.testing.assert_allclose(rendered - skin, added, atol=2e-6 * size_of(skin[0]))


def test_render_any_order(scene, character, film):
    """Single frames render as they were played, in any order."""
    body, _ = character
    add(body)
    played = play(body, FRAMES)
    for frame in (14, 3, 20, 4, 1):
        scene.frame_set(8)
        np.testing.assert_array_equal(film(frame, frame)[0], played[frame - 1])
    scene.frame_set(6)
    Probe.seen.clear()
    bpy.ops.render.render()  # a still
    np.testing.assert_array_equal(Probe.seen[0][2], played[5])


def test_render_after_open(scene, character, film, tmp_path):
    """A file that was just opened renders its flesh."""
    body, _ = character
    add(body)
    played = play(body, FRAMES)
    path = str(tmp_path / "scene.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    np.testing.assert_array_equal(film(5, 9), played[4:9])


def test_render_after_animation_change(scene, character, film):
    """A changed animation renders as it is now."""
    body, rig = character
    add(body)
    before = play(body, FRAMES)
    scene.frame_set(1)
    animate(rig, bend=-0.4)
    rendered = film(1, 20)
    assert np.abs(rendered - before).max() > 1e-2
    np.testing.assert_array_equal(play(body, FRAMES), rendered)


def test_render_outside_clip(scene, character, film):
    """Frames outside the clip render as they are played."""
    body, _ = character
    add(body)
    played = play(body, range(15, 41))
    np.testing.assert_array_equal(film(15, 40), played)


def test_render_subframes(scene, character, film):
    """Renders at subframes, as motion blur needs them, add the flesh's offset at that time."""
    body, _ = character
    skin = {}
    for part_ in (0.25, 0.5):
        scene.frame_set(7, subframe=part_)
        skin[part_] = evaluated_positions(body)
    add(body)
    play(body, FRAMES)
    for part_, shape in skin.items():
        scene.frame_set(7, subframe=part_)
        Probe.seen.clear()
        bpy.ops.render.render()
        assert Probe.seen[0][1] == part_
        expected = flesh_of(body).offsets(7.0 + part_)
        np.testing.assert_allclose(Probe.seen[0][2] - shape, expected, atol=2e-6 * size_of(shape))


def test_render_keeps_lock_interface(scene, character, film):
    """Adding, rendering and removing leave Lock Interface as the artist set it."""
    body, _ = character
    for locked in (False, True):
        scene.render.use_lock_interface = locked
        add(body)
        film(3, 4)
        assert scene.render.use_lock_interface == locked
        assert bpy.ops.thew.remove() == {"FINISHED"}
        assert scene.render.use_lock_interface == locked


def test_alembic_export_matches_playback(scene, character, tmp_path):
    """An Alembic export shows in every frame what was played."""
    body, _ = character
    add(body)
    played = play(body, range(3, 8))
    path = str(tmp_path / "body.abc")
    bpy.ops.wm.alembic_export(filepath=path, start=3, end=7, as_background_job=False, apply_subdiv=False)
    bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
    copy = next(o for o in scene.objects if o.type == "MESH" and o != body)
    for frame, shape in zip(range(3, 8), played, strict=True):
        scene.frame_set(frame)
        np.testing.assert_allclose(evaluated_positions(copy), shape, atol=1e-5)

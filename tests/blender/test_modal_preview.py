# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview of single modes in Blender."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import add_modal, carried_shape, evaluated_positions, flesh_of, part, play, size_of

FRAMES = range(1, 21)


def test_preview_on_and_off(character):
    """A preview plays one mode, and switching it off shows the simulated motion at once."""
    body, _ = character
    add_modal()
    live, flesh = play(body, FRAMES), flesh_of(body)
    clip = flesh.clip
    for number in (1, 5, 12):
        body.thew.preview_mode = number
        assert len(np.unique(play(body, FRAMES)[:, 0], axis=0)) > 10
    body.thew.preview_mode = 0
    np.testing.assert_array_equal(evaluated_positions(body), live[19])  # at once
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert flesh.clip is clip


@pytest.mark.parametrize(("number", "size"), [(1, 0.1), (3, 0.1), (12, 0.03)])
def test_preview_shape_and_size(scene, character, number, size):
    """A preview shows exactly one mode, at the size that is set."""
    body, rig = character
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    body.thew.preview_size = size
    add_modal()
    play(body, (2,))
    flesh, rest = flesh_of(body), part("scene.mesh").basis_positions(body.data)
    body.thew.preview_mode = number
    shapes = play(body, range(1, 49)) - rest
    scene.frame_set(1)
    largest = np.linalg.norm(shapes, axis=2).max(axis=1) * flesh.place.metres_per_unit / flesh.surface.size
    assert largest[0] == pytest.approx(size, rel=1e-3) and largest.max() <= size * 1.001

    deformer = part("logic.native").thew.Deformer(flesh.modes, flesh.surface, form="embedded", engine="cpu")
    frequency = flesh.frequencies[number - 1]
    slower = np.ceil(frequency)  # at most one swing a second
    alone = np.eye(12)[number - 1]
    low, high = 0.0, 1.0
    moved = lambda a: deformer.displacements(a * alone) / flesh.place.metres_per_unit  # noqa: E731
    # The farther of the two ends, which warping makes unlike.
    measure = lambda a: max(np.linalg.norm(moved(end), axis=1).max() for end in (a, -a))  # noqa: E731
    whole = size * flesh.surface.size / flesh.place.metres_per_unit
    while measure(high) < whole:
        high *= 1.5
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if measure(middle) < whole else (low, middle)
    high = min((high, -high), key=lambda a: np.abs(shapes[0] - moved(a)).max())  # it begins at either
    for frame in (1, 7, 19, 20):
        swing = np.cos(2.0 * np.pi * frequency / slower * (frame - 1) / 24.0)
        assert np.abs(shapes[frame - 1] - moved(high * swing)).max() < 1e-3 * size * size_of(rest)
    body.thew.preview_mode = 0


def test_preview_follows_pose(character):
    """A preview is carried by the pose of each frame."""
    body, _ = character
    add_modal()
    play(body, (2,))
    flesh = flesh_of(body)
    body.thew.preview_mode = 1
    for frame, shape in zip((1, 6, 16), play(body, (1, 6, 16)), strict=True):
        distance = np.linalg.norm(shape - carried_shape(flesh, frame), axis=1).max()
        assert distance < 0.101 * flesh.surface.size / flesh.place.metres_per_unit
    body.thew.preview_size = 0.001
    assert np.abs(play(body, (6,))[0] - carried_shape(flesh, 6)).max() < 0.0011 * size_of(shape)


def test_preview_missing_mode(character):
    """The notes name a mode that does not exist, and the live motion plays on."""
    body, _ = character
    add_modal()
    live = play(body, (4, 9))
    body.thew.preview_mode = 40
    assert "no mode 40 to preview: the flesh has 12 modes." in body.thew.made.notes
    np.testing.assert_array_equal(play(body, (4, 9)), live)
    body.thew.preview_mode = 12
    assert "to preview" not in body.thew.made.notes
    assert np.abs(play(body, (4, 9)) - live).max() > 1e-3


def test_preview_absent_from_bake_and_render(scene, character, tmp_path):
    """Bakes and renders show the simulated motion while a preview is on."""
    body, _ = character
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    camera.location, camera.rotation_euler = (0.0, -6.0, 1.0), (np.pi / 2, 0.0, 0.0)
    scene.camera, scene.render.engine = camera, "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.image_settings.file_format = "PNG"

    def picture(name):
        scene.render.filepath = str(tmp_path / f"{name}.png")
        bpy.ops.render.render(write_still=True)
        image = bpy.data.images.load(scene.render.filepath)
        pixels = np.array(image.pixels[:])
        bpy.data.images.remove(image)
        return pixels

    add_modal()
    live = play(body, FRAMES)
    plain = picture("plain")
    body.thew.preview_size, body.thew.preview_mode = 0.3, 1
    previewed = play(body, FRAMES)
    np.testing.assert_array_equal(picture("previewed"), plain)
    np.testing.assert_array_equal(play(body, FRAMES), previewed)
    assert np.abs(previewed - live).max() > 0.1
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_preview_with_shape_keys(character):
    """Shape keys show through a preview and leave the bake as it is."""
    body, _ = character
    body.shape_key_add(name="Basis")
    key = body.shape_key_add(name="Nose", from_mix=False)
    key.points[40].co.x += 0.1
    key.value = 1.0
    add_modal()
    live = play(body, FRAMES)
    body.thew.preview_mode = 2
    with_key = play(body, (4, 9))
    key.value = 0.0
    without = play(body, (4, 9))
    assert 0.05 < np.abs(with_key - without)[:, 40].max() < 0.2
    assert np.abs(np.delete(with_key - without, 40, axis=1)).max() < 1e-6
    key.value = 1.0
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_preview_follows_new_pose(scene, character, monkeypatch):
    """In a window a preview follows a bone that is turned by hand."""
    body, rig = character
    add_modal()
    bpy.ops.thew.simulate()
    flesh = flesh_of(body)
    scene.frame_set(4)
    live = evaluated_positions(body)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    try:
        body.thew.preview_mode = 2
        before = evaluated_positions(body)
        rig.pose.bones["Head"].rotation_mode = "XYZ"
        rig.pose.bones["Head"].rotation_euler.x = 0.8
        bpy.context.view_layer.update()
        posed = evaluated_positions(body)
        assert flesh.condition.pose.name == "OTHER" and np.abs(posed - before).max() > 0.1
        body.thew.preview_mode = 0
        scene.frame_set(4)
        bpy.context.view_layer.update()
        rig.pose.bones["Head"].rotation_euler.x = 0.0
        bpy.context.view_layer.update()
        np.testing.assert_array_equal(evaluated_positions(body), live)
        body.thew.modes = 5
        assert part("live.updates").state.waiting
    finally:
        part("live.updates").stop_update()
        if bpy.app.timers.is_registered(part("live.updates").tick):
            bpy.app.timers.unregister(part("live.updates").tick)

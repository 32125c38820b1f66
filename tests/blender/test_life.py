# SPDX-License-Identifier: GPL-3.0-or-later
"""Add, play, bake, remove: the life of flesh on an object."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import activate, animate, evaluated, make_body, part, play, settings, size_of, snapshot

FRAMES = range(1, 21)


def add(**options):
    assert bpy.ops.thew.add(cells_across=6, **options) == {"FINISHED"}


def test_added_flesh_moves_on_its_own(character):
    body, _ = character
    skinned = play(body, FRAMES)
    add()
    shapes = play(body, FRAMES)
    size = size_of(skinned[0])
    assert np.isfinite(shapes).all()
    distance = np.abs(shapes - skinned).max(axis=(1, 2)) / size
    assert 1e-3 < distance.max() < 0.2
    thew, armature = body.modifiers
    assert (thew.name, thew.type, thew.show_viewport, thew.show_render) == ("Thew", "NODES", True, True)
    assert (armature.type, armature.show_viewport, armature.show_render) == ("ARMATURE", False, False)


def test_scrubbing_in_any_order_shows_the_same(character):
    body, _ = character
    add()
    shapes = play(body, FRAMES)
    order = list(FRAMES)
    np.random.default_rng(3).shuffle(order)
    again = play(body, order)
    for frame, shape in zip(order, again, strict=True):
        np.testing.assert_array_equal(shape, shapes[frame - 1])


def test_frames_outside_the_range_hold_its_ends(character):
    body, _ = character
    add()
    first, last, before, after = play(body, (1, 20, -5, 33))
    np.testing.assert_array_equal(before, first)
    np.testing.assert_array_equal(after, last)


def test_part_frames_lie_between_their_neighbours(scene, character):
    body, _ = character
    add()
    a, b = play(body, (4, 5))
    scene.frame_set(4, subframe=0.25)
    np.testing.assert_allclose(evaluated(body), 0.75 * a + 0.25 * b, atol=1e-5)


def test_baked_is_live(character):
    body, _ = character
    add()
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake(frame_start=1, frame_end=20) == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    keys = body.data.shape_keys.key_blocks
    assert [k.name for k in keys] == ["Basis"] + [f"Thew {f:04d}" for f in FRAMES]
    assert not any(m.show_viewport or m.show_render for m in body.modifiers)


def test_a_part_of_the_range_bakes_the_same_motion(character):
    body, _ = character
    add()
    live = play(body, FRAMES)
    bpy.ops.thew.bake(frame_start=8, frame_end=12)
    baked = play(body, range(8, 13))
    assert np.abs(baked - live[7:12]).max() < 1e-5 * size_of(live[0])
    held = play(body, (3, 18))
    assert np.abs(held - live[[7, 11]]).max() < 1e-5 * size_of(live[0])


def test_a_single_frame_bakes(character):
    body, _ = character
    add()
    live = play(body, (5,))
    bpy.ops.thew.bake(frame_start=5, frame_end=5)
    assert len(body.data.shape_keys.key_blocks) == 2
    assert np.abs(play(body, (2, 5, 9)) - live).max() < 1e-5 * size_of(live[0])


def test_the_bake_plays_without_the_extension(character, tmp_path):
    body, _ = character
    add()
    live = play(body, FRAMES)
    bpy.ops.thew.bake()
    path = tmp_path / "baked.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    handlers = part("handlers")
    for name, call in handlers.HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(call)
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path))
        baked = play(bpy.data.objects["Body"], FRAMES)
    finally:
        for name, call in handlers.HANDLERS.items():
            getattr(bpy.app.handlers, name).append(call)
    assert np.abs(baked - live).max() < 1e-5 * size_of(live[0])


def test_a_second_bake_replaces_the_first(character):
    body, armature = character
    add()
    bpy.ops.thew.bake()
    animate(armature, bend=-0.3)
    assert bpy.ops.thew.bake(frame_start=1, frame_end=10) == {"FINISHED"}
    assert len(body.data.shape_keys.key_blocks) == 11
    baked = play(body, range(1, 11))
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    live = play(body, range(1, 11))
    assert np.abs(baked - live).max() < 1e-5 * size_of(live[0])
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, range(1, 11)), baked)


def test_removal_leaves_the_file_as_it_was(scene, character):
    body, _ = character
    scene.frame_set(7)
    before, skinned = snapshot(body), play(body, FRAMES)
    scene.frame_set(7)
    add()
    play(body, FRAMES)
    scene.frame_set(7)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert snapshot(body) == before
    np.testing.assert_array_equal(play(body, FRAMES), skinned)


def test_removal_with_keys_leaves_the_file_as_it_was(scene, character):
    body, _ = character
    before, skinned = snapshot(body), play(body, FRAMES)
    scene.frame_set(1)
    add()
    bpy.ops.thew.bake()
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert snapshot(body) == before
    np.testing.assert_array_equal(play(body, FRAMES), skinned)


def test_removal_keeps_baked_keys_muted(character):
    body, _ = character
    skinned = play(body, FRAMES)
    add()
    bpy.ops.thew.bake()
    bpy.ops.thew.remove()
    keys = body.data.shape_keys.key_blocks
    assert len(keys) == 21 and all(k.mute for k in keys[1:])
    assert [m.type for m in body.modifiers] == ["ARMATURE"]
    assert np.abs(play(body, FRAMES) - skinned).max() < 1e-6
    bpy.ops.thew.remove(remove_baked_keys=True)
    assert body.data.shape_keys is None


def test_switching_off_shows_the_armature(character):
    body, _ = character
    skinned = play(body, FRAMES)
    add()
    live = play(body, FRAMES)
    body.thew.enabled = False
    np.testing.assert_array_equal(play(body, FRAMES), skinned)
    body.thew.enabled = True
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_a_slider_changes_the_motion(character):
    body, _ = character
    add()
    soft = play(body, FRAMES)
    body.thew.young = 80e3
    stiff = play(body, FRAMES)
    assert np.abs(stiff - soft).max() > 1e-3
    body.thew.young = 20e3
    np.testing.assert_array_equal(play(body, FRAMES), soft)


def test_painting_weights_changes_the_motion(character):
    body, _ = character
    add()
    before = play(body, FRAMES)
    body.vertex_groups["Hip"].add(list(range(70, 100)), 1.0, "REPLACE")
    body.vertex_groups["Spine"].remove(list(range(70, 100)))
    after = play(body, FRAMES)
    assert np.abs(after - before).max() > 1e-3


def test_a_changed_animation_is_noticed(character):
    body, armature = character
    add()
    before = play(body, FRAMES)
    animate(armature, bend=-0.4)
    after = play(body, FRAMES)
    assert np.abs(after - before).max() > 1e-2
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(play(body, FRAMES), after)


def test_settings_and_motion_survive_save_and_load(character, tmp_path):
    body, _ = character
    add()
    body.thew.young = 35e3
    body.thew.real_height = 1.9
    live, saved = play(body, FRAMES), settings(body)
    path = tmp_path / "live.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    body = bpy.data.objects["Body"]
    assert settings(body) == saved
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_renaming_breaks_nothing(character):
    body, armature = character
    add()
    live = play(body, FRAMES)
    body.name, body.data.name, armature.name = "Bauch", "Netz", "Gerippe"
    armature.data.bones["Spine"].name = "Wirbel"
    body.modifiers[0].name, body.modifiers[1].name = "Fleisch", "Knochen"
    assert "Wirbel" in body.vertex_groups
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert [(m.name, m.show_viewport) for m in body.modifiers] == [("Knochen", True)]


def test_undo_brings_flesh_back_and_takes_it_away(character):
    body, _ = character
    add()
    live = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="added")
    body.thew.young = 90e3
    stiff = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="stiffened")
    bpy.ops.ed.undo()
    body = bpy.data.objects["Body"]
    assert body.thew.young == 20e3
    np.testing.assert_array_equal(play(body, FRAMES), live)
    bpy.ops.ed.redo()
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(play(body, FRAMES), stiff)


def test_a_copied_object_has_flesh_of_its_own(character):
    body, _ = character
    add()
    live = play(body, FRAMES)
    copy = body.copy()
    copy.data = body.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    copy.thew.young = 80e3
    shapes = play(copy, FRAMES)
    assert np.isfinite(shapes).all() and np.abs(shapes - live).max() > 1e-3
    np.testing.assert_array_equal(play(body, FRAMES), live)


def saved_character(body, tmp_path) -> str:
    path = str(tmp_path / "character.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
    return path


def fetch(path, link):
    with bpy.data.libraries.load(path, link=link) as (source, wanted):
        wanted.objects = source.objects
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    return next(obj for obj in wanted.objects if obj.name == "Body")


def test_an_appended_character_has_its_flesh(character, tmp_path):
    body, _ = character
    add()
    live = play(body, FRAMES)
    body = fetch(saved_character(body, tmp_path), link=False)
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_a_linked_character_stands_or_plays_its_bake(character, tmp_path):
    body, _ = character
    add()
    live = play(body, FRAMES)
    body = fetch(saved_character(body, tmp_path), link=True)
    np.testing.assert_array_equal(play(body, (3, 9)), live[[19, 19]])
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "character.blend"))
    bpy.context.view_layer.objects.active = bpy.data.objects["Body"]
    bpy.ops.thew.bake()
    body = fetch(saved_character(bpy.data.objects["Body"], tmp_path), link=True)
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_a_linked_duplicate_does_no_harm(character):
    body, _ = character
    add()
    live = play(body, FRAMES)
    twin = body.copy()
    bpy.context.scene.collection.objects.link(twin)
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert "single user" in twin.thew.made.notes


def test_several_meshes_share_an_armature(scene, character):

    body, armature = character
    other = make_body(armature, name="Shirt", rings=9)
    activate(body)
    add()
    activate(other)
    add()
    shapes, others = play(body, FRAMES), play(other, FRAMES)
    assert np.isfinite(others).all()
    activate(body)
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - shapes).max() < 1e-5 * size_of(shapes[0])
    np.testing.assert_array_equal(play(other, FRAMES), others)
    assert body.thew.made.longest_side == other.thew.made.longest_side


def test_flesh_that_is_switched_off_is_not_written(character):
    body, _ = character
    add()
    body.thew.enabled = False
    version = body.data.attributes["thew_position"].data[0].vector.copy()
    play(body, FRAMES)
    assert body.data.attributes["thew_position"].data[0].vector == version


def test_a_render_shows_the_live_flesh(scene, character, tmp_path):
    body, _ = character
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    camera.location, camera.rotation_euler = (0.0, -6.0, 1.0), (np.pi / 2, 0.0, 0.0)
    scene.camera = camera
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.image_settings.file_format = "PNG"

    def picture(name, frame):
        scene.frame_start = scene.frame_end = frame
        scene.render.filepath = str(tmp_path / f"{name}-")
        bpy.ops.render.render(animation=True)  # from another frame: the render itself changes to it
        image = bpy.data.images.load(str(tmp_path / f"{name}-{frame:04d}.png"))
        pixels = np.array(image.pixels[:])
        bpy.data.images.remove(image)
        return pixels

    skinned = picture("skinned", 8)
    add()
    body.thew.use_scene_range, body.thew.frame_start, body.thew.frame_end = False, 1, 20
    body.thew.young = 6e3
    live = picture("live", 8)
    bpy.ops.thew.bake()
    baked = picture("baked", 8)
    assert np.abs(live - skinned).max() > 0.1
    assert np.abs(live - baked).mean() < 1e-3

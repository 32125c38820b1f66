# SPDX-License-Identifier: GPL-3.0-or-later
"""Add, play, bake, remove: the life of flesh on an object."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    animate,
    evaluated_positions,
    flesh_of,
    forget_settings,
    make_body,
    part,
    play,
    refusal,
    settings,
    size_of,
    snapshot,
)

FRAMES = range(1, 21)


def add(**options):
    assert bpy.ops.thew.add(cells_across=6, **options) == {"FINISHED"}


def test_add_moves_flesh(character):
    """Flesh that is added moves by itself, and its modifier stands behind the armature's."""
    body, _ = character
    skinned = play(body, FRAMES)
    add()
    shapes = play(body, FRAMES)
    size = size_of(skinned[0])
    assert np.isfinite(shapes).all()
    distance = np.abs(shapes - skinned).max(axis=(1, 2)) / size
    assert 1e-3 < distance.max() < 0.2
    armature, thew = body.modifiers
    assert (thew.name, thew.type, thew.show_viewport, thew.show_render) == ("Thew", "NODES", True, True)
    assert (armature.type, armature.show_viewport, armature.show_render) == ("ARMATURE", True, True)


def test_play_any_order(character):
    """A frame shows the same shape in whatever order the frames are visited."""
    body, _ = character
    add()
    shapes = play(body, FRAMES)
    order = list(FRAMES)
    np.random.default_rng(3).shuffle(order)
    again = play(body, order)
    for frame, shape in zip(order, again, strict=True):
        np.testing.assert_array_equal(shape, shapes[frame - 1])


def test_play_outside_range_fades(scene, character):
    """Outside the simulated range the sway fades, without a jump, to flesh at rest in the pose of each frame."""
    body, armature = character
    armature.pose.bones["Head"].rotation_mode = "XYZ"
    for frame, angle in ((20, 0.0), (60, 1.2)):
        armature.pose.bones["Head"].rotation_euler.x = angle
        armature.pose.bones["Head"].keyframe_insert("rotation_euler", frame=frame)
    frames = range(-20, 61)
    skin = play(body, frames)
    add()
    scene.frame_set(1)
    added = play(body, frames) - skin
    size = size_of(skin[0])
    steps = np.abs(np.diff(added, axis=0)).max(axis=(1, 2)) / size
    assert steps[[20, 40]].max() < 0.1 * np.abs(added).max() / size  # no jump at either end
    flesh = flesh_of(body)
    for frame in (-20, 45, 60):  # long after: at rest in the pose of that frame
        scene.frame_set(frame)
        found = part("scene.reading").subject(body, bpy.context.view_layer)
        pose = flesh.pose(found, bpy.context.view_layer.depsgraph, frame)
        rest = flesh.settled_at(pose.maps, pose.mesh)
        np.testing.assert_allclose(added[frame + 20], rest, atol=1e-5 * size)
    order = [50, -3, 25, 20, 1, -20, 60, 22]
    np.testing.assert_allclose(play(body, order), (skin + added)[np.array(order) + 20], atol=1e-6 * size)


def test_play_subframes(scene, character):
    """A subframe shows the flesh blended between its two whole frames."""
    body, _ = character
    skin = play(body, (4, 5))
    scene.frame_set(4, subframe=0.25)
    between = evaluated_positions(body)
    add()
    a, b = play(body, (4, 5)) - skin
    scene.frame_set(4, subframe=0.25)
    np.testing.assert_allclose(evaluated_positions(body) - between, 0.75 * a + 0.25 * b, atol=1e-5)


def test_play_remapped_time(scene, character):
    """Skin and flesh keep together when the scene remaps its time."""
    body, _ = character
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 125
    skin = play(body, FRAMES)
    add()
    bpy.ops.thew.simulate()
    flesh = flesh_of(body)
    added = play(body, FRAMES) - skin
    assert np.abs(added).max() > 1e-3
    np.testing.assert_allclose(added, [flesh.offsets(frame) for frame in FRAMES], atol=1e-6)


@pytest.mark.parametrize("space", ["REST", "POSED"])
def test_bake_equals_live(character, space):
    """A bake shows the shapes that the live flesh showed, and hides the modifiers that it replaces."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    body.thew.bake_space = space
    assert bpy.ops.thew.bake(frame_start=1, frame_end=20) == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    keys = body.data.shape_keys.key_blocks
    assert [k.name for k in keys] == ["Basis"] + [f"Thew {f:04d}" for f in FRAMES]
    shown = ["ARMATURE"] if space == "REST" else []
    assert [m.type for m in body.modifiers if m.show_viewport] == shown
    assert [m.type for m in body.modifiers if m.show_render] == shown


def test_bake_partial_range(character):
    """A bake of some frames holds the same motion as the whole range, and keeps its end keys outside them."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    bpy.ops.thew.bake(frame_start=8, frame_end=12)
    baked = play(body, range(8, 13))
    assert np.abs(baked - live[7:12]).max() < 1e-5 * size_of(live[0])
    bpy.ops.thew.bake(frame_start=8, frame_end=12, space="POSED")
    held = play(body, (3, 18))
    assert np.abs(held - live[[7, 11]]).max() < 1e-5 * size_of(live[0])


def test_bake_single_frame(character):
    """A bake of one frame makes one key that shows the live shape."""
    body, _ = character
    add()
    live = play(body, (5,))
    bpy.ops.thew.bake(frame_start=5, frame_end=5, space="POSED")
    assert len(body.data.shape_keys.key_blocks) == 2
    assert np.abs(play(body, (2, 5, 9)) - live).max() < 1e-5 * size_of(live[0])
    bpy.ops.thew.bake(frame_start=5, frame_end=5, space="REST")
    assert len(body.data.shape_keys.key_blocks) == 2
    assert np.abs(play(body, (5,)) - live).max() < 1e-5 * size_of(live[0])


def test_bake_without_extension(character, tmp_path):
    """A baked file plays the same shapes without the extension's handlers."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    bpy.ops.thew.bake()
    path = tmp_path / "baked.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    handlers = part("live.handlers")
    for name, call in handlers.HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(call)
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path))
        baked = play(bpy.data.objects["Body"], FRAMES)
    finally:
        for name, call in handlers.HANDLERS.items():
            getattr(bpy.app.handlers, name).append(call)
    assert np.abs(baked - live).max() < 1e-5 * size_of(live[0])


def test_bake_again_replaces(character):
    """A second bake replaces the keys of the first, and Show Live and Show Bake switch to the new motion."""
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


def test_bake_failure_keeps_former(character, monkeypatch):
    """A bake that fails leaves the former bake and the file as they were, and the next bake succeeds."""
    body, armature = character
    add()
    body.thew.bake_space = "POSED"  # whose keys hold the armature's motion, which changes here
    bpy.ops.thew.bake()
    baked = play(body, FRAMES)
    bpy.context.scene.frame_set(1)
    before = snapshot(body)
    animate(armature, bend=-0.3)
    writing, shape_keys = part("scene.writing"), part("bake.shape_keys")
    write_keys = writing.write_keys

    def fail_after_7_keys(obj, names, offsets, new):
        write_keys(obj, names[:7], offsets[:7], new)
        raise RuntimeError("no room")

    for module, name, fails in (
        (writing, "write_keys", fail_after_7_keys),
        (writing, "write_curves", lambda *_: 1 / 0),
        (shape_keys, "key_points", lambda *_: 1 / 0),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, fails)
            assert "nothing was changed" in refusal(bpy.ops.thew.bake)
        now = snapshot(body)
        assert {key for key in before if now[key] != before[key]} <= {"data"}  # the armature has its new action
        np.testing.assert_array_equal(play(body, FRAMES), baked)
        bpy.context.scene.frame_set(1)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert [key.name for key in body.data.shape_keys.key_blocks[1:]] == [f"Thew {f:04d}" for f in FRAMES]
    assert np.abs(play(body, FRAMES) - baked).max() > 1e-2
    curves = part("scene.animation").curves_in(body.data.shape_keys.animation_data)
    assert sorted(c.data_path for c in curves) == [f'key_blocks["Thew {f:04d}"].value' for f in FRAMES]


def test_bake_first_failure(character, monkeypatch):
    """A first bake that fails leaves no trace in the file."""
    body, _ = character
    add()
    play(body, FRAMES)
    bpy.context.scene.frame_set(1)
    before = snapshot(body)
    monkeypatch.setattr(part("scene.writing"), "write_curves", lambda *_: 1 / 0)
    assert "nothing was changed" in refusal(bpy.ops.thew.bake)
    assert snapshot(body) == before


def test_bake_longer_range(scene, character):
    """A bake beyond the previewed range shows the previewed shapes within it."""
    body, armature = character
    animate(armature, last=60)
    body.thew.young = 3e3  # so soft that it swings far
    scene.frame_end = 20
    add()
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake(frame_start=1, frame_end=60) == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_remove_restores_file(scene, character):
    """Remove leaves the file as it was before flesh was added."""
    body, _ = character
    scene.frame_set(7)
    before, skinned = snapshot(body), play(body, FRAMES)
    scene.frame_set(7)
    add()
    play(body, FRAMES)
    scene.frame_set(7)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    forget_settings(body)
    assert snapshot(body) == before
    np.testing.assert_array_equal(play(body, FRAMES), skinned)


def test_remove_with_keys_restores_file(scene, character):
    """Remove with the baked keys leaves the file as it was before flesh was added."""
    body, _ = character
    before, skinned = snapshot(body), play(body, FRAMES)
    scene.frame_set(1)
    add()
    bpy.ops.thew.bake()
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    forget_settings(body)
    assert snapshot(body) == before
    np.testing.assert_array_equal(play(body, FRAMES), skinned)


def test_remove_mutes_keys(character):
    """Remove keeps the baked keys muted, and deletes them when it is asked to."""
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


def test_disable_shows_skin(character):
    """Flesh that is switched off shows the plain skin, and moves as before when it is switched on again."""
    body, _ = character
    skinned = play(body, FRAMES)
    add()
    live = play(body, FRAMES)
    body.thew.enabled = False
    np.testing.assert_array_equal(play(body, FRAMES), skinned)
    body.thew.enabled = True
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_softness_changes_motion(character):
    """Another softness changes the motion, and the former softness gives the former motion back."""
    body, _ = character
    add()
    soft = play(body, FRAMES)
    body.thew.softness = 0.2
    stiff = play(body, FRAMES)
    assert np.abs(stiff - soft).max() > 1e-3
    body.thew.softness = 0.5
    np.testing.assert_array_equal(play(body, FRAMES), soft)


def test_weights_change_motion(character):
    """Painted bone weights change the motion."""
    body, _ = character
    add()
    before = play(body, FRAMES)
    body.vertex_groups["Hip"].add(list(range(70, 100)), 1.0, "REPLACE")
    body.vertex_groups["Spine"].remove(list(range(70, 100)))
    after = play(body, FRAMES)
    assert np.abs(after - before).max() > 1e-3


def test_animation_change_noticed(character):
    """A changed animation is simulated anew without a press of Simulate."""
    body, armature = character
    add()
    before = play(body, FRAMES)
    animate(armature, bend=-0.4)
    after = play(body, FRAMES)
    assert np.abs(after - before).max() > 1e-2
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(play(body, FRAMES), after)


def test_save_load_keeps_motion(character, tmp_path):
    """Settings and motion are the same after the file is saved and opened again."""
    body, _ = character
    add()
    body.thew.softness = 0.4
    body.thew.real_height = 1.9
    live, saved = play(body, FRAMES), settings(body)
    path = tmp_path / "live.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    body = bpy.data.objects["Body"]
    assert settings(body) == saved
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_rename_keeps_motion(character):
    """Renamed objects, bones and modifiers leave the motion and Remove as they were."""
    body, armature = character
    add()
    live = play(body, FRAMES)
    body.name, body.data.name, armature.name = "Bauch", "Netz", "Gerippe"
    armature.data.bones["Spine"].name = "Wirbel"
    body.modifiers[0].name, body.modifiers[1].name = "Knochen", "Fleisch"
    assert "Wirbel" in body.vertex_groups
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert [(m.name, m.show_viewport) for m in body.modifiers] == [("Knochen", True)]


def test_undo_redo_motion(character):
    """Undo and redo show the motion of the settings that they bring back."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="added")
    body.thew.softness = 0.2
    stiff = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="stiffened")
    bpy.ops.ed.undo()
    body = bpy.data.objects["Body"]
    assert body.thew.softness == 0.5
    np.testing.assert_array_equal(play(body, FRAMES), live)
    bpy.ops.ed.redo()
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(play(body, FRAMES), stiff)


def test_copy_own_flesh(character):
    """A copied object has flesh and settings of its own."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    copy = body.copy()
    copy.data = body.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    copy.thew.softness = 0.2
    shapes = play(copy, FRAMES)
    assert np.isfinite(shapes).all() and np.abs(shapes - live).max() > 1e-3
    np.testing.assert_array_equal(play(body, FRAMES), live)


def saved_character(body, tmp_path) -> str:
    """Saves the file and opens an empty scene; returns the file's path."""
    path = str(tmp_path / "character.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
    return path


def fetch(path, link):
    """Appends or links the character of a file into the scene, and returns its mesh."""
    with bpy.data.libraries.load(path, link=link) as (source, wanted):
        wanted.objects = source.objects
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    return next(obj for obj in wanted.objects if obj.name == "Body")


def test_append_keeps_flesh(character, tmp_path):
    """An appended character moves as it did in its own file."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    body = fetch(saved_character(body, tmp_path), link=False)
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_link_shows_skin_or_bake(character, tmp_path):
    """A linked character shows its plain skin, or plays its bake if it has one."""
    body, _ = character
    skin = play(body, FRAMES)
    add()
    live = play(body, FRAMES)
    body = fetch(saved_character(body, tmp_path), link=True)
    np.testing.assert_array_equal(play(body, FRAMES), skin)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "character.blend"))
    bpy.context.view_layer.objects.active = bpy.data.objects["Body"]
    bpy.ops.thew.bake()
    body = fetch(saved_character(bpy.data.objects["Body"], tmp_path), link=True)
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_linked_duplicate_noted(character):
    """A linked duplicate leaves the first object's motion alone, and its note asks for a single user."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    twin = body.copy()
    bpy.context.scene.collection.objects.link(twin)
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert "single user" in twin.thew.made.notes


def test_add_two_meshes(scene, character):
    """Two meshes on one armature have flesh of their own, and a bake of one leaves the other alone."""

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


def test_disable_removes_attribute(character):
    """Flesh that is switched off leaves no attribute on the mesh."""
    body, _ = character
    add()
    play(body, FRAMES)
    assert "thew_offset" in body.data.attributes
    body.thew.enabled = False
    play(body, FRAMES)
    assert not [name for name in body.data.attributes.keys() if name.startswith("thew")]


def test_render_shows_live(scene, character, tmp_path):
    """A render shows the live flesh, and the same picture from its bake."""
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
    body.thew.softness = 0.9
    live = picture("live", 8)
    bpy.ops.thew.bake()
    baked = picture("baked", 8)
    assert np.abs(live - skinned).max() > 0.1
    assert np.abs(live - baked).mean() < 1e-3

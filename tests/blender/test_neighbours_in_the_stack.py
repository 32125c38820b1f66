# SPDX-License-Identifier: GPL-3.0-or-later
"""What riggers do around a fleshed character: odd neighbours in the stack, things removed, renamed and shared."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    evaluated_positions,
    forget_settings,
    make_character,
    play,
    refusal,
    size_of,
    snapshot,
    world,
)
from mathutils import Matrix

FRAMES = (4, 12, 18)


def add(**options):
    assert bpy.ops.thew.add(**{"cells_across": 6, **options}) == {"FINISHED"}


def bake_equals_live(body) -> None:
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_pinned_modifier_stays_last(scene):
    """A modifier pinned to the end stays behind Thew's."""
    body, _ = make_character()
    body.modifiers.new("Below", "SUBSURF").levels = 1
    last = body.modifiers.new("Smooth", "SMOOTH")
    last.use_pin_to_last = True
    add()
    assert [m.name for m in body.modifiers] == ["Armature", "Thew", "Below", "Smooth"]
    bake_equals_live(body)


@pytest.mark.parametrize("kind", ["SOFT_BODY", "MULTIRES"])
def test_add_refuses_mesh_bound_modifiers(scene, kind):
    """Modifiers that need the mesh itself are refused, and nothing changes."""
    body, _ = make_character()
    body.modifiers.new("Other", kind)
    if kind == "MULTIRES":
        bpy.ops.object.multires_subdivide(modifier="Other")
    before = snapshot(body)
    said = refusal(bpy.ops.thew.add, cells_across=6)
    assert "Other" in said and "Body" in said and "apply or remove" in said
    assert snapshot(body) == before
    body.modifiers.remove(body.modifiers["Other"])
    add()


def test_later_mirror_shows_plain_skin(scene):
    """A Mirror added later never folds the shape, and the flesh returns when it goes."""
    body, rig = make_character()
    for data in (body.data, rig.data):
        data.transform(Matrix.Translation((0.6, 0, 0)))
    add()
    play(body, FRAMES)
    body.modifiers.new("Mirror", "MIRROR")
    body.modifiers.move(len(body.modifiers) - 1, 0)
    shape = play(body, (12,))[0]
    assert "Mirror" in body.thew.made.notes
    # Refused, it shows the plain armature: both halves stand apart.
    assert shape[:, 0].min() < -0.3 < 0.3 < shape[:, 0].max()
    body.modifiers.remove(body.modifiers["Mirror"])
    live = play(body, FRAMES)
    body.thew.enabled = False
    assert np.abs(play(body, FRAMES) - live).max() > 1e-3


def test_linked_duplicate_shows_plain_skin(scene):
    """A linked duplicate makes the original show its plain skin, with a note."""
    body, _ = make_character()
    skin = play(body, FRAMES)
    add()
    play(body, FRAMES)
    activate(body)
    bpy.ops.object.duplicate(linked=True)
    assert np.abs(play(body, FRAMES) - skin).max() < 1e-6
    assert "shares its mesh" in body.thew.made.notes


def test_deleted_modifier_noted(scene, capfd):
    """The notes name Thew's deleted modifier, and Remove still works."""
    body, _ = make_character()
    add()
    play(body, FRAMES)
    body.modifiers.remove(body.modifiers["Thew"])
    body.thew.softness = 0.25
    play(body, FRAMES)
    assert "modifier is gone" in body.thew.made.notes
    assert "Traceback" not in "".join(capfd.readouterr())
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert body.modifiers["Armature"].show_viewport


def test_add_remakes_deleted_modifier(scene):
    """Add Flesh makes Thew's deleted modifier anew, and Remove restores the file."""
    body, rig = make_character()
    before = snapshot(body)
    add()
    live = play(body, FRAMES)
    body.modifiers.remove(body.modifiers["Thew"])
    body.modifiers.new("Second", "ARMATURE").object = rig
    body.modifiers["Second"].show_viewport = body.modifiers["Second"].show_render = False
    scene.frame_set(1)
    add()
    assert [m.name for m in body.modifiers] == ["Armature", "Thew", "Second"]
    np.testing.assert_array_equal(play(body, FRAMES), live)
    bake_equals_live(body)
    scene.frame_set(1)
    body.modifiers.remove(body.modifiers["Second"])
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    forget_settings(body)
    assert snapshot(body) == before


def test_add_follows_new_armature_modifier(scene):
    """Add Flesh follows a new Armature modifier in place of a deleted one."""
    body, rig = make_character()
    skin = play(body, FRAMES)
    add()
    live = play(body, FRAMES)
    body.modifiers.remove(body.modifiers["Thew"])
    body.modifiers.remove(body.modifiers["Armature"])
    assert "followed is gone" in refusal(bpy.ops.thew.add)
    body.modifiers.new("Anew", "ARMATURE").object = rig
    for _ in range(2):
        add()
        assert [m.name for m in body.modifiers] == ["Anew", "Thew"]
        np.testing.assert_array_equal(play(body, FRAMES), live)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), skin)


def test_objects_created_and_deleted(scene, capfd):
    """Objects that are created or deleted leave the flesh of others unchanged."""
    one, _ = make_character(name="One")
    two, _ = make_character(name="Two")
    for body in (one, two):
        activate(body)
        add()
    live = play(two, FRAMES)
    bpy.data.objects.remove(one)
    bpy.data.objects.new("Empty", None)
    assert np.abs(play(two, FRAMES) - live).max() < 1e-6
    assert "Traceback" not in "".join(capfd.readouterr())


def test_second_scene_shows_flesh(scene):
    """A second scene that links the character shows the flesh too."""
    body, _ = make_character()
    add()
    live = play(body, FRAMES)
    bpy.ops.scene.new(type="LINK_COPY")
    other = bpy.context.window.scene if bpy.context.window else bpy.context.scene
    assert other != scene
    shapes = []
    for frame in FRAMES:
        other.frame_set(frame)
        shapes.append(evaluated_positions(body))
    assert np.abs(np.array(shapes) - live).max() < 1e-5 * size_of(live[0])


def test_bake_after_deleted_keys(scene):
    """Baked keys that were deleted by hand do not spoil the next bake."""
    body, _ = make_character()
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Smile")
    add()
    live = play(body, (4, 6))
    assert bpy.ops.thew.bake() == {"FINISHED"}
    for key in [key for key in body.data.shape_keys.key_blocks if key.name.startswith("Thew")]:
        body.shape_key_remove(key)
    assert bpy.ops.thew.bake(frame_start=3, frame_end=8) == {"FINISHED"}
    assert np.abs(play(body, (4, 6)) - live).max() < 1e-5 * size_of(live[0])
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert [key.name for key in body.data.shape_keys.key_blocks] == ["Basis", "Smile"]


def test_bake_refuses_shared_action(scene):
    """Shape keys that share an action with others are not baked over."""
    bodies = [make_character(name=name)[0] for name in ("One", "Two")]
    for body in bodies:
        body.shape_key_add(name="Basis")
        body.shape_key_add(name="Smile").keyframe_insert("value", frame=1)
    first, second = (body.data.shape_keys.animation_data for body in bodies)
    second.action = first.action
    if hasattr(first, "action_slot"):
        second.action_slot = first.action_slot
    activate(bodies[0])
    add()
    assert "share the action" in refusal(bpy.ops.thew.bake)


def test_animated_deformer_any_start_frame(scene):
    """Flesh behind an animated deformer is the same whichever frame it was added at."""
    shapes = []
    for start in (1, 20):
        bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
        body, _ = make_character()
        taper = body.modifiers.new("Taper", "SIMPLE_DEFORM")
        taper.deform_method = "TAPER"
        for frame, factor in ((1, 0.0), (20, 0.6)):
            taper.factor = factor
            taper.keyframe_insert("factor", frame=frame)
        body.modifiers.move(len(body.modifiers) - 1, 0)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
        bpy.context.scene.frame_set(start)
        add()
        shapes.append(play(body, FRAMES))
        if start == 20:
            bake_equals_live(body)
    assert np.abs(shapes[0] - shapes[1]).max() < 1e-5 * size_of(shapes[0][0])


def test_add_refuses_driven_visibility(scene):
    """A driven visibility of the Armature modifier is refused."""
    body, _ = make_character()
    body.modifiers["Armature"].driver_add("show_viewport").driver.expression = "1"
    bpy.context.view_layer.update()
    assert "visibility of the Armature modifier" in refusal(bpy.ops.thew.add, cells_across=6)


def test_weightless_vertices_noted(scene):
    """The notes count vertices without weight."""
    body, _ = make_character()
    for group in body.vertex_groups:
        group.remove(range(20))
    add()
    assert "20 of" in body.thew.made.notes and "no weight" in body.thew.made.notes


def test_applied_transforms_keep_motion(scene):
    """Applied transforms and a moved origin leave the motion in the world unchanged."""
    body, rig = make_character()
    for obj in (body, rig):
        obj.scale = (0.1, 0.1, 0.1)
    bpy.context.view_layer.update()
    add()
    live = play(body, FRAMES, read=world)
    size = size_of(live[0])
    activate(body)
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert np.abs(play(body, FRAMES, read=world) - live).max() < 2e-3 * size
    scene.frame_set(1)
    scene.cursor.location = (1.0, 0.0, 0.0)
    bpy.ops.object.origin_set(type="ORIGIN_CURSOR")
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert np.abs(play(body, FRAMES, read=world) - live).max() < 2e-3 * size


def test_swing_limit_scales(scene):
    """The limit of the swing shrinks with a character that its bones shrink."""
    body, rig = make_character()
    hip = rig.pose.bones["Hip"]
    for frame, size in ((1, 0.01), (10, 1.0)):
        hip.scale = (size, size, size)
        hip.keyframe_insert("scale", frame=frame)
    scene.frame_set(10)
    skin = play(body, (1, 3, 6))
    add()
    for shape, plain in zip(play(body, (1, 3, 6)), skin, strict=True):
        assert np.linalg.norm(shape - plain, axis=1).max() < 0.2 * size_of(plain)


def test_show_live_after_reload(scene, tmp_path):
    """Live flesh can be shown again after a baked file was reloaded."""
    body, _ = make_character()
    add()
    live = play(body, (12,))[0]
    assert bpy.ops.thew.bake() == {"FINISHED"}
    scene.frame_set(3)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.context.scene.frame_set(12)
    body = bpy.data.objects["Body"]
    activate(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert np.abs(evaluated_positions(body) - live).max() < 1e-6 * size_of(live)


def test_settings_not_keyable(scene):
    """A setting of the flesh cannot be keyed."""
    body, _ = make_character()
    with pytest.raises(TypeError):
        body.thew.keyframe_insert("young", frame=1)

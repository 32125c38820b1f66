# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh among other modifiers, shape keys, object transforms and units."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    animate,
    evaluated_positions,
    flesh_of,
    make_armature,
    make_body,
    make_character,
    part,
    play,
    size_of,
    skinned_shape,
    world,
)
from mathutils import Matrix

FRAMES = range(1, 21)


def add(**options):
    assert bpy.ops.thew.add(**{"cells_across": 6, **options}) == {"FINISHED"}


def skin_of(obj, frames) -> np.ndarray:
    """Returns the Armature modifier's shapes as the flesh's own reading predicts them, [f, n, 3]."""
    flesh = flesh_of(obj)
    shapes = []
    for frame in frames:
        i = frame - flesh.motion.start
        shapes.append(skinned_shape(flesh, flesh.motion.maps[i], flesh.motion.matrices[i]))
    return np.array(shapes)


PLACES = {
    "plain": Matrix.Identity(4),
    "turned": Matrix.Translation((3, -2, 1)) @ Matrix.Rotation(0.7, 4, (1, 2, 3)),
    "scaled": Matrix.Diagonal((0.01, 0.01, 0.01, 1)),
    "squashed": Matrix.Translation((0, 0, 5)) @ Matrix.Diagonal((2, 1, 0.5, 1)),
    "mirrored": Matrix.Diagonal((-1, 1, 1, 1)),
}


def carry(rig, distance: float = 0.5) -> None:
    """Moves the armature object during the clip."""
    for frame, x in ((1, 0.0), (20, distance)):
        rig.location.x += x
        rig.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)


@pytest.mark.parametrize("parented", [True, False])
@pytest.mark.parametrize("mesh_kind", PLACES)
@pytest.mark.parametrize("rig_kind", ["plain", "turned", "mirrored"])
def test_reading_matches_modifier(scene, parented, mesh_kind, rig_kind):
    """Wherever the two objects stand, our bone maps give the Armature modifier's shapes."""
    reading, poses = part("scene.reading"), part("scene.poses")
    body, rig = make_character()
    rig.matrix_world = PLACES[rig_kind]
    if parented:
        body.parent = rig
    body.matrix_world = PLACES[mesh_kind]
    carry(rig)
    skinned = play(body, FRAMES)
    scene.frame_set(1)
    view_layer = bpy.context.view_layer
    found = reading.subject(body, view_layer)
    flesh = part("live.flesh").Flesh()
    flesh.character = part("scene.character").read_character(
        found, bpy.context.scene, bpy.context.evaluated_depsgraph_get
    )
    flesh.bind_pose = part("scene.bind_pose").BindPose.read(found, scene)
    task = poses.read_motion(found, flesh.character.bones, flesh.bind_pose.mesh_matrix, scene, view_layer, 1, 20)
    motion = part("logic.tasks").finish(task)
    ours = np.array([skinned_shape(flesh, motion.maps[f - 1], motion.matrices[f - 1]) for f in FRAMES])
    assert np.abs(ours - skinned).max() < 1e-4 * size_of(skinned[0])  # Blender's single precision, scales of 100


@pytest.mark.parametrize("parented", [True, False])
@pytest.mark.parametrize("kind", PLACES)
def test_character_placed_anywhere(scene, parented, kind):
    """A whole character turned, scaled, squashed or mirrored, its armature moving: the flesh stays with the skin."""
    body, rig = make_character()
    rig.matrix_world = PLACES[kind]
    if parented:
        body.parent = rig
    else:
        body.matrix_world = PLACES[kind]
    carry(rig, 0.005 if kind == "scaled" else 0.5)
    skinned = play(body, FRAMES, read=world)
    scene.frame_set(1)
    body.thew.softness = 0.25
    add()
    live = play(body, FRAMES, read=world)
    assert 1e-4 < np.abs(live - skinned).max() / size_of(skinned[0]) < 0.2


def test_flesh_still_at_rest(scene):
    """Flesh of a character at rest does not move."""
    rig = make_armature()
    body = make_body(rig)
    rest = evaluated_positions(body)
    add()
    assert np.abs(play(body, (1, 7, 20)) - rest).max() < 1e-4 * size_of(rest)


def test_flesh_carried_without_lag(scene):
    """Flesh does not lag behind a character that is carried at constant speed."""
    rig = make_armature()
    body = make_body(rig)
    body.parent = rig
    for frame, x in ((-30, -9.0), (60, 18.0)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
    action = rig.animation_data.action
    for curve in part("scene.animation").curves_in(rig.animation_data):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    assert action is not None
    scene.frame_set(1)
    rest = evaluated_positions(body)
    add()
    bpy.ops.thew.simulate()
    shapes = play(body, range(scene.frame_start, scene.frame_end + 1))
    assert np.abs(shapes - rest).max() < 1e-4 * size_of(rest)


@pytest.mark.parametrize("scale", [0.001, 1.0, 300.0])
def test_motion_independent_of_scale(scene, scale):
    """The motion is the same at any scale of the file."""
    body, _ = make_character(scale=scale)
    body.thew.real_height = 1.8
    add()
    shapes = play(body, FRAMES) / scale
    bpy.context.scene["shape"] = shapes[9].ravel().tolist()
    if scale == 1.0:
        return
    bpy.data.objects.remove(body)
    plain, _ = make_character()
    activate(plain)
    plain.thew.real_height = 1.8
    add()
    expected = play(plain, FRAMES)
    assert np.abs(shapes - expected).max() < 1e-3 * size_of(expected[0])


def test_real_height_guessed_and_set(scene):
    """The real height is guessed, and a height set by hand changes the motion."""
    body, _ = make_character()
    add()
    assert body.thew.height() == pytest.approx(1.9, rel=1e-3)
    natural = play(body, FRAMES)
    body.thew.real_height = 8.0
    giant = play(body, FRAMES)
    assert np.abs(giant - natural).max() > 1e-3
    bpy.ops.thew.remove()
    assert body.thew.height() == 8.0, "what was set stays"
    body.thew.real_height = 0.0
    scene.unit_settings.scale_length = 0.01
    bpy.ops.thew.add(cells_across=6)
    assert body.thew.height() == pytest.approx(1.7)  # 1.9 cm is not believed


def test_real_height_of_swimmer(scene):
    """A shark of 5.6 m lies; the same, standing as a person does, is taken for one."""
    body, armature = make_character(scale=5.6 / 1.9)
    add()
    assert body.thew.height() == pytest.approx(1.7)
    bpy.ops.thew.remove()
    for obj in (body, armature):
        obj.rotation_euler = (np.pi / 2, 0.0, 0.0)
    bpy.context.view_layer.update()
    add()
    assert body.thew.height() == pytest.approx(5.6, rel=1e-3)
    bpy.ops.thew.remove()
    armature.name = "Horse Rig"
    add()
    assert body.thew.height() == pytest.approx(3.0)  # no longer than the longest horse


def test_modifiers_after_thew(scene):
    """Modifiers after Thew's keep working with live and baked flesh."""
    body, _ = make_character()
    body.modifiers.new("Subdivision", "SUBSURF").levels = 1
    count = len(evaluated_positions(body))
    add()
    assert [m.type for m in body.modifiers] == ["ARMATURE", "NODES", "SUBSURF"]
    assert len(evaluated_positions(body)) == count
    live = play(body, FRAMES)
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    bpy.ops.thew.remove()
    assert [m.type for m in body.modifiers] == ["ARMATURE", "SUBSURF"]


def test_deformers_before_thew(scene):
    """Deforming modifiers before Thew's stay in effect with live and baked flesh."""
    body, _ = make_character()
    cast = body.modifiers.new("Cast", "CAST")
    cast.factor = 0.3
    body.modifiers.move(1, 0)
    skinned = play(body, FRAMES)
    add()
    assert [m.type for m in body.modifiers] == ["CAST", "ARMATURE", "NODES"]
    bpy.ops.thew.simulate()
    assert np.abs(skin_of(body, FRAMES) - skinned).max() < 1e-5 * size_of(skinned[0])
    live = play(body, FRAMES)
    assert np.abs(live - skinned).max() < 0.2 * size_of(skinned[0])
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert not cast.show_viewport and not cast.show_render
    bpy.ops.thew.show_live()
    assert cast.show_viewport and cast.show_render
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)
    bpy.ops.thew.show_bake()
    bpy.ops.thew.remove(remove_baked_keys=True)
    assert cast.show_viewport and cast.show_render
    np.testing.assert_array_equal(play(body, FRAMES), skinned)


def add_keys(body) -> None:
    """Adds a basis, a key that swells the belly, and one at half that shears the head."""
    body.shape_key_add(name="Basis")
    swell, shear = body.shape_key_add(name="Swell"), body.shape_key_add(name="Shear")
    for point in swell.points:
        if 0.5 < point.co.z < 0.9:
            point.co.x *= 1.3
            point.co.y *= 1.3
    for point in shear.points:
        if point.co.z > 1.5:
            point.co.x += 0.1
    shear.value = 0.5


def test_shape_keys_at_rest(scene):
    """With the skeleton still, keys move the flesh's surface exactly as they move the mesh."""
    rig = make_armature()
    body = make_body(rig)
    add_keys(body)
    add()
    keys = body.data.shape_keys.key_blocks
    keys["Swell"].value = 1.0
    expected = np.array([p.co for p in keys["Swell"].points], dtype=np.float32)
    expected[:, 0] += 0.5 * np.array(
        [q.co.x - p.co.x for p, q in zip(keys["Basis"].points, keys["Shear"].points, strict=False)]
    )
    assert np.abs(play(body, (3,))[0] - expected).max() < 1e-4


def test_shape_keys_turn_with_bones(scene):
    """The offset of a shape key turns with the bone that carries it."""
    body, rig = make_character()
    add_keys(body)
    animate(rig, hop=0.0, bend=1.0)
    keys = body.data.shape_keys.key_blocks
    keys["Shear"].value = 0.0
    add()
    plain = play(body, FRAMES)
    keys["Shear"].value = 1.0
    sheared = play(body, FRAMES)
    offset = (sheared - plain)[:, -1]
    np.testing.assert_allclose(np.linalg.norm(offset, axis=1), 0.1, rtol=1e-3)
    flesh = flesh_of(body)
    for frame in FRAMES:
        turn = flesh.motion.maps[frame - 1][2][:3, :3]  # the head's
        np.testing.assert_allclose(offset[frame - 1], turn @ (0.1, 0, 0), atol=1e-4)


def test_animated_keys_after_bake(scene):
    """Animated shape keys keep playing with a bake and survive its removal."""
    body, _ = make_character()
    add_keys(body)
    keys = body.data.shape_keys
    swell = keys.key_blocks["Swell"]
    for frame, value in ((1, 0.0), (10, 1.0), (20, 0.2)):
        swell.value = value
        swell.keyframe_insert("value", frame=frame)
    action = keys.animation_data.action
    add()
    live = play(body, FRAMES)
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert [k.name for k in keys.key_blocks[:3]] == ["Basis", "Swell", "Shear"]
    bpy.ops.thew.bake(frame_start=5, frame_end=9)
    assert np.abs(play(body, range(5, 10)) - live[4:9]).max() < 1e-5 * size_of(live[0])
    bpy.ops.thew.remove(remove_baked_keys=True)
    assert [k.name for k in keys.key_blocks] == ["Basis", "Swell", "Shear"]
    assert keys.animation_data.action == action
    assert len(part("scene.animation").curves_in(keys.animation_data)) == 1


def test_artist_key_with_our_name(scene):
    """A key of the artist that is named like a baked one is left alone."""
    body, _ = make_character()
    body.shape_key_add(name="Basis")
    mine = body.shape_key_add(name="Thew 0003")
    mine.points[0].co.x += 0.25
    add()
    live = play(body, FRAMES)
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    bpy.ops.thew.remove(remove_baked_keys=True)
    keys = body.data.shape_keys.key_blocks
    assert [k.name for k in keys] == ["Basis", "Thew 0003"]
    assert keys[1].points[0].co.x == pytest.approx(keys[0].points[0].co.x + 0.25)


def test_frame_rate_in_seconds(scene):
    """The same motion over the same seconds, at 24 and at 48 frames a second, ends in nearly the same shape."""
    body, rig = make_character()
    add()
    at24 = play(body, (9,))[0]
    scene.render.fps, scene.render.fps_base = 48, 1.0
    action = rig.animation_data.action
    for curve in part("scene.animation").curves_in(rig.animation_data):
        for point in curve.keyframe_points:
            for handle in (point.handle_left, point.handle_right, point.co):
                handle.x = 1 + 2 * (handle.x - 1)
        curve.update()
    assert action is not None
    scene.frame_end = 40
    at48 = play(body, (17,))[0]
    assert np.abs(at48 - at24).max() < 0.02 * size_of(at24)


def test_helper_bones_skipped(scene):
    """A root bone that stays behind and a helper between two bones do not hold the flesh."""
    body, rig = make_character()
    plain = skin_names(body)
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    root, helper, tip = bones.new("Root"), bones.new("Helper"), bones.new("Tip")
    root.head, root.tail = (0, 0, -0.5), (0, 0, 0)
    helper.head, helper.tail = (0, 0, 0.6), (0, 0.1, 0.6)
    tip.head, tip.tail = (0, 0, 1.8), (0, 0, 1.9)
    bones["Hip"].parent, helper.parent = root, bones["Hip"]
    bones["Spine"].parent, tip.parent = helper, bones["Head"]
    bpy.ops.object.mode_set(mode="OBJECT")
    activate(body)
    names, parents = skin_names(body)
    assert plain == (["Hip", "Spine", "Head"], [-1, 0, 1])
    assert sorted(names) == ["Head", "Hip", "Spine", "Tip"]
    assert [names[p] if p >= 0 else None for p in parents] == [
        {"Hip": None, "Spine": "Hip", "Head": "Spine", "Tip": "Head"}[name] for name in names
    ]
    skinned = play(body, FRAMES)
    add()
    assert np.abs(play(body, FRAMES) - skinned).max() < 0.2 * size_of(skinned[0])


def skin_names(body):
    reading = part("scene.reading")
    found = reading.subject(body, bpy.context.view_layer)
    character = part("scene.character").read_character(found, bpy.context.scene, bpy.context.evaluated_depsgraph_get)
    return character.bones, character.parents.tolist()


def test_ineffective_options_noted(scene):
    """The notes name options of the armature that have no effect on flesh."""
    body, rig = make_character()
    body.modifiers["Armature"].vertex_group = "Spine"
    rig.data.bones["Spine"].bbone_segments = 4
    add()
    assert "“Spine” of the Armature modifier is ignored" in body.thew.made.notes
    assert "Bendy bones such as “Spine”" in body.thew.made.notes


def test_hidden_objects_simulated(scene):
    """A hidden armature is simulated too and stays hidden."""
    body, rig = make_character()
    add()
    live = play(body, FRAMES)
    rig.hide_set(True)
    rig.hide_viewport = True
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert rig.hide_viewport and rig.hide_get()
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_motion_independent_of_object_frame(scene):
    """Turning the mesh object about while its vertices stay in place changes nothing that is seen."""
    body, _rig = make_character()
    add()
    plain = play(body, FRAMES, read=world)
    bpy.ops.thew.remove()
    turn = Matrix.Rotation(math.radians(40), 4, "Z") @ Matrix.Translation((1, 2, 3))
    body.data.transform(turn.inverted())
    body.matrix_world = turn
    bpy.context.view_layer.update()
    add()
    turned = play(body, FRAMES, read=world)
    assert np.abs(turned - plain).max() < 5e-3 * size_of(plain[0])

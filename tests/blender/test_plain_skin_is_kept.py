# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown is the artist's own skin, as Blender makes it, plus what the flesh adds; plain skin where nothing is ready."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    evaluated_positions,
    flesh_of,
    forget_settings,
    make_character,
    part,
    play,
    size_of,
    snapshot,
)
from mathutils import Matrix

FRAMES = range(1, 21)


def add(**options):
    assert bpy.ops.thew.add(**{"cells_across": 6, **options}) == {"FINISHED"}


def preserve_volume(body, _rig):
    body.modifiers["Armature"].use_deform_preserve_volume = True


def mask_armature(body, _rig):
    body.vertex_groups.new(name="Mask").add(list(range(0, 130, 2)), 0.7, "REPLACE")
    body.modifiers["Armature"].vertex_group = "Mask"


def envelopes(body, _rig):
    body.modifiers["Armature"].use_bone_envelopes = True


def bend_bone_segments(_body, rig):
    rig.data.bones["Spine"].bbone_segments = 4


def key_bulge(body, _rig):
    body.shape_key_add(name="Basis")
    bulge = body.shape_key_add(name="Bulge")
    for point in bulge.points:
        point.co.x *= 1.4
    for frame, value in ((1, 0.0), (20, 1.0)):
        bulge.value = value
        bulge.keyframe_insert("value", frame=frame)


def add_cast_before(body, _rig):
    body.modifiers.new("Cast", "CAST").factor = 0.3
    body.modifiers.move(1, 0)


def place_elsewhere(body, rig):
    """Places the whole character elsewhere, with the mesh in a frame of its own that moves."""
    there = Matrix.Translation((3, -2, 1)) @ Matrix.Rotation(0.7, 4, (1, 2, 3)) @ Matrix.Scale(0.5, 4)
    own = Matrix.Rotation(-0.4, 4, (0, 1, 1)) @ Matrix.Diagonal((2, 1, 0.5, 1))
    rig.matrix_world, body.matrix_world = there, there @ own
    body.data.transform(own.inverted())
    x = body.location.x
    for frame, further in ((1, 0.0), (20, 0.5)):
        body.location.x = x + further
        body.keyframe_insert("location", frame=frame)


SKINS = (preserve_volume, mask_armature, envelopes, bend_bone_segments, key_bulge, add_cast_before, place_elsewhere)


@pytest.mark.parametrize("kind", SKINS)
def test_shown_skin_plus_offsets(scene, kind):
    """The shown shape is Blender's own skin plus the flesh's offsets, live and baked."""
    body, rig = make_character()
    kind(body, rig)
    scene.frame_set(1)
    skin = play(body, FRAMES)
    size = size_of(skin[0])
    scene.frame_set(1)
    add()
    shown = play(body, FRAMES)
    added = np.array([flesh_of(body).offsets(frame) for frame in FRAMES])
    assert np.abs(added).max() > 1e-3 * size
    np.testing.assert_allclose(shown - skin, added, atol=2e-6 * size)
    assert [m.type for m in body.modifiers if m.show_viewport][-2:] == ["ARMATURE", "NODES"]
    live = shown
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), skin)


def test_skinning_change_keeps_clip(character):
    """Another way of skinning changes the shown shape without a new simulation."""
    body, _ = character
    add()
    play(body, FRAMES)
    clip = flesh_of(body).clip
    linear = play(body, FRAMES)
    preserve_volume(body, None)
    kept = play(body, FRAMES)
    assert flesh_of(body).clip is clip and np.abs(kept - linear).max() > 1e-4
    body.thew.enabled = False
    skin = play(body, FRAMES)
    np.testing.assert_allclose(kept - skin, [flesh_of(body).offsets(f) for f in FRAMES], atol=2e-6 * size_of(skin[0]))


# plain skin -----------------------------------------------------------------------------------------------------------


def test_armature_off_shows_rest(character):
    """With the Armature modifier off the mesh shows its rest shape."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    body.modifiers["Armature"].show_viewport = False
    np.testing.assert_array_equal(play(body, (4, 9)), np.array([part("scene.mesh").basis_positions(body.data)] * 2))
    body.modifiers["Armature"].show_viewport = True
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_invalid_edit_shows_plain_skin(scene, character):
    """An edit that invalidates the flesh shows the plain skin at once."""
    body, _ = character
    add()
    play(body, (2, 7))
    activate(body)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    shown = evaluated_positions(body)
    body.modifiers["Thew"].show_viewport = False
    np.testing.assert_array_equal(shown, evaluated_positions(body))
    body.modifiers["Thew"].show_viewport = True
    assert np.abs(play(body, (7,)) - shown).max() > 1e-4


def test_edit_mode_without_flesh(scene, character):
    """Edit mode shows no flesh."""
    body, _ = character
    add()
    play(body, (7,))
    assert not body.modifiers["Thew"].show_in_editmode


def test_unread_frames_show_plain_skin(scene, character):
    """An offset never shows with the skin of another frame; such frames show the plain skin."""
    body, _ = character
    skin = play(body, FRAMES)
    add()
    live = play(body, FRAMES)
    scene.frame_set(9)
    with part("scene.poses").silence_handlers():  # as if the extension were not there
        np.testing.assert_array_equal(play(body, (3, 12, 17)), skin[[2, 11, 16]])
        np.testing.assert_array_equal(play(body, (9,)), live[[8]])


def test_saved_file_without_offsets(character, tmp_path):
    """Saved files hold no offsets, and saving changes nothing in the view."""
    body, _ = character
    skin = play(body, FRAMES)
    add()
    live = play(body, (4, 9))
    before = snapshot(body)
    path = str(tmp_path / "live.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    np.testing.assert_array_equal(evaluated_positions(body), live[1])  # saving is not seen
    assert snapshot(body) == before
    np.testing.assert_array_equal(play(body, (4, 9)), live)
    handlers = part("live.handlers")
    load = handlers.after_load
    bpy.app.handlers.load_post.remove(load)
    try:
        bpy.ops.wm.open_mainfile(filepath=path)
        body = bpy.data.objects["Body"]
        assert not [name for name in body.data.attributes.keys() if name.startswith("thew_")]
        np.testing.assert_array_equal(evaluated_positions(body), skin[8])
    finally:
        bpy.app.handlers.load_post.append(load)


def test_autosaved_file_opens_plain(character, tmp_path):
    """A file saved without our handlers, as Blender's automatic copies are, opens with the plain skin."""
    body, _ = character
    skin = play(body, FRAMES)
    add()
    live = play(body, FRAMES)
    before_save, path = part("live.saving").before_save, str(tmp_path / "auto.blend")
    bpy.app.handlers.save_pre.remove(before_save)
    try:
        bpy.ops.wm.save_as_mainfile(filepath=path)
    finally:
        bpy.app.handlers.save_pre.append(before_save)
    bpy.ops.wm.open_mainfile(filepath=path)
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(evaluated_positions(body), skin[19])
    np.testing.assert_array_equal(play(body, FRAMES), live)


# files of earlier versions --------------------------------------------------------------------------------------------


def age(body, kind: int) -> None:
    """Turns live flesh into that of earlier versions: the shape itself in place of the Armature modifier."""
    shape = evaluated_positions(body)
    tree = bpy.data.node_groups.new("Thew" if kind == 1 else "Thew With Shape Keys", "GeometryNodeTree")
    tree["thew_tree"] = kind
    for in_out in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
    nodes, links = tree.nodes, tree.links
    source, move, sink = (nodes.new(name) for name in ("NodeGroupInput", "GeometryNodeSetPosition", "NodeGroupOutput"))
    attribute = nodes.new("GeometryNodeInputNamedAttribute")
    attribute.data_type = "FLOAT_VECTOR"
    attribute.inputs["Name"].default_value = "thew_position"
    links.new(source.outputs[0], move.inputs["Geometry"])
    links.new(attribute.outputs["Attribute"], move.inputs["Position"])
    links.new(move.outputs[0], sink.inputs[0])
    thew, armature = body.modifiers["Thew"], body.modifiers["Armature"]
    new = thew.node_group
    thew.node_group = tree
    bpy.data.node_groups.remove(new)
    body.modifiers.move(list(body.modifiers).index(thew), list(body.modifiers).index(armature))
    made, armature = body.thew.made, body.modifiers["Armature"]
    made.found = f"{armature.persistent_uid}:1:1"
    armature.show_viewport = armature.show_render = False
    for name in ("thew_offset", "thew_frame"):
        if name in body.data.attributes:
            body.data.attributes.remove(body.data.attributes[name])
    for name in ("thew_position", "thew_rest", "thew_x", "thew_y", "thew_z")[: 1 if kind == 1 else 5]:
        body.data.attributes.new(name, "FLOAT_VECTOR", "POINT").data.foreach_set("vector", shape.ravel())


def save_and_open(path):
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    return bpy.data.objects["Body"]


@pytest.mark.parametrize("kind", [1, 2])
def test_old_flesh_updated(character, tmp_path, kind):
    """Flesh of earlier versions is brought up to date, and Remove restores the file."""
    body, _ = character
    before, skin = snapshot(body), play(body, FRAMES)
    bpy.context.scene.frame_set(1)
    add()
    live = play(body, FRAMES)
    age(body, kind)
    body = save_and_open(str(tmp_path / "old.blend"))
    np.testing.assert_array_equal(evaluated_positions(body), skin[19])
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert [(m.type, m.show_viewport, m.show_render) for m in body.modifiers] == [
        ("ARMATURE", True, True),
        ("NODES", True, True),
    ]
    assert [g.get("thew_tree") for g in bpy.data.node_groups] == [part("scene.modifier").TREE_LAYOUT]
    bpy.context.scene.frame_set(1)
    bpy.context.view_layer.objects.active = body
    assert bpy.ops.thew.remove() == {"FINISHED"}
    forget_settings(body)
    after = snapshot(body)
    uid = after["modifiers"][0][-1]
    assert uid and after == before


def test_old_flesh_keeps_bake(character, tmp_path):
    """Flesh of earlier versions that shows its bake keeps showing it."""
    body, _ = character
    skin = play(body, FRAMES)
    add()
    live = play(body, FRAMES)
    bpy.ops.thew.bake()
    age(body, 1)
    body.modifiers["Thew"].show_viewport = body.modifiers["Thew"].show_render = False
    body = save_and_open(str(tmp_path / "old.blend"))
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    bpy.context.view_layer.objects.active = body
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), skin)


def test_old_flesh_removed(character):
    """Flesh of earlier versions can be removed at once."""
    body, _ = character
    before, skin = snapshot(body), play(body, FRAMES)
    bpy.context.scene.frame_set(1)
    add()
    play(body, FRAMES)
    age(body, 2)
    bpy.context.scene.frame_set(1)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    forget_settings(body)
    assert snapshot(body) == before
    np.testing.assert_array_equal(play(body, FRAMES), skin)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The map Rigid: skin that keeps exactly to its bones, made by buttons, by paint and by hard materials."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from characters import add, clips, load, meshes, play_clip
from conftest import data_folder, in_one_blender
from helpers import (
    activate,
    evaluated_positions,
    flesh_of,
    make_armature,
    make_body,
    make_folding,
    part,
    play,
    refusal,
    settle,
    size_of,
)

FRAMES = range(1, 21)


def heights(body) -> np.ndarray:
    return part("scene.mesh").basis_positions(body.data)[:, 2]


def rigid_weights(body) -> np.ndarray:
    return part("scene.flesh_map").read(body, "Rigid")


def hold(body, values) -> None:
    """Paints the map Rigid."""
    part("edit.rigid").write(body, np.asarray(values, dtype=np.float32))
    bpy.context.view_layer.update()


def plain(body, frames=FRAMES) -> np.ndarray:
    """Returns the skin as the Armature modifier alone moves it."""
    body.thew.enabled = False
    shapes = play(body, frames)
    body.thew.enabled = True
    return shapes


@pytest.fixture
def lively(fleshed_character):
    """Builds a very soft character whose bent joints are elastic."""
    body, rig = fleshed_character
    body.thew.softness, body.thew.elastic_joints = 1.0, 1.0
    return body, rig


def test_rigid_is_skin(lively):
    """Rigid skin is the plain skin to the last bit, where flesh painted to 0 still bulges with Elastic Joints; other flesh moves."""
    body, _ = lively
    skin, away = plain(body), heights(body) < 0.9
    part("scene.flesh_map").write(body, "Flesh", np.where(away, 0.0, 1.0))
    body.data.update_tag()
    assert np.abs(play(body, FRAMES) - skin)[:, away].max() > 1e-3
    hold(body, away)
    shapes = play(body, FRAMES)
    np.testing.assert_array_equal(shapes[:, away], skin[:, away])
    assert np.abs(shapes - skin)[:, heights(body) > 1.2].max() > 1e-3
    # Between frames too.
    bpy.context.scene.frame_set(7, subframe=0.4)
    between = evaluated_positions(body)
    body.thew.enabled = False
    np.testing.assert_array_equal(between[away], evaluated_positions(body)[away])


def test_rigid_fades(lively):
    """What is rigid in part moves less, evenly: twice as fine a rim makes half the step between neighbours."""
    body, _ = lively
    skin, at = plain(body), heights(body)
    free = np.linalg.norm(play(body, FRAMES) - skin, axis=-1)
    hold(body, np.clip((1.2 - at) / 0.6, 0.0, 1.0))
    moved = np.linalg.norm(play(body, FRAMES) - skin, axis=-1)
    assert moved[:, at <= 0.6].max() == 0.0
    middle = (at > 0.8) & (at < 1.0)
    assert 0.0 < moved[:, middle].max() < 0.8 * free[:, middle].max()


def test_rigid_at_rest_and_baked(lively):
    """Rigid skin is the plain skin in the settled view, in a pose set by hand and in a bake."""
    body, _ = lively
    skin, away = plain(body), heights(body) < 0.9
    hold(body, away)
    bpy.context.scene.frame_set(6)
    np.testing.assert_array_equal(settle(body)[away], skin[5][away])
    body.thew.settled = False
    assert bpy.ops.thew.bake() == {"FINISHED"}
    baked = play(body, FRAMES)
    assert np.abs(baked - skin)[:, away].max() < 1e-6 * size_of(skin[0])
    assert np.abs(baked - skin).max() > 1e-3


def test_rigid_in_contact(scene):
    """Rigid skin stays in place under contact, and free flesh gives way to it."""
    scene.frame_end = 12
    body, _ = make_folding(last=12)
    body.thew.use_contact = True
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    frames = range(1, 13)
    skin, away = plain(body, frames), heights(body) < 0.75
    hold(body, away)
    shapes = play(body, frames)
    np.testing.assert_array_equal(shapes[:, away], skin[:, away])
    assert np.abs(shapes - skin)[:, ~away].max() > 1e-3


def test_rigid_keeps_dial(fleshed_character):
    """Making skin rigid leaves the lattice, and the stiffness of flesh elsewhere, as the dial has it."""
    body, _ = fleshed_character
    play(body, (3,))
    flesh = flesh_of(body)
    lattice, stiffness = flesh.lattice, flesh.stiffness
    hold(body, heights(body) < 0.5)
    play(body, (3,))
    assert flesh.lattice is lattice and flesh.stiffness == stiffness
    hold(body, np.zeros(len(body.data.vertices)))
    play(body, (3,))
    assert flesh.character.painted.rigid is None and flesh.reference is flesh.automatic


# buttons ------------------------------------------------------------------------------------------------------------


def select(body, chosen) -> None:
    """Selects vertices in object mode."""
    body.data.vertices.foreach_set("select", np.asarray(chosen, bool))


@pytest.mark.parametrize("editing", [False, True])
def test_make_rigid_selection(fleshed_character, editing):
    """Selected vertices become rigid, with a rim along the skin; amount 0 sets them free."""
    body, _ = fleshed_character
    chosen = heights(body) < 0.5
    select(body, chosen)
    if editing:
        activate(body)
        bpy.ops.object.mode_set(mode="EDIT")
        edited = bmesh.from_edit_mesh(body.data)
        edited.select_mode = {"VERT"}
        for vertex, is_chosen in zip(edited.verts, chosen, strict=True):
            vertex.select = bool(is_chosen)
        edited.select_flush_mode()
    assert bpy.ops.thew.make_rigid(part="SELECTION", falloff=0.2) == {"FINISHED"}
    assert body.mode == ("EDIT" if editing else "OBJECT")
    bpy.ops.object.mode_set(mode="OBJECT")
    values = rigid_weights(body)
    assert (values[chosen] == 1.0).all() and 0.0 < values[~chosen].max() < 1.0
    assert values[heights(body) > 1.2].max() == 0.0
    select(body, chosen)
    assert bpy.ops.thew.make_rigid(part="SELECTION", falloff=0.0, amount=0.0) == {"FINISHED"}
    assert rigid_weights(body)[chosen].max() == 0.0


def test_make_rigid_bones(fleshed_character):
    """The skin of the bones selected in Pose mode becomes rigid by its weights."""
    body, rig = fleshed_character
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    text = refusal(bpy.ops.thew.make_rigid, part="BONES")
    assert "select bones of its armature in Pose mode" in text
    bone = rig.pose.bones["Head"]
    (bone if hasattr(bone, "select") else bone.bone).select = True
    assert bpy.ops.thew.make_rigid(part="BONES") == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    at = heights(body)
    np.testing.assert_allclose(rigid_weights(body), np.clip((at - 1.1) / 0.2, 0.0, 1.0), atol=1e-6)


def test_make_rigid_body_part_and_nothing(fleshed_character):
    """A part of the body becomes rigid around its middle; Nothing drops the map."""
    body, _ = fleshed_character
    bpy.context.scene.cursor.location = (0.32, 0.0, 0.7)
    assert bpy.ops.thew.make_rigid(part="BELLY") == {"FINISHED"}
    values = rigid_weights(body)
    assert values.max() == 1.0 and values.min() == 0.0
    assert bpy.ops.thew.make_rigid(part="NONE") == {"FINISHED"}
    assert rigid_weights(body) is None and not body.thew.made.rigid_map


def test_make_rigid_refusals(fleshed_character):
    """Nothing selected, no flesh and a bone of that name are refused in a sentence, and change nothing."""
    body, rig = fleshed_character
    select(body, np.zeros(len(body.data.vertices), bool))
    assert "No vertex of “Body” is selected" in refusal(bpy.ops.thew.make_rigid, part="SELECTION")
    assert rigid_weights(body) is None
    rig.data.bones["Head"].name = "Rigid"
    assert "has a bone “Rigid”" in refusal(bpy.ops.thew.make_rigid, part="HARD")
    rig.data.bones["Rigid"].name = "Head"
    bpy.ops.thew.remove()
    activate(body)
    assert "has no flesh" in refusal(bpy.ops.thew.make_rigid, part="HARD")


def test_rigid_painted_by_button(fleshed_character):
    """Paint Rigid opens Weight Paint mode on the map, empty at first, and leaves it."""
    body, _ = fleshed_character
    activate(body)
    assert bpy.ops.thew.paint_flesh(map="RIGID") == {"FINISHED"}
    assert body.mode == "WEIGHT_PAINT" and body.vertex_groups.active.name == "Rigid"
    assert rigid_weights(body).max() == 0.0 and part("ui.map_overlay").visible_map(body) == "Rigid"
    assert bpy.ops.thew.paint_flesh(map="RIGID") == {"FINISHED"} and body.mode == "OBJECT"


def test_rigid_group_of_the_artist(character):
    """A group of that name that was there before is used, and named; removal keeps it, and drops an empty one of ours."""
    body, _ = character
    group = body.vertex_groups.new(name="Rigid")
    group.add([0, 1, 2], 1.0, "REPLACE")
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    play(body, (2,))
    assert any("had a vertex group “Rigid” before" in note for note in flesh_of(body).character.notes)
    bpy.ops.thew.remove()
    assert body.vertex_groups.get("Rigid") is not None
    hold(body, np.zeros(len(body.data.vertices)))
    activate(body)
    bpy.ops.thew.add(cells_across=6)
    bpy.ops.thew.remove()
    assert body.vertex_groups.get("Rigid") is None


def test_rigid_by_hard_material(scene):
    """Faces of a hard material are rigid without paint, and free once Flesh is painted."""
    rig = make_armature()
    body = make_body(rig)
    part_of = {"Skin": 0, "Hooves": 1}
    for name in part_of:
        body.data.materials.append(bpy.data.materials.new(name))
    for face in body.data.polygons:
        face.material_index = int(face.center.z < 0.4)
    spine = rig.pose.bones["Spine"]
    spine.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (10, 0.9), (20, 0.0)):
        spine.rotation_euler.x = angle
        spine.keyframe_insert("rotation_euler", frame=frame)
    body.thew.elastic_joints = 1.0
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    play(body, (1,))
    rigid = flesh_of(body).character.rigid
    assert rigid.max() == 1.0 and rigid.min() == 0.0
    np.testing.assert_array_equal(play(body, FRAMES)[:, rigid == 1.0], plain(body)[:, rigid == 1.0])
    part("scene.flesh_map").write(body, "Flesh", np.ones(len(body.data.vertices)))
    body.data.update_tag()
    bpy.context.view_layer.update()
    play(body, (1,))
    assert flesh_of(body).character.rigid is None


FOLDER = data_folder("characters")


@in_one_blender
@pytest.mark.skipif(FOLDER is None, reason="needs THEW_DATA")
def test_rigid_hard_parts_of_human(addon):
    """On a human Hard Parts takes skull, hands and feet, whose skin then is the plain one, and leaves the belly free."""
    load(FOLDER / "mh_male_heavy.glb")
    obj = meshes()[0]
    frames = play_clip(clips()[0], 8)
    obj.thew.elastic_joints = 1.0
    add(obj)
    skin = plain(obj, frames)
    assert bpy.ops.thew.make_rigid(part="HARD") == {"FINISHED"}
    rigid = rigid_weights(obj) == 1.0
    assert 0.05 < rigid.mean() < 0.8
    shapes = play(obj, frames)
    np.testing.assert_array_equal(shapes[:, rigid], skin[:, rigid])
    assert np.abs(shapes - skin).max() > 1e-3 * size_of(skin[0])

# SPDX-License-Identifier: GPL-3.0-or-later
"""What rigs hang on is found again: bones after renaming, faces after other edits; what is gone says so."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from helpers import activate, add_rig, flesh_of, largest_difference, make_character, part, play, settle, size_of, world

FRAMES = range(1, 21)


def test_rig_follows_renames(fleshed_character):
    """A rig follows its bone and objects when they are renamed."""
    body, armature = fleshed_character
    rig = add_rig(body, bone="Spine")
    bpy.context.scene.frame_set(1)  # Blender 5.2 takes the pose of the frame as it renames a bone
    before = settle(body)
    armature.data.bones["Spine"].name = "Rückgrat"
    armature.name, body.name, body.data.name = "Gerippe", "Leib", "Haut"
    after = settle(body)
    assert (rig.bone, rig.problem) == ("Rückgrat", "")
    np.testing.assert_allclose(after, before, atol=1e-6 * size_of(before))
    shapes = play(body, FRAMES)
    assert np.isfinite(shapes).all() and rig.problem == ""


@pytest.mark.parametrize("how", ["renamed", "made anew"])
def test_rig_place_after_bone_renames(fleshed_character, how):
    """A rig can be placed after bones were renamed."""
    body, armature = fleshed_character
    play(body, (1, 6))
    if how == "renamed":
        for bone in armature.data.bones:
            bone.name = f"{bone.name}.neu"
    else:
        activate(armature)
        bpy.ops.object.mode_set(mode="EDIT")
        armature.data.edit_bones["Spine"].name = "Rücken"
        bpy.ops.object.mode_set(mode="OBJECT")
    activate(body)
    location = world(body)[60].tolist()
    assert bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=location) == {"FINISHED"}
    names = {bone.name for bone in armature.data.bones}
    assert set(flesh_of(body).character.bones) <= names
    assert bpy.ops.thew.rig_place(template="BUMP", guide="BONE", location=location) == {"FINISHED"}
    assert body.thew.rigs[1].bone in names and not body.thew.rigs[1].problem
    assert np.isfinite(play(body, FRAMES)).all()


def test_rig_follows_swapped_names(fleshed_character):
    """Rigs stay on their bones when two bones swap names."""
    body, armature = fleshed_character
    rig = add_rig(body, bone="Spine")
    add_rig(body, bone="Head")
    bones = armature.data.bones
    bones["Spine"].name = "x"
    bones["Head"].name = "Spine"
    bones["x"].name = "Head"
    settle(body)
    assert [each.bone for each in body.thew.rigs] == ["Head", "Spine"]
    assert rig.problem == ""


def test_rig_off_without_bone(fleshed_character):
    """A rig is off while its bone is deleted and acts again when the bone returns."""
    body, armature = fleshed_character
    rig = add_rig(body, bone="Head")
    other = add_rig(body, bone="Spine")
    rig = body.thew.rigs[0]
    settle(body)
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    bones.remove(bones["Head"])
    bpy.ops.object.mode_set(mode="OBJECT")
    shape = settle(body)
    assert np.isfinite(shape).all()
    assert "“Head”" in rig.problem and "gone" in rig.problem and rig.enabled and other.problem == ""
    assert np.isfinite(play(body, FRAMES)).all() and "gone" in rig.problem
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("Head")
    bone.head, bone.tail = (0.0, 0.0, 1.2), (0.0, 0.0, 1.8)
    bone.parent = armature.data.edit_bones["Spine"]
    bpy.ops.object.mode_set(mode="OBJECT")
    settle(body)
    assert rig.problem == ""


def skin_face(body, triangle: int = 101) -> np.ndarray:
    """Returns the middle of a triangle at rest."""
    corners = part("rigs.anchors").triangles_and_faces(body.data)[0][triangle]
    return np.array([body.data.vertices[i].co for i in corners]).mean(axis=0)


def edit_mesh(body, change) -> None:
    """Changes a mesh through bmesh, as editing does."""
    import bmesh

    made = bmesh.new()
    made.from_mesh(body.data)
    made.faces.ensure_lookup_table()
    made.verts.ensure_lookup_table()
    change(made, bmesh)
    made.to_mesh(body.data)
    made.free()
    body.data.update()


def test_rig_follows_face(fleshed_character):
    """A rig in the skin finds its face again after edits elsewhere."""
    body, _ = fleshed_character
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    place = skin_face(body)
    np.testing.assert_allclose(rig.face_place, place, atol=1e-6)
    settle(body)

    def cut(made, bmesh):
        bmesh.ops.poke(made, faces=made.faces[5:15])

    edit_mesh(body, cut)
    settle(body)
    assert rig.problem == "" and rig.face != 101
    np.testing.assert_allclose(skin_face(body, rig.face), place, atol=1e-6)


def test_rig_stays_on_cut_face(fleshed_character):
    """A rig stays at its place when its face is cut."""
    body, _ = fleshed_character
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    polygon = int(part("rigs.anchors").triangles_and_faces(body.data)[1][101])
    place = skin_face(body)

    def cut(made, bmesh):
        bmesh.ops.poke(made, faces=[made.faces[polygon]])

    edit_mesh(body, cut)
    settle(body)
    assert rig.problem == ""
    corners = part("rigs.anchors").triangles_and_faces(body.data)[0][rig.face]
    there = np.array(rig.barycentric) @ np.array([body.data.vertices[i].co for i in corners])
    np.testing.assert_allclose(there, place, atol=1e-2)


def test_rig_off_without_face(fleshed_character):
    """A rig is off when its face is deleted, until it gets another one."""
    body, _ = fleshed_character
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    polygon = int(part("rigs.anchors").triangles_and_faces(body.data)[1][101])

    def cut(made, bmesh):
        bmesh.ops.delete(made, geom=[made.faces[polygon]], context="FACES")

    edit_mesh(body, cut)
    assert np.isfinite(settle(body)).all()
    assert "face" in rig.problem and "gone" in rig.problem and rig.enabled
    part("rigs.anchors").anchor_face(body, rig, 30)
    settle(body)
    assert rig.problem == ""


def test_skin_rig_pushes_at_face(fleshed_character):
    """A rig in the skin pushes outward at its face, and inward with negative strength."""
    body, _ = fleshed_character
    plain = settle(body)
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    place = skin_face(body)
    shape = settle(body)
    moved = np.linalg.norm(shape - plain, axis=1)
    nearest = np.argsort(np.linalg.norm(plain - place, axis=1))[:8]
    farthest = np.argsort(np.linalg.norm(plain - place, axis=1))[-30:]
    assert moved[nearest].max() > 5.0 * moved[farthest].max()
    outward = place * (1.0, 1.0, 0.0)
    assert ((shape - plain)[nearest] @ outward).max() > 0.0  # a bump pushes along the skin's outward direction
    rig.strength = -rig.strength
    assert ((settle(body) - plain)[nearest] @ outward).min() < 0.0


def test_skin_rig_on_mirrored_object(scene):
    """A rig in the skin of a mirrored object stands and pushes at its face."""
    body, armature = make_character()
    body.scale.x = armature.scale.x = -1.0
    bpy.context.view_layer.update()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    plain = settle(body)
    part("rigs.anchors")
    rig = add_rig(body, guide="SKIN", face=101, template="BUMP")
    part("rigs.anchors").anchor_face(body, rig, 101, (0.8, 0.15, 0.05))
    flesh = flesh_of(body)
    native = part("rigs.rigging").native_rig(body, flesh, rig)
    frame = native.frame(flesh.body)
    world = np.array(body.matrix_world)
    place = world[:3, :3] @ np.array(rig.face_place) + world[:3, 3]
    np.testing.assert_allclose(frame[:3, 3], flesh.place.points(place), atol=1e-5)
    assert largest_difference(settle(body), plain) > 1e-3 * size_of(plain)


def test_free_rig_in_body(fleshed_character):
    """A free rig acts at its place in the body, and is reported once it is moved outside."""
    body, _ = fleshed_character
    plain = settle(body)
    rig = add_rig(body, guide="FREE", template="RADIAL")
    assert rig.problem == ""
    first = settle(body)
    assert largest_difference(first, plain) > 1e-3 * size_of(plain)
    rig.z = 0.3
    assert largest_difference(settle(body), first) > 1e-3 * size_of(plain)
    rig.z = 30.0
    shape = settle(body)
    assert "outside" in rig.problem and rig.enabled
    assert largest_difference(shape, plain) < 1e-6 * size_of(plain)
    rig.z = 0.0
    np.testing.assert_allclose(settle(body), first, atol=1e-6 * size_of(plain))
    assert rig.problem == ""


def test_anchor_typed_by_hand(fleshed_character):
    """A bone or face that is typed in becomes the anchor, and bad input is reported."""
    body, armature = fleshed_character
    rig = add_rig(body, bone="Spine")
    rig.bone = "Head"
    settle(body)
    assert (rig.bone, rig.problem) == ("Head", "")
    armature.data.bones["Head"].name = "Kopf"
    settle(body)
    assert rig.bone == "Kopf"
    rig.guide, rig.face = "SKIN", 101
    rig.barycentric = (0.5, 0.25, 0.25)
    settle(body)
    assert (rig.guide, rig.face, rig.problem) == ("SKIN", 101, "")
    rig.face = 44
    settle(body)
    assert (rig.face, rig.problem) == (44, "")
    rig.barycentric = (math.nan, 0.0, 0.0)
    settle(body)
    assert "not a number" in rig.problem
    rig.face = 99999
    settle(body)
    assert "gone" in rig.problem


def test_rig_on_bone_without_flesh(fleshed_character):
    """A rig on a bone that moves no flesh is reported."""
    body, armature = fleshed_character
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("Target")
    bone.head, bone.tail = (1.0, 0.0, 0.0), (1.0, 0.0, 0.5)
    bpy.ops.object.mode_set(mode="OBJECT")
    rig = add_rig(body, bone="Spine")
    rig.bone = "Target"
    assert np.isfinite(settle(body)).all()
    assert "moves no flesh" in rig.problem

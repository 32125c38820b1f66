# SPDX-License-Identifier: GPL-3.0-or-later
"""Degenerate characters: bones and objects scaled to zero, keys that are not numbers, hollow skins, the artist's groups."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, make_body, make_character, play, refusal, size_of

FRAMES = range(1, 21)


def add(**options):
    assert bpy.ops.thew.add(**{"cells_across": 6, **options}) == {"FINISHED"}


def sway(body, plain):
    return float(np.sqrt(((play(body, FRAMES) - plain) ** 2).sum(axis=2).mean())) / size_of(plain[0])


# scaled to zero -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bones", [["Hip"], ["Hip", "Spine", "Head"], ["Head"]])
@pytest.mark.parametrize("frames", [(1, 10), (15, 20), (1, 20)])
def test_bones_zero_scale(scene, bones, frames):
    """A character whose bones scale to zero has flesh, and its vertices are finite, live and baked."""
    body, rig = make_character()
    for name in bones:
        posed = rig.pose.bones[name]
        for frame in range(1, 21):
            posed.scale = (0.0 if frames[0] <= frame <= frames[1] else 1.0,) * 3
            posed.keyframe_insert("scale", frame=frame)
    activate(body)
    add()
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert np.isfinite(play(body, FRAMES)).all()
    for space in ("REST", "POSED"):
        assert bpy.ops.thew.bake(space=space) == {"FINISHED"}
        assert np.isfinite(play(body, FRAMES)).all()


@pytest.mark.parametrize("which", ["body", "rig"])
def test_object_zero_scale(scene, which):
    """An object that is scaled to zero is named by the refusal."""
    body, rig = make_character()
    obj = body if which == "body" else rig
    activate(body)
    add()
    for frame, scale in ((1, 1.0), (10, 0.0)):
        obj.scale = (scale,) * 3
        obj.keyframe_insert("scale", frame=frame)
    said = refusal(bpy.ops.thew.simulate)
    assert f"“{obj.name}”" in said and "scaled to zero" in said and "unforeseen" not in said


def test_bone_keys_nan(scene):
    """A bone key that is not a number is named by the refusal of Simulate and of Bake."""
    body, rig = make_character()
    activate(body)
    add()
    bpy.ops.thew.simulate()
    posed = rig.pose.bones["Spine"]
    posed.location.x = float("nan")
    posed.keyframe_insert("location", frame=5)
    for operator in (bpy.ops.thew.simulate, bpy.ops.thew.bake):
        said = refusal(operator)
        assert "“Spine”" in said and "not a number" in said and "repair its keys" in said
    assert body.data.shape_keys is None


# hollow and double --------------------------------------------------------------------------------------------------------


def solidify(thickness):
    def change(body):
        solid = body.modifiers.new("Solid", "SOLIDIFY")
        solid.thickness, solid.offset = thickness, -1.0
        body.modifiers.move(1, 0)
        activate(body)
        bpy.ops.object.modifier_apply(modifier="Solid")

    return change


def double_faces(body):
    """Adds every face once more, turned round."""
    mesh = bmesh.new()
    mesh.from_mesh(body.data)
    made = bmesh.ops.duplicate(mesh, geom=mesh.verts[:] + mesh.edges[:] + mesh.faces[:])["geom"]
    bmesh.ops.reverse_faces(mesh, faces=[each for each in made if isinstance(each, bmesh.types.BMFace)])
    mesh.to_mesh(body.data)
    mesh.free()


def flip_normals(body):
    body.data.flip_normals()


@pytest.mark.parametrize("change", [solidify(0.01), solidify(0.05), solidify(0.1), double_faces, flip_normals])
def test_hollow_skin_sways(scene, change):
    """A hollow, doubled or inverted skin sways as much as the plain one, and the note names inner walls."""
    body, _ = make_character()
    activate(body)
    plain = play(body, FRAMES)
    add()
    bpy.ops.thew.simulate()
    usual = sway(body, plain)
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
    bpy.context.scene.render.fps = 24
    body, _ = make_character()
    change(body)
    activate(body)
    plain = play(body, FRAMES)
    add()
    bpy.ops.thew.simulate()
    assert 0.5 * usual < sway(body, plain) < 1.5 * usual
    if change not in {double_faces, flip_normals}:
        assert "inner walls" in body.thew.made.notes


def test_skin_without_bones(scene, capfd):
    """Add says that no bone runs through an open shell, whose wall holds none."""
    body, _ = make_character()
    mesh = bmesh.new()
    mesh.from_mesh(body.data)
    top = [face for face in mesh.faces if face.calc_center_median().z > 1.7]
    bmesh.ops.delete(mesh, geom=top, context="FACES")
    mesh.to_mesh(body.data)
    mesh.free()
    solid = body.modifiers.new("Solid", "SOLIDIFY")
    solid.thickness, solid.offset = 0.03, -1.0
    body.modifiers.move(1, 0)
    activate(body)
    bpy.ops.object.modifier_apply(modifier="Solid")
    add()
    assert len(flesh_of(body).body.held_vertices) == flesh_of(body).body.node_count
    said = capfd.readouterr().out
    assert "No bone runs through “Body”, so nothing of it sways" in said and "inner walls" in said


# groups of the artist's ---------------------------------------------------------------------------------------------------


def test_joined_mesh_map(scene):
    """A mesh that is joined to a body does not make its map count as painted: the map is filled again, and Remove
    deletes it."""
    body, rig = make_character()
    activate(body)
    add()
    piece = make_body(rig, name="Piece", rings=5, sides=6)
    piece.location.x = 0.0
    activate(body)
    piece.select_set(True)
    with bpy.context.temp_override(active_object=body, object=body, selected_editable_objects=[body, piece]):
        bpy.ops.object.join()
    activate(body)
    bpy.ops.thew.simulate()
    assert flesh_of(body).character.painted.flesh is None
    bpy.ops.thew.remove()
    assert "Flesh" not in body.vertex_groups


def test_artist_group_named_flesh(scene, capfd):
    """Add names the artist's own vertex groups that it takes for maps, Details too, and Remove keeps them."""
    body, _ = make_character()
    for name in ("Flesh", "Stiffness"):
        body.vertex_groups.new(name=name).add(list(range(20)), 0.3, "REPLACE")
    activate(body)
    add()
    said = capfd.readouterr().out
    assert "had a vertex group “Flesh” before" in said and "rename it" in said
    assert "had a vertex group “Stiffness” before" in said
    assert "had a vertex group “Flesh” before" in body.thew.made.notes
    bpy.ops.thew.remove()
    assert {"Flesh", "Stiffness"} <= set(body.vertex_groups.keys())
    body.vertex_groups["Flesh"].name = body.vertex_groups["Stiffness"].name = "Mine"
    add()
    assert "had a vertex group" not in capfd.readouterr().out + body.thew.made.notes

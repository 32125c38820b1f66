# SPDX-License-Identifier: GPL-3.0-or-later
"""Clothes and eyes that ride on a body: one simulation, and what lies over the skin goes where the skin goes."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from conftest import in_one_blender
from helpers import (
    Layout,
    activate,
    animate,
    evaluated_positions,
    make_armature,
    make_body,
    part,
    play,
    refusal,
    size_of,
    snapshot,
    world,
)
from mathutils import Matrix, Vector

from assets import characters as own

FRAMES = range(1, 21)


# what is worn ---------------------------------------------------------------------------------------------------------


def shirt_of(body, chosen, away: float, name: str = "Shirt") -> bpy.types.Object:
    """Builds a shirt of the faces of `body` whose centres `chosen` accepts, moved outwards by `away`, with its weights
    and its modifier.
    """
    mesh = body.data.copy()
    cloud = bmesh.new()
    cloud.from_mesh(mesh)
    bmesh.ops.delete(
        cloud, geom=[face for face in cloud.faces if not chosen(face.calc_center_median())], context="FACES"
    )
    cloud.normal_update()
    for vertex in cloud.verts:
        vertex.co += away * vertex.normal
    cloud.to_mesh(mesh)
    cloud.free()
    shirt = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(shirt)
    for group in body.vertex_groups:
        shirt.vertex_groups.new(name=group.name)
    armature = part("scene.reading").armature_modifier(body).object
    shirt.modifiers.new("Armature", "ARMATURE").object = armature
    shirt.parent, shirt.matrix_world = body.parent, body.matrix_world.copy()
    return shirt


def ball(name: str, armature, bone: str, centre, radius: float) -> bpy.types.Object:
    """Builds a ball that hangs on a bone, without weights."""
    mesh = bpy.data.meshes.new(name)
    cloud = bmesh.new()
    bmesh.ops.create_icosphere(cloud, subdivisions=2, radius=radius)
    cloud.to_mesh(mesh)
    cloud.free()
    eye = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(eye)
    bpy.context.view_layer.update()
    eye.parent, eye.parent_type, eye.parent_bone = armature, "BONE", bone
    bpy.context.view_layer.update()
    eye.matrix_world = armature.matrix_world @ Matrix.Translation(Vector(centre))
    bpy.context.view_layer.update()
    return eye


def ride(body, *riders) -> None:
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in (body, *riders))
    bpy.context.view_layer.objects.active = body
    assert bpy.ops.thew.ride() == {"FINISHED"}


@pytest.fixture
def dressed_character(character):
    """Builds (body with flesh, armature, shirt, eye): the shirt covers the belly, the eye hangs on the head."""
    body, armature = character
    body.thew.softness = 0.8
    shirt = shirt_of(body, lambda p: 0.4 < p.z < 1.2, 0.02)
    eye = ball("Eye", armature, "Head", (0.0, -0.19, 1.6), 0.03)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    ride(body, shirt, eye)
    return body, armature, shirt, eye


def offsets(obj, frames=FRAMES) -> np.ndarray:
    """Returns what is added to an object's plain skin, world axes, [f, n, 3]."""
    live = play(obj, frames, read=world)
    mine = part("scene.modifier").modifier_by_id(obj, obj.thew.made.modifier)
    mine.show_viewport = False
    plain = play(obj, frames, read=world)
    mine.show_viewport = True
    return live - plain


def nearest_on_body(shirt, body) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each vertex of a mesh the nearest vertex of the body at rest, and its distance."""
    here = np.array([shirt.matrix_world @ v.co for v in shirt.data.vertices])
    there = np.array([body.matrix_world @ v.co for v in body.data.vertices])
    distance = np.linalg.norm(here[:, None] - there[None], axis=2)
    return distance.argmin(axis=1), distance.min(axis=1)


def assert_same(shapes, others, size) -> None:
    assert np.abs(np.asarray(shapes) - others).max() < 1e-5 * size


# how they are moved -----------------------------------------------------------------------------------------------------


@in_one_blender
def test_rider_keeps_distance(scene):
    """A shirt and two eyes keep their distance to the skin in the liveliest clip of our biped.

    Where an arm comes near, the shirt is as far from the arm as the arm comes: what counts is the skin that it covers.
    """
    armature, body = own.create("biped")
    own.use_action(armature, "jump")
    size = size_of(np.array([v.co for v in body.data.vertices]))
    shirt = shirt_of(body, lambda p: 0.66 < p.z < 1.0 and abs(p.x) < 0.21, 0.01 * size)
    eyes = [ball(f"Eye {side}", armature, "head", (side * 0.054, -0.125, 1.385), 0.045) for side in (-1, 1)]
    activate(body)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    ride(body, shirt, *eyes)
    frames = range(scene.frame_start, scene.frame_end + 1, 3)
    moved = [play(obj, frames, read=world) for obj in (body, shirt)]
    added = offsets(shirt, frames)
    assert np.linalg.norm(added, axis=2).max() > 0.005 * size
    body.thew.enabled = False
    still = [play(obj, frames, read=world) for obj in (body, shirt)]
    thew, triangles = part("logic.native").thew, part("scene.mesh").triangles_of(body.data)
    centres = np.array([v.co for v in body.data.vertices])[triangles].mean(axis=1)
    covered = triangles[(centres[:, 2] > 0.6) & (centres[:, 2] < 1.05) & (np.abs(centres[:, 0]) < 0.24)]
    for skin, cloth, skin_moved, cloth_moved in zip(*still, *moved, strict=True):
        _, before, _ = thew.Surface(skin, covered).closest_point(cloth)
        _, after, _ = thew.Surface(skin_moved, covered).closest_point(cloth_moved)
        assert (np.abs(after - before) <= np.maximum(1e-3 * size, 0.2 * before)).all()


def test_rider_sways_with_skin(dressed_character):
    """A rider sways as the skin below it does."""
    body, _, shirt, _ = dressed_character
    nearest, _ = nearest_on_body(shirt, body)
    skin, cloth = offsets(body), offsets(shirt)
    assert np.abs(skin).max() > 5e-3
    size = size_of(world(body))
    # The nearest point lies right below the vertex: moved along the shirt's own normals, at most on the next triangle.
    away = np.linalg.norm(cloth - skin[:, nearest], axis=2)
    assert np.median(away) < 1e-3 * size and away.max() < 0.1 * np.abs(skin).max()


def test_rider_eye_stays_rigid(dressed_character):
    """An eye moves as one rigid piece with the skin around it."""
    body, _, _, eye = dressed_character
    body.thew.softness = 1.0
    added = offsets(eye)
    assert np.abs(added).max() > 1e-5
    assert np.ptp(added, axis=1).max() < 1e-5
    nearest, _ = nearest_on_body(eye, body)
    around = {v for face in body.data.polygons if set(face.vertices) & set(nearest.tolist()) for v in face.vertices}
    skin = offsets(body)[:, sorted(around)]
    assert (added[:, 0] >= skin.min(axis=1) - 1e-5).all() and (added[:, 0] <= skin.max(axis=1) + 1e-5).all()


def test_rider_placed_anywhere(scene):
    """Riders follow the skin wherever they and the body stand and however these move."""
    armature = make_armature()
    body = make_body(armature)
    shirt = shirt_of(body, lambda p: 0.4 < p.z < 1.2, 0.02)
    eye = ball("Eye", armature, "Spine", (0.0, -0.31, 0.8), 0.03)
    animate(armature)
    spin = armature.pose.bones["Spine"]
    for frame, angle in ((1, 0.0), (20, 1.5)):
        spin.rotation_euler.y = angle
        spin.keyframe_insert("rotation_euler", index=1, frame=frame)
    activate(body)
    body.thew.softness = 0.9
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    scene.frame_set(9)  # a pose in which nothing stands as it does at rest
    ride(body, shirt, eye)
    nearest, _ = nearest_on_body(shirt, body)
    skin, cloth, ball_ = offsets(body), offsets(shirt), offsets(eye)
    largest = np.abs(skin).max()
    assert np.linalg.norm(cloth - skin[:, nearest], axis=2).max() < 0.1 * largest
    scene.frame_set(1)
    there = np.array([v.co for v in body.data.vertices])
    under = np.linalg.norm(there - (0.0, -0.3, 0.8), axis=1).argsort()[:6]
    assert np.ptp(ball_, axis=1).max() < 1e-5
    assert (ball_[:, 0] >= skin[:, under].min(axis=1) - 0.1 * largest).all()
    assert (ball_[:, 0] <= skin[:, under].max(axis=1) + 0.1 * largest).all()


def test_rider_follows_changed_body(dressed_character):
    """Riders follow a body whose settings change, and lose their offsets when its flesh is off."""
    body, _, shirt, _ = dressed_character
    before = offsets(shirt)
    body.thew.softness = 0.3
    firm = offsets(shirt)
    assert np.abs(firm).max() < 0.7 * np.abs(before).max()
    nearest, _ = nearest_on_body(shirt, body)
    skin = offsets(body)
    assert np.linalg.norm(firm - skin[:, nearest], axis=2).max() < 0.1 * np.abs(skin).max()
    body.thew.enabled = False
    assert not np.abs(offsets(shirt)).max()
    body.thew.enabled = True
    assert_same(offsets(shirt), firm, size_of(world(body)))
    shirt.thew.enabled = False
    assert "thew_offset" not in shirt.data.attributes
    shirt.thew.enabled = True
    assert_same(offsets(shirt), firm, size_of(world(body)))


def test_rider_reread_after_edit(dressed_character):
    """A rider whose mesh was edited is read again."""
    body, _, shirt, _ = dressed_character
    scene = bpy.context.scene
    cloud = bmesh.new()
    cloud.from_mesh(shirt.data)
    bmesh.ops.delete(cloud, geom=list(cloud.faces)[:20], context="FACES")
    cloud.to_mesh(shirt.data)
    cloud.free()
    scene.frame_set(7)
    nearest, _ = nearest_on_body(shirt, body)
    skin, cloth = offsets(body), offsets(shirt)
    assert np.linalg.norm(cloth - skin[:, nearest], axis=2).max() < 0.1 * np.abs(skin).max()


def test_rider_left_alone_in_edit_mode(dressed_character):
    """A rider whose mesh is in Edit Mode, if only by another object that has it too, is not written to."""
    _, _, shirt, eye = dressed_character
    play(eye, (3,))
    twin = bpy.data.objects.new("Twin", shirt.data)
    bpy.context.scene.collection.objects.link(twin)
    part("live.riding").hide(shirt)
    activate(twin)
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        assert shirt.mode == "OBJECT" and shirt.data.is_editmode
        play(eye, (4, 5))
        riding, plain = part("live.riding"), np.zeros((len(shirt.data.vertices), 3), np.float32)
        part("live.skin").show(shirt, riding.register.state_of(shirt), plain, 5.0)
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
    stored = part("scene.offsets")
    assert not stored.is_written(shirt) and stored.is_written(eye)
    play(eye, (6,))
    assert stored.is_written(shirt)


def test_rider_without_weights(dressed_character):
    """A shirt that merely hangs on the armature takes the same offsets, in its own space."""
    body, armature, shirt, _ = dressed_character
    weighted = offsets(shirt)
    activate(shirt)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    shirt.modifiers.clear()
    shirt.vertex_groups.clear()
    shirt.parent = armature
    shirt.modifiers.new("Subdivision", "SUBSURF").levels = 1
    ride(body, shirt)
    assert [m.type for m in shirt.modifiers] == ["SUBSURF", "NODES"]
    assert_same(offsets(shirt)[:, : weighted.shape[1]], weighted, size_of(world(body)))


# bakes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["REST", "POSED"])
def test_bake_includes_riders(dressed_character, space):
    """A bake of the body bakes its riders too, as they played live."""
    body, _, *riders = dressed_character
    everyone = (body, *riders)
    live = [play(obj, FRAMES, read=world) for obj in everyone]
    activate(body)
    assert bpy.ops.thew.bake(space=space) == {"FINISHED"}
    for obj, shapes in zip(everyone, live, strict=True):
        assert obj.thew.made.shows_bake and len(obj.thew.bakes[0].key_names) == 20
        assert_same(play(obj, FRAMES, read=world), shapes, size_of(live[0][0]))
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    for obj, shapes in zip(everyone, live, strict=True):
        assert not obj.thew.made.shows_bake
        assert_same(play(obj, FRAMES, read=world), shapes, size_of(live[0][0]))
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    for obj, shapes in zip(everyone, live, strict=True):
        assert not obj.thew.made.rides and obj.thew.body is None
        assert "NODES" not in {m.type for m in obj.modifiers}
        assert_same(play(obj, FRAMES, read=world), shapes, size_of(live[0][0]))


def test_bake_of_rider_alone(dressed_character):
    """A rider can be baked alone, and its bake removed."""
    body, _, shirt, _ = dressed_character
    cast = shirt.modifiers.new("Cast", "CAST")
    cast.factor = 0.1
    shirt.modifiers.move(len(shirt.modifiers) - 1, 0)
    live = play(shirt, FRAMES, read=world)
    activate(shirt)
    for space in ("REST", "POSED"):
        assert bpy.ops.thew.bake(space=space) == {"FINISHED"}
        assert not len(body.thew.bakes)
        assert_same(play(shirt, FRAMES, read=world), live, size_of(live[0]))
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert_same(play(shirt, FRAMES, read=world), live, size_of(live[0]))
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert shirt.data.shape_keys is None and body.thew.made.flesh


def test_command_bakes_riders(dressed_character, tmp_path, capsys):
    """The command line bakes riders with their body."""
    path = tmp_path / "dressed.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert part("cli").main(["bake", str(path), "--frames", "1", "12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("Body: ") and "with “Eye” and “Shirt”" in line for line in lines)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    for name in ("Body", "Shirt", "Eye"):
        assert len(bpy.data.objects[name].thew.bakes[0].key_names) == 12


# coming and going -----------------------------------------------------------------------------------------------------


def test_rider_remove_restores(character):
    """A rider that gets off is as it was before."""
    body, armature = character
    shirt = shirt_of(body, lambda p: 0.4 < p.z < 1.2, 0.02)
    eye = ball("Eye", armature, "Head", (0.0, -0.19, 1.6), 0.03)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6, whole=False) == {"FINISHED"}
    before = [snapshot(obj) for obj in (shirt, eye)]
    ride(body, shirt, eye)
    play(shirt, (3, 5, 1))
    for obj in (shirt, eye):
        activate(obj)
        assert bpy.ops.thew.remove() == {"FINISHED"}
    assert [snapshot(obj) for obj in (shirt, eye)] == before


def test_remove_body_frees_riders(dressed_character):
    """Riders of a removed body show their plain skin, and the message names them."""
    body, _, *riders = dressed_character
    activate(body)
    said = part("live.jobs").remove(body)
    assert "“Eye” and “Shirt” rode on “Body” and show their plain skin again" in said
    for obj in riders:
        assert not obj.thew.made.rides and "thew_offset" not in obj.data.attributes
        assert "NODES" not in {m.type for m in obj.modifiers}
    assert not [g for g in bpy.data.node_groups if g.get("thew_tree")]


def test_rider_saved_and_undone(dressed_character, tmp_path):
    """Riding survives saving, opening and undo."""
    _body, _, shirt, _ = dressed_character
    live = play(shirt, FRAMES)
    size = size_of(live[0])
    path = tmp_path / "dressed.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert_same(evaluated_positions(shirt), live[-1], size)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    shirt = bpy.data.objects["Shirt"]
    assert "thew_offset" not in shirt.data.attributes  # plain skin until the flesh is built
    assert_same(play(shirt, FRAMES), live, size)
    bpy.ops.ed.undo_push(message="before")
    activate(shirt)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="removed")
    assert bpy.ops.ed.undo() == {"FINISHED"}
    shirt = bpy.data.objects["Shirt"]
    assert shirt.thew.made.rides
    assert_same(play(shirt, FRAMES), live, size)


def test_rider_changes_body(dressed_character):
    """A rider can be given another body and the first one again."""
    body, armature, shirt, _ = dressed_character
    other = make_body(armature, name="Other")
    other.thew.softness = 0.2
    activate(other)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    soft = offsets(shirt)
    shirt.thew.body = other
    firm = offsets(shirt)
    assert 0.0 < np.abs(firm).max() < 0.7 * np.abs(soft).max()
    shirt.thew.body = None
    assert not np.abs(offsets(shirt)).max()
    activate(shirt)
    shirt.thew.body = body
    assert bpy.ops.thew.ride() == {"FINISHED"}
    assert_same(offsets(shirt), soft, size_of(world(body)))


def test_ride_refusals(dressed_character):
    """Objects that cannot ride are refused with the reason."""
    body, armature, shirt, eye = dressed_character
    activate(body)
    assert "select clothes or eyes too" in refusal(bpy.ops.thew.ride)
    lone = ball("Lone", armature, "Head", (0, 0, 1.9), 0.1)
    activate(lone)
    assert "needs a body to ride on" in refusal(bpy.ops.thew.ride)
    lone.parent = None
    lone.thew.body = body
    assert "Nothing of “Rig” moves “Lone”" in refusal(bpy.ops.thew.ride)
    lone.parent = armature
    lone.modifiers.new("Mirror", "MIRROR")
    assert "“Mirror” of “Lone” makes or removes vertices" in refusal(bpy.ops.thew.ride)
    lone.modifiers.clear()
    lone.data.vertices[0].co.x = float("nan")
    activate(shirt)
    assert "rides on another body" in refusal(bpy.ops.thew.add)
    twin = bpy.data.objects.new("Twin", eye.data)
    bpy.context.scene.collection.objects.link(twin)
    twin.thew.body = body
    activate(twin)
    assert "shares its mesh with “Eye”" in refusal(bpy.ops.thew.ride)


def test_panels_show_riders(dressed_character):
    """The panels of body and rider show who rides on whom."""
    body, armature, shirt, _ = dressed_character
    panel, riding_panel = part("ui.panels"), part("ui.riding_panel")
    layout = Layout()
    riding_panel.draw_riders(layout, bpy.context, body, 60)
    assert {"Shirt", "Eye"} <= set(layout.read())
    layout = Layout()
    riding_panel.draw_rider(layout, shirt, bpy.context.scene, 60)
    assert "Rides on “Body”" in layout.read() and "[body]" in layout.read()
    activate(armature)
    assert part("live.target").target_mesh(bpy.context) == body
    layout = Layout()
    panel.draw_details(layout, bpy.context, body, 60)
    assert {"Shirt", "Eye"} <= set(layout.read())
    shirt.thew.body = None
    assert riding_panel.health(shirt, 1).text == "Plain skin: choose a body to ride on"


def test_add_on_second_mesh_proposes_ride(fleshed_character, capsys):
    """Flesh on a second mesh of a character proposes riding instead."""
    body, _armature = fleshed_character
    shirt = shirt_of(body, lambda p: 0.4 < p.z < 1.2, 0.02)
    activate(shirt)
    assert part("operators.add").other_flesh(shirt) == [body]
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert "Ride on Body" in capsys.readouterr().out
    ride_text = "has flesh of its own"
    for obj in (shirt, body):
        obj.select_set(True)
    bpy.context.view_layer.objects.active = body
    assert ride_text in refusal(bpy.ops.thew.ride)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects with Collision physics push the flesh: which do, and how they are read."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from colliding import FAR, FRAMES, NEAR, add_box, add_collision, counted, emptied, farthest, notes, readings, simulated
from helpers import Layout, activate, flesh_of, make_body, make_folding, part, play, refused, size_of, world

# pressed -----------------------------------------------------------------------------------------------------------------


def test_a_box_that_moves_presses_the_belly_in(straight, monkeypatch):
    free = simulated(straight)
    calls = counted(monkeypatch)
    add_box()
    pressed = simulated(straight)
    (collider,) = calls[-1]["colliders"]
    assert collider.entries == 13 and len(collider.surface.vertices) == 8
    assert farthest(free)[-1] > NEAR + 0.08
    assert abs(farthest(pressed)[-1] - NEAR) < 0.01
    np.testing.assert_array_equal(pressed[0], free[0])
    assert "“Spine” touches “Bench” in frames" in notes(straight)


def test_a_box_in_another_unit_of_another_shape_and_inside_out_is_the_same(straight):
    box = add_box()
    pressed = simulated(straight)
    box.data.flip_normals()
    for vertex in box.data.vertices:
        vertex.co = (-10.0 * vertex.co.x, 4.0 * vertex.co.y, vertex.co.z)
    box.scale = (0.1, 0.25, 1.0)
    again = simulated(straight)
    assert np.abs(again - pressed).max() < 1e-3 * size_of(pressed[0])


def test_a_mesh_that_deforms_is_read_in_each_frame(straight, monkeypatch):
    calls = counted(monkeypatch)
    box = add_box(moves=False, face=FAR)
    box.shape_key_add(name="Basis")
    key = box.shape_key_add(name="Out")
    for point in key.data:
        point.co.x += (NEAR - FAR) if point.co.x < 0.0 else 0.0
    for frame, value in ((1, 0.0), (8, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    pressed = simulated(straight)
    assert len(flesh_of(straight).motion.colliders.each) == 1 and not flesh_of(straight).motion.colliders.each[0].rigid
    assert calls[-1]["colliders"][0].entries == 13
    assert abs(farthest(pressed)[-1] - NEAR) < 0.01
    rigid = add_box("Other")
    box.collision.use = False
    assert np.abs(simulated(straight) - pressed)[-1].max() < 1e-2 * size_of(pressed[0]), rigid.name


def test_what_stands_still_is_told_without_motion(straight, monkeypatch):
    calls = counted(monkeypatch)
    add_box(moves=False)
    pressed = simulated(straight)
    assert calls[-1]["colliders"][0].entries is None
    assert abs(farthest(pressed)[0] - NEAR) < 0.01, "it is settled among things"


def test_a_sheet_that_an_object_is_scaled_flat_to(straight):
    box = add_box(moves=False)
    box.location.x = NEAR
    box.scale.x = 0.0
    pressed = simulated(straight)
    assert farthest(pressed)[-1] < NEAR + 0.01 and "so nothing collides" not in notes(straight)


def test_thickness_and_friction_are_blenders_own(straight, monkeypatch):
    made = counted(monkeypatch, "Collider")
    box = add_box()
    box.collision.thickness_outer, box.collision.cloth_friction = 0.05, 80.0
    pressed = simulated(straight)
    metres = flesh_of(straight).place.metres_per_unit
    assert made[-1] == pytest.approx({"friction": 0.8, "thickness": 0.05 * metres})
    assert farthest(pressed)[-1] < NEAR - 0.02
    straight.thew.real_height = 4.0 * straight.thew.height()
    simulated(straight)
    assert made[-1]["thickness"] == pytest.approx(4.0 * 0.05 * metres)


# which objects -----------------------------------------------------------------------------------------------------------


def switched_off(box, how) -> None:
    """Let `box` not be collided with."""
    layer = bpy.context.view_layer.layer_collection
    own = bpy.data.collections.new("Own")
    bpy.context.scene.collection.children.link(own)
    own.objects.link(box)
    bpy.context.scene.collection.objects.unlink(box)
    {
        "use": lambda: setattr(box.collision, "use", False),
        "modifier": lambda: setattr(box.modifiers["Collision"], "show_viewport", False),
        "removed": lambda: box.modifiers.remove(box.modifiers["Collision"]),
        "monitor": lambda: setattr(box, "hide_viewport", True),
        "collection's monitor": lambda: setattr(own, "hide_viewport", True),
        "excluded": lambda: setattr(layer.children["Own"], "exclude", True),
        "deleted": lambda: bpy.data.objects.remove(box),
    }[how]()


@pytest.mark.parametrize(
    "how", ["use", "modifier", "removed", "monitor", "collection's monitor", "excluded", "deleted"]
)
def test_what_is_switched_off_changes_no_bit_and_is_noticed(straight, how):
    free = simulated(straight)
    box = add_box()
    pressed = play(straight, FRAMES)
    assert np.abs(pressed - free).max() > 0.01
    switched_off(box, how)
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    assert "Bench" not in notes(straight)


def test_the_eye_hides_from_view_alone(straight, monkeypatch):
    box = add_box()
    pressed = simulated(straight)
    read = readings(monkeypatch)
    box.hide_set(True)
    box.hide_render = True
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)
    assert not read
    np.testing.assert_array_equal(simulated(straight), pressed)


def test_the_switch_and_the_collection(straight):
    free = simulated(straight)
    box = add_box()
    pressed = simulated(straight)
    straight.thew.use_colliders = False
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    straight.thew.use_colliders = True
    props = bpy.data.collections.new("Props")
    straight.thew.collider_collection = props
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    inner = bpy.data.collections.new("Inner")
    props.children.link(inner)
    bpy.context.scene.collection.children.link(props)
    inner.objects.link(box)
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)
    bpy.data.collections.remove(props)
    assert straight.thew.collider_collection is None
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)


def test_without_contact_nothing_is_read(straight, monkeypatch):
    straight.thew.use_contact = False
    free = simulated(straight)
    calls = counted(monkeypatch)
    box = add_box()
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    box.location.z += 1.0
    play(straight, FRAMES)
    assert not calls and not flesh_of(straight).motion.colliders.each


def test_the_character_itself_is_left_out(straight, scene):
    free = simulated(straight)
    armature = straight.modifiers["Armature"].object
    add_collision(straight)
    shirt = make_body(armature, name="Shirt", rings=9)
    add_collision(shirt)
    eye = add_box("Eye", moves=False)
    eye.parent, eye.parent_type, eye.parent_bone = armature, "BONE", "Head"
    bpy.context.view_layer.update()
    part("live.riding").mount(eye, straight, bpy.context.view_layer)
    np.testing.assert_array_equal(simulated(straight), free)
    assert part("scene.colliders").asked(straight, scene) == ()


def test_other_live_flesh_is_named_and_its_bake_collides(straight, scene):
    other, armature = make_folding(angle=0.0)
    other.name, armature.location.x = "Neighbour", 0.5
    add_collision(other)
    bpy.context.view_layer.update()
    free = simulated(straight)[-1]
    activate(other)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    alone = simulated(straight)
    assert "“Neighbour” has live flesh" in notes(straight) and "bake it" in notes(straight)
    activate(other)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    baked = simulated(straight)
    assert "touch “Neighbour”" in notes(straight) and "live flesh" not in notes(straight)
    assert np.abs(baked - alone)[-1].max() > 1e-3 and np.abs(baked[-1] - free).max() < 1e-3


# bad input -----------------------------------------------------------------------------------------------------------------


def without_faces(box) -> None:
    mesh = bmesh.new()
    mesh.from_mesh(box.data)
    bmesh.ops.delete(mesh, geom=mesh.faces[:], context="FACES_ONLY")
    mesh.to_mesh(box.data)
    mesh.free()


def flat(box) -> None:
    for vertex in box.data.vertices:
        vertex.co.x = vertex.co.y = 0.0


def not_a_number(box) -> None:
    box.data.vertices[3].co.z = float("nan")


def endless(box) -> None:
    box.scale.y = float("inf")


def growing(box) -> None:
    more = box.modifiers.new("Array", "ARRAY")
    for frame, count in ((1, 1), (7, 3)):
        more.count = count
        more.keyframe_insert("count", frame=frame)


def edited(box) -> None:
    activate(box)
    bpy.ops.object.mode_set(mode="EDIT")


BAD = {
    emptied: "has no faces",
    without_faces: "has no faces",
    flat: "is flat to a line or a point",
    not_a_number: "not a number, or far too large, at frame 1",
    endless: "not a number, or far too large, at frame 1",
    growing: "changes its vertices at frame",
    edited: "is in edit mode",
}


@pytest.mark.parametrize("how", BAD, ids=lambda how: how.__name__)
def test_bad_things_are_left_out_with_a_sentence_that_names_them(straight, how):
    free = simulated(straight)
    bad = add_box("Bad")
    how(bad)
    finish, jobs = part("logic.tasks").finish, part("live.jobs")
    finish(jobs.simulate(straight, bpy.context.scene, bpy.context.view_layer))
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    (line,) = [line for line in notes(straight).splitlines() if "“Bad”" in line]
    assert BAD[how] in line and "nothing collides with it" in line and line.endswith(".")
    health = part("logic.health").health(straight.thew, straight.thew.made, flesh_of(straight), 1)
    assert health.level == "WARNING" and "“Bad”" in health.text
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    add_box("Good")
    pressed = simulated(straight)
    assert abs(farthest(pressed)[-1] - NEAR) < 0.01 or how is edited


def test_what_the_core_refuses_names_the_object(straight):
    box = add_box(moves=False)
    box.location.x = 1e14
    activate(straight)
    text = refused(bpy.ops.thew.simulate)
    assert "“Bench”" in text and text.count(".") <= 2


def test_a_thing_that_grows_from_nothing_collides_once_it_is_there(straight):
    box = add_box(moves=False)
    for frame, scale in ((1, 0.0), (5, 0.0), (6, 1.0)):
        box.scale = (scale,) * 3
        box.keyframe_insert("scale", frame=frame)
    pressed = simulated(straight)
    assert np.isfinite(pressed).all() and "flat" not in notes(straight)
    assert farthest(pressed)[-1] < NEAR + 0.02


def test_bones_that_lie_in_a_thing_are_named(straight):
    simulated(straight)
    assert "deep in" not in notes(straight)
    add_box(moves=False, face=-0.1)
    simulated(straight)
    assert "“Hip” and “Spine” lie up to 10 cm deep in “Bench” in frames 1 to 12" in notes(straight)
    assert "contact moves flesh, not bones" in notes(straight)


# the panel -----------------------------------------------------------------------------------------------------------------


def read(body) -> str:
    """What is read in the foldout Contact."""
    layout = Layout()
    part("ui.contact_panel").draw_contact(layout, bpy.context, body, 400)
    return " ".join(layout.read())


def test_the_panel_names_what_is_collided_with(straight):
    assert "Nothing in the scene has Collision physics" in read(straight)
    add_box()
    assert "“Bench”" in read(straight)
    for name in "ABCD":
        add_box(name)
    assert "“A”, “B”, “Bench” and 2 others" in read(straight)
    straight.thew.collider_collection = bpy.data.collections.new("Props")
    assert "Nothing in this collection has Collision physics" in read(straight)
    straight.thew.use_colliders = False
    assert "Collision physics" not in read(straight)
    assert np.isfinite(world(straight)).all()


@pytest.mark.parametrize("how", [emptied, without_faces, not_a_number], ids=lambda how: how.__name__)
def test_the_panel_says_with_nothing_that_was_left_out(straight, how):
    bad = add_box("Broken")
    how(bad)
    add_box("Good")
    simulated(straight)
    text = read(straight)
    assert "With “Good” " in text and "so nothing collides with it" in text and text.count("“Broken”") == 1
    assert "flesh to" not in text
    bpy.data.objects["Good"].collision.use = False
    simulated(straight)
    text = read(straight)
    assert "With" not in text and "Nothing in the scene" not in text and "“Broken”" in text
    bpy.data.objects.remove(bad)
    assert "Broken" not in read(straight)


@pytest.mark.parametrize("how", ["use", "modifier", "monitor", "collection's monitor", "excluded"])
def test_the_panel_says_why_what_has_collision_takes_no_part(straight, how):
    box = add_box()
    switched_off(box, how)
    text = read(straight)
    reason = {"use": "switched off", "modifier": "switched off"}.get(
        how, "is disabled in viewports, or its collection is"
    )
    assert "Nothing in the scene collides: " in text and "“Bench”" in text and reason in text
    assert "has Collision physics (" not in text
    straight.thew.collider_collection = bpy.data.collections.new("Props")
    assert "Nothing in this collection has Collision physics (" in read(straight)


def test_the_panel_names_the_characters_own_and_counts_many(straight):
    shirt = make_body(straight.modifiers["Armature"].object, name="Shirt", rings=9)
    add_collision(shirt)
    assert "“Shirt” is a part of the character" in read(straight)
    for name in "ABCD":
        add_box(name).collision.use = False
    assert "“C” is switched off and 2 others take no part" in read(straight)


@pytest.mark.parametrize("how", ["added", "removed", "moved", "thicker"])
def test_what_touched_is_marked_as_the_last_simulations_once_things_have_changed(straight, monkeypatch, how):
    box = add_box(moves=False)
    simulated(straight)
    assert "“Bench” in frames" in read(straight) and "last simulation" not in read(straight)
    monkeypatch.setattr(part("scene.windows"), "headless", lambda: False)
    monkeypatch.setattr(part("live.updates"), "wait", lambda obj: None)
    {
        "added": lambda: add_box("Second"),
        "removed": lambda: bpy.data.objects.remove(box),
        "moved": lambda: setattr(box.location, "x", box.location.x + 0.1),
        "thicker": lambda: setattr(box.collision, "thickness_outer", 0.1),
    }[how]()
    bpy.context.view_layer.update()
    text = read(straight)
    assert text.index("As of the last simulation") < text.index("“Bench” in frames")
    monkeypatch.undo()
    simulated(straight)
    assert "last simulation" not in read(straight)

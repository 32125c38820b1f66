# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects with Collision physics push the flesh: the choice of objects, and their reading."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from colliding import (
    FAR,
    FRAMES,
    NEAR,
    add_box,
    add_collision,
    clear_mesh,
    notes,
    reach_to_box,
    readings,
    record_calls,
    simulate,
)
from helpers import Layout, activate, flesh_of, make_body, make_folding, part, play, refusal, size_of, world

# pressed -----------------------------------------------------------------------------------------------------------------


def test_collider_presses(straight_character, monkeypatch):
    """A box that moves presses the belly in up to its face, and the note names both."""
    free = simulate(straight_character)
    calls = record_calls(monkeypatch)
    add_box()
    pressed = simulate(straight_character)
    (collider,) = calls[-1]["colliders"]
    assert collider.entries == 13 and len(collider.surface.vertices) == 8
    assert reach_to_box(free)[-1] > NEAR + 0.08
    assert abs(reach_to_box(pressed)[-1] - NEAR) < 0.01
    np.testing.assert_array_equal(pressed[0], free[0])
    assert "“Spine” touches “Bench” in frames" in notes(straight_character)


def test_collider_scaled_flipped(straight_character):
    """A scaled box that is inside out presses like the plain one."""
    box = add_box()
    pressed = simulate(straight_character)
    box.data.flip_normals()
    for vertex in box.data.vertices:
        vertex.co = (-10.0 * vertex.co.x, 4.0 * vertex.co.y, vertex.co.z)
    box.scale = (0.1, 0.25, 1.0)
    again = simulate(straight_character)
    assert np.abs(again - pressed).max() < 1e-3 * size_of(pressed[0])


def test_collider_deforming(straight_character, monkeypatch):
    """A mesh that deforms is read in each frame."""
    calls = record_calls(monkeypatch)
    box = add_box(moves=False, face=FAR)
    box.shape_key_add(name="Basis")
    key = box.shape_key_add(name="Out")
    for point in key.data:
        point.co.x += (NEAR - FAR) if point.co.x < 0.0 else 0.0
    for frame, value in ((1, 0.0), (8, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    pressed = simulate(straight_character)
    assert (
        len(flesh_of(straight_character).motion.colliders.each) == 1
        and not flesh_of(straight_character).motion.colliders.each[0].rigid
    )
    assert calls[-1]["colliders"][0].entries == 13
    assert abs(reach_to_box(pressed)[-1] - NEAR) < 0.01
    rigid = add_box("Other")
    box.collision.use = False
    assert np.abs(simulate(straight_character) - pressed)[-1].max() < 1e-2 * size_of(pressed[0]), rigid.name


def test_collider_static(straight_character, monkeypatch):
    """A thing that stands still reaches the core without motion, and presses from the first frame on."""
    calls = record_calls(monkeypatch)
    add_box(moves=False)
    pressed = simulate(straight_character)
    assert calls[-1]["colliders"][0].entries is None
    assert abs(reach_to_box(pressed)[0] - NEAR) < 0.01, "it is settled among things"


def test_collider_scaled_flat(straight_character):
    """An object that is scaled flat to a sheet collides."""
    box = add_box(moves=False)
    box.location.x = NEAR
    box.scale.x = 0.0
    pressed = simulate(straight_character)
    assert reach_to_box(pressed)[-1] < NEAR + 0.01 and "so nothing collides" not in notes(straight_character)


def test_collider_thickness_friction(straight_character, monkeypatch):
    """Thickness and friction are those of Blender's Collision physics."""
    made = record_calls(monkeypatch, "Collider")
    box = add_box()
    box.collision.thickness_outer, box.collision.cloth_friction = 0.05, 80.0
    pressed = simulate(straight_character)
    metres = flesh_of(straight_character).place.metres_per_unit
    assert made[-1] == pytest.approx({"friction": 0.8, "thickness": 0.05 * metres})
    assert reach_to_box(pressed)[-1] < NEAR - 0.02
    straight_character.thew.real_height = 4.0 * straight_character.thew.height()
    simulate(straight_character)
    assert made[-1]["thickness"] == pytest.approx(4.0 * 0.05 * metres)


# which objects -----------------------------------------------------------------------------------------------------------


def exclude(box, how) -> None:
    """Excludes `box` from the collision in the way named."""
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
def test_collider_switched_off(straight_character, how):
    """A thing that is switched off is noticed, and the free motion comes back bit by bit."""
    free = simulate(straight_character)
    box = add_box()
    pressed = play(straight_character, FRAMES)
    assert np.abs(pressed - free).max() > 0.01
    exclude(box, how)
    np.testing.assert_array_equal(play(straight_character, FRAMES), free)
    assert "Bench" not in notes(straight_character)


def test_collider_hidden(straight_character, monkeypatch):
    """A thing that the eye or the render hides still collides."""
    box = add_box()
    pressed = simulate(straight_character)
    read = readings(monkeypatch)
    box.hide_set(True)
    box.hide_render = True
    np.testing.assert_array_equal(play(straight_character, FRAMES), pressed)
    assert not read
    np.testing.assert_array_equal(simulate(straight_character), pressed)


def test_collider_collection(straight_character):
    """The switch turns all colliders off, and the collection limits them to its objects."""
    free = simulate(straight_character)
    box = add_box()
    pressed = simulate(straight_character)
    straight_character.thew.use_colliders = False
    np.testing.assert_array_equal(play(straight_character, FRAMES), free)
    straight_character.thew.use_colliders = True
    props = bpy.data.collections.new("Props")
    straight_character.thew.collider_collection = props
    np.testing.assert_array_equal(play(straight_character, FRAMES), free)
    inner = bpy.data.collections.new("Inner")
    props.children.link(inner)
    bpy.context.scene.collection.children.link(props)
    inner.objects.link(box)
    np.testing.assert_array_equal(play(straight_character, FRAMES), pressed)
    bpy.data.collections.remove(props)
    assert straight_character.thew.collider_collection is None
    np.testing.assert_array_equal(play(straight_character, FRAMES), pressed)


def test_colliders_without_contact(straight_character, monkeypatch):
    """Without contact no collider is read."""
    straight_character.thew.use_contact = False
    free = simulate(straight_character)
    calls = record_calls(monkeypatch)
    box = add_box()
    np.testing.assert_array_equal(play(straight_character, FRAMES), free)
    box.location.z += 1.0
    play(straight_character, FRAMES)
    assert not calls and not flesh_of(straight_character).motion.colliders.each


def test_colliders_own_parts(straight_character, scene):
    """The character's own skin, clothes and riders do not collide with it."""
    free = simulate(straight_character)
    armature = straight_character.modifiers["Armature"].object
    add_collision(straight_character)
    shirt = make_body(armature, name="Shirt", rings=9)
    add_collision(shirt)
    eye = add_box("Eye", moves=False)
    eye.parent, eye.parent_type, eye.parent_bone = armature, "BONE", "Head"
    bpy.context.view_layer.update()
    part("live.riding").mount(eye, straight_character, bpy.context.view_layer)
    np.testing.assert_array_equal(simulate(straight_character), free)
    assert part("scene.colliders").requested_colliders(straight_character, scene) == ()


def test_collider_other_flesh(straight_character, scene):
    """Another character with live flesh is named and left out, and its bake collides."""
    other, armature = make_folding(angle=0.0)
    other.name, armature.location.x = "Neighbour", 0.5
    add_collision(other)
    bpy.context.view_layer.update()
    free = simulate(straight_character)[-1]
    activate(other)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    alone = simulate(straight_character)
    assert "“Neighbour” has live flesh" in notes(straight_character) and "bake it" in notes(straight_character)
    activate(other)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    baked = simulate(straight_character)
    assert "“Neighbour” touches" in notes(straight_character) and "live flesh" not in notes(straight_character)
    assert np.abs(baked - alone)[-1].max() > 1e-3 and np.abs(baked[-1] - free).max() < 1e-3


# bad input -----------------------------------------------------------------------------------------------------------------


def remove_faces(box) -> None:
    mesh = bmesh.new()
    mesh.from_mesh(box.data)
    bmesh.ops.delete(mesh, geom=mesh.faces[:], context="FACES_ONLY")
    mesh.to_mesh(box.data)
    mesh.free()


def flatten(box) -> None:
    for vertex in box.data.vertices:
        vertex.co.x = vertex.co.y = 0.0


def add_nan(box) -> None:
    box.data.vertices[3].co.z = float("nan")


def scale_infinitely(box) -> None:
    box.scale.y = float("inf")


def animate_array(box) -> None:
    more = box.modifiers.new("Array", "ARRAY")
    for frame, count in ((1, 1), (7, 3)):
        more.count = count
        more.keyframe_insert("count", frame=frame)


def enter_edit_mode(box) -> None:
    activate(box)
    bpy.ops.object.mode_set(mode="EDIT")


BAD = {
    clear_mesh: "has no faces",
    remove_faces: "has no faces",
    flatten: "is flat to a line or a point",
    add_nan: "not a number, or far too large, at frame 1",
    scale_infinitely: "not a number, or far too large, at frame 1",
    animate_array: "changes its vertices at frame",
    enter_edit_mode: "is in edit mode",
}


@pytest.mark.parametrize("how", BAD, ids=lambda how: how.__name__)
def test_collider_bad_mesh(straight_character, how):
    """A bad mesh is left out with a sentence that names it, and the others still collide."""
    free = simulate(straight_character)
    bad = add_box("Bad")
    how(bad)
    finish, jobs = part("logic.tasks").finish, part("live.jobs")
    finish(jobs.simulate(straight_character, bpy.context.scene, bpy.context.view_layer))
    np.testing.assert_array_equal(play(straight_character, FRAMES), free)
    (line,) = [line for line in notes(straight_character).splitlines() if "“Bad”" in line]
    assert BAD[how] in line and "nothing collides with it" in line and line.endswith(".")
    health = part("logic.health").health(
        straight_character.thew, straight_character.thew.made, flesh_of(straight_character), 1
    )
    assert health.level == "WARNING" and "“Bad”" in health.text
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    add_box("Good")
    pressed = simulate(straight_character)
    assert abs(reach_to_box(pressed)[-1] - NEAR) < 0.01 or how is enter_edit_mode


def test_collider_refused_by_core(straight_character):
    """A refusal by the core names the object."""
    box = add_box(moves=False)
    box.location.x = 1e14
    activate(straight_character)
    text = refusal(bpy.ops.thew.simulate)
    assert "“Bench”" in text and text.count(".") <= 2


def test_collider_grows(straight_character):
    """A thing that grows from nothing collides once it has a size."""
    box = add_box(moves=False)
    for frame, scale in ((1, 0.0), (5, 0.0), (6, 1.0)):
        box.scale = (scale,) * 3
        box.keyframe_insert("scale", frame=frame)
    pressed = simulate(straight_character)
    assert np.isfinite(pressed).all() and "flat" not in notes(straight_character)
    assert reach_to_box(pressed)[-1] < NEAR + 0.02


def test_collider_holds_bones(straight_character):
    """The note names bones that lie deep in a thing."""
    simulate(straight_character)
    assert "deep in" not in notes(straight_character)
    add_box(moves=False, face=-0.1)
    simulate(straight_character)
    assert "“Hip” and “Spine” lie up to 10 cm deep in “Bench” in frames 1 to 12" in notes(straight_character)
    assert "contact moves flesh, not bones" in notes(straight_character)


# the panel -----------------------------------------------------------------------------------------------------------------


def read(body) -> str:
    """Returns the words in the foldout Contact."""
    layout = Layout()
    part("ui.contact_panel").draw_contact(layout, bpy.context, body, 400)
    return " ".join(layout.read())


def test_panel_names_colliders(straight_character):
    """The panel names the things that the flesh collides with."""
    assert "Nothing in the scene has Collision physics" in read(straight_character)
    add_box()
    assert "“Bench”" in read(straight_character)
    for name in "ABCD":
        add_box(name)
    assert "“A”, “B”, “Bench” and 2 others" in read(straight_character)
    straight_character.thew.collider_collection = bpy.data.collections.new("Props")
    assert "Nothing in this collection has Collision physics" in read(straight_character)
    straight_character.thew.use_colliders = False
    assert "Collision physics" not in read(straight_character)
    assert np.isfinite(world(straight_character)).all()


@pytest.mark.parametrize("how", [clear_mesh, remove_faces, add_nan], ids=lambda how: how.__name__)
def test_panel_omits_bad_colliders(straight_character, how):
    """The panel does not list a bad mesh as a collider, and says once why it is left out."""
    bad = add_box("Broken")
    how(bad)
    add_box("Good")
    simulate(straight_character)
    text = read(straight_character)
    assert "With “Good” " in text and "so nothing collides with it" in text and text.count("“Broken”") == 1
    assert "flesh to" not in text
    bpy.data.objects["Good"].collision.use = False
    simulate(straight_character)
    text = read(straight_character)
    assert "With" not in text and "Nothing in the scene" not in text and "“Broken”" in text
    bpy.data.objects.remove(bad)
    assert "Broken" not in read(straight_character)


@pytest.mark.parametrize("how", ["use", "modifier", "monitor", "collection's monitor", "excluded"])
def test_panel_explains_excluded(straight_character, how):
    """The panel says why a thing with Collision physics takes no part."""
    box = add_box()
    exclude(box, how)
    text = read(straight_character)
    reason = {"use": "switched off", "modifier": "switched off"}.get(
        how, "is disabled in viewports, or its collection is"
    )
    assert "Nothing in the scene collides: " in text and "“Bench”" in text and reason in text
    assert "has Collision physics (" not in text
    straight_character.thew.collider_collection = bpy.data.collections.new("Props")
    assert "Nothing in this collection has Collision physics (" in read(straight_character)


def test_panel_counts_excluded(straight_character):
    """The panel names the character's own parts, and counts the others when they are many."""
    shirt = make_body(straight_character.modifiers["Armature"].object, name="Shirt", rings=9)
    add_collision(shirt)
    assert "“Shirt” is a part of the character" in read(straight_character)
    for name in "ABCD":
        add_box(name).collision.use = False
    assert "“C” is switched off and 2 others take no part" in read(straight_character)


@pytest.mark.parametrize("how", ["added", "removed", "moved", "thicker"])
def test_panel_marks_stale_touches(straight_character, monkeypatch, how):
    """Once things have changed, the panel marks the touches as those of the last simulation."""
    box = add_box(moves=False)
    simulate(straight_character)
    assert "“Bench” touches" in read(straight_character) and "last simulation" not in read(straight_character)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    monkeypatch.setattr(part("live.updates"), "wait", lambda obj: None)
    {
        "added": lambda: add_box("Second"),
        "removed": lambda: bpy.data.objects.remove(box),
        "moved": lambda: setattr(box.location, "x", box.location.x + 0.1),
        "thicker": lambda: setattr(box.collision, "thickness_outer", 0.1),
    }[how]()
    bpy.context.view_layer.update()
    text = read(straight_character)
    assert text.index("As of the last simulation") < text.index("“Bench” touches")
    monkeypatch.undo()
    simulate(straight_character)
    assert "last simulation" not in read(straight_character)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects with Collision physics push the flesh: the choice of objects, and their reading."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from colliding import FAR, FRAMES, NEAR, add_box, add_collision, counted, emptied, farthest, notes, readings, simulated
from helpers import Layout, activate, flesh_of, make_body, make_folding, part, play, refused, size_of, world

# pressed -----------------------------------------------------------------------------------------------------------------


def test_collider_presses(straight, monkeypatch):
    """A box that moves presses the belly in up to its face, and the note names both."""
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


def test_collider_scaled_flipped(straight):
    """A scaled box that is inside out presses like the plain one."""
    box = add_box()
    pressed = simulated(straight)
    box.data.flip_normals()
    for vertex in box.data.vertices:
        vertex.co = (-10.0 * vertex.co.x, 4.0 * vertex.co.y, vertex.co.z)
    box.scale = (0.1, 0.25, 1.0)
    again = simulated(straight)
    assert np.abs(again - pressed).max() < 1e-3 * size_of(pressed[0])


def test_collider_deforming(straight, monkeypatch):
    """A mesh that deforms is read in each frame."""
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


def test_collider_static(straight, monkeypatch):
    """A thing that stands still reaches the core without motion, and presses from the first frame on."""
    calls = counted(monkeypatch)
    add_box(moves=False)
    pressed = simulated(straight)
    assert calls[-1]["colliders"][0].entries is None
    assert abs(farthest(pressed)[0] - NEAR) < 0.01, "it is settled among things"


def test_collider_scaled_flat(straight):
    """An object that is scaled flat to a sheet collides."""
    box = add_box(moves=False)
    box.location.x = NEAR
    box.scale.x = 0.0
    pressed = simulated(straight)
    assert farthest(pressed)[-1] < NEAR + 0.01 and "so nothing collides" not in notes(straight)


def test_collider_thickness_friction(straight, monkeypatch):
    """Thickness and friction are those of Blender's Collision physics."""
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
def test_collider_switched_off(straight, how):
    """A thing that is switched off is noticed, and the free motion comes back bit by bit."""
    free = simulated(straight)
    box = add_box()
    pressed = play(straight, FRAMES)
    assert np.abs(pressed - free).max() > 0.01
    exclude(box, how)
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    assert "Bench" not in notes(straight)


def test_collider_hidden(straight, monkeypatch):
    """A thing that the eye or the render hides still collides."""
    box = add_box()
    pressed = simulated(straight)
    read = readings(monkeypatch)
    box.hide_set(True)
    box.hide_render = True
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)
    assert not read
    np.testing.assert_array_equal(simulated(straight), pressed)


def test_collider_collection(straight):
    """The switch turns all colliders off, and the collection limits them to its objects."""
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


def test_colliders_without_contact(straight, monkeypatch):
    """Without contact no collider is read."""
    straight.thew.use_contact = False
    free = simulated(straight)
    calls = counted(monkeypatch)
    box = add_box()
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    box.location.z += 1.0
    play(straight, FRAMES)
    assert not calls and not flesh_of(straight).motion.colliders.each


def test_colliders_own_parts(straight, scene):
    """The character's own skin, clothes and riders do not collide with it."""
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
    assert part("scene.colliders").requested_colliders(straight, scene) == ()


def test_collider_other_flesh(straight, scene):
    """Another character with live flesh is named and left out, and its bake collides."""
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
def test_collider_bad_mesh(straight, how):
    """A bad mesh is left out with a sentence that names it, and the others still collide."""
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


def test_collider_refused_by_core(straight):
    """A refusal by the core names the object."""
    box = add_box(moves=False)
    box.location.x = 1e14
    activate(straight)
    text = refused(bpy.ops.thew.simulate)
    assert "“Bench”" in text and text.count(".") <= 2


def test_collider_grows(straight):
    """A thing that grows from nothing collides once it has a size."""
    box = add_box(moves=False)
    for frame, scale in ((1, 0.0), (5, 0.0), (6, 1.0)):
        box.scale = (scale,) * 3
        box.keyframe_insert("scale", frame=frame)
    pressed = simulated(straight)
    assert np.isfinite(pressed).all() and "flat" not in notes(straight)
    assert farthest(pressed)[-1] < NEAR + 0.02


def test_collider_holds_bones(straight):
    """The note names bones that lie deep in a thing."""
    simulated(straight)
    assert "deep in" not in notes(straight)
    add_box(moves=False, face=-0.1)
    simulated(straight)
    assert "“Hip” and “Spine” lie up to 10 cm deep in “Bench” in frames 1 to 12" in notes(straight)
    assert "contact moves flesh, not bones" in notes(straight)


# the panel -----------------------------------------------------------------------------------------------------------------


def read(body) -> str:
    """Returns the words in the foldout Contact."""
    layout = Layout()
    part("ui.contact_panel").draw_contact(layout, bpy.context, body, 400)
    return " ".join(layout.read())


def test_panel_names_colliders(straight):
    """The panel names the things that the flesh collides with."""
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
def test_panel_omits_bad_colliders(straight, how):
    """The panel does not list a bad mesh as a collider, and says once why it is left out."""
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
def test_panel_explains_excluded(straight, how):
    """The panel says why a thing with Collision physics takes no part."""
    box = add_box()
    exclude(box, how)
    text = read(straight)
    reason = {"use": "switched off", "modifier": "switched off"}.get(
        how, "is disabled in viewports, or its collection is"
    )
    assert "Nothing in the scene collides: " in text and "“Bench”" in text and reason in text
    assert "has Collision physics (" not in text
    straight.thew.collider_collection = bpy.data.collections.new("Props")
    assert "Nothing in this collection has Collision physics (" in read(straight)


def test_panel_counts_excluded(straight):
    """The panel names the character's own parts, and counts the others when they are many."""
    shirt = make_body(straight.modifiers["Armature"].object, name="Shirt", rings=9)
    add_collision(shirt)
    assert "“Shirt” is a part of the character" in read(straight)
    for name in "ABCD":
        add_box(name).collision.use = False
    assert "“C” is switched off and 2 others take no part" in read(straight)


@pytest.mark.parametrize("how", ["added", "removed", "moved", "thicker"])
def test_panel_marks_stale_touches(straight, monkeypatch, how):
    """Once things have changed, the panel marks the touches as those of the last simulation."""
    box = add_box(moves=False)
    simulated(straight)
    assert "“Bench” in frames" in read(straight) and "last simulation" not in read(straight)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
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

# SPDX-License-Identifier: GPL-3.0-or-later
"""Surroundings of characters that were scaled or mirrored as a whole after their flesh was added: gravity, fields, pins, contact, tools."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, part, play, refusal, settle, size_of, world
from pairs import make_pair
from scaling import FRAMES, make_child, scaled, shapes


@pytest.fixture
def child(scene):
    """Builds a character with soft flesh whose mesh is a child of its armature, as (mesh, armature)."""
    return make_child()


def test_slanting_gravity_in_mirror(child, scene):
    """Slanting gravity, also keyed, acts on a mirrored character as its mirror image does on the plain one."""
    body, rig = child
    for frame, down in ((1, -9.8), (12, -5.0)):
        scene.gravity = (4.0, 1.0, down)
        scene.keyframe_insert("gravity", frame=frame)
    live, plain = shapes(body)
    scene.animation_data_clear()
    for frame, down in ((1, -9.8), (12, -5.0)):
        scene.gravity = (-4.0, 1.0, down)
        scene.keyframe_insert("gravity", frame=frame)
    rig.scale = (-1.0, 1.0, 1.0)
    other, _ = shapes(body)
    assert np.abs(other - scaled(rig, live, (-1.0, 1.0, 1.0))).max() < 1e-4 * size_of(plain[0])


def test_unkeyed_slanting_gravity_in_mirror(child, scene):
    """The same with gravity that nothing keys, and with flesh at rest."""
    body, rig = child
    scene.gravity = (4.0, 1.0, -9.0)
    live, plain = shapes(body)
    rest = settle(body)
    body.thew.settled = False
    scene.gravity = (-4.0, 1.0, -9.0)
    rig.scale = (-1.0, 1.0, 1.0)
    other, _ = shapes(body)
    assert np.abs(other - scaled(rig, live, (-1.0, 1.0, 1.0))).max() < 1e-4 * size_of(plain[0])
    assert np.abs(settle(body) - rest).max() < 1e-4 * size_of(plain[0])  # both in object space


@pytest.mark.parametrize("kind", ["WIND", "VORTEX", "FORCE"])
@pytest.mark.parametrize("factors", [(-1.0, 1.0, 1.0), (4.0, 4.0, 4.0)])
def test_force_field_on_scaled_character(child, kind, factors):
    """A force field that is scaled or mirrored along with the character does the same to it."""
    body, rig = child
    bpy.ops.object.effector_add(type=kind, location=(0.5, 0.2, 0.9), rotation=(0.0, 0.5 * math.pi, 0.0))
    field = bpy.context.object
    field.field.strength = 20.0
    live, plain = shapes(body)
    field.field.strength = 0.0
    calm, _ = shapes(body)
    field.field.strength = 20.0
    field.location = field.location * factors[0] if factors[0] > 0 else (-0.5, 0.2, 0.9)
    if factors[0] < 0.0:
        field.rotation_euler = (0.0, -0.5 * math.pi, 0.0)
        if kind == "VORTEX":
            field.field.strength = -20.0  # a mirror turns it round
    elif kind == "VORTEX":
        field.field.strength = 5.0  # it grows with the distance
    rig.scale = factors
    other, _ = shapes(body)
    size = size_of(plain[0])
    assert np.abs(live - calm).max() > 3e-3 * size
    assert np.abs(other - scaled(rig, live, factors)).max() < 1e-3 * max(factors) * size


@pytest.mark.parametrize("factors", [(-1.0, 1.0, 1.0), (5.0, 5.0, 5.0)])
def test_pin_on_scaled_character(child, factors):
    """A pin that is scaled or mirrored along with the character holds its vertex."""
    body, rig = child
    activate(body)
    assert bpy.ops.thew.pin_point(vertex=64) == {"FINISHED"}
    target = body.thew.pins[-1].target
    rig.scale = factors
    target.location = np.array(target.location) * np.array(factors)
    live, _ = shapes(body)
    size = size_of(live[0])
    assert np.abs(live[:, 64] - np.array(target.location)).max() < 1e-4 * size
    assert not flesh_of(body).pin_warnings()


@pytest.mark.parametrize("factors", [(-1.0, 1.0, 1.0), (5.0, 5.0, 5.0)])
def test_floor_under_scaled_character(child, factors):
    """An open collider presses a scaled or mirrored character from the same side."""
    body, rig = child
    corners = [(0.12, -1, 0), (0.12, 1, 0), (0.12, 1, 2), (0.12, -1, 2)]
    data = bpy.data.meshes.new("Wall")
    data.from_pydata(corners, [], [(3, 2, 1, 0)])
    wall = bpy.data.objects.new("Wall", data)
    bpy.context.scene.collection.objects.link(wall)
    free, plain = shapes(body)
    with bpy.context.temp_override(object=wall):
        bpy.ops.object.modifier_add(type="COLLISION")
    wall.collision.thickness_outer = 0.004
    body.thew.use_contact = True
    live, _ = shapes(body)
    size = size_of(plain[0])
    assert np.abs(live - free).max() > 0.01 * size
    for vertex, corner in zip(data.vertices, corners, strict=True):
        vertex.co = np.array(corner) * np.array(factors)
    wall.collision.thickness_outer *= max(factors)
    if factors[0] < 0.0:
        data.flip_normals()  # the wall faces the character again
    rig.scale = factors
    other, _ = shapes(body)
    assert np.abs(other - scaled(rig, live, factors)).max() < 2e-3 * max(factors) * size


def test_shot_of_mirrored_character(child):
    """The note of an exported shot tells the place of its metres, mirrored and scaled."""
    body, rig = child
    rig.scale = (-2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    shots, finish = part("live.shots"), part("logic.tasks").finish
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    shot, _ = finish(shots.export(body, scene, view_layer))
    clip = part("logic.native").core().simulate_shots([shot])[0]
    live, plain = shapes(body)
    subject = part("scene.reading").subject(body, view_layer)
    finish(shots.adopt(subject, scene, view_layer, 1, FRAMES[-1], clip, "“A”"))
    flesh = flesh_of(body)
    assert flesh.clip_place.mirrored and flesh.clip_place.metres_per_unit == pytest.approx(
        0.5 * flesh.place.metres_per_unit
    )
    adopted = np.array([world_offsets(body, flesh.offsets(frame)) for frame in FRAMES])
    assert np.abs(adopted - (live - plain)).max() < 1e-4 * size_of(plain[0])


def world_offsets(body, offsets: np.ndarray) -> np.ndarray:
    """Returns offsets in object space as vectors of the world."""
    return offsets @ np.array(body.matrix_world, dtype=np.float64)[:3, :3].T


def test_pair_scaled_together(scene):
    """Characters that touch are scaled as one: they touch in the same places."""
    pair = make_pair()
    live = play(pair[0], FRAMES, world)
    empty = bpy.data.objects.new("Empty", None)
    scene.collection.objects.link(empty)
    for body in pair:
        rig = body.modifiers["Armature"].object
        rig.parent = body.parent = empty
    bpy.context.view_layer.update()
    assert np.abs(play(pair[0], FRAMES, world) - live).max() < 1e-4 * size_of(live[0])
    for factors in ((6.0, 6.0, 6.0), (-1.0, 1.0, 1.0)):
        empty.scale = factors
        activate(pair[0])
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        other = play(pair[0], FRAMES, world)
        assert np.abs(other - live * np.array(factors)).max() < 2e-3 * max(factors) * size_of(live[0])


def test_pair_of_which_one_is_mirrored(scene):
    """A mirror image beside flesh that is none is refused with what to do."""
    pair = make_pair()
    play(pair[0], (1, 2))
    rig = pair[1].modifiers["Armature"].object
    pair[1].parent = rig
    pair[1].matrix_parent_inverse = rig.matrix_world.inverted()
    rig.scale = (1.0, -1.0, 1.0)
    activate(pair[0])
    text = refusal(bpy.ops.thew.simulate)
    assert "“Bert” was mirrored after its flesh was added, and “Anna” was not: remove the flesh of “Bert”" in text


@pytest.mark.parametrize("factors", [(10.0, 10.0, 10.0), (-2.0, 2.0, 2.0)])
def test_tools_on_scaled_character(child, factors):
    """Mouse tools see the same character in metres, at its place in the world; a template is dropped at the same place of the flesh."""
    body, rig = child
    activate(body)
    shapes(body)

    def seen():
        bpy.context.scene.frame_set(5)
        return part("edit.posed_character").read(body, bpy.context.scene, bpy.context.view_layer)

    def drop(stand):
        middle = stand.displayed.vertices[stand.displayed.triangles[120]].mean(axis=0)
        assert bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=middle) == {"FINISHED"}
        dropped = body.thew.rigs[-1]
        native = part("rigs.rigging").native_rig(body, stand.flesh, dropped)
        return dropped.radius, np.asarray(native.frame(stand.flesh.body))

    stand = seen()
    radius, frame = drop(stand)
    body.thew.rigs[-1].enabled = False
    rig.scale = factors
    shapes(body)
    other = seen()
    skins = [each.skin - each.skin.mean(axis=0) for each in (stand, other)]
    assert np.abs(skins[1] - skins[0]).max() < 1e-4 * stand.size
    assert np.abs(other.world(other.skin) - scaled(rig, stand.world(stand.skin), factors)).max() < 1e-3 * stand.size
    there, again = drop(other)
    assert there == pytest.approx(radius, rel=1e-3) and np.abs(again - frame).max() < 1e-2 * stand.size
    place, rest = other.place, other.flesh.place
    np.testing.assert_allclose(
        place.world_maps(place.maps(other.maps, rest), rest), other.maps, atol=1e-5 * max(factors)
    )


@pytest.mark.parametrize("factors", [(10.0, 10.0, 10.0), (1.0, -1.0, 1.0)])
def test_bones_follow_in_scaled_character(child, factors):
    """Bones that follow the flesh turn as they do in the character that is not scaled."""
    body, rig = child
    head = rig.pose.bones["Head"]

    def turns() -> np.ndarray:
        shapes(body)
        activate(body)
        assert bpy.ops.thew.follow_bones(bones="Head", firmness=8.0) == {"FINISHED"}
        return play(rig, FRAMES, lambda _: np.array(head.matrix_basis))

    former = rig.animation_data.action.copy()
    before = turns()
    part("scene.animation").assign(rig.animation_data, former, getattr(former, "slots", [None])[0])
    head.rotation_euler, head.rotation_quaternion = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    bare = play(rig, FRAMES, lambda _: np.array(head.matrix_basis))
    assert np.abs(before - bare).max() > 1e-3
    rig.scale = factors
    np.testing.assert_allclose(turns(), before, atol=2e-5)

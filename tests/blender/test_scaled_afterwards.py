# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters that are scaled or mirrored as a whole after their flesh was added: the flesh is scaled and mirrored along."""

from __future__ import annotations

import math

import bpy
import characters
import numpy as np
import pytest
from conftest import data_folder
from helpers import activate, add_rig, flesh_of, make_character, part, play, refusal, settle, size_of, world
from pairs import make_pair
from ticking import tick

FRAMES = range(1, 13)
#: Axes along which a mirror leaves gravity as it is.
UPRIGHT = {"x": (-1.0, 1.0, 1.0), "y": (1.0, -1.0, 1.0)}


@pytest.fixture
def child(scene):
    """Builds a character with soft flesh whose mesh is a child of its armature, as (mesh, armature)."""
    return make_child()


def make_child():
    bpy.context.scene.frame_end = FRAMES[-1]
    body, rig = make_character()
    body.parent = rig
    body.thew.softness = 0.8
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def shapes(body) -> tuple[np.ndarray, np.ndarray]:
    """Returns the shapes with and without flesh, world space, [f, n, 3] both."""
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    live = play(body, FRAMES, world)
    body.thew.enabled = False
    plain = play(body, FRAMES, world)
    body.thew.enabled = True
    return live, plain


def under_empty(rig) -> bpy.types.Object:
    """Puts the armature under an Empty that stands aside."""
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location = (0.3, 0.2, 0.0)
    bpy.context.view_layer.update()
    rig.parent = empty
    rig.matrix_parent_inverse = empty.matrix_world.inverted()
    return empty


def scaled(obj, points: np.ndarray, scale) -> np.ndarray:
    """Returns world points as scaling `obj` about its origin carries them."""
    origin = np.array(obj.matrix_world.translation)
    return (points - origin) * np.array(scale) + origin


@pytest.mark.parametrize("of", ["armature", "parent"])
@pytest.mark.parametrize("scale", [0.01, 0.1, 10.0, 100.0])
def test_scaled_character_keeps_shapes(child, scale, of):
    """A character that is scaled as a whole looks the same, larger; scaled back it moves to the same bits."""
    body, rig = child
    scaled_one = rig if of == "armature" else under_empty(rig)
    live, plain = shapes(body)
    size = size_of(plain[0])
    assert np.abs(live - plain).max() > 0.01 * size
    expected, ratio = scaled(scaled_one, live, scale), part("saved.units").scene_scale
    before, height = ratio(body), body.thew.height()
    scaled_one.scale = (scale,) * 3
    large, _ = shapes(body)
    assert ratio(body) == pytest.approx(scale * before, rel=1e-4) and body.thew.height() == height
    assert np.abs(large - expected).max() < 1e-4 * scale * size
    scaled_one.scale = (1.0, 1.0, 1.0)
    np.testing.assert_array_equal(shapes(body)[0], live)


@pytest.mark.parametrize("axis", UPRIGHT)
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_mirrored_character_mirrors_shapes(child, axis, scale):
    """A character that is mirrored looks like its mirror image, and flesh is limited in the same places."""
    body, rig = child
    live, plain = shapes(body)
    limited = flesh_of(body).inverted_count
    factors = scale * np.array(UPRIGHT[axis])
    expected = scaled(rig, live, factors)
    rig.scale = factors
    mirrored, _ = shapes(body)
    assert np.abs(mirrored - expected).max() < 1e-4 * scale * size_of(plain[0])
    assert flesh_of(body).inverted_count == limited


def test_upside_down_character_without_gravity(child, scene):
    """A character that is mirrored upside down looks like its mirror image where nothing weighs."""
    body, rig = child
    scene.use_gravity = False
    body.thew.rest_includes_gravity = False
    live, plain = shapes(body)
    rig.scale = (1.0, 1.0, -1.0)
    assert np.abs(shapes(body)[0] - scaled(rig, live, (1.0, 1.0, -1.0))).max() < 1e-4 * size_of(plain[0])


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


def test_pose_by_hand_of_scaled_character(child):
    """Flesh at rest in a pose that was not simulated is scaled and mirrored along."""
    body, rig = child
    rest = settle(body)
    for factors in ((10.0, 10.0, 10.0), (-2.0, 2.0, 2.0)):
        rig.scale = factors
        assert np.abs(settle(body) - rest).max() < 1e-4 * size_of(rest)  # object space


def test_rig_of_scaled_character(child):
    """A rig pushes a scaled character as far for its size, and is drawn as large for it."""
    body, rig = child
    chosen = add_rig(body, bone="Spine")
    chosen.control = 1.0
    live, plain = shapes(body)

    def drawn() -> float:
        bpy.context.scene.frame_set(1)
        (lines, _, _), *_ = part("ui.rig_overlay").drawings(body, bpy.context.view_layer.depsgraph)
        return size_of(lines.reshape(-1, 3))

    before = drawn()
    assert before > 0.02 * size_of(plain[0])
    rig.scale = (100.0, 100.0, 100.0)
    other, _ = shapes(body)
    assert np.abs(other - scaled(rig, live, 100.0)).max() < 1e-2 * size_of(plain[0])
    assert drawn() == pytest.approx(100.0 * before, rel=1e-3)


@pytest.mark.parametrize("factors", [(10.0, 10.0, 10.0), (-1.0, 1.0, 1.0)])
def test_bake_of_scaled_character(child, factors):
    """Bakes hold what is seen, also after the character is scaled back."""
    body, rig = child
    live, plain = shapes(body)
    rig.scale = factors
    shapes(body)
    activate(body)
    assert bpy.ops.thew.bake(frame_start=1, frame_end=FRAMES[-1]) == {"FINISHED"}
    rig.scale = (1.0, 1.0, 1.0)
    assert np.abs(play(body, FRAMES, world) - live).max() < 1e-3 * size_of(plain[0])


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


def test_sentence_on_scaled_object(window):
    """A character that is scaled as a whole is not told to key a pose; playing it, or Simulate, ends the notice."""
    body, rig, handlers = window
    body.parent = rig
    bpy.context.view_layer.update()
    activate(body)
    bpy.ops.thew.simulate()
    tick()
    play(body, (4,))
    flesh, health = flesh_of(body), part("logic.health")
    assert flesh.problem == ""
    rig.scale = (3.0, 3.0, 3.0)
    bpy.context.view_layer.update()
    assert flesh.problem == "Moved or scaled since it was simulated: play, or press Simulate."
    assert health.health(body.thew, body.thew.made, flesh, 4).level == "NOTICE"
    rig.pose.bones["Spine"].rotation_mode = "XYZ"
    rig.pose.bones["Spine"].rotation_euler.x = 0.5
    bpy.context.view_layer.update()
    assert flesh.problem == health.POSE_CHANGED_TEXT
    handlers.before_playing()
    assert flesh.condition.is_behind  # it is read again at the next frame that plays
    bpy.ops.thew.simulate()
    tick()
    play(body, (4,))
    assert flesh.problem == "" and flesh.clip_place.metres_per_unit < 0.5 * flesh.place.metres_per_unit


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


def key_scale(rig, *keys) -> None:
    """Keys the scale of an object with (frame, scale) pairs."""
    for frame, scale in keys:
        rig.scale = (scale,) * 3
        rig.keyframe_insert("scale", frame=frame)


def test_keyed_scale_follows_most_frames(child):
    """A character that has grown for most of its motion sways as far as in the scale it has then; a short growth is no fault."""
    body, rig = child
    live, plain = shapes(body)
    key_scale(rig, (-40, 1.0), (-30, 8.0))
    other, _ = shapes(body)
    assert np.abs(other - scaled(rig, live, 8.0)).max() < 1e-3 * 8.0 * size_of(plain[0])
    key_scale(rig, (-40, 8.0), (2, 4.0))
    shapes(body)
    assert not flesh_of(body).drive_warnings()


def test_long_growth_is_named(child):
    """A scale that changes in the course of the motion is named with what to do."""
    body, rig = child
    key_scale(rig, (1, 1.0), (12, 4.0))
    shapes(body)
    (text,) = flesh_of(body).drive_warnings()
    assert (
        text.startswith("Its scale changes 4-fold while it plays")
        and "bake it at one scale, then key the scale" in text
    )
    assert part("logic.health").health(body.thew, body.thew.made, flesh_of(body), 1).level == "WARNING"


@pytest.mark.skipif(data_folder("characters") is None, reason="needs THEW_DATA")
@pytest.mark.parametrize("factors", [(1.0, -1.0, 1.0), (10.0, 10.0, 10.0), (-0.01, 0.01, 0.01)])
def test_fox_scaled_and_mirrored(addon, factors):
    """The running fox looks the same for its size, or its mirror image, and nothing is wrong with its flesh."""
    characters.load(data_folder("characters") / "Fox.glb")
    scene = bpy.context.scene
    body = characters.meshes()[0]
    rig = body.modifiers[0].object
    for track in list(rig.animation_data.nla_tracks):
        rig.animation_data.nla_tracks.remove(track)
    action = next(each for each in bpy.data.actions if "Run" in each.name)
    part("scene.animation").assign(
        rig.animation_data, action, None if not hasattr(action, "slots") else action.slots[0]
    )
    scene.frame_start, scene.frame_end = 1, FRAMES[-1]
    scene.frame_set(1)
    body.thew.softness = 0.7
    activate(body)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    live, plain = shapes(body)
    assert np.abs(live - plain).max() > 0.01 * size_of(plain[0])
    rig.scale = factors
    other, _ = shapes(body)
    scale = abs(factors[0])
    assert np.abs(other - scaled(rig, live, factors)).max() < 1e-4 * scale * size_of(plain[0])
    found = part("logic.health").health(body.thew, body.thew.made, flesh_of(body), 1)
    assert found.level == "GOOD" and not part("logic.health").warnings(flesh_of(body))


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_applied_scale_keeps_shapes(child, scale):
    """A character that is scaled as a whole, and whose scale is applied, keeps its shapes for its size."""
    body, rig = child
    for bone in rig.pose.bones:  # Blender does not scale keys of locations along
        for curve in part("scene.animation").curves_in(rig.animation_data):
            if curve.data_path == bone.path_from_id("location"):
                curve.mute = True
        bone.location = (0.0, 0.0, 0.0)
    live, plain = shapes(body)
    rig.scale = (scale,) * 3
    bpy.context.view_layer.update()
    large, _ = shapes(body)
    bpy.context.scene.frame_set(1)
    activate(rig)
    body.select_set(True)
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    assert tuple(rig.scale) == (1.0, 1.0, 1.0)
    applied, _ = shapes(body)
    assert np.abs(large - live * scale).max() < 1e-4 * scale * size_of(plain[0])
    assert np.abs(applied - large).max() < 2e-3 * scale * size_of(plain[0])


def test_resized_mesh_alone_is_another_body(child):
    """A mesh that is resized within its skeleton is no character that is scaled as a whole."""
    body, _ = child
    before = tuple(body.thew.made.mesh_rest)
    shapes(body)
    for vertex in body.data.vertices:
        vertex.co *= 1.2
    shapes(body)
    assert tuple(body.thew.made.mesh_rest) == before

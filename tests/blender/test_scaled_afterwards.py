# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters that are scaled or mirrored as a whole after their flesh was added: the flesh is scaled and mirrored along."""

from __future__ import annotations

import bpy
import characters
import numpy as np
import pytest
from conftest import data_folder
from helpers import activate, add_rig, flesh_of, part, play, settle, size_of, world
from scaling import FRAMES, make_child, scaled, shapes, under_empty
from ticking import tick

#: Axes along which a mirror leaves gravity as it is.
UPRIGHT = {"x": (-1.0, 1.0, 1.0), "y": (1.0, -1.0, 1.0)}


@pytest.fixture
def child(scene):
    """Builds a character with soft flesh whose mesh is a child of its armature, as (mesh, armature)."""
    return make_child()


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

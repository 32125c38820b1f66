# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames, seconds and curves: time stretching, NLA strips, actions; what would not play as it is baked is refused."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, evaluated_positions, make_character, part, play, refusal, size_of

FRAMES = range(1, 21)
SLOTS = bpy.app.version >= (4, 4)


def add(**options):
    assert bpy.ops.thew.add(**{"cells_across": 6, **options}) == {"FINISHED"}


def live_of(body):
    activate(body)
    add()
    bpy.ops.thew.simulate()
    return play(body, FRAMES)


def push_down(owner, name="Strip"):
    """Turns the active action of an ID into a strip; returns (its animation data, track, strip)."""
    data = owner.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    track = data.nla_tracks.new()
    track.name = name
    strip = track.strips.new(name, 1, action)
    if slot is not None:
        strip.action_slot = slot
    return data, track, strip


# time stretching ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new"), [(100, 125), (125, 100)])
def test_bake_with_time_stretching(scene, old, new):
    """Bakes play as the live flesh under time stretching."""
    body, _ = make_character()
    scene.render.frame_map_old, scene.render.frame_map_new = old, new
    live = live_of(body)
    for space in ("REST", "POSED"):
        bpy.ops.thew.bake(space=space)
        assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    scene.frame_set(10)
    bpy.ops.thew.finish_bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def ball():
    """Builds a ball with a key, and an object that is keyed at the same times."""
    bpy.ops.mesh.primitive_uv_sphere_add(segments=12, ring_count=8)
    obj = bpy.context.object
    obj.shape_key_add(name="Basis")
    squash = obj.shape_key_add(name="Squash")
    for point in squash.points:
        point.co.z *= 0.5
    cube = bpy.data.objects.new("Cube", None)
    bpy.context.scene.collection.objects.link(cube)
    for frame, x in ((1, 0.0), (60, 5.0)):
        cube.location.x = x
        cube.keyframe_insert("location", frame=frame)
    return obj, cube


def test_keyframed_time_stretching(scene):
    """Keyframed flesh is stretched in time as all curves are."""
    obj, cube = ball()
    scene.frame_end = 60
    activate(obj)
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    scene.render.frame_map_new = 150
    bpy.ops.thew.keyframed_compute()
    wanted = np.array([point.co for point in obj.data.shape_keys.key_blocks["Squash"].points])

    def nearest_frame(away):
        def distance_at(frame):
            scene.frame_set(frame)
            return away()

        return min(range(60, 121), key=distance_at)

    assert nearest_frame(lambda: np.abs(evaluated_positions(obj) - wanted).max()) == 90
    assert nearest_frame(lambda: abs(cube.matrix_world.translation.x - 5.0)) == 90
    # Its bake plays as it did.
    live = play(obj, range(1, 91, 8))
    assert bpy.ops.thew.bake(frame_start=1, frame_end=90) == {"FINISHED"}
    assert np.abs(play(obj, range(1, 91, 8)) - live).max() < 1e-5


def test_keyframed_key_at_playhead(scene):
    """A key of keyframed flesh is set at the playhead under time stretching."""
    obj, _ = ball()
    scene.frame_end = 60
    activate(obj)
    bpy.ops.thew.keyframed_add()
    scene.render.frame_map_new = 200
    scene.frame_set(30)
    keyframing = part("edit.keyframing")
    shape = np.array([point.co for point in obj.data.shape_keys.key_blocks["Basis"].points], dtype=np.float32)
    keyframing.keep_shape(obj, scene, 1.2 * shape)
    times = [time for time, _ in part("scene.keyframe_times").points(obj)]
    assert 15.0 in times


def test_marked_cycle_in_scene_frames(scene):
    """A marked cycle is returned in frames of the scene under time stretching."""
    _, rig = make_character()
    action = rig.animation_data.action
    action.use_frame_range, action.use_cyclic = True, True
    action.frame_start, action.frame_end = 1, 21
    found = part("scene.reading").subject(bpy.data.objects["Body"], bpy.context.view_layer)
    poses = part("scene.poses")
    assert poses.marked_cycle(found, scene) == (1, 21)
    scene.render.frame_map_new = 200
    assert poses.marked_cycle(found, scene) == (2, 42)


# actions and strips of the shape keys -------------------------------------------------------------------------------------


def add_smile(body):
    body.shape_key_add(name="Basis")
    smile = body.shape_key_add(name="Smile")
    for point in smile.points:
        point.co *= 1.1
    for frame, value in ((1, 0.0), (10, 1.0), (20, 0.0)):
        smile.value = value
        smile.keyframe_insert("value", frame=frame)
    return push_down(body.data.shape_keys)


def test_bake_above_strip(scene):
    """Baked keys above an NLA strip play as the live flesh."""
    body, _ = make_character()
    add_smile(body)
    live = live_of(body)
    for space in ("REST", "POSED"):
        bpy.ops.thew.bake(space=space)
        assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def solo(data, track, _strip):
    track.is_solo = True


def influence(data, _track, _strip):
    data.action_influence = 0.5


def blend_by_add(data, _track, _strip):
    data.action_blend_type = "ADD"


def blend_by_subtract(data, _track, _strip):
    data.action_blend_type = "SUBTRACT"


def blend_by_multiply(data, _track, _strip):
    data.action_blend_type = "MULTIPLY"


def enter_tweak_mode(data, track, strip):
    strip.frame_start, strip.scale = 6, 2.0
    track.select = strip.select = True
    data.nla_tracks.active = track
    data.use_tweak_mode = True


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (solo, "the NLA track “Strip” is solo: end its solo first"),
        (influence, "an influence of 50 %"),
        (blend_by_add, "blended with Add"),
        (blend_by_subtract, "blended with Subtract"),
        (blend_by_multiply, "blended with Multiply"),
        (enter_tweak_mode, "tweak mode"),
    ],
)
def test_bake_refuses_incompatible_strips(scene, how, said):
    """A bake whose keys would not play as baked is refused beforehand, and nothing changes."""
    body, _ = make_character()
    data, track, strip = add_smile(body)
    how(data, track, strip)
    live = live_of(body)
    before = [key.name for key in body.data.shape_keys.key_blocks]
    for space in ("REST", "POSED"):
        text = refusal(bpy.ops.thew.bake, space=space)
        assert said in text and "“Body”" in text
    assert [key.name for key in body.data.shape_keys.key_blocks] == before
    assert np.array_equal(play(body, FRAMES), live)


def test_bake_into_action_without_slot(scene):
    """Baked keys join an action that is assigned without a slot, and their removal restores it."""
    if not SLOTS:
        pytest.skip("Blender before 4.4 knows no slots")
    body, rig = make_character()
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Key")
    data = body.data.shape_keys.animation_data_create()
    data.action = rig.animation_data.action
    data.action_slot = None
    slots = [slot.identifier for slot in data.action.slots]
    live = live_of(body)
    bpy.ops.thew.bake(space="REST")
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    bpy.ops.thew.remove(remove_baked_keys=True)
    assert [slot.identifier for slot in rig.animation_data.action.slots] == slots


# the action that a bake is of ---------------------------------------------------------------------------------------------


def name_action(rig, name):
    rig.animation_data.action.name = name
    return rig.animation_data.action


def copy_action(action, name, factor):
    other = action.copy()
    other.name = name
    curves = other.layers[0].strips[0].channelbags[0].fcurves if SLOTS else other.fcurves
    for curve in curves:
        for point in curve.keyframe_points:
            point.co.y *= factor
    return other


def play_action(rig, action):
    rig.animation_data.action = action
    if SLOTS:
        rig.animation_data.action_slot = action.slots[0]


def test_bake_keeps_action(scene):
    """The keys of a bake belong to the action that they were baked for, and the export check reports another one."""
    body, rig = make_character()
    walk = name_action(rig, "Walk")
    run = copy_action(walk, "Run", 1.8)
    play_action(rig, run)
    live_of(body)
    bpy.ops.thew.bake(space="REST")
    check = part("bake.export_check").check
    assert not [text for text in check(body) if "action" in text]
    play_action(rig, walk)
    (said,) = [text for text in check(body) if "“Run”" in text]
    assert "“Rig” plays “Walk”" in said and "make “Run” active, or bake again" in said
    # A file holds it in the right animation all the same.
    assert list(part("bake.gltf").shared_animations(body).values()) == ["Run"]
    assert part("bake.gltf").shared_animations(rig) == {run: "Run"}
    bpy.ops.thew.finish_bake()
    assert body.data.shape_keys.animation_data.action is None  # the keys of “Run” rest while “Walk” plays
    play_action(rig, run)
    scene.frame_set(5)
    if SLOTS:
        assert body.data.shape_keys.animation_data.action == run
    assert not [text for text in check(body) if "action" in text]


def test_bake_with_strips_exports_together(scene):
    """Strips alone and the baked flesh are exported as one animation."""
    body, rig = make_character()
    walk = name_action(rig, "Walk")
    push_down(rig, "Track")
    live = live_of(body)
    bpy.ops.thew.bake(space="REST")
    assert list(part("bake.gltf").shared_animations(body).values()) == ["Track"]
    assert not part("bake.export_check").check(body)
    bpy.ops.thew.finish_bake()
    if SLOTS:
        assert body.data.shape_keys.animation_data.action == walk
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


@pytest.mark.parametrize("how", ["shifted", "scaled", "two"])
def test_export_check_reports_strips(scene, how):
    """The export check reports strips that do not play as written."""
    body, rig = make_character()
    _, _, strip = push_down(rig, "Track")
    if how == "shifted":
        strip.frame_start_ui = 5
    elif how == "scaled":
        strip.scale = 2.0
    else:
        other = rig.animation_data.nla_tracks.new().strips.new("More", 30, strip.action)
        if SLOTS:
            other.action_slot = strip.action_slot
    live_of(body)
    bpy.ops.thew.bake(space="REST")
    (said,) = part("bake.export_check").check(body)
    assert "“Rig” plays NLA strips" in said and "Split Animation by Object off" in said


def test_add_refuses_strip_visibility(scene):
    """A visibility of the Armature modifier that a strip animates is refused, unless the track is muted."""
    body, _ = make_character()
    modifier = body.modifiers["Armature"]
    for frame, on in ((1, True), (10, False)):
        modifier.show_viewport = on
        modifier.keyframe_insert("show_viewport", frame=frame)
    modifier.show_viewport = True
    push_down(body)
    activate(body)
    assert "animated or driven" in refusal(bpy.ops.thew.add)
    body.animation_data.nla_tracks[0].mute = True  # it has no part any more
    assert bpy.ops.thew.add() == {"FINISHED"}


def test_rig_controls_in_strips(scene):
    """The controls of rigs that strips animate are recognised, unless the track is muted."""
    animation, rig_controls = part("scene.animation"), part("scene.rig_controls")
    body, _ = make_character()
    activate(body)
    add()
    from helpers import add_rig

    add_rig(body, name="Bulge")
    body.thew.rigs[0].keyframe_insert("control", frame=1)
    assert rig_controls.are_animated(body) == (True,)
    data, track, _ = push_down(body)
    assert rig_controls.are_animated(body) == (True,)
    track.mute = True
    assert rig_controls.are_animated(body) == (False,) and not list(animation.curves(data))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of several actions: each simulated alone, kept as a clip of a named bake, and played when the armature plays it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from dancing import ACTIONS, add_action, clip_shapes, frames_of, live_shapes, make_dancer, push_down, use, weights
from helpers import (
    activate,
    evaluated_positions,
    flesh_of,
    make_body,
    make_character,
    part,
    play,
    refusal,
    size_of,
    snapshot,
)

SLOTS = bpy.app.version >= (4, 4)


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature) with the actions Run (active), Walk and Turn."""
    body, rig = make_dancer()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def bake(**options) -> None:
    assert bpy.ops.thew.bake(**options) == {"FINISHED"}


def clips(body, name="Shape Keys") -> dict[str, tuple[int, int]]:
    """Returns the clips of a bake, with their frames."""
    return {clip.label: (clip.start, clip.end) for clip in body.thew.bakes[name].clips}


def assert_same(shapes, others) -> None:
    assert np.abs(shapes - others).max() < 1e-5 * size_of(others[0])


def key_bytes(body, start="") -> dict[str, bytes]:
    """Returns the contents of the keys whose names begin with `start`."""
    found = {}
    for key in body.data.shape_keys.key_blocks:
        if key.name.startswith(start):
            flat = np.empty(3 * len(body.data.vertices), dtype=np.float32)
            key.points.foreach_get("co", flat)
            found[key.name] = flat.tobytes()
    return found


def animation_of(rig) -> tuple:
    """Returns what an armature plays, and the pose that it is in."""
    data = rig.animation_data
    slot = data.action_slot.identifier if SLOTS and data.action_slot is not None else None
    bones = [(*bone.location, *bone.rotation_euler, *bone.scale) for bone in rig.pose.bones]
    tracks = [(t.name, t.mute, t.is_solo, [(s.name, s.mute, s.influence) for s in t.strips]) for t in data.nla_tracks]
    settings = data.use_nla, data.use_tweak_mode, data.action_blend_type, data.action_influence
    return data.action, slot, bones, tracks, settings


# what is baked --------------------------------------------------------------------------------------------------------


def test_clips_equal_live(dancer):
    """Each clip of a bake shows the live flesh of its action, and the plain skin at frames beyond."""
    body, rig = dancer
    live = live_shapes(body, rig)
    bake(clips="ALL")
    assert clips(body) == {name: (frames_of(name)[0], frames_of(name)[-1]) for name in ("Run", "Turn", "Walk")}
    for name, shapes in live.items():
        assert_same(clip_shapes(body, rig, name), shapes)
    body.thew.enabled = False
    for name in ACTIONS:
        frames = frames_of(name)
        beyond = (frames[0] - 1, frames[-1] + 1, frames[-1] + 30)
        plain = clip_shapes(body, rig, name, beyond)
        body.thew.enabled = True
        np.testing.assert_allclose(clip_shapes(body, rig, name, beyond), plain, atol=1e-6)
        assert not weights(body)
        body.thew.enabled = False


def test_clips_keep_live_flesh(dancer):
    """A bake of actions leaves the live flesh with its own clip, its notes and its view."""
    body, _ = dancer
    live = play(body, range(1, 21))
    clip, notes = flesh_of(body).clip, body.thew.made.notes
    bake(clips="ALL")
    assert flesh_of(body).clip is clip and body.thew.made.notes == notes
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, range(1, 21)), live)
    assert flesh_of(body).clip is clip


def test_clip_without_active_action(dancer):
    """All actions of an armature are those of its strips and muted tracks too, where it has no active one."""
    body, rig = dancer
    add_action(rig, "Jump", 1.0, 8.0, 0.2, 0.0)
    add_action(rig, "Other", 1.0, 9.0, 0.1, 0.0)
    bpy.data.actions.remove(bpy.data.actions["Other"])
    push_down(rig, "Run")
    push_down(rig, "Walk").mute = True
    push_down(rig, "Turn", "[Action Stash]")
    rig.animation_data.nla_tracks[-1].mute = True
    use(rig, None)
    bake(clips="ALL")
    assert list(clips(body)) == ["Run", "Walk", "Turn", "Jump"]


def test_clips_of_other_armatures(dancer):
    """Actions that another armature uses, of bones that this one lacks, and single poses are no clips of this one."""
    body, rig = dancer
    other, other_rig = make_character(name="Other")
    other_rig.animation_data.action.name = "Theirs"
    strange = bpy.data.actions["Walk"].copy()
    strange.name = "Strange"
    for curve in part("scene.animation").every_curve(strange):
        curve.data_path = curve.data_path.replace("Hip", "Wing").replace("Spine", "Tail")
    pose = add_action(rig, "Pose", 1.0, 3.0, 0.1, 0.1)
    for curve in part("scene.animation").every_curve(pose):
        for _ in range(len(curve.keyframe_points) - 1):
            curve.keyframe_points.remove(curve.keyframe_points[-1])
    use(rig, "Run")
    activate(body)
    bake(clips="ALL")
    assert set(clips(body)) == {"Run", "Walk", "Turn"}
    assert "moves none of the bones" in refusal(bpy.ops.thew.bake, clips="CHOSEN", actions="Strange")
    assert other.thew.made.flesh is False


def test_clip_loops(scene):
    """A clip begins as its action does alone: a closed one as a loop, any other with a run-in."""
    body, rig = make_dancer(("Run",))
    loop = bpy.data.actions["Run"]
    for curve in part("scene.animation").every_curve(loop):
        curve.keyframe_points[-1].co.y = curve.keyframe_points[0].co.y
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    bake(clips="ALL")
    closed = clip_shapes(body, rig, "Run")
    plain_turn = np.abs(closed[0] - closed[-1]).max()
    assert plain_turn < 1e-4 * size_of(closed[0])
    body.thew.motion_start = "SETTLED"
    bake(clips="ALL")
    settled = clip_shapes(body, rig, "Run")
    assert np.abs(settled[0] - closed[0]).max() > 1e-4 * size_of(closed[0])


def test_clips_in_posed_space(dancer):
    """Clips in posed space hold the whole motion of their actions, and their end keys stay on."""
    body, rig = dancer
    live = live_shapes(body, rig)
    bake(clips="ALL", space="POSED")
    for name, shapes in live.items():
        assert_same(clip_shapes(body, rig, name), shapes)
        last = frames_of(name)[-1]
        assert_same(clip_shapes(body, rig, name, [last + 10]), shapes[-1:])


def test_clips_of_riders(dancer):
    """What rides on the body gets the same clips, and shows them with the body."""
    body, rig = dancer
    shirt = make_body(rig, name="Shirt", rings=9)
    activate(body)
    body.select_set(True)
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    live = {}
    for name in ACTIONS:
        use(rig, name)
        activate(body)
        assert bpy.ops.thew.simulate(frame_start=frames_of(name)[0], frame_end=frames_of(name)[-1]) == {"FINISHED"}
        live[name] = play(shirt, frames_of(name))
    use(rig, "Run")
    body.thew.use_scene_range = True
    bake(clips="ALL")
    assert clips(shirt) == clips(body)
    for name, shapes in live.items():
        assert_same(clip_shapes(shirt, rig, name), shapes)


def test_clips_of_rider_alone(dancer):
    """A rider that is baked alone gets the clips of its body's armature, and the body none."""
    body, rig = dancer
    shirt = make_body(rig, name="Shirt", rings=9)
    activate(body)
    body.select_set(True)
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    live = play(shirt, frames_of("Run"))
    activate(shirt)
    bake(clips="ALL")
    assert set(clips(shirt)) == {"Run", "Walk", "Turn"} and not len(body.thew.bakes)
    assert_same(clip_shapes(shirt, rig, "Run"), live)


def test_clips_of_copied_object(dancer):
    """A copy of a baked object plays its clips, and removing its bake leaves those of the original."""
    body, rig = dancer
    bake(clips="CHOSEN", actions="Run;Walk")
    copy = body.copy()
    copy.data, copy.name = body.data.copy(), "Copy"
    bpy.context.scene.collection.objects.link(copy)
    shapes = {name: clip_shapes(body, rig, name) for name in ("Run", "Walk")}
    activate(copy)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    for name, baked in shapes.items():
        np.testing.assert_array_equal(clip_shapes(body, rig, name), baked)
    activate(body)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    if SLOTS:
        assert {len(action.slots) for action in bpy.data.actions} == {1}
    assert not any(action.use_frame_range for action in bpy.data.actions)


def test_clip_marked_range(dancer):
    """The manual frame range of an action is that of its clip, and stays the artist's."""
    body, _ = dancer
    walk = bpy.data.actions["Walk"]
    walk.use_frame_range = True
    walk.frame_start, walk.frame_end = 14.0, 20.5
    bake(clips="CHOSEN", actions="Walk")
    assert clips(body) == {"Walk": (14, 21)}
    assert tuple(walk.frame_range) == (14.0, 20.5)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert walk.use_frame_range and tuple(walk.frame_range) == (14.0, 20.5)


def test_clip_with_time_stretching(scene):
    """Clips of a scene with Time Stretching play as the live flesh."""
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 200
    body, rig = make_dancer(("Run",))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.simulate(frame_start=2, frame_end=40) == {"FINISHED"}
    live = play(body, range(2, 41))
    bake(clips="ALL")
    assert clips(body) == {"Run": (2, 40)}
    assert_same(clip_shapes(body, rig, "Run", range(2, 41)), live)


# a new clip adds ------------------------------------------------------------------------------------------------------


def test_clip_added_to_bake(dancer):
    """A second action joins the bake and leaves the first as it is; baked again, a clip replaces itself alone."""
    body, rig = dancer
    bake(clips="CHOSEN", actions="Run")
    run, shapes = key_bytes(body, "Thew Run"), clip_shapes(body, rig, "Run")
    use(rig, "Run")
    bake(clips="CHOSEN", actions="Walk\nTurn")
    assert set(clips(body)) == {"Run", "Walk", "Turn"}
    assert key_bytes(body, "Thew Run") == run and len(run) == 20
    np.testing.assert_array_equal(clip_shapes(body, rig, "Run"), shapes)
    walk = key_bytes(body, "Thew Walk")
    body.thew.softness = 0.9
    bake(clips="CHOSEN", actions="Run")
    assert set(clips(body)) == {"Run", "Walk", "Turn"} and key_bytes(body, "Thew Walk") == walk
    assert set(key_bytes(body, "Thew Run")) == set(run) and key_bytes(body, "Thew Run") != run
    assert len(body.data.shape_keys.key_blocks) == 1 + sum(len(frames_of(name)) for name in ACTIONS)


def test_clip_curves_in_action(dancer):
    """The curves of a clip live with its action, in which keys of other clips are at 0, and its frames stay the same."""
    body, _ = dancer
    ranges = {name: tuple(bpy.data.actions[name].frame_range) for name in ACTIONS}
    bake(clips="ALL")
    animation = part("scene.animation")
    for clip in body.thew.bakes[0].clips:
        action = clip.curves or clip.action
        assert (action == clip.action) == SLOTS and tuple(action.frame_range) == pytest.approx(ranges[clip.label])
        curves = animation.curves_of(action, animation.slot_named(action, clip.slot))
        assert len(curves) == len(body.data.shape_keys.key_blocks) - 1
        own = {part("scene.key_curves").value_path(name) for name in clip.keys.splitlines()}
        for curve in curves:
            points = [tuple(point.co) for point in curve.keyframe_points]
            assert len(points) == (3 if curve.data_path in own else 1)
            assert points[0][1] == points[-1][1] == 0.0
    assert all(key.value == 0.0 for key in body.data.shape_keys.key_blocks[1:] if not key.name.startswith("Thew Run"))


def test_scene_clip_beside_actions(dancer):
    """The scene's range and actions are clips of one bake, and the action that plays decides."""
    body, rig = dancer
    live = play(body, range(1, 21))
    bake()
    bake(clips="CHOSEN", actions="Walk")
    assert clips(body) == {"Scene": (1, 20), "Walk": (11, 32)}
    assert_same(clip_shapes(body, rig, "Run"), live)
    assert all(name.startswith("Thew 00") for name in weights(body))
    use(rig, "Walk")
    bpy.context.scene.frame_set(20)
    assert list(weights(body)) == ["Thew Walk 0020"]


def test_bakes_by_name(dancer):
    """Bakes of other names stand beside each other, one of them plays, and each can be shown, renamed and removed."""
    body, rig = dancer
    bake(clips="CHOSEN", actions="Run;Walk")
    soft = clip_shapes(body, rig, "Run")
    body.thew.softness = 1.0
    use(rig, "Run")
    bake(clips="CHOSEN", actions="Run", name="Wobbly")
    wobbly = clip_shapes(body, rig, "Run")
    assert np.abs(wobbly - soft).max() > 1e-3
    assert [(each.name, each.plays) for each in body.thew.bakes] == [("Shape Keys", False), ("Wobbly", True)]
    assert bpy.ops.thew.bake_show(name="Shape Keys") == {"FINISHED"}
    np.testing.assert_array_equal(play(body, frames_of("Run")), soft)
    assert bpy.ops.thew.bake_show(name="Wobbly") == {"FINISHED"}
    np.testing.assert_array_equal(play(body, frames_of("Run")), wobbly)
    assert bpy.ops.thew.bake_rename(name="Wobbly", new_name="Jelly") == {"FINISHED"}
    assert "has a bake “Jelly” already" in refusal(bpy.ops.thew.bake_rename, name="Shape Keys", new_name="Jelly")
    assert "has no bake “Wobbly”" in refusal(bpy.ops.thew.bake_show, name="Wobbly")
    assert bpy.ops.thew.bake_remove(name="Jelly") == {"FINISHED"}
    assert [each.name for each in body.thew.bakes] == ["Shape Keys"]
    np.testing.assert_array_equal(play(body, frames_of("Run")), soft)
    assert not key_bytes(body, "Thew Wobbly")


def test_bake_replaced_by_name(dancer):
    """With Replace the other clips of a bake go, and their curves and slots with them."""
    body, _ = dancer
    bake(clips="ALL")
    bake(clips="CHOSEN", actions="Walk", replace=True)
    assert clips(body) == {"Walk": (11, 32)} and set(key_bytes(body, "Thew")) == set(key_bytes(body, "Thew Walk"))
    if SLOTS:
        assert {name: len(bpy.data.actions[name].slots) for name in ACTIONS} == {"Run": 1, "Walk": 2, "Turn": 1}
    # Without slots the curves are in an action of their own, and the armature's keeps its range by itself.
    assert [bpy.data.actions[name].use_frame_range for name in ACTIONS] == [False, SLOTS, False]


def test_remove_all_clips(dancer):
    """Remove takes keys, curves, slots, tracks and frame ranges of all bakes away."""
    body, rig = dancer
    before = snapshot(body)
    push_down(rig, "Walk", frame_start=30.0)
    marks = [(action.name, action.use_frame_range, len(getattr(action, "slots", ()))) for action in bpy.data.actions]
    bake(name="Scene Only")
    bake(clips="ALL")
    use(rig, None)
    bpy.context.scene.frame_set(35)
    assert body.data.shape_keys.animation_data.nla_tracks
    use(rig, "Run")
    bpy.context.scene.frame_set(1)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    for bake_of in [each.name for each in body.thew.bakes]:
        assert bpy.ops.thew.bake_remove(name=bake_of) == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    after = snapshot(body)
    assert {key for key in before if after[key] != before[key]} <= {"settings", "attributes"}  # the flesh is shown
    assert not len(body.thew.bakes) and not body.thew.made.baked_tracks and not body.thew.made.baked_basis
    assert [
        (action.name, action.use_frame_range, len(getattr(action, "slots", ()))) for action in bpy.data.actions
    ] == marks


# in step with the armature --------------------------------------------------------------------------------------------


def test_keys_follow_action(dancer):
    """Keys play the clip of the action that the armature plays, rest while it has none, and come back."""
    body, rig = dancer
    bake(clips="CHOSEN", actions="Run;Walk")
    scene = bpy.context.scene
    for name, frame, key in (("Walk", 15, "Thew Walk 0015"), ("Run", 7, "Thew Run 0007")):
        use(rig, name)
        scene.frame_set(frame)
        assert weights(body) == {key: 1.0}
    use(rig, "Turn")
    scene.frame_set(5)
    assert not weights(body)
    body.thew.enabled = False
    plain = play(body, (5,))
    body.thew.enabled = True
    np.testing.assert_allclose(play(body, (5,)), plain, atol=1e-6)
    assert part("ui.bake_panel").played_bake(body).missing == "Turn"
    use(rig, "Walk")
    bpy.context.view_layer.update()
    scene.frame_set(20)
    assert weights(body) == {"Thew Walk 0020": 1.0}


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"frame_start": 40.0},
        {"frame_start": 30.5, "scale": 2.0},
        {"frame_start": 5.0, "repeat": 2.5},
        {"use_reverse": True},
    ],
    ids=["plain", "shifted", "scaled", "repeated", "reversed"],
)
def test_keys_follow_strip(dancer, how):
    """Where the armature plays a strip alone, the keys play its clip at the strip's times."""
    body, rig = dancer
    bake(clips="ALL")
    strip = push_down(rig, "Walk", "Track", **how)
    use(rig, None)
    scene = bpy.context.scene
    frames = [round(strip.frame_start + part * (strip.frame_end - strip.frame_start)) for part in (0.1, 0.45, 0.8)]
    shapes = play(body, frames)
    for frame, shape in zip(frames, shapes, strict=True):
        share = (frame - strip.frame_start) / strip.scale % 21.0
        at = 32.0 - share if strip.use_reverse else 11.0 + share
        use(rig, "Walk")
        scene.frame_set(int(at), subframe=at - int(at))
        assert weights(body)
        assert np.abs(evaluated_positions(body) - shape).max() < 1e-4 * size_of(shape)
        use(rig, None)
    scene.frame_set(int(strip.frame_end) + 5)
    assert not weights(body)


def test_keys_follow_strips_together(dancer):
    """Strips one after another, muted tracks, influence and solo act on the keys as on the bones."""
    body, rig = dancer
    bake(clips="ALL")
    push_down(rig, "Run", "Base", frame_start=1.0)
    over = push_down(rig, "Walk", "Over", frame_start=11.0, use_animated_influence=True)
    over.influence = 0.25
    over.keyframe_insert("influence", frame=15)
    use(rig, None)
    scene = bpy.context.scene
    scene.frame_set(15)
    assert weights(body) == {"Thew Run 0015": pytest.approx(0.75), "Thew Walk 0015": pytest.approx(0.25)}
    over.influence = 1.0
    over.keyframe_insert("influence", frame=16)
    scene.frame_set(16)
    assert weights(body) == {"Thew Walk 0016": 1.0}
    for frame, share in ((17, 0.0), (18, 0.5)):
        over.influence = share
        over.keyframe_insert("influence", frame=frame)
    scene.frame_set(18)
    assert weights(body) == {"Thew Run 0018": pytest.approx(0.5), "Thew Walk 0018": pytest.approx(0.5)}
    rig.animation_data.nla_tracks["Over"].mute = True
    scene.frame_set(17)
    assert weights(body) == {"Thew Run 0017": 1.0}
    rig.animation_data.nla_tracks["Over"].mute = False
    rig.animation_data.nla_tracks["Base"].is_solo = True
    scene.frame_set(18)
    assert weights(body) == {"Thew Run 0018": 1.0}
    rig.animation_data.nla_tracks["Base"].is_solo = False
    use(rig, "Turn")
    scene.frame_set(4)
    assert weights(body) == {"Thew Turn 0004": 1.0}


def test_keys_beside_artist_action(dancer):
    """Where the artist animates other keys by an action of their own, it stays active and plays along with the clips."""
    body, rig = dancer
    body.shape_key_add(name="Basis")
    smile = body.shape_key_add(name="Smile")
    smile.points[0].co.x += 0.2
    for frame, value in ((1, 0.0), (20, 1.0)):
        smile.value = value
        smile.keyframe_insert("value", frame=frame)
    own = body.data.shape_keys.animation_data.action
    bake(clips="CHOSEN", actions="Run;Walk")
    scene = bpy.context.scene
    scene.frame_set(15)
    (curve,) = part("scene.animation").every_curve(own)
    assert body.data.shape_keys.animation_data.action == own and smile.value == pytest.approx(curve.evaluate(15))
    assert weights(body) == {"Thew Run 0015": 1.0}
    use(rig, "Walk")
    scene.frame_set(16)
    assert weights(body) == {"Thew Walk 0016": 1.0} and smile.value == pytest.approx(curve.evaluate(16))
    use(rig, "Turn")
    scene.frame_set(3)
    assert not weights(body)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert body.data.shape_keys.animation_data.action == own
    assert not body.data.shape_keys.animation_data.nla_tracks


def test_finish_bake_of_clips(dancer):
    """A finished bake of clips plays each action with its flesh, and its curves are in the armature's actions."""
    body, rig = dancer
    bake(clips="ALL")
    shapes = {name: clip_shapes(body, rig, name) for name in ACTIONS}
    use(rig, "Run")
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert not body.thew.made.flesh
    for name, baked in shapes.items():
        assert_same(clip_shapes(body, rig, name), baked)
    if SLOTS:
        assert body.data.shape_keys.animation_data.action == rig.animation_data.action
        assert {action.name for action in bpy.data.actions} == set(ACTIONS)
    tracks = body.data.shape_keys.animation_data.nla_tracks
    assert {track.name for track in tracks if track.mute} == set(ACTIONS) - {rig.animation_data.action.name}
    assert bpy.ops.thew.bake_remove(name="Shape Keys") == {"FINISHED"}
    assert body.data.shape_keys is None


# files, undo ----------------------------------------------------------------------------------------------------------


def test_clips_in_file(dancer, tmp_path):
    """A saved file plays its clips again, and another clip can be added to it."""
    body, rig = dancer
    bake(clips="CHOSEN", actions="Run;Walk")
    shapes = {name: clip_shapes(body, rig, name) for name in ("Run", "Walk")}
    path = str(tmp_path / "clips.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    for name, baked in shapes.items():
        np.testing.assert_allclose(clip_shapes(body, rig, name), baked, atol=1e-6)
    activate(body)
    bake(clips="CHOSEN", actions="Turn")
    assert set(clips(body)) == {"Run", "Walk", "Turn"}
    np.testing.assert_allclose(clip_shapes(body, rig, "Run"), shapes["Run"], atol=1e-6)


def make_former(body) -> None:
    """Describes the bake of a body as earlier versions did."""
    made, bake_of = body.thew.made, body.thew.bakes[0]
    clip = bake_of.clips[0]
    made.baked_keys, made.baked_space, made.baked_miss = bake_of.keys, bake_of.space, bake_of.miss
    made.baked_start, made.baked_end, made.baked_of = clip.start, clip.end, clip.played
    made.baked_settings, made.baked_action = bake_of.settings, clip.made_curves
    body.thew.bakes.clear()


@pytest.mark.parametrize("shown", [True, False])
def test_former_bake_in_file(scene, tmp_path, shown):
    """A bake that an earlier version saved plays, is shown and hidden, gets further clips, and can be removed."""
    body, rig = make_dancer()
    before = snapshot(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    bake()
    baked = play(body, range(1, 21))
    if not shown:
        assert bpy.ops.thew.show_live() == {"FINISHED"}
    make_former(body)
    scene.frame_set(1)
    path = str(tmp_path / "former.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    assert clips(body) == {"Scene": (1, 20)} and not body.thew.made.baked_keys
    assert body.thew.made.shows_bake == shown
    activate(body)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    np.testing.assert_allclose(play(body, range(1, 21)), baked, atol=1e-6)
    bake(clips="CHOSEN", actions="Walk")
    assert set(clips(body)) == {"Scene", "Walk"}
    np.testing.assert_allclose(clip_shapes(body, rig, "Run"), baked, atol=1e-6)
    use(rig, "Run")
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    assert snapshot(body) == before


def test_clips_one_undo(dancer):
    """One undo takes a bake of actions back, and the keys follow the armature again afterwards."""
    body, rig = dancer
    bake(clips="CHOSEN", actions="Run")
    bpy.context.scene.frame_set(1)
    before = snapshot(body)
    bpy.ops.ed.undo_push(message="one clip")
    bpy.ops.thew.bake("EXEC_DEFAULT", True, clips="CHOSEN", actions="Walk")
    assert set(clips(bpy.data.objects["Body"])) == {"Run", "Walk"}
    bpy.ops.ed.undo()
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    assert snapshot(body) == before
    use(rig, "Walk")
    bpy.context.scene.frame_set(15)
    assert not weights(body)
    use(rig, "Run")
    bpy.context.scene.frame_set(15)
    assert weights(body) == {"Thew Run 0015": 1.0}


# what stops it --------------------------------------------------------------------------------------------------------


def test_clips_cancelled_anywhere(dancer):
    """A bake of actions that is cancelled at any report leaves armature, bakes and view as they were."""
    body, rig = dancer
    push_down(rig, "Walk", "Over", influence=0.5)
    use(rig, "Run")
    rig.pose.bones["Head"].rotation_mode = "XYZ"
    rig.pose.bones["Head"].rotation_euler.y = 0.3
    bake(clips="CHOSEN", actions="Run")
    bpy.context.scene.frame_set(6)
    before = snapshot(body), key_bytes(body), animation_of(rig), evaluated_positions(body).tobytes()
    baking, tasks, errors = part("bake.baking"), part("logic.tasks"), part("logic.errors")
    for left in range(0, 1000, 3):
        asked = iter(range(left))
        task = baking.bake(body, bpy.context.scene, bpy.context.view_layer, clips="ALL")
        try:
            tasks.finish(task, lambda _fraction, _text, asked=asked: next(asked, None) is not None)
        except errors.Cancelled:
            bpy.context.view_layer.update()
            now = snapshot(body), key_bytes(body), animation_of(rig), evaluated_positions(body).tobytes()
            assert now == before, f"cancelled at report {left}"
        else:
            break
    assert left > 12 and set(clips(body)) == {"Run", "Walk", "Turn"}
    assert animation_of(rig) == before[2]


def test_clips_between_steps(dancer):
    """Between two steps of a bake, when the window is drawn, the armature plays what it played."""
    body, rig = dancer
    bpy.context.scene.frame_set(6)
    bpy.context.view_layer.update()
    before, action = animation_of(rig), rig.animation_data.action
    seen = []

    def look(_fraction, _text):
        seen.append(rig.animation_data.action == action and rig.animation_data.use_nla)
        return True

    part("logic.tasks").finish(
        part("bake.baking").bake(body, bpy.context.scene, bpy.context.view_layer, clips="ALL"), look
    )
    assert all(seen) and len(seen) > 12 and animation_of(rig) == before


@pytest.mark.parametrize("name", ["write_clips", "rename"])
def test_clips_failure_keeps_former(dancer, monkeypatch, name):
    """A bake of actions that fails while it is written leaves former bakes, actions and slots as they were."""
    body, _ = dancer
    bake(clips="CHOSEN", actions="Run")
    before = snapshot(body), key_bytes(body)
    slots = {action.name: len(getattr(action, "slots", ())) for action in bpy.data.actions}
    if name == "write_clips":
        writing = part("scene.writing")
        done = writing.write_clips

        def fails(*how):
            done(*how)
            raise RuntimeError("no room")

        monkeypatch.setattr(writing, "write_clips", fails)
        assert "no room" in refusal(bpy.ops.thew.bake, clips="ALL")
        assert (snapshot(body), key_bytes(body)) == before
        assert {action.name: len(getattr(action, "slots", ())) for action in bpy.data.actions} == slots
        monkeypatch.undo()
    bake(clips="ALL")
    assert set(clips(body)) == {"Run", "Walk", "Turn"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"clips": "CHOSEN"}, "No action of “Rig” is chosen"),
        (
            {"clips": "CHOSEN", "actions": "Swim"},
            "There is no action “Swim”; the actions of “Rig” are: “Run”, “Turn” and “Walk”",
        ),
        ({"clips": "CHOSEN", "actions": "Alien"}, "moves none of the bones of “Rig”"),
        ({"clips": "CHOSEN", "actions": "Empty"}, "no slot" if SLOTS else "moves none of the bones"),
        ({"clips": "ALL", "space": "POSED"}, "is in rest space and keeps its scene range"),
    ],
)
def test_clips_refused(dancer, options, words):
    """Actions that cannot be baked are refused by a sentence, before anything is done."""
    body, _ = dancer
    bpy.data.actions.new("Empty")
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    other.keyframe_insert("location", frame=1)
    other.keyframe_insert("location", frame=9)
    other.animation_data.action.name = "Alien"
    bake()
    before = snapshot(body), key_bytes(body)
    assert words in refusal(bpy.ops.thew.bake, **options)
    assert (snapshot(body), key_bytes(body)) == before


def test_clips_of_linked_action(dancer, tmp_path):
    """An action of another file is left out of all actions with a remark, and refused if it is chosen."""
    body, rig = dancer
    path = str(tmp_path / "actions.blend")
    bpy.data.libraries.write(path, {bpy.data.actions["Walk"]}, fake_user=True)
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    with bpy.data.libraries.load(path, link=True) as (_source, target):
        target.actions = ["Walk"]
    use(rig, "Run")
    result = part("logic.tasks").finish(
        part("bake.baking").bake(body, bpy.context.scene, bpy.context.view_layer, clips="ALL")
    )
    assert set(clips(body)) == {"Run", "Turn"} and "“Walk” was left out" in result.remarks[0]
    assert "comes from another file" in refusal(bpy.ops.thew.bake, clips="CHOSEN", actions="Walk")


def test_clips_without_actions(scene):
    """An armature without any action is refused with the remedy, and keyframed flesh has no actions."""
    body, rig = make_dancer(("Run",))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    rig.animation_data_clear()
    bpy.data.actions.remove(bpy.data.actions["Run"])
    assert "has no action that could be baked" in refusal(bpy.ops.thew.bake, clips="ALL")
    assert not len(body.thew.bakes)


def test_deleted_action(dancer):
    """A clip whose action was deleted is listed as such, and goes with its bake."""
    body, _ = dancer
    bake(clips="ALL")
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    bpy.context.scene.frame_set(5)
    texts = [part("ui.bake_panel").clip_text(clip) for clip in body.thew.bakes[0].clips]
    assert "Walk (deleted), 11 to 32" in texts
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert body.data.shape_keys is None


# the panel and the command ----------------------------------------------------------------------------------------------


def test_bake_list_in_panel(dancer):
    """The foldout lists bakes with their clips, frames and size, and each with its buttons."""
    from helpers import Layout

    body, rig = dancer
    bake(clips="ALL")
    layout = Layout()
    part("ui.bake_panel").draw_bake(layout, bpy.context, body, 60)
    words = " ".join(layout.read())
    for text in ("Run, 1 to 20", "Walk, 11 to 32", "Turn, -5 to 10", "3 clips", "MB"):
        assert text in words
    pressed = [call[1] for call in layout.seen if call[0] == "operator"]
    assert {"thew.bake_show", "thew.bake_remove", "thew.bake_rename"} <= set(pressed) and pressed.count(
        "thew.bake"
    ) == 3
    assert part("ui.bake_panel").played_bake(body).clip == "Run"
    use(rig, "Walk")
    bpy.data.actions["Walk"].name = "Stroll"
    assert part("ui.bake_panel").played_bake(body).clip == "Stroll"


@pytest.mark.parametrize(
    ("words", "found"), [(("--clips", "all"), {"Run", "Walk", "Turn"}), (("--actions", "Walk", "Run"), {"Run", "Walk"})]
)
def test_command_bakes_clips(dancer, tmp_path, words, found):
    """The command bakes all actions of an armature, or those that are named."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "in.blend"))
    out = tmp_path / "out.blend"
    cli = part("cli")
    assert cli.main(["bake", str(tmp_path / "in.blend"), *words, "--out", str(out)]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    assert set(clips(bpy.data.objects["Body"])) == found

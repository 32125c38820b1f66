# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of several actions: each simulated alone, and played when the armature plays it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from dancing import (
    ACTIONS,
    SLOTS,
    add_action,
    assert_same,
    bake_clips,
    clip_shapes,
    frames_of,
    listed_clips,
    live_shapes,
    make_dancer,
    push_down,
    use,
    weights,
)
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
)

# what is baked --------------------------------------------------------------------------------------------------------


def test_clips_equal_live(dancer):
    """Each clip of a bake shows the live flesh of its action, and the plain skin at frames beyond."""
    body, rig = dancer
    live = live_shapes(body, rig)
    bake_clips(clips="ALL")
    assert listed_clips(body) == {name: (frames_of(name)[0], frames_of(name)[-1]) for name in ("Run", "Turn", "Walk")}
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
    bake_clips(clips="ALL")
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
    bake_clips(clips="ALL")
    assert list(listed_clips(body)) == ["Run", "Walk", "Turn", "Jump"]


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
    bake_clips(clips="ALL")
    assert set(listed_clips(body)) == {"Run", "Walk", "Turn"}
    assert "moves none of the bones" in refusal(bpy.ops.thew.bake, clips="CHOSEN", actions="Strange")
    assert other.thew.made.flesh is False


def test_clip_loops(scene):
    """A clip begins as its action does alone: a closed one as a loop, any other with a run-in."""
    body, rig = make_dancer(("Run",))
    loop = bpy.data.actions["Run"]
    for curve in part("scene.animation").every_curve(loop):
        curve.keyframe_points[-1].co.y = curve.keyframe_points[0].co.y
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    bake_clips(clips="ALL")
    closed = clip_shapes(body, rig, "Run")
    plain_turn = np.abs(closed[0] - closed[-1]).max()
    assert plain_turn < 1e-4 * size_of(closed[0])
    body.thew.motion_start = "SETTLED"
    bake_clips(clips="ALL")
    settled = clip_shapes(body, rig, "Run")
    assert np.abs(settled[0] - closed[0]).max() > 1e-4 * size_of(closed[0])


def test_clips_in_posed_space(dancer):
    """Clips in posed space hold the whole motion of their actions, and their end keys stay on."""
    body, rig = dancer
    live = live_shapes(body, rig)
    bake_clips(clips="ALL", space="POSED")
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
    bake_clips(clips="ALL")
    assert listed_clips(shirt) == listed_clips(body)
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
    bake_clips(clips="ALL")
    assert set(listed_clips(shirt)) == {"Run", "Walk", "Turn"} and not len(body.thew.bakes)
    assert_same(clip_shapes(shirt, rig, "Run"), live)


def test_clips_of_copied_object(dancer):
    """A copy of a baked object plays its clips, and removing its bake leaves those of the original."""
    body, rig = dancer
    bake_clips(clips="CHOSEN", actions="Run;Walk")
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
    bake_clips(clips="CHOSEN", actions="Walk")
    assert listed_clips(body) == {"Walk": (14, 21)}
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
    bake_clips(clips="ALL")
    assert listed_clips(body) == {"Run": (2, 40)}
    assert_same(clip_shapes(body, rig, "Run", range(2, 41)), live)


# in step with the armature --------------------------------------------------------------------------------------------


def test_keys_follow_action(dancer):
    """Keys play the clip of the action that the armature plays, rest while it has none, and come back."""
    body, rig = dancer
    bake_clips(clips="CHOSEN", actions="Run;Walk")
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
    bake_clips(clips="ALL")
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
    bake_clips(clips="ALL")
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
    bake_clips(clips="CHOSEN", actions="Run;Walk")
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
    bake_clips(clips="ALL")
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

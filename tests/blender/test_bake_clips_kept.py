# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of several actions are kept: clips of a named bake, in files and past undo, through failures and refusals."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from conftest import FAST
from dancing import (
    ACTIONS,
    SLOTS,
    add_action,
    animation_of,
    assert_same,
    bake_clips,
    clip_shapes,
    frames_of,
    key_bytes,
    listed_clips,
    make_dancer,
    push_down,
    use,
    weights,
)
from helpers import (
    Layout,
    activate,
    evaluated_positions,
    forget_settings,
    part,
    play,
    refusal,
    snapshot,
)

# a new clip adds ------------------------------------------------------------------------------------------------------


def test_clip_added_to_bake(dancer):
    """A second action joins the bake and leaves the first as it is; baked again, a clip replaces itself alone."""
    body, rig = dancer
    bake_clips(clips="CHOSEN", actions="Run")
    run, shapes = key_bytes(body, "Thew Run"), clip_shapes(body, rig, "Run")
    use(rig, "Run")
    bake_clips(clips="CHOSEN", actions="Walk\nTurn")
    assert set(listed_clips(body)) == {"Run", "Walk", "Turn"}
    assert key_bytes(body, "Thew Run") == run and len(run) == 20
    np.testing.assert_array_equal(clip_shapes(body, rig, "Run"), shapes)
    walk = key_bytes(body, "Thew Walk")
    body.thew.softness = 0.9
    bake_clips(clips="CHOSEN", actions="Run")
    assert set(listed_clips(body)) == {"Run", "Walk", "Turn"} and key_bytes(body, "Thew Walk") == walk
    assert set(key_bytes(body, "Thew Run")) == set(run) and key_bytes(body, "Thew Run") != run
    assert len(body.data.shape_keys.key_blocks) == 1 + sum(len(frames_of(name)) for name in ACTIONS)


def test_clip_curves_in_action(dancer):
    """The curves of a clip live with its action, in which keys of other clips are at 0, and its frames stay the same."""
    body, _ = dancer
    ranges = {name: tuple(bpy.data.actions[name].frame_range) for name in ACTIONS}
    bake_clips(clips="ALL")
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
    bake_clips()
    bake_clips(clips="CHOSEN", actions="Walk")
    assert listed_clips(body) == {"Scene": (1, 20), "Walk": (11, 32)}
    assert_same(clip_shapes(body, rig, "Run"), live)
    assert all(name.startswith("Thew 00") for name in weights(body))
    use(rig, "Walk")
    bpy.context.scene.frame_set(20)
    assert list(weights(body)) == ["Thew Walk 0020"]


def test_bakes_by_name(dancer):
    """Bakes of other names stand beside each other, one of them plays, and each can be shown, renamed and removed."""
    body, rig = dancer
    bake_clips(clips="CHOSEN", actions="Run;Walk")
    soft = clip_shapes(body, rig, "Run")
    body.thew.softness = 1.0
    use(rig, "Run")
    bake_clips(clips="CHOSEN", actions="Run", name="Wobbly")
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
    bake_clips(clips="ALL")
    bake_clips(clips="CHOSEN", actions="Walk", replace=True)
    assert listed_clips(body) == {"Walk": (11, 32)} and set(key_bytes(body, "Thew")) == set(
        key_bytes(body, "Thew Walk")
    )
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
    bake_clips(name="Scene Only")
    bake_clips(clips="ALL")
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


# files, undo ----------------------------------------------------------------------------------------------------------


def test_clips_in_file(dancer, tmp_path):
    """A saved file plays its clips again, and another clip can be added to it."""
    body, rig = dancer
    bake_clips(clips="CHOSEN", actions="Run;Walk")
    shapes = {name: clip_shapes(body, rig, name) for name in ("Run", "Walk")}
    path = str(tmp_path / "clips.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    for name, baked in shapes.items():
        np.testing.assert_allclose(clip_shapes(body, rig, name), baked, atol=1e-6)
    activate(body)
    bake_clips(clips="CHOSEN", actions="Turn")
    assert set(listed_clips(body)) == {"Run", "Walk", "Turn"}
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
    bake_clips()
    baked = play(body, range(1, 21))
    if not shown:
        assert bpy.ops.thew.show_live() == {"FINISHED"}
    make_former(body)
    scene.frame_set(1)
    path = str(tmp_path / "former.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    assert listed_clips(body) == {"Scene": (1, 20)} and not body.thew.made.baked_keys
    assert body.thew.made.shows_bake == shown
    activate(body)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    np.testing.assert_allclose(play(body, range(1, 21)), baked, atol=1e-6)
    bake_clips(clips="CHOSEN", actions="Walk")
    assert set(listed_clips(body)) == {"Scene", "Walk"}
    np.testing.assert_allclose(clip_shapes(body, rig, "Run"), baked, atol=1e-6)
    use(rig, "Run")
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    forget_settings(body)
    assert snapshot(body) == before


def test_clips_one_undo(dancer):
    """One undo takes a bake of actions back, and the keys follow the armature again afterwards."""
    body, rig = dancer
    bake_clips(clips="CHOSEN", actions="Run")
    bpy.context.scene.frame_set(1)
    before = snapshot(body)
    bpy.ops.ed.undo_push(message="one clip")
    bpy.ops.thew.bake("EXEC_DEFAULT", True, clips="CHOSEN", actions="Walk")
    assert set(listed_clips(bpy.data.objects["Body"])) == {"Run", "Walk"}
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
    for name, (first, _, hop, bend) in ACTIONS.items():  # a few frames of each: every frame is reported alike
        bpy.data.actions.remove(bpy.data.actions[name])
        add_action(rig, name, first, first + 4.0, hop, bend)
    push_down(rig, "Walk", "Over", influence=0.5)
    use(rig, "Run")
    rig.pose.bones["Head"].rotation_mode = "XYZ"
    rig.pose.bones["Head"].rotation_euler.y = 0.3
    bake_clips(clips="CHOSEN", actions="Run")
    bpy.context.scene.frame_set(4)
    before = snapshot(body), key_bytes(body), animation_of(rig), evaluated_positions(body).tobytes()
    baking, tasks, errors = part("bake.baking"), part("logic.tasks"), part("logic.errors")
    for left in range(0, 1000, 3 if FAST else 1):
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
    assert left > 12 and set(listed_clips(body)) == {"Run", "Walk", "Turn"}
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
    bake_clips(clips="CHOSEN", actions="Run")
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
    bake_clips(clips="ALL")
    assert set(listed_clips(body)) == {"Run", "Walk", "Turn"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"clips": "CHOSEN"}, "No action of “Rig” is chosen"),
        (
            {"clips": "CHOSEN", "actions": "Swim"},
            "There is no action “Swim”; the actions of “Rig” are: “Run”, “Turn” and “Walk”",
        ),
        ({"clips": "CHOSEN", "actions": "Wlak"}, "no action “Wlak”; is “Walk” meant? The actions of “Rig” are: “Run”,"),
        ({"clips": "CHOSEN", "actions": "urn"}, "no action “urn”; is “Turn” meant? The"),
        ({"clips": "CHOSEN", "actions": "Alien"}, "moves none of the bones of “Rig”"),
        ({"clips": "CHOSEN", "actions": "Empty"}, "no slot" if SLOTS else "moves none of the bones"),
        ({"clips": "ALL", "space": "POSED"}, "has Keys Hold at Flesh Alone and keeps its scene range"),
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
    bake_clips()
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
    assert set(listed_clips(body)) == {"Run", "Turn"} and "“Walk” was left out" in result.remarks[0]
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
    bake_clips(clips="ALL")
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    bpy.context.scene.frame_set(5)
    texts = [part("ui.bake_panel").clip_text(clip) for clip in body.thew.bakes[0].clips]
    assert "“Walk” (deleted), 11 to 32" in texts
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert body.data.shape_keys is None


# the panel and the command ----------------------------------------------------------------------------------------------


def test_bake_list_in_panel(dancer):
    """The foldout lists bakes with their clips, frames and size, and each with its buttons."""
    body, rig = dancer
    bake_clips(clips="ALL")
    layout = Layout()
    part("ui.bake_panel").draw_bake(layout, bpy.context, body, 60)
    words = " ".join(layout.read())
    for text in ("“Run”, 1 to 20", "“Walk”, 11 to 32", "“Turn”, -5 to 10", "3 clips", "90.5 kB"):
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
    assert set(listed_clips(bpy.data.objects["Body"])) == found

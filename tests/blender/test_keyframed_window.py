# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh in a Blender that believes it has a window: quick edits show at once, builds go on in the background."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import evaluated, part, play
from keyframing import drag, make_sack, motion_of, sculpt

FRAMES = range(1, 21)


@pytest.fixture
def sack(scene, monkeypatch):
    obj = make_sack()
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    play(obj, (1, 6))
    monkeypatch.setattr(part("scene.windows"), "headless", lambda: False)
    monkeypatch.setattr(part("live.keyframed_events"), "PATIENCE", 0.0)
    yield obj
    part("live.updates").stop_update()
    part("live.keyframed_events").hushed.clear()
    if bpy.app.timers.is_registered(part("live.updates").tick):
        bpy.app.timers.unregister(part("live.updates").tick)


def tick(most: int = 10_000) -> None:
    """Let the timer run until it has nothing more to do."""
    updates = part("live.updates")
    for _ in range(most):
        if updates.tick() is None:
            return
        if updates.state.stepper is not None and updates.state.stepper.waiting:
            updates.state.stepper._thread.join(0.1)
    raise AssertionError("the timer never ends")


def at_work() -> bool:
    updates = part("live.updates")
    return updates.state.stepper is not None or bool(updates.state.waiting)


def test_a_dial_and_a_dragged_time_show_within_the_redraw(sack):
    shown = [evaluated(sack)]
    sack.thew.keyframed.stiffness = 20.0
    shown.append(evaluated(sack))
    drag(sack, 1, 13.0)
    bpy.context.view_layer.update()  # as Blender does it before it draws
    shown.append(evaluated(sack))
    assert not at_work()
    assert np.abs(shown[1] - shown[0]).max() > 1e-4 and np.abs(shown[2] - shown[1]).max() > 1e-4


def test_the_old_motion_plays_while_the_new_one_is_built(sack):
    old = play(sack, FRAMES)
    sack.thew.keyframed.modes = 4
    assert at_work() and bpy.app.timers.is_registered(part("live.updates").tick)
    np.testing.assert_array_equal(play(sack, FRAMES), old)
    built = motion_of(sack)
    tick()
    assert motion_of(sack) is not built and motion_of(sack).plan.modes == 4 and not at_work()


def test_an_edited_sculpt_shows_when_it_is_built(sack):
    bpy.context.scene.frame_set(10)
    block = sack.data.shape_keys.key_blocks["Squash"]
    block.data.foreach_set("co", (1.5 * sculpt(sack, "Squash")).ravel())
    sack.data.update_tag()
    bpy.context.view_layer.update()
    assert at_work()
    tick()
    np.testing.assert_allclose(evaluated(sack), sculpt(sack, "Squash"), atol=1e-4)
    bpy.context.view_layer.update()
    assert not at_work()  # our own writing is no edit


def test_what_is_built_can_be_stopped(sack):
    updates, built = part("live.updates"), motion_of(sack)
    sack.thew.keyframed.modes = 4
    updates.tick()
    assert updates.state.stepper is not None
    assert bpy.ops.thew.keyframed_stop() == {"FINISHED"}
    play(sack, (3, 4))
    assert not at_work() and motion_of(sack) is built
    assert part("ui.keyframed_panel").health(sack, part("live.keyframed").register.known(sack))[0] == "WARNING"
    sack.thew.keyframed.modes = 5
    tick()
    assert motion_of(sack).plan.modes == 5


def test_an_edit_during_a_build_begins_it_anew(sack):
    updates = part("live.updates")
    sack.thew.keyframed.modes = 4
    updates.tick()
    sack.thew.keyframed.modes = 6
    tick()
    assert motion_of(sack).plan.modes == 6


def test_what_fails_is_tried_once(sack, monkeypatch):
    tried = []

    class Failing:
        def __init__(self, *_):
            tried.append(1)
            raise part("logic.errors").Refusal("“Sack” cannot be")

    old = play(sack, (5,))[0]
    monkeypatch.setattr(part("live.keyframed"), "Inbetween", Failing)
    sack.thew.keyframed.modes = 4
    tick()
    for frame in (3, 4, 5):
        bpy.context.scene.frame_set(frame)
        tick()
    assert len(tried) == 1 and "cannot be" in sack.thew.made.notes
    np.testing.assert_array_equal(evaluated(sack), old)


def test_in_edit_and_sculpt_mode_the_sculpt_is_seen(sack):
    bpy.ops.object.mode_set(mode="SCULPT")
    bpy.context.view_layer.update()
    assert "thew_offset" not in sack.data.attributes
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    tick()
    bpy.context.scene.frame_set(10)
    np.testing.assert_allclose(evaluated(sack), sculpt(sack, "Squash"), atol=1e-4)


def test_undo_in_the_middle_of_a_build(sack):
    bpy.ops.ed.undo_push(message="before")
    sack.thew.keyframed.modes = 4
    part("live.updates").tick()
    bpy.ops.ed.undo_push(message="fewer modes")
    bpy.ops.ed.undo()
    sack = bpy.data.objects["Sack"]
    tick()
    bpy.context.scene.frame_set(10)
    np.testing.assert_allclose(evaluated(sack), sculpt(sack, "Squash"), atol=1e-4)
    assert motion_of(sack).plan.modes == 10


def test_switching_the_extension_off_leaves_nothing_behind(sack):
    import sys

    sack.thew.keyframed.modes = 4
    package, updates = part("cli").__package__, part("live.updates")
    sys.modules[package].unregister()
    try:
        for name in part("live.handlers").HANDLERS:
            calls = getattr(bpy.app.handlers, name)
            assert not [call for call in calls if call.__module__.startswith(package)], name
        assert not bpy.app.timers.is_registered(updates.tick) and not part("saved.keyframed").on_edit
        assert not hasattr(bpy.types, "THEW_PT_keyframed_sidebar") and not hasattr(bpy.types, "THEW_OT_keyframed_add")
        play(bpy.data.objects["Sack"], (3, 9))
    finally:
        sys.modules[package].register()
    bpy.context.scene.frame_set(10)
    tick()
    np.testing.assert_allclose(evaluated(bpy.data.objects["Sack"]), sculpt(sack, "Squash"), atol=1e-4)

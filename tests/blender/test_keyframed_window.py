# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh in a Blender that believes it has a window: quick edits show at once, builds go on in the background."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import evaluated_positions, part, play
from keyframing import drag, make_sack, motion_of, sculpt

FRAMES = range(1, 21)


@pytest.fixture
def sack(scene, monkeypatch):
    obj = make_sack()
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    play(obj, (1, 6))
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    monkeypatch.setattr(part("live.keyframed_events"), "EDIT_DELAY", 0.0)
    yield obj
    part("live.updates").stop_update()
    part("live.keyframed_events").muted_objects.clear()
    if bpy.app.timers.is_registered(part("live.updates").tick):
        bpy.app.timers.unregister(part("live.updates").tick)


def tick(most: int = 10_000) -> None:
    """Runs the timer until it has nothing more to do."""
    updates = part("live.updates")
    for _ in range(most):
        if updates.tick() is None:
            return
        if updates.state.stepper is not None and updates.state.stepper.waiting:
            updates.state.stepper._thread.join(0.1)
    raise AssertionError("the timer never ends")


def is_at_work() -> bool:
    updates = part("live.updates")
    return updates.state.stepper is not None or bool(updates.state.waiting)


def test_edits_shown_at_once(sack):
    """A dial and a dragged time show within the redraw."""
    shown = [evaluated_positions(sack)]
    sack.thew.keyframed.stiffness = 20.0
    shown.append(evaluated_positions(sack))
    drag(sack, 1, 13.0)
    bpy.context.view_layer.update()  # as Blender does it before it draws
    shown.append(evaluated_positions(sack))
    assert not is_at_work()
    assert np.abs(shown[1] - shown[0]).max() > 1e-4 and np.abs(shown[2] - shown[1]).max() > 1e-4


def test_build_plays_former(sack):
    """The former motion plays while the new one is built."""
    old = play(sack, FRAMES)
    sack.thew.keyframed.modes = 4
    assert is_at_work() and bpy.app.timers.is_registered(part("live.updates").tick)
    np.testing.assert_array_equal(play(sack, FRAMES), old)
    built = motion_of(sack)
    tick()
    assert motion_of(sack) is not built and motion_of(sack).plan.modes == 4 and not is_at_work()


def test_build_edited_sculpt(sack):
    """An edited sculpt shows when it is built, and Thew's own writing is not an edit."""
    bpy.context.scene.frame_set(10)
    block = sack.data.shape_keys.key_blocks["Squash"]
    block.data.foreach_set("co", (1.5 * sculpt(sack, "Squash")).ravel())
    sack.data.update_tag()
    bpy.context.view_layer.update()
    assert is_at_work()
    tick()
    np.testing.assert_allclose(evaluated_positions(sack), sculpt(sack, "Squash"), atol=1e-4)
    bpy.context.view_layer.update()
    assert not is_at_work()  # our own writing is no edit


def test_build_stopped(sack):
    """A build can be stopped, and the former motion stays until the next edit."""
    updates, built = part("live.updates"), motion_of(sack)
    sack.thew.keyframed.modes = 4
    updates.tick()
    assert updates.state.stepper is not None
    assert bpy.ops.thew.keyframed_stop() == {"FINISHED"}
    play(sack, (3, 4))
    assert not is_at_work() and motion_of(sack) is built
    assert part("ui.keyframed_panel").health(sack, part("live.keyframed").register.known_state(sack))[0] == "WARNING"
    sack.thew.keyframed.modes = 5
    tick()
    assert motion_of(sack).plan.modes == 5


def test_build_restarts(sack):
    """An edit during a build begins it anew."""
    updates = part("live.updates")
    sack.thew.keyframed.modes = 4
    updates.tick()
    sack.thew.keyframed.modes = 6
    tick()
    assert motion_of(sack).plan.modes == 6


def test_build_failure_once(sack, monkeypatch):
    """A build that fails is tried once, and the former motion stays."""
    tried = []

    class FailingBuild:
        def __init__(self, *_):
            tried.append(1)
            raise part("logic.errors").Refusal("“Sack” cannot be")

    old = play(sack, (5,))[0]
    monkeypatch.setattr(part("live.keyframed"), "Inbetween", FailingBuild)
    sack.thew.keyframed.modes = 4
    tick()
    for frame in (3, 4, 5):
        bpy.context.scene.frame_set(frame)
        tick()
    assert len(tried) == 1 and "cannot be" in sack.thew.made.notes
    np.testing.assert_array_equal(evaluated_positions(sack), old)


def test_sculpt_mode_shown(sack):
    """Sculpt Mode shows the sculpt, and Object Mode the motion again."""
    bpy.ops.object.mode_set(mode="SCULPT")
    bpy.context.view_layer.update()
    assert "thew_offset" not in sack.data.attributes
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    tick()
    bpy.context.scene.frame_set(10)
    np.testing.assert_allclose(evaluated_positions(sack), sculpt(sack, "Squash"), atol=1e-4)


def test_build_undone(sack):
    """Undo in the middle of a build shows the motion of the settings that it brings back."""
    bpy.ops.ed.undo_push(message="before")
    sack.thew.keyframed.modes = 4
    part("live.updates").tick()
    bpy.ops.ed.undo_push(message="fewer modes")
    bpy.ops.ed.undo()
    sack = bpy.data.objects["Sack"]
    tick()
    bpy.context.scene.frame_set(10)
    np.testing.assert_allclose(evaluated_positions(sack), sculpt(sack, "Squash"), atol=1e-4)
    assert motion_of(sack).plan.modes == 10


def test_unregister_clean(sack):
    """The extension that is switched off leaves no handler, timer or class behind."""
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
    np.testing.assert_allclose(evaluated_positions(bpy.data.objects["Sack"]), sculpt(sack, "Squash"), atol=1e-4)

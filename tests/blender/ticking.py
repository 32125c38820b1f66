# SPDX-License-Identifier: GPL-3.0-or-later
"""A window that is none: Blender believes it has one, and its timer is ticked by hand."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import activate, animate, make_armature, make_body, make_character, part, play

FRAMES = range(1, 21)
#: Length of the motion of characters that are tuned.
TUNED_FRAMES = 60


def window_of(monkeypatch, prepare=None):
    """Builds a character with flesh in a Blender that believes it has a window; yields (body, armature) once.

    `prepare(body)` is called before that.
    """
    body, rig = make_character()
    handlers = part("live.handlers")
    handlers.plain = play(body, FRAMES)
    bpy.ops.thew.add(cells_across=6)
    bpy.ops.thew.simulate()
    play(body, (1, 4))
    if prepare is not None:
        prepare(body)
    open_window(monkeypatch)
    yield body, rig
    close_window()


def open_window(monkeypatch) -> None:
    """Makes Blender believe that it has a window, where edits wait for nothing."""
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    for name in ("SETTING_DELAY", "SHORT_DELAY"):
        monkeypatch.setattr(part("live.updates"), name, 0.0)
    part("live.updates").state.waiting.clear()


def close_window() -> None:
    """Ends what the timer does."""
    part("live.updates").stop_update()
    if bpy.app.timers.is_registered(part("live.updates").tick):
        bpy.app.timers.unregister(part("live.updates").tick)


def add_tuned(name: str = "Body"):
    """Adds (body, armature) with a simulated motion of `TUNED_FRAMES`."""
    rig = make_armature(f"{name} rig")
    body = make_body(rig, name)
    animate(rig, last=TUNED_FRAMES + 1)
    body.thew.motion_start = "SETTLED"  # no loop
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return body, rig


def shapes(body) -> np.ndarray:
    """Returns the shapes of some frames of a character that is tuned."""
    return np.array(play(body, (2, 20, 41, TUNED_FRAMES)))


def updated_names(monkeypatch) -> list[str]:
    """Returns a list that grows by the name of each object whose update begins."""
    jobs, names = part("live.jobs"), []
    update = jobs.update

    def noted(obj, *arguments, **options):
        names.append(obj.name)
        return update(obj, *arguments, **options)

    monkeypatch.setattr(jobs, "update", noted)
    return names


def begin_reading(monkeypatch, body, rig, asked: bool):
    """Ticks until poses are being read, one frame a tick, for Simulate if it is `asked` for, else for an update.

    Returns the request for Simulate, or None.
    """
    updates, request = part("live.updates"), None
    monkeypatch.setattr(part("scene.poses"), "SLICE_TIME", 0.0)
    monkeypatch.setattr(updates, "YOUNG_TIME", 0.0)
    if asked:
        request = part("live.requested").begin(body, bpy.context.scene)
    else:
        animate(rig, bend=-0.3)
        bpy.context.view_layer.update()
        body.thew.settling = 1.4
    while updates.state.stepper is None or "frame" not in updates.state.stepper.status_text:
        assert updates.tick() is not None
    return request


def read_on() -> None:
    """Ticks until the motion is read and nothing is left to do; edits made since reading began have no turn."""
    state = part("live.updates").state
    state.waiting.clear()
    state.overriding.clear()
    tick()


def tick() -> None:
    """Runs the timer until it has nothing more to do."""
    updates = part("live.updates")
    for _ in range(10_000):
        if updates.tick() is None:
            return
        if updates.state.stepper is not None and updates.state.stepper.waiting:
            updates.state.stepper._thread.join(0.1)
    raise AssertionError("the timer never ends")

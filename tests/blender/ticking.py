# SPDX-License-Identifier: GPL-3.0-or-later
"""A window that is none: Blender believes it has one, and its timer is ticked by hand."""

from __future__ import annotations

import bpy
from helpers import make_character, part, play

FRAMES = range(1, 21)


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
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    for name in ("SETTING_DELAY", "SHORT_DELAY"):
        monkeypatch.setattr(part("live.updates"), name, 0.0)
    part("live.updates").state.waiting.clear()
    yield body, rig
    part("live.updates").stop_update()
    if bpy.app.timers.is_registered(part("live.updates").tick):
        bpy.app.timers.unregister(part("live.updates").tick)


def tick() -> None:
    """Runs the timer until it has nothing more to do."""
    updates = part("live.updates")
    for _ in range(10_000):
        if updates.tick() is None:
            return
        if updates.state.stepper is not None and updates.state.stepper.waiting:
            updates.state.stepper._thread.join(0.1)
    raise AssertionError("the timer never ends")

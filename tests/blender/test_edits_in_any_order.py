# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits in any order in a window, one character hidden: the updates come to an end, and leave nothing behind."""

from __future__ import annotations

import random

import bpy
import numpy as np
import pytest
from helpers import activate, animate, flesh_of, part
from ticking import TUNED_FRAMES, shapes, updated_names

#: Steps of a run, redraws within which an edit must have come to an end, and most updates that it may begin.
STEPS, MOST_REDRAWS, MOST_UPDATES = 12, 1500, 12


def redraw_until_idle(scene) -> bool:
    """Runs the timer among redraws, some of which look the frame up; returns whether it came to an end."""
    updates = part("live.updates")
    for turn in range(MOST_REDRAWS):
        if turn % 3 == 0:
            bpy.context.view_layer.update()
        if turn % 11 == 0:
            part("live.playback").look_up(scene)
        if updates.tick() is None and turn > 11:
            return True
        stepper = updates.state.stepper
        if stepper is not None and stepper.waiting:
            stepper._thread.join(0.05)
    return False


@pytest.mark.parametrize("seed", range(4))
def test_edits_come_to_an_end(tuned, in_window, scene, monkeypatch, seed):
    """Each edit begins a few updates at most, whether the last had ended or not; in the end Simulate gives the bits of flesh made anew."""
    chance = random.Random(seed)
    (a, other_rig), (b, rig) = tuned("A", "B")
    bpy.ops.object.effector_add(type="WIND")
    wind = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=0.3, location=(0.5, 0.0, 0.5))
    box = bpy.context.object
    box.modifiers.new("Collision", "COLLISION")
    in_window()
    a.hide_set(True)
    other_rig.hide_set(True)
    activate(b)
    names = updated_names(monkeypatch)
    edits = [
        lambda: setattr(wind.field, "strength", chance.uniform(0.0, 40.0)),
        lambda: setattr(wind.location, "x", chance.uniform(-1.0, 1.0)),
        lambda: wind.hide_set(not wind.hide_get()),
        lambda: setattr(box.location, "x", chance.uniform(0.3, 1.0)),
        lambda: setattr(b.thew, "self_contact", not b.thew.self_contact),
        lambda: setattr(b.thew, "softness", chance.uniform(0.2, 0.8)),
        lambda: setattr(a.thew, "softness", chance.uniform(0.2, 0.8)),
        lambda: setattr(scene, "gravity", (0.0, 0.0, -chance.uniform(5.0, 10.0))),
        lambda: setattr(scene, "frame_end", chance.choice([TUNED_FRAMES, TUNED_FRAMES - 5, TUNED_FRAMES - 10])),
        lambda: scene.frame_set(chance.randrange(1, 50)),
        lambda: a.hide_set(not a.hide_get()),
        lambda: animate(rig, last=TUNED_FRAMES + 1, bend=chance.uniform(-0.3, 0.3)),
        lambda: activate(chance.choice([b, wind, box])),
    ]
    for _ in range(STEPS):
        begun = len(names)
        chance.choice(edits)()
        if chance.random() < 0.6:
            assert redraw_until_idle(scene), names[begun:]
        assert len(names) - begun <= MOST_UPDATES, names[begun:]
    scene.frame_end = TUNED_FRAMES
    animate(rig, last=TUNED_FRAMES + 1)
    b.thew.softness = 0.45
    activate(b)
    assert redraw_until_idle(scene)
    assert bpy.ops.thew.simulate() == {"FINISHED"} and not flesh_of(b).problem
    live = shapes(b)
    part("live.session").register.forget(b)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(shapes(b), live)

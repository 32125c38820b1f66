# SPDX-License-Identifier: GPL-3.0-or-later
"""Firmness of rigs in Blender: tense flesh sways less, at control 0 nothing changes, and it survives files and undo."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import activate, part, play, refusal, size_of, world

FRAMES = range(1, 13)


def simulate(body):
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return play(body, FRAMES, world)


def add_rig(body):
    """Adds a rig at the spine that pushes nothing."""
    activate(body)
    assert bpy.ops.thew.rig_add(template="RADIAL") == {"FINISHED"}
    rig = body.thew.rigs[-1]
    rig.samples.clear()
    rig.strength_by = "FORCE"
    rig.strength = 0.0
    rig.radius = 10.0 * rig.radius
    rig.control = 1.0
    return rig


def test_firm_rig_stiffens_flesh(fleshed_character):
    """Firmness changes the motion, as much as the control says; without control every vertex is where it was."""
    body, _ = fleshed_character
    free = simulate(body)
    bpy.context.scene.frame_set(1)
    rig = add_rig(body)
    np.testing.assert_array_equal(simulate(body), free)
    rig.firmness = 9.0
    firm = simulate(body)
    size = size_of(free[0])
    assert np.abs(firm - free).max() > 1e-4 * size
    rig.control = 0.0
    np.testing.assert_array_equal(simulate(body), free)


def test_firm_flesh_at_rest(fleshed_character):
    """Rest Pose Preview sinks less where a rig is tense, and as before once it is slack."""
    body, _ = fleshed_character
    body.thew.rest_includes_gravity = False
    bpy.context.scene.frame_set(6)

    def shown(control):
        if len(body.thew.rigs):
            body.thew.rigs[0].control = control
        activate(body)
        assert bpy.ops.thew.settle() == {"FINISHED"}
        return world(body).copy()

    slack = shown(0.0)
    add_rig(body).firmness = 9.0
    tense, again = shown(1.0), shown(0.0)
    size = size_of(slack)
    np.testing.assert_allclose(again, slack, atol=1e-6 * size)
    assert np.abs(tense - slack).max() > 1e-4 * size
    body.thew.use_gravity = False
    weightless = shown(0.0)
    assert np.abs(tense - weightless).mean() < 0.7 * np.abs(slack - weightless).mean()


def test_firmness_in_files_and_undo(fleshed_character, tmp_path):
    """A rig file and undo keep the firmness."""
    body, _ = fleshed_character
    name = body.name
    simulate(body)
    rig = add_rig(body)
    rig.firmness = 2.5
    path = str(tmp_path / "rigs.toml")
    assert bpy.ops.thew.rig_export(filepath=path) == {"FINISHED"}
    assert bpy.ops.thew.rig_import(filepath=path) == {"FINISHED"}
    assert body.thew.rigs[-1].firmness == 2.5 and len(body.thew.rigs) == 2
    bpy.ops.ed.undo_push(message="firm")
    rig = bpy.data.objects[name].thew.rigs[0]
    rig.firmness = 4.0
    bpy.ops.ed.undo_push(message="firmer")
    bpy.ops.ed.undo()
    assert bpy.data.objects[name].thew.rigs[0].firmness == 2.5


def test_method_without_firmness_is_told(fleshed_character):
    """A method whose stiffness cannot change is refused in a sentence that names it."""
    body, _ = fleshed_character
    simulate(body)
    add_rig(body).firmness = 1.0
    body.thew.method = "blended"
    activate(body)
    assert "blended" in refusal(bpy.ops.thew.simulate)
    assert part("live.session").register.state_of(body) is not None

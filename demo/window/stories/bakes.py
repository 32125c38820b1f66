# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes in the window: the dialog and the list."""

from __future__ import annotations

import time

import bpy

from demo.extension import addon

from .. import camera, mouse, stage
from ..camera import Foldouts, edit

#: Place of the mouse as a dialog opens: the whole dialog then stands over the 3D view.
DIALOG_PLACE = (560, 620)
#: Point of the scene beside the character: looked at, it leaves nothing but the floor around a dialog.
EMPTY_PLACE = (30.0, 0.0, 0.74)


def bakes(save):
    """Takes the dialog of a bake for two targets, and the list after all actions were baked into each."""
    body = yield from stage.add_biped("walk")
    camera.look(EMPTY_PLACE, 8.0, 35.0)
    yield from _bake_as(body, lambda pixels: save("bake-dialog.png", pixels))
    addon("bake.remaking").choose(body, {"target": "HELPER_BONES", "bones": 16, "influences": 4})
    yield from _bake_as(body, lambda pixels: save("bake-helper-bones.png", pixels))
    Foldouts.open("Bake")
    yield from stage.wait_until_drawn()
    camera.scroll_down()
    yield 0.7
    save("panel-bakes.png", camera.sidebar())


def _bake_as(body, take_dialog):
    """Opens the dialog of a bake with what was chosen last, takes it, accepts it, and waits for the bake."""
    Foldouts.open("Bake")
    yield from stage.wait_until_drawn()
    mouse.send("MOUSEMOVE", "NOTHING", DIALOG_PLACE)
    yield 0.3
    yield from stage.wait_until_still()
    before, count = camera.screen(), len(body.thew.bakes)
    edit(bpy.ops.thew.bake_as, "INVOKE_DEFAULT")
    yield 1.5
    take_dialog(camera.changed(before, camera.view3d()["region"]))
    for value in ("PRESS", "RELEASE"):
        mouse.send("RET", value, DIALOG_PLACE)
        yield 0.3
    until = time.monotonic() + stage.PATIENCE
    while len(body.thew.bakes) == count:
        assert time.monotonic() < until, "no bake was made"
        yield 0.5


STORIES = (bakes,)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh in the window."""

from __future__ import annotations

import bpy

from .. import camera, mouse, stage
from ..camera import Foldouts, edit


def take_keyframed(save):
    """Takes a sack that leaps through its shape keys: panel, curves, times, and a key that is modelled."""
    stage.clear_scene()
    sack = stage.sack()
    camera.look((0.0, 0.0, 3.6), 20.0, 25.0)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 72
    edit(bpy.ops.thew.keyframed_add, frame_start=1.0, frame_end=72.0)
    settings = sack.thew.keyframed
    settings.show_curves, settings.show_arrows = True, True
    settings.active = 2
    scene.frame_set(36)
    yield 1.0  # Blender draws the new scene before panels are registered anew
    Foldouts.open("Keyframed Flesh")
    yield from stage.wait_until_drawn()
    yield 1.0
    save("keyframed-panel.png", camera.sidebar())
    save("keyframed-curves.png", camera.crop(camera.view3d()["region"])[60:])
    area = camera.view3d()["area"]
    area.ui_type = "DOPESHEET"
    yield 0.8
    save("keyframed-dopesheet.png", camera.crop(area)[:190, :900])
    area.ui_type = "VIEW_3D"
    yield 0.8
    settings.show_curves = False
    scene.frame_set(25)
    edit(bpy.ops.thew.keyframed_model, "INVOKE_DEFAULT")
    yield 1.0
    for corner in ((-2.2, 0.0, 1.0), (2.2, 0.0, 1.0)):
        for value in ("PRESS", "RELEASE"):
            mouse.send("LEFTMOUSE", value, mouse.at(corner), shift=True)
            yield 0.4
    yield from mouse.pull(mouse.at((1.9, 0.0, 4.2)), mouse.at((3.6, 0.0, 5.2)))
    yield 0.8
    save("keyframed-model.png", camera.crop(camera.view3d()["region"])[60:])
    yield from mouse.press("ESC")


STORIES = (take_keyframed,)

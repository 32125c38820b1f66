# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh in the window: the panel and its foldouts, contacts, modes, a drag."""

from __future__ import annotations

import bpy
import numpy as np

from demo.extension import flesh_of

from .. import camera, mouse, stage
from ..camera import Foldouts, edit


def panels(save):
    """Takes the first screen, and each foldout."""
    body = yield from stage.add_biped("walk", worn=True)
    bpy.context.scene.frame_set(14)
    camera.look((0.0, 0.0, 0.74), 2.0, 35.0)
    Foldouts.open("Look")
    yield from stage.wait_until_drawn()
    save("panel.png", camera.screen())
    for label in ("Look", "Details", "Regions", "Contact", "Bake", "Advanced"):
        Foldouts.open(label)
        yield from stage.wait_until_drawn()
        save(f"panel-{label.lower()}.png", camera.sidebar())
    body.thew.show_map = True
    Foldouts.open()
    yield from stage.wait_until_drawn()
    save("panel-map.jpg", camera.crop(camera.view3d()["region"])[:, 150:-120])


def contacts(save):
    """Takes the contacts of a belly with thighs, drawn over the skin."""
    body = yield from stage.add_biped("jump", use_contact=True)
    clip, flesh = bpy.context.scene, flesh_of(body)
    counts = [len(flesh.clip.contacts(frame)) for frame in range(clip.frame_end - clip.frame_start + 1)]
    clip.frame_set(clip.frame_start + int(np.argmax(counts)))
    body.thew.show_contacts = True
    camera.look((0.0, -0.1, 0.55), 1.0, 35.0, height=0.0)
    Foldouts.open()
    yield from stage.wait_until_drawn()
    pixels = camera.crop(camera.view3d()["region"])
    save("panel-contacts.jpg", pixels[100:700, 200:980])


def modal(save):
    """Takes the foldout Advanced with the method Modal."""
    body = yield from stage.add_biped("walk", method="modal")
    bpy.context.scene.frame_set(14)
    camera.look((0.0, 0.0, 0.74), 2.0, 60.0)
    Foldouts.open("Advanced")
    yield from stage.wait_until_drawn()
    save("modal-panel.jpg", camera.screen())
    del body


def drag(save):
    """Takes modal flesh at rest, dragged, and held: three views beside each other."""
    body = yield from stage.add_biped("walk", method="modal")
    bpy.context.scene.frame_set(1)
    camera.look((0.0, 0.0, 0.75), 1.75, 0.0, height=0.0, ortho=True)
    Foldouts.open()
    yield from stage.wait_until_drawn()
    shots = []
    start, end = mouse.at((0.12, -0.34, 0.8)), mouse.at((0.34, -0.4, 0.92))
    shots.append(stage.middle())
    edit(bpy.ops.thew.modal_drag, "INVOKE_DEFAULT")
    yield 0.6
    yield from mouse.pull(start, end)
    shots.append(stage.middle())
    mouse.send("LEFTMOUSE", "RELEASE", end)
    yield 0.4
    yield from mouse.press("ESC")
    shots.append(stage.middle())
    save("drag.png", np.concatenate(shots, axis=1))
    del body


STORIES = (panels, contacts, modal, drag)

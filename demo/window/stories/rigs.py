# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs and limbs in the window."""

from __future__ import annotations

import bpy
import numpy as np

from demo.extension import addon

from .. import camera, mouse, stage
from ..camera import Foldouts, edit


def rigs(save):
    """Takes the foldout Rigs, with a breath under the chest that is keyed."""
    body = yield from stage.add_biped("walk")
    edit(bpy.ops.thew.rig_add, template="RADIAL", bone="chest", name="Breath")
    rig = body.thew.rigs[0]
    start, end = bpy.context.scene.frame_start, bpy.context.scene.frame_end
    for frame, control in ((start, 0.0), ((start + end) // 2, 1.0), (end, 0.0)):
        rig.control = control
        rig.keyframe_insert("control", frame=frame)
    edit(bpy.ops.thew.simulate)
    yield from stage.wait_until_ready(body)
    bpy.context.scene.frame_set((start + end) // 3)
    camera.look((0.0, 0.0, 0.74), 2.0, 35.0)
    Foldouts.open("Rigs")
    yield from stage.wait_until_drawn()
    save("rigs-panel.jpg", camera.screen())
    save("panel-rigs.png", camera.sidebar())


def limbs(save):
    """Takes a limb of the biped: the foldout Limbs, and its handles while they are dragged."""
    armature, body = stage.bodo("walk")
    armature.data.pose_position = "REST"
    camera.look((0.3, 0.0, 0.95), 0.75, 0.0, height=0.0, ortho=True)
    edit(bpy.ops.thew.limb_add, bones="upperarm.L\nforearm.L")
    Foldouts.open("Limbs")
    yield from stage.wait_until_drawn()
    save("panel-limbs.png", camera.crop(camera.view3d()["area"])[80:, 350:])
    hubs = addon("edit.limbs").model_of(body.thew.limbs[0]).hubs
    edit(bpy.ops.thew.limb_drag, "INVOKE_DEFAULT")
    yield 0.8
    middle = hubs[len(hubs) // 2]
    start, end = mouse.at(middle), mouse.at(middle + np.array([0.04, 0.0, 0.05]))
    yield from mouse.pull(start, end)
    mouse.send("LEFTMOUSE", "RELEASE", end)
    yield 0.8
    save("limb-handles.png", camera.crop(camera.view3d()["area"])[80:, 350:])
    yield from mouse.press("RET")


STORIES = (rigs, limbs)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Tuning in the window: marks in the timeline, and two sets of settings side by side."""

from __future__ import annotations

import bpy
import numpy as np

from demo.extension import addon

from .. import camera, stage
from ..camera import Foldouts, edit

#: Frames of the jump to another place, of a restart, and in view.
JUMP, RESTART, VIEWED = 31, 16, 45


def timeline(save):
    """Takes the timeline of a walk that jumps to another place: ready frames, a restart, and a cut that nobody has judged."""
    armature, body = stage.bodo("walk")
    for frame, x in ((1, 0.0), (JUMP - 1, 0.0), (JUMP, 1.2)):
        armature.location.x = x
        armature.keyframe_insert("location", index=0, frame=frame)
    edit(bpy.ops.thew.add, cells_across=12)
    edit(bpy.ops.thew.restart_here, frame=RESTART)
    edit(bpy.ops.thew.simulate)
    yield from stage.wait_until_ready(body)
    bpy.context.scene.frame_set(VIEWED)
    window = bpy.context.window_manager.windows[0]
    area = next(each for each in window.screen.areas if each.type == "DOPESHEET_EDITOR")
    region = next(each for each in area.regions if each.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.ops.action.view_all()
    Foldouts.open()
    yield from stage.wait_until_drawn()
    yield from stage.wait_until_still()
    save("timeline.png", camera.crop(area))


def compare(save):
    """Takes a belly with the settings A and B at the same frame, and the foldout that tells what differs."""
    body = yield from stage.add_biped("jump", softness=0.35)
    bpy.context.scene.frame_set(farthest_frame(body))
    camera.look((0.0, -0.1, 1.05), 2.3, 60.0, height=0.0)
    Foldouts.open("Compare")
    yield from stage.wait_until_drawn()
    shots = []
    edit(bpy.ops.thew.compare_store)
    body.thew.softness, body.thew.settling = 0.7, 0.8
    yield from stage.wait_until_updated()
    yield from stage.wait_until_still()
    shots.append(stage.middle())
    edit(bpy.ops.thew.compare_swap)
    yield from stage.wait_until_still()
    shots.append(stage.middle())
    camera.scroll_down()
    yield 0.7
    shots.append(camera.crop(camera.view3d("UI")["region"]))
    save("compare.jpg", np.concatenate(shots, axis=1))
    edit(bpy.ops.thew.compare_end)


def farthest_frame(body) -> int:
    """Returns the frame in which the flesh is moved farthest from the skin."""
    scene, offsets, far = bpy.context.scene, addon("scene.offsets"), []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        far.append(np.abs(offsets.written(body)[0]).max())
    return scene.frame_start + int(np.argmax(far))


STORIES = (timeline, compare)

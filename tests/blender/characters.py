# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports real characters from THEW_DATA and chooses their clips."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import bpy
from helpers import activate, part

#: The tests look at this many frames of a clip and at this many meshes of a character, the largest ones.
FRAMES = 36
MESHES = 2
ACCELERATES = re.compile(r"run|gallop|jump|trot", re.IGNORECASE)
FAST = re.compile(r"run|gallop|jump|trot|attack|dance|cheer|fly flap", re.IGNORECASE)


def load(file: Path) -> None:
    """Opens an empty scene with the character, 24 frames a second."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 24, 1.0
    with contextlib.redirect_stdout(io.StringIO()):
        if file.suffix == ".fbx":
            bpy.ops.import_scene.fbx(filepath=str(file))
        elif file.suffix == ".blend":
            bpy.ops.wm.open_mainfile(filepath=str(file))
        else:
            bpy.ops.import_scene.gltf(filepath=str(file))


def meshes() -> list[bpy.types.Object]:
    """Returns the meshes that an armature deforms, largest first."""
    found = [
        obj
        for obj in bpy.context.scene.objects
        if obj.type == "MESH" and any(m.type == "ARMATURE" and m.object for m in obj.modifiers)
    ]
    return sorted(found, key=lambda obj: (-len(obj.data.vertices), obj.name))


def armature() -> bpy.types.Object:
    return part("scene.reading").armature_modifier(meshes()[0]).object


def clips() -> list[bpy.types.Action]:
    """Returns the actions that move bones, lively ones first."""
    found = []
    for action in bpy.data.actions:
        if hasattr(action, "layers"):
            curves = [c for la in action.layers for s in la.strips for bag in s.channelbags for c in bag.fcurves]
        else:
            curves = action.fcurves
        if any("pose.bones" in curve.data_path for curve in curves):
            found.append(action)
    return sorted(found, key=lambda action: (not FAST.search(action.name), action.name))


def play_clip(action: bpy.types.Action, frames: int = FRAMES) -> range:
    """Puts the armature on `action` and the scene on its first frames, and returns those frames."""
    scene, rig = bpy.context.scene, armature()
    animation = rig.animation_data or rig.animation_data_create()
    for track in list(animation.nla_tracks):
        animation.nla_tracks.remove(track)
    animation.action = action
    if hasattr(action, "slots") and action.slots:
        animation.action_slot = action.slots[0]
    start = int(action.frame_range[0])
    scene.frame_start, scene.frame_end = start, int(min(action.frame_range[1], start + frames - 1))
    scene.frame_set(start)
    return range(scene.frame_start, scene.frame_end + 1)


def add(obj, **options) -> None:
    activate(obj)
    assert bpy.ops.thew.add(**options) == {"FINISHED"}

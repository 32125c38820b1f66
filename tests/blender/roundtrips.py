# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends meshes out through Blender's exporters with their defaults and back, and compares them vertex by vertex."""

from __future__ import annotations

import contextlib
import io
import math
from pathlib import Path

import bpy
import numpy as np
from helpers import size_of, world
from mathutils import kdtree

#: What Blender offers, nothing set but the name of the file.
EXPORT = {".glb": "gltf", ".fbx": "fbx"}


def shapes(obj, frames) -> np.ndarray:
    """Returns world positions at `frames`, which may lie between whole ones, [f, n, 3]."""
    rows = []
    for frame in frames:
        bpy.context.scene.frame_set(math.floor(frame), subframe=frame - math.floor(frame))
        rows.append(world(obj))
    return np.array(rows)


def export(path: Path) -> str:
    """Writes the scene, and returns the exporter's printed lines."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert getattr(bpy.ops.export_scene, EXPORT[path.suffix])(filepath=str(path)) == {"FINISHED"}
    return printed.getvalue()


def bring_back(path: Path) -> None:
    """Opens an empty scene at 24 frames a second, and imports the file into it."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 24, 1.0
    with contextlib.redirect_stdout(io.StringIO()):
        assert getattr(bpy.ops.import_scene, EXPORT[path.suffix])(filepath=str(path)) == {"FINISHED"}


def baked_mesh() -> bpy.types.Object:
    """Returns the one mesh with baked keys that came back."""
    found = [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH" and obj.data.shape_keys is not None and "Thew " in obj.data.shape_keys.key_blocks[-1].name
    ]
    assert len(found) == 1, [obj.name for obj in bpy.data.objects]
    return found[0]


def armature_above(obj: bpy.types.Object) -> bpy.types.Object:
    """Returns the armature that bends or carries a mesh."""
    bending = [modifier.object for modifier in obj.modifiers if modifier.type == "ARMATURE"]
    return bending[0] if bending else obj.parent


def play_animation(obj: bpy.types.Object, name: str) -> None:
    """Lets a mesh's armature, its parents and its shape keys play the one animation `name` of the file."""
    players = [obj.data.shape_keys, *(modifier.object for modifier in obj.modifiers if modifier.type == "ARMATURE")]
    above = obj.parent
    while above is not None:
        players.append(above)
        above = above.parent
    for player in players:
        if player is not None and player.animation_data is not None:
            take(player, name)


def take(player: bpy.types.ID, name: str) -> None:
    """Puts an object or shape keys on their part of an animation, or on nothing where it has none for them."""
    animation = player.animation_data
    for track in animation.nla_tracks:  # glTF: an NLA track each, of that name
        if track.name == name:
            strip = track.strips[0]
            animation.action = strip.action
            if hasattr(strip, "action_slot"):
                animation.action_slot = strip.action_slot
            return
    for action in bpy.data.actions:  # FBX: an action each, called "its name|the armature's|that name"
        if action.name.startswith(f"{player.name}|") and action.name.endswith(f"|{name}"):
            animation.action = action
            if hasattr(action, "slots"):
                animation.action_slot = action.slots[0]
            return
    animation.action = None


def owners(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Finds the former vertex of each one that came back, [m]; from positions [f, n, 3] and [f, m, 3] of the same
    frames.

    Exporters split vertices at seams. A vertex that came back is one that stood at the same place in the first frame;
    where several stood there, it is the one that moves most alike. The test fails unless every vertex has come back.
    """
    size = size_of(before[0])
    tree = kdtree.KDTree(len(before[0]))
    for index, point in enumerate(before[0]):
        tree.insert(point, index)
    tree.balance()
    found, came = np.empty(len(after[0]), dtype=int), np.zeros(len(before[0]), dtype=bool)
    for index, point in enumerate(after[0]):
        near = [other for _, other, _ in tree.find_range(point, 2e-3 * size)]
        assert near, f"vertex {index} came back where there was none"
        gaps = np.linalg.norm(before[:, near] - after[:, index, None], axis=2).max(axis=0)
        found[index] = near[int(gaps.argmin())]
        came[near] = True
    assert came.all(), f"{(~came).sum()} vertices did not come back"
    return found


def largest_distances(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns the largest distance of a vertex from its place, of the size of the first shape, for each frame; [f]."""
    return np.linalg.norm(after - before, axis=2).max(axis=1) / size_of(before[0])

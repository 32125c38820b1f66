# SPDX-License-Identifier: MIT OR Apache-2.0
"""Characters for the demo: our own, or from any file that Blender reads."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

LONGEST_CLIP = 120
"""Maximum number of frames shown of foreign files' clips."""


class Unusable(Exception):
    """A file that the demo cannot use. The message says why and what to do."""


def open_file(path: Path) -> None:
    """Opens a .blend, or imports a glTF or FBX into an empty scene."""
    if not path.is_file():
        raise Unusable(f"There is no file {path}.")
    kind = path.suffix.lower()
    try:
        if kind == ".blend":
            bpy.ops.wm.open_mainfile(filepath=str(path))
            return
        empty_scene()
        if kind in (".glb", ".gltf"):
            bpy.ops.import_scene.gltf(filepath=str(path))
        elif kind == ".fbx":
            bpy.ops.import_scene.fbx(filepath=str(path))
        else:
            raise Unusable(f"{path.name}: only .glb, .gltf, .fbx and .blend files can be opened.")
    except RuntimeError as error:
        hint = ""
        if kind == ".fbx" and "cast_shadow" in str(error):
            hint = " Blender 5.0.1 cannot import FBX files that contain lights: export it without, or as glTF."
        raise Unusable(f"{path.name} could not be read: {str(error).strip().splitlines()[-1]}.{hint}") from error


def empty_scene() -> None:
    """Loads an empty scene at 24 frames per second. Keeps the extension enabled."""
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 24, 1.0


def skinned_meshes() -> list[bpy.types.Object]:
    """Returns the visible meshes with an Armature modifier and vertex groups, sorted by name."""
    found = []
    for obj in bpy.context.view_layer.objects:
        armed = any(m.type == "ARMATURE" and m.object for m in obj.modifiers)
        if obj.type == "MESH" and armed and obj.vertex_groups and obj.visible_get():
            found.append(obj)
    return sorted(found, key=lambda obj: obj.name)


def armature_of(obj: bpy.types.Object) -> bpy.types.Object:
    """Returns the armature that moves a mesh."""
    return next(m.object for m in obj.modifiers if m.type == "ARMATURE" and m.object)


def clips() -> list[str]:
    """Returns the sorted names of all actions that move bones."""
    return sorted(action.name for action in bpy.data.actions if _moves_bones(action))


def choose_clip(armatures: list[bpy.types.Object], wanted: str | None) -> str:
    """Assigns one action to the armatures, sets the scene's range to it, and returns its name."""
    actions = [bpy.data.actions[name] for name in clips()]
    if not actions:
        raise Unusable("There is no animation of bones in this file.")
    present = [a.animation_data.action for a in armatures if a.animation_data and a.animation_data.action]
    action = next((a for a in actions if a.name == wanted), None)
    if wanted and action is None:
        raise Unusable(f"There is no action '{wanted}'; there are: {', '.join(a.name for a in actions)}.")
    action = action or (present[0] if present else actions[0])
    for armature in armatures:
        data = armature.animation_data_create()
        for track in data.nla_tracks:
            track.mute = True
        data.action = action
        if hasattr(data, "action_slot") and data.action_slot is None and action.slots:
            data.action_slot = action.slots[0]
    scene = bpy.context.scene
    start, end = int(np.floor(action.frame_range[0])), int(np.ceil(action.frame_range[1]))
    scene.frame_start, scene.frame_end = start, max(start + 1, min(end, start + LONGEST_CLIP - 1))
    scene.frame_set(start)
    return action.name


def evaluated_positions(obj: bpy.types.Object) -> np.ndarray:
    """Returns the world positions of the evaluated mesh, [n, 3]."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.data
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.attributes["position"].data.foreach_get("vector", flat)
    matrix = np.array(evaluated.matrix_world)
    return flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def _moves_bones(action: bpy.types.Action) -> bool:
    curves = getattr(action, "fcurves", None)
    if curves is None:
        curves = [
            curve
            for layer in action.layers
            for strip in layer.strips
            for bag in strip.channelbags
            for curve in bag.fcurves
        ]
    return any(curve.data_path.startswith("pose.bones") for curve in curves)

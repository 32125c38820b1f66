# SPDX-License-Identifier: MIT OR Apache-2.0
"""Characters for the measures of the look, and their liveliest clips: those whose skin accelerates most."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import bpy
import numpy as np

from assets import characters as own
from demo import characters

KINDS = (".glb", ".gltf", ".fbx", ".blend")
MESHES = 3
"""Number of meshes of a character that are used, the largest ones."""
FRAMES = 60
"""Number of frames of a clip that are used, the first ones."""


def sources(folder: Path | None) -> list[str]:
    """Returns our own characters by name, then every file of the folder that Blender opens."""
    files = sorted(folder.iterdir()) if folder else []
    return [*own.FIGURES, *[str(file) for file in files if file.suffix.lower() in KINDS]]


def title(source: str) -> str:
    """Returns the name of a source: its file name without the ending of glTF, the usual one."""
    return Path(source).name.removesuffix(".glb").removesuffix(".gltf")


def open_source(source: str) -> list[bpy.types.Object]:
    """Opens one of `sources` in an empty scene of 24 frames a second. Returns its skinned meshes, largest first."""
    with contextlib.redirect_stdout(io.StringIO()):
        if source in own.FIGURES:
            characters.empty_scene()
            own.create(source)
        else:
            characters.open_file(Path(source))
    meshes = sorted(characters.skinned_meshes(), key=lambda obj: (-len(obj.data.vertices), obj.name))
    return meshes[:MESHES]


def play_clip(meshes: list[bpy.types.Object], clip: str, frames: int = FRAMES) -> range:
    """Sets the armatures to an action and the scene to its first frames, at least two.

    Bones that the action does not key are at rest, not where another action left them.
    """
    for armature in armatures(meshes):
        for bone in armature.pose.bones:
            bone.matrix_basis.identity()
    characters.choose_clip(armatures(meshes), clip)
    scene = bpy.context.scene
    scene.frame_end = min(scene.frame_end, scene.frame_start + frames - 1)
    return range(scene.frame_start, scene.frame_end + 1)


def armatures(meshes: list[bpy.types.Object]) -> list[bpy.types.Object]:
    """Returns the armatures of the meshes, each once."""
    return list({obj.name: obj for obj in map(characters.armature_of, meshes)}.values())


def liveliest(meshes: list[bpy.types.Object], count: int = 3, frames: int = FRAMES) -> list[str]:
    """Returns the names of the `count` clips in whose first `frames` the largest mesh's skin accelerates most.

    The measure is the RMS over vertices and frames.
    """
    lively = []
    for clip in characters.clips():
        played = play_clip(meshes, clip, frames)
        if len(played) < 3:
            continue
        skin = []
        for frame in played:
            bpy.context.scene.frame_set(frame)
            skin.append(characters.evaluated_positions(meshes[0]))
        lively.append((-float(np.sqrt(np.mean(np.diff(skin, n=2, axis=0) ** 2))), clip))
    return [clip for _, clip in sorted(lively)[:count]]

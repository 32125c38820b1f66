# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes of a file that the command line works on: by name, by clips, and the names of their shots."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import bpy

from ..bake import baking
from ..live import shots
from ..logic.errors import Refusal
from ..logic.native import core
from ..scene import libraries


def clip_tasks(clips: list[Path], name: str | None) -> dict[str, baking.ClipTask]:
    """Returns, by the mesh's name, the function that makes its flesh show the clip in a file."""
    if name is not None and len(clips) > 1:
        raise Refusal(
            f"There are {len(clips)} clips for the one object “{name}”: give one of them, or leave --object out"
        )
    found: dict[str, baking.ClipTask] = {}
    for path in clips:
        if os.path.isdir(path):  # False for a name that is too long
            raise Refusal(f"“{path}” is a folder: name the clips in it, as in --clip {path / '*.clip.thew'}")
        clip, called = core().Clip.load(path), f"“{path.name}”"
        mesh = name or shots.ShotNote.from_clip(clip, called).object
        if mesh in found:
            raise Refusal(f"{called} is a second clip of “{mesh}”: give one clip for each mesh")
        found[mesh] = partial(shots.adopt, clip=clip, name=called)
    return found


def meshes_for_clips(scene, tasks: dict[str, baking.ClipTask], name: str | None) -> list[bpy.types.Object]:
    """Returns the meshes that clips were made for, or the one called `name`."""
    gone = [mesh for mesh in tasks if name is None and mesh not in scene.objects]
    if gone:
        raise Refusal(
            f"The clip was exported from “{gone[0]}”, which is not in the scene: name the mesh it is for with --object"
        )
    return [meshes_to_bake(scene, mesh)[0] for mesh in tasks]


def shot_name(file: Path, name: str, taken: set[str]) -> str:
    """Returns a file name for the shot of the mesh `name`, unique even on systems that ignore case."""
    plain = f"{file.stem}.{re.sub(r'[^0-9A-Za-z_-]+', '_', name)}"
    found, number = f"{plain}.shot.thew", 2
    while found.lower() in taken:
        found, number = f"{plain}.{number}.shot.thew", number + 1
    taken.add(found.lower())
    return found


def meshes_to_bake(scene, name: str | None) -> list[bpy.types.Object]:
    """Returns the meshes to bake: the one called `name`, or all with an Armature modifier or keyframed flesh."""
    if name is not None:
        obj = scene.objects.get(name)
        if obj is None:
            meshes = ", ".join(f"“{o.name}”" for o in scene.objects if o.type == "MESH") or "none"
            raise Refusal(f"There is no object “{name}” in the scene; its meshes are: {meshes}")
        return [obj]
    found = [o for o in scene.objects if o.type == "MESH" and (has_armature_modifier(o) or o.thew.made.keyframed)]
    if not found:
        reasons = [*left_instances(scene), *filter(None, map(libraries.away_text, bpy.data.libraries))]
        nothing = "No mesh of the scene has an Armature modifier or keyframed flesh: there is nothing to bake"
        raise Refusal(reasons[0] if reasons else nothing)
    return found


def left_instances(scene) -> list[str]:
    """Returns a sentence on each character that only an instance of its collection shows: it has no mesh in the scene."""
    shown = [o for o in scene.objects if any(map(has_armature_modifier, libraries.instanced_objects(o)))]
    script = "; in a script bpy.ops.thew.make_override() does so"
    return [libraries.instance_text(o) + (script if libraries.can_override(o) else "") for o in shown]


def has_armature_modifier(obj) -> bool:
    """Returns whether a mesh has an Armature modifier."""
    return any(modifier.type == "ARMATURE" for modifier in obj.modifiers)

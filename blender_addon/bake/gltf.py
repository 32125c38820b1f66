# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks of Blender's glTF exporter: baked keys join the animation of the bones.

By default the exporter writes one animation for the action of an armature and another one for that of the shape keys,
and viewers play one at a time. It merges animations of the same name (by the names of actions, or before Blender 4.4 of
NLA tracks). So the keys' animation gets the name of the armature's. Nothing in the file is changed. The exporter finds
the class and the function in the extension's root module by their names, and calls methods by theirs.
"""

from __future__ import annotations

import bpy

from ..logic.errors import sentence
from ..scene import animation, writing
from . import export_check
from .clips import animation_name, armature_of, clip_of
from .export_check import plays_bake


def glTF2_pre_export_callback(export_settings) -> None:
    """Warns of what the export would do wrong, on the console and, in a window, in a popup. Called before the export."""
    objects = bpy.context.scene.objects
    if export_settings.get("gltf_selected"):
        objects = [obj for obj in objects if obj.select_get()]
    for text in export_check.check_all(objects, "EXPORT_SCENE_OT_gltf"):
        export_settings["log"].warning(f"Thew: {sentence(text)}", popup=True)


class glTF2ExportUserExtension:
    """The exporter's hooks. It creates one instance for each export."""

    def gather_actions_hook(self, blender_object, gathered, export_settings) -> None:
        """Renames the animations of one object. `gathered`: a table of tracks by name before Blender 4.4, `ActionsData` since."""
        if blender_object is None:
            return
        name, actions = shared_animation(blender_object)
        for action in actions:
            if hasattr(gathered, "blender_tracks"):
                if action.name in gathered.blender_tracks:
                    gathered.blender_tracks[action.name] = name
                continue
            for data in gathered.values():
                if data.action == action:
                    data.force_name(name)
                    for slot in data.slots:
                        slot.track = name

    def gather_mesh_hook(
        self, mesh, blender_mesh, blender_object, vertex_groups, modifiers, materials, export_settings
    ) -> None:
        """Switches off the baked keys of a mesh outside the animation that plays them, whatever frame is shown."""
        meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.data == blender_mesh]
        owners = [blender_object] if blender_object is not None else meshes
        baked = {key.name for obj in owners for key in writing.baked_keys(obj)}
        names = (mesh.extras or {}).get("targetNames", ())
        if baked and mesh.weights and len(names) == len(mesh.weights):
            mesh.weights = [0.0 if name in baked else w for name, w in zip(names, mesh.weights, strict=True)]


def shared_animation(obj: bpy.types.Object) -> tuple[str, list[bpy.types.Action]]:
    """Returns the name of the animation that bones and baked keys share, and the actions of `obj` that belong to it."""
    if obj.type == "ARMATURE":
        led = [other for other in bpy.data.objects if other.type == "MESH" and plays_bake(other)]
        clips = [clip for other in led if armature_of(other) == obj and (clip := clip_of(other)) is not None]
        return (animation_name(obj, clips[0]), [clips[0]]) if clips else ("", [])
    if obj.type != "MESH" or not plays_bake(obj):
        return "", []
    armature, clip, played = armature_of(obj), clip_of(obj), animation.played_action(obj.data.shape_keys)
    if armature is None or clip is None or played is None:
        return "", []
    return animation_name(armature, clip), [played.action]

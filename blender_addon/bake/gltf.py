# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender's glTF exporter asks of extensions: baked keys join the animation of the bones.

By itself it writes one animation for the action of an armature and another one for that of the shape keys, and viewers
play one at a time. The exporter merges animations of one name (by the names of actions, or before Blender 4.4 of NLA
tracks), so the keys' animation is given the name of the armature's. Nothing in the file is changed for it. The exporter
finds the class and the function in the extension's root module by their names, and calls methods by theirs.
"""

from __future__ import annotations

import bpy

from ..logic.errors import sentence
from ..scene.reading import armature_modifier
from . import export_check
from .export_check import plays_bake

#: Names of NLA tracks that the exporter takes for nobody's choice: it merges nothing by them.
NAMELESS = ("NlaTrack", "[Action Stash]")


def glTF2_pre_export_callback(export_settings) -> None:
    """Called before anything is gathered: warn of what would go wrong, on the console and, in a window, in a popup."""
    objects = bpy.context.scene.objects
    if export_settings.get("gltf_selected"):
        objects = [obj for obj in objects if obj.select_get()]
    for text in export_check.check_all(objects, "EXPORT_SCENE_OT_gltf"):
        export_settings["log"].warning(f"Thew: {sentence(text)}", popup=True)


class glTF2ExportUserExtension:
    """Made by the exporter for each export, and called with what it gathers."""

    def gather_actions_hook(self, blender_object, gathered, export_settings) -> None:
        """The actions of one object were gathered: a table of tracks by name before Blender 4.4, `ActionsData` since."""
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


def shared_animation(obj: bpy.types.Object) -> tuple[str, list[bpy.types.Action]]:
    """The name of the animation that bones and baked keys share, and the actions of `obj` that belong to it."""
    if obj.type == "ARMATURE":
        action = active_action(obj)
        leads = any(
            armature_of(other) == obj for other in bpy.data.objects if other.type == "MESH" and plays_bake(other)
        )
        return (animation_name(obj), [action]) if action is not None and leads else ("", [])
    if obj.type != "MESH" or not plays_bake(obj):
        return "", []
    armature, action = armature_of(obj), active_action(obj.data.shape_keys)
    if armature is None or action is None or active_action(armature) is None:
        return "", []
    return animation_name(armature), [action]


def armature_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature that moves a mesh: by its modifier, or, when the bake took its place, as its parent."""
    modifier = armature_modifier(obj)
    if modifier is not None and modifier.object is not None:
        return modifier.object
    return obj.parent if obj.parent is not None and obj.parent.type == "ARMATURE" else None


def active_action(item: bpy.types.ID) -> bpy.types.Action | None:
    """The action that an object or its shape keys play."""
    return item.animation_data.action if item.animation_data is not None else None


def animation_name(armature: bpy.types.Object) -> str:
    """What the exporter will call the animation of the armature's action."""
    action, name = active_action(armature), ""
    for track in armature.animation_data.nla_tracks:
        if any(strip.action == action and not strip.mute for strip in track.strips):
            name = track.name
    return name if name and not name.startswith(NAMELESS) else action.name

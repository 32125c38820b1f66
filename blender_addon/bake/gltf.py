# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks of Blender's glTF exporter: baked keys join the animations of the bones.

By default the exporter writes an animation for each action of an armature, and others for the action and the strips of the shape
keys; viewers play one at a time. It merges animations of the same name (by the names of actions, or before Blender 4.4 and in the
mode NLA Tracks by those of tracks). So each clip of the keys is added to what it exports, under the name of the armature's animation.
What the keys play meanwhile is put back afterwards; nothing in the file is changed. The exporter finds the class and the functions
in the extension's root module by their names, and calls methods by theirs.
"""

from __future__ import annotations

import sys
from typing import Any

import bpy

from ..live import clip_following
from ..logic.errors import sentence
from ..saved import bakes as saved_bakes
from ..scene import key_curves, key_playing, key_tracks, writing
from ..scene.key_playing import moving_armature
from . import clips, export_check
from .clips import DEFAULT_TRACK_NAMES, animation_name
from .export_check import plays_bake
from .traps import WARNING, HookedSettings

#: The exporter's words for what shape keys are, since Blender 4.4 and before.
KEYS, FORMER_KEYS = "KEY", "SHAPEKEY"


def glTF2_pre_export_callback(export_settings) -> None:
    """Tells what the export would do wrong, or at a price, and lets the keys rest. Called before the export."""
    values, log = HookedSettings(export_settings), export_settings["log"]
    for text, level in export_check.check_levels(bpy.context.scene.objects, "EXPORT_SCENE_OT_gltf", values):
        if level == WARNING:
            log.warning(f"Thew: {sentence(text)}", popup=True)
        else:
            log.info(f"Thew: {sentence(text)}")
    mode = export_settings.get("gltf_animation_mode")
    for obj in baked_meshes():
        data = obj.data.shape_keys.animation_data
        if mode == "NLA_TRACKS" and data is not None and key_playing.own_place(obj) is None:
            data.action = None  # the exporter leaves it on top of every track
        elif mode != "SCENE":
            for track in key_tracks.made_tracks(obj):
                track.mute = track.name != key_tracks.REST_TRACK


def glTF2_post_export_callback(_export_settings) -> None:
    """Lets the keys play again what they played before the export."""
    clip_following.follow_all()


class glTF2ExportUserExtension:
    """The exporter's hooks. It creates one instance for each export."""

    def gather_actions_hook(self, blender_object, gathered, export_settings) -> None:
        """Names and adds animations of one object. `gathered`: a table of tracks by name before Blender 4.4, `ActionsData` since."""
        if not isinstance(blender_object, bpy.types.Object):
            return
        keyed = export_settings.get(
            "gltf_morph_anim", True
        )  # without shape keys the exporter fails on their animations
        if blender_object.type == "MESH" and keyed and plays_bake(blender_object):
            add_clips(blender_object, gathered, export_settings)
        for action, name in shared_animations(blender_object).items():
            rename_animation(gathered, action, name)

    def gather_tracks_hook(self, blender_object, gathered, export_settings) -> None:
        """Names the tracks of one object. `gathered`: lists of tracks and names before Blender 4.4, `TracksData` since."""
        if not isinstance(blender_object, bpy.types.Object):
            return
        armature = blender_object if blender_object.type == "ARMATURE" else moving_armature(blender_object)
        names = track_groups(armature.animation_data if armature is not None else None)
        if blender_object.type == "ARMATURE" and any(moving_armature(obj) == armature for obj in baked_meshes()):
            name_tracks(gathered, names, armature.animation_data, None)
        elif blender_object.type == "MESH" and plays_bake(blender_object):
            made = {track.name for track in key_tracks.made_tracks(blender_object)}
            name_tracks(gathered, names, blender_object.data.shape_keys.animation_data, made)

    def gather_mesh_hook(
        self, mesh, blender_mesh, blender_object, vertex_groups, modifiers, materials, export_settings
    ) -> None:
        """Switches off the baked keys of a mesh outside the animations that play them, whatever frame is shown."""
        meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.data == blender_mesh]
        owners = [blender_object] if blender_object is not None else meshes
        baked = {key.name for obj in owners for key in writing.baked_keys(obj)}
        names = (mesh.extras or {}).get("targetNames", ())
        if baked and mesh.weights and len(names) == len(mesh.weights):
            mesh.weights = [0.0 if name in baked else w for name, w in zip(names, mesh.weights, strict=True)]


def baked_meshes() -> list[bpy.types.Object]:
    """Returns the meshes of the file on which a bake plays."""
    return [obj for obj in bpy.data.objects if obj.type == "MESH" and plays_bake(obj)]


# actions --------------------------------------------------------------------------------------------------------------


def shared_animations(obj: bpy.types.Object) -> dict[bpy.types.Action, str]:
    """Returns the actions of an object that belong to animations of bones and baked keys, each with the animation's name."""
    if obj.type == "ARMATURE":
        baked = baked_meshes()
        led = [other for other in baked if moving_armature(other) == obj]
        left = [action for other in baked if moving_armature(other) is None for action, _ in former_clips(other)]
        return {action: action.name for action in left} | {
            action: animation_name(obj, action) for other in led for action in clips.exported_actions(other)
        }
    if obj.type != "MESH" or not plays_bake(obj):
        return {}
    armature = moving_armature(obj)
    if armature is None:
        return {place.action: action.name for action, place in former_clips(obj)}
    found = {}
    for action, clip in clips.exported_actions(obj).items():
        place = key_curves.place_of(clip)
        if place is not None:
            found[place.action] = animation_name(armature, action)
    return found


def former_clips(obj: bpy.types.Object) -> list[tuple[bpy.types.Action, key_curves.CurvePlace]]:
    """Returns the action that the bones played in keys that hold their motion too, with the place of the curves of these keys."""
    clip = saved_bakes.playing(obj).scene_clip
    place = key_curves.place_of(clip) if clip is not None else None
    if place is None or clip.played is None or place == key_playing.own_place(obj):
        return []
    return [(clip.played, place)]


def add_clips(obj: bpy.types.Object, gathered: Any, export_settings) -> None:
    """Adds the clips of a mesh's bake to what the exporter writes of it, and takes out those whose bones it does not write."""
    armature = moving_armature(obj)
    if armature is None:
        return
    written = written_actions(armature, export_settings)
    for action, clip in clips.exported_actions(obj).items():
        place = key_curves.place_of(clip)
        if place is None or place == key_playing.own_place(obj):
            continue  # an action of the artist is written as it is
        take_out(gathered, place)
        if action in written:
            put_in(gathered, place, animation_name(armature, action))


def written_actions(armature: bpy.types.Object, export_settings) -> set[bpy.types.Action]:
    """Returns the actions of an armature that the exporter writes."""
    data, mode = armature.animation_data, export_settings.get("gltf_animation_mode")
    if data is None:
        return set()
    found = {data.action}
    if mode == "ACTIONS":
        for track in data.nla_tracks:
            strips = [strip for strip in track.strips if strip.action is not None and not strip.mute]
            found |= {strip.action for strip in strips} if len(strips) == 1 else set()
    tree = export_settings["vtree"]
    objects = {node.blender_object for node in tree.nodes.values()} - {None}
    lone = sum(obj.type == "ARMATURE" for obj in objects) == 1
    if mode == "BROADCAST" or (export_settings.get("gltf_export_anim_single_armature") and lone):
        found |= set(bpy.data.actions)
    ignored = getattr(bpy.data.scenes[0], "gltf_action_filter", ())
    return found - {None} - {item.action for item in ignored if not item.keep}


def put_in(gathered: Any, place: key_curves.CurvePlace, name: str) -> None:
    """Adds the curves of a clip to what the exporter has gathered of a mesh."""
    action = place.action
    if hasattr(gathered, "blender_tracks"):
        gathered.blender_actions.append(action)
        gathered.blender_tracks[action.name], gathered.action_on_type[action.name] = name, FORMER_KEYS
        return
    data = sys.modules[type(gathered).__module__].ActionData(action)
    data.add_slot(place.slot, KEYS, None)
    gathered.add_action(data)


def take_out(gathered: Any, place: key_curves.CurvePlace) -> None:
    """Takes the curves of a clip out of what the exporter has gathered of a mesh."""
    action = place.action
    if hasattr(gathered, "blender_tracks"):
        gathered.blender_actions[:] = [each for each in gathered.blender_actions if each != action]
        gathered.blender_tracks.pop(action.name, None)
        gathered.action_on_type.pop(action.name, None)
        return
    for data in gathered.actions.get(id(action), ()):
        data.slots[:] = [slot for slot in data.slots if slot.slot.handle != place.slot.handle]
    kept = [data for data in gathered.actions.get(id(action), ()) if data.slots]
    if kept:
        gathered.actions[id(action)] = kept
    else:
        gathered.actions.pop(id(action), None)


def rename_animation(gathered: Any, action: bpy.types.Action, name: str) -> None:
    """Gives the animation of an action a name, by which the exporter merges it with others."""
    if hasattr(gathered, "blender_tracks"):
        if action.name in gathered.blender_tracks:
            gathered.blender_tracks[action.name] = name
        return
    for data in [data for data in gathered.values() if data.action == action][:1]:
        data.force_name(name)
        for slot in data.slots:
            slot.track = name


# tracks ---------------------------------------------------------------------------------------------------------------


def track_groups(data: bpy.types.AnimData | None) -> dict[str, str]:
    """Returns for each track of an armature the name of the animation that the exporter makes of it in the mode NLA Tracks.

    It takes a track that blends along with the one below, and merges no animations with default names.
    """
    groups, name, taken = {}, "", set()
    for track in data.nla_tracks if data is not None else ():
        if not len(track.strips):
            continue
        if not name or all(strip.blend_type == "REPLACE" for strip in track.strips):
            name = track.name
            if name.startswith(DEFAULT_TRACK_NAMES):
                actions = [strip.action.name for strip in track.strips if strip.action is not None]
                name = actions[0] if actions else f"Track {len(groups) + 1}"
            while name in taken:
                name += "+"
            taken.add(name)
        groups[track.name] = name
    return groups


def name_tracks(gathered: Any, groups: dict[str, str], data: bpy.types.AnimData, made: set[str] | None) -> None:
    """Gives the gathered tracks of an object the names of the armature's animations.

    `made`: names of tracks of keys that were made for a bake (None: the tracks are the armature's); those without bones go.
    """
    keys = {KEYS, FORMER_KEYS} if made is not None else {"OBJECT"}
    if hasattr(gathered, "blender_tracks"):
        entries = list(zip(gathered.blender_tracks, gathered.blender_tracks_name, gathered.track_on_type, strict=True))
    else:
        entries = [(each.tracks, each.name, each.on_type) for each in gathered.tracks]
    ours = [entry for entry in entries if entry[2] in keys and is_ours(entry, data, made)]
    tracks = [track for entry in ours for track in entry[0]]
    regrouped: dict[str, list] = {}
    for track in tracks:
        group = groups.get(data.nla_tracks[track.idx].name)
        if group is not None:
            regrouped.setdefault(group, []).append(track)
    kind = ours[0][2] if ours else KEYS
    entries = [entry for entry in entries if entry not in ours] + [
        (found, name, kind) for name, found in regrouped.items()
    ]
    if hasattr(gathered, "blender_tracks"):
        gathered.blender_tracks[:] = [entry[0] for entry in entries]
        gathered.blender_tracks_name[:] = [entry[1] for entry in entries]
        gathered.track_on_type[:] = [entry[2] for entry in entries]
    else:
        make = sys.modules[type(gathered).__module__].TrackData
        gathered.tracks[:] = [make(*entry) for entry in entries]


def is_ours(entry: tuple, data: bpy.types.AnimData, made: set[str] | None) -> bool:
    """Returns whether gathered tracks are those of the armature (`made` None), or made for a bake."""
    return made is None or any(data.nla_tracks[track.idx].name in made for track in entry[0])

# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of Blender's glTF exporter: settings that spoil a bake, and what the format cannot hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy

from ..logic.names import describe
from ..logic.sentences import join_few, plural
from ..scene import animation, armature_actions, key_playing
from . import key_traps
from .skin_traps import skin_numbers, stray_bone_traps
from .traps import (
    MAX_NAMES,
    NOTICE,
    WARNING,
    ExportSettings,
    Trap,
    armature_modifiers,
    clip_ranges,
    in_bones,
    in_rest_space,
    names_of,
    played_range,
    setting_trap,
)  # fmt: skip

#: Change of a curve that counts as movement: single precision rounds values of a few metres or radians by less.
MOVEMENT = 1e-5
#: Number of frames beyond an action in which its curves are looked at: the check runs at every drawing of its panel.
FRAMES_BEYOND = 8


@dataclass(frozen=True)
class Option:
    """A setting of the exporter that spoils every bake unless it has its right value."""

    name: str
    right: Any
    text: str  # with `{names}` of the meshes


OPTIONS = (
    Option("export_animations", True, "glTF export without animations writes {names} without any motion"),
    Option("export_morph", True, "glTF export without shape keys leaves out the baked keys of {names}"),
    Option(
        "export_morph_animation", True, "glTF export without shape key animations writes the baked keys of {names} without their motion"
    ),
    Option("export_frame_step", 1, "glTF export leaves out frames at this sampling rate, and {names} has a baked shape in each"),
)  # fmt: skip


def traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields what an export with these settings would do wrong with the bakes of `meshes`, which play."""
    yield from option_traps(meshes, settings, {option.name for option in OPTIONS})
    yield from skin_traps([obj for obj in meshes if in_rest_space(obj) and armature_modifiers(obj)], settings)
    modified = [obj for obj in meshes if any(m.type != "ARMATURE" and m.show_viewport for m in obj.modifiers)]
    if settings.value("export_apply") and modified:
        text = f"glTF export with Apply Modifiers drops the baked keys of {names_of(modified)}"
        yield setting_trap("export_apply", modified[0], text, settings, export_apply=False)
    yield from mode_traps(meshes, settings)
    for obj in meshes:
        yield from unbaked_traps(obj, settings)
    yield from range_traps(meshes, settings, scene)
    for obj in meshes:
        yield from key_traps.of_gltf(obj, settings)
    yield from time_traps(meshes, settings, scene)


def option_traps(meshes: list[bpy.types.Object], settings: ExportSettings, wanted: set[str]) -> Iterator[Trap]:
    """Yields traps of the `wanted` ones of `OPTIONS`."""
    names = names_of(meshes)
    for option in OPTIONS:
        value = settings.value(option.name)
        if option.name in wanted and value is not None and value != option.right:
            change = {option.name: option.right}
            yield setting_trap(option.name, meshes[0], option.text.format(names=names), settings, **change)


def skin_traps(meshes: list[bpy.types.Object], settings: ExportSettings) -> Iterator[Trap]:
    """Yields traps about the skin of bakes in rest space, which the file must hold."""
    if not meshes:
        return
    if settings.value("export_skins") is False:
        text = f"glTF export without skinning writes {names_of(meshes)} without the bones that move the baked keys"
        yield setting_trap("export_skins", meshes[0], text, settings, export_skins=True)
        return
    limit = settings.value("export_influence_nb")
    for obj in meshes:
        most, _ = skin_numbers(obj, settings)
        if limit is not None and most > limit and not settings.value("export_all_influences"):
            text = (
                f"Vertices of {describe(obj)} follow up to {most} bones and glTF export writes {limit}: its skin would bend "
                "otherwise than the bake"
            )
            yield setting_trap("export_all_influences", obj, text, settings, export_all_influences=True)
        yield from stray_bone_traps(obj, settings, "export_def_bones")


def mode_traps(meshes: list[bpy.types.Object], settings: ExportSettings) -> Iterator[Trap]:
    """Yields traps of the animation mode: bones and keys must come out as one animation."""
    mode, names = settings.value("export_animation_mode"), names_of(meshes)
    if mode == "SCENE" and settings.value("export_anim_scene_split_object"):
        text = (
            f"glTF export of the scene split by object writes the bones and the baked keys of {names} as two animations"
        )
        yield setting_trap(
            "export_anim_scene_split_object", meshes[0], text, settings, export_anim_scene_split_object=False
        )
    if mode == "ACTIONS" and settings.value("export_merge_animation") == "NONE":
        text = f"glTF export without merging writes the bones and the baked keys of {names} as two animations"
        yield setting_trap("export_merge_animation", meshes[0], text, settings, export_merge_animation="ACTION")
    if mode == "NLA_TRACKS":
        untracked = [obj for obj in meshes if not has_tracks(obj.data.shape_keys)]
        if untracked:
            text = f"glTF export of NLA tracks leaves out the motion of the baked keys of {names_of(untracked)}, which lie in no track"
            yield setting_trap("export_animation_mode", untracked[0], text, settings, export_animation_mode="ACTIONS")
    if mode == "BROADCAST" and len({played_keys(obj) for obj in meshes}) > 1:
        text = f"glTF export with broadcast actions plays the baked keys of each of {names} on the others too"
        yield setting_trap("export_animation_mode", meshes[0], text, settings, export_animation_mode="ACTIONS")


def has_tracks(id_data: bpy.types.ID) -> bool:
    """Returns whether an ID has NLA tracks."""
    return id_data.animation_data is not None and len(id_data.animation_data.nla_tracks) > 0


def played_keys(obj: bpy.types.Object) -> bpy.types.Action | None:
    """Returns the action that the shape keys of a mesh play."""
    data = obj.data.shape_keys.animation_data
    return data.action if data is not None else None


def leaves_clip(obj: bpy.types.Object, settings: ExportSettings) -> bool:
    """Returns whether the exporter would write only what the armature plays at the moment, and not the clips of the bake."""
    mode = settings.value("export_animation_mode")
    if mode != "ACTIONS":
        return mode in {"ACTIVE_ACTIONS", "SCENE"}
    armatures = [other for other in bpy.context.scene.objects if other.type == "ARMATURE"]
    if settings.value("export_anim_single_armature") and len(armatures) == 1:
        return False  # every action of the armature is written
    armature, baked = key_playing.moving_armature(obj), [action for action, _, _ in clip_ranges(obj)]
    tracks = armature.animation_data.nla_tracks if armature is not None and armature.animation_data is not None else ()
    return not any(strip.action in baked for track in tracks for strip in track.strips)


def unbaked_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of actions that the exporter writes along and the bake has no clip of: they hold the plain skin."""
    armature, baked = key_playing.moving_armature(obj), [action for action, _, _ in clip_ranges(obj)]
    if armature is None or armature.type != "ARMATURE" or not baked:
        return
    left = [action.name for action in written_actions(armature, settings) if action not in baked]
    if left:
        names = join_few([f"“{name}”" for name in left], MAX_NAMES)
        text = (
            f"glTF export also writes {names}, with the plain skin: the bake of {describe(obj)} has "
            f"{plural(len(baked), 'action')}; bake All Actions to give each its flesh"
        )
        has_flesh = obj.thew.made.flesh or obj.thew.made.rides
        yield Trap("unbaked", obj, text, "Bake All Actions" if has_flesh else "", NOTICE)


def written_actions(armature: bpy.types.Object, settings: ExportSettings) -> list[bpy.types.Action]:
    """Returns the actions of an armature that an export of actions writes.

    Left out are those that are filtered out in the exporter, and those of tracks with several strips, which it passes over.
    """
    if settings.value("export_animation_mode") != "ACTIONS":
        return []
    armatures = [other for other in bpy.context.scene.objects if other.type == "ARMATURE"]
    if settings.value("export_anim_single_armature") and len(armatures) == 1:
        known = armature_actions.all_actions(armature)
    else:
        data = armature.animation_data
        tracks = data.nla_tracks if data is not None else ()
        strips = [[each for each in track.strips if each.action is not None and not each.mute] for track in tracks]
        alone = {found[0].action for found in strips if len(found) == 1} | {data.action if data is not None else None}
        known = [each for each in armature_actions.used_actions(armature) if each.action in alone]
    filtered = settings.value("export_action_filter")
    dropped = {each.action for each in getattr(bpy.data.scenes[0], "gltf_action_filter", ()) if not each.keep}
    return [each.action for each in known if not (filtered and each.action in dropped)]


def range_traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields traps of frames that the exporter cuts off."""
    limited = settings.value("export_frame_range") and settings.value("export_animation_mode") != "SCENE"
    for obj in meshes:
        first, last = played_range(obj) or (scene.frame_start, scene.frame_end)
        if limited and not scene.frame_start <= first <= last <= scene.frame_end:
            text = (
                f"glTF export limited to the playback range writes frames {scene.frame_start} to {scene.frame_end}, and the bake of "
                f"{describe(obj)} has {first} to {last}"
            )
            yield setting_trap("export_frame_range", obj, text, settings, export_frame_range=False)
        if settings.value("export_animation_mode") != "SCENE":
            yield from action_range_traps(obj)
        first = min((first for _, first, _ in clip_ranges(obj)), default=first)
        if first < 0 and settings.value("export_negative_frame") == "CROP":
            text = f"glTF export crops negative frames, and the bake of {describe(obj)} begins at {first}"
            yield setting_trap("export_negative_frame", obj, text, settings, export_negative_frame="SLIDE")


def action_range_traps(obj: bpy.types.Object) -> Iterator[Trap]:
    """Yields the trap of an action whose frames, its own or its manual range, cut its clip.

    Parts of a frame beyond an action's keys count for nothing, and neither does a clip beyond them in which bones hold still.
    """
    for action, first, last in clip_ranges(obj):
        start, end = action.frame_range
        if math.floor(start) <= first <= last <= math.ceil(end):
            continue
        if not action.use_frame_range and not moves_beyond(action, first, last):
            continue
        which = "its manual range" if action.use_frame_range else "those of its keys"
        text = (
            f"glTF export writes frames {start:g} to {end:g} of the action “{action.name}”, {which}, and the bake of {describe(obj)} has "
            f"{first} to {last}"
        )
        yield Trap("action_range", obj, text, "Set Frame Range of Action")
        return


def moves_beyond(action: bpy.types.Action, first: int, last: int) -> bool:
    """Returns whether an action moves bones in frames of a clip that lie beyond its own, as one that repeats does."""
    start, end = action.frame_range
    before = range(math.floor(start) - 1, first - 1, -1)[:FRAMES_BEYOND]
    after = range(math.ceil(end) + 1, last + 1)[:FRAMES_BEYOND]
    for slot in animation.slots_of(action, "OBJECT"):
        for curve in animation.curves_of(action, slot):
            if not len(curve.modifiers) and curve.extrapolation == "CONSTANT":
                continue
            for frames, held in ((before, start), (after, end)):
                value = curve.evaluate(held)
                if any(abs(curve.evaluate(frame) - value) > MOVEMENT for frame in frames):
                    return True
    return False


def time_traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields traps of frame rates that are no whole numbers, and of Time Stretching."""
    base, names = scene.render.fps_base, names_of(meshes)
    off = abs(base * base - 1.0)
    moved = key_playing.moving_armature(meshes[0]) if in_bones(meshes[0]) else meshes[0].data.shape_keys
    if off > 1e-6 and moved is not None and animation.actions(moved):
        rate = scene.render.fps / base
        text = (
            f"glTF export counts {scene.render.fps * base:g} frames a second where the scene plays {rate:g}, so {names} would move "
            f"at {base**-2:.4g} times the speed: set the frame rate to a whole number, with base 1"
        )
        yield Trap(
            "gltf_rate", meshes[0], text, f"Set {round(rate)} Frames a Second", WARNING if off > 0.01 else NOTICE
        )
    stretched = scene.render.frame_map_old != scene.render.frame_map_new
    if stretched and settings.value("export_animation_mode") != "SCENE":
        text = f"glTF export takes the frames of actions and plays them with Time Stretching, which shortens or lengthens the bake of {names}"
        change = {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False}
        yield setting_trap("gltf_stretch", meshes[0], text, settings, **change)

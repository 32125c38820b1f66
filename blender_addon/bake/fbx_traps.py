# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of Blender's FBX exporter.

It writes a take for each action that fits an object, or for each NLA strip, over the frames of that action or strip. In each take it
samples all shape keys, muted ones too; keys of bakes follow the action that it plays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import bpy
import numpy as np

from ..logic.names import describe
from ..logic.sentences import join_words, plural
from ..saved import bakes as saved_bakes
from ..scene import animation, key_playing
from ..scene.tension_nodes import stores_only
from . import clips, fbx
from .skin_traps import stray_bone_traps
from .traps import (
    NOTICE,
    ExportSettings,
    Trap,
    armature_modifiers,
    clip_ranges,
    exported_range_traps,
    in_bones,
    in_rest_space,
    names_of,
    setting_trap,
)  # fmt: skip

#: Settings with which the exporter writes the scene as it plays, in one take.
ONE_TAKE = {"bake_anim_use_all_actions": False, "bake_anim_use_nla_strips": False}


def object_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields traps of a mesh that plays its bake, whatever the settings of the exporter are."""
    if not moves_in_fbx(obj):
        text = (
            f"FBX writes the motion of shape keys along with an object's action, and no object in the scene has one: {describe(obj)} would "
            "stand still without an action; key any object at the first and the last baked frame"
        )
        yield Trap("fbx_action", obj, text, "Key the Mesh")
    lost = applied_modifiers(obj)
    if lost and settings.value("use_mesh_modifiers") is not False:
        text = (
            f"FBX export applies {join_words(lost)} of {describe(obj)} and drops the baked keys for it: switch off Apply Modifiers "
            f"there, which leaves {'it' if len(lost) == 1 else 'them'} out, or apply {'it' if len(lost) == 1 else 'them'} before baking"
        )
        change = {"use_mesh_modifiers": False}
        yield (
            setting_trap("use_mesh_modifiers", obj, text, settings, **change)
            if settings.known
            else Trap("use_mesh_modifiers", obj, text)
        )
    linked = [slot for slot in obj.material_slots if slot.link == "OBJECT"]
    if linked:
        text = (
            f"{describe(obj)} has {plural(len(linked), 'material')} linked to the object, for which FBX export copies the mesh and "
            "writes its baked keys without motion: link them to the mesh"
        )
        yield Trap("fbx_materials", obj, text, "Link to Mesh")


def applied_modifiers(obj: bpy.types.Object) -> list[str]:
    """Returns the modifiers, in words, that the exporter applies by default."""
    found = [m for m in obj.modifiers if m.type != "ARMATURE" and (m.show_viewport or m.show_render)]
    if fbx.is_hooked():
        found = [m for m in found if not stores_only(m)]
    return [f"“{modifier.name}”" for modifier in found]


def moves_in_fbx(obj: bpy.types.Object) -> bool:
    """Returns whether an object of the scene has an action or an NLA strip: the exporter samples keys along with these."""
    data = (other.animation_data for scene in obj.users_scene for other in scene.objects)
    return any(each is not None and (each.action is not None or len(each.nla_tracks)) for each in data)


def traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields what an export with these settings would do wrong with the bakes of `meshes`, which play."""
    names = names_of(meshes)
    yield from sampling_traps(meshes, settings, f"{names} has a baked shape in each")
    if settings.value("bake_anim") is False:
        return
    if settings.value("use_triangles"):
        text = f"FBX export with Triangulate Faces copies the mesh of {names} and writes its baked keys without motion"
        yield setting_trap("use_triangles", meshes[0], text, settings, use_triangles=False)
    few = [obj for obj in meshes if saved_bakes.playing(obj).kind == "COMPRESSED"]
    if few and (settings.value("bake_anim_simplify_factor") or 0.0) > 0.0:
        text = f"FBX export simplifies curves, and the compressed keys of {names_of(few)} then miss the flesh by more than their bake states"
        change = {"bake_anim_simplify_factor": 0.0}
        yield setting_trap("bake_anim_simplify_factor", few[0], text, settings, NOTICE, **change)
    yield from take_traps(meshes, settings, scene)
    for obj in meshes:
        if in_rest_space(obj) and armature_modifiers(obj):
            yield from stray_bone_traps(obj, settings, "use_armature_deform_only")


def sampling_traps(meshes: list[bpy.types.Object], settings: ExportSettings, loss: str) -> Iterator[Trap]:
    """Yields traps of motion that is not written, or not in every frame; `loss`: what is in each frame, as the end of a sentence."""
    if settings.value("bake_anim") is False:
        text = f"FBX export without baked animation writes {names_of(meshes)} without any motion"
        yield setting_trap("bake_anim", meshes[0], text, settings, bake_anim=True)
        return
    step = settings.value("bake_anim_step")
    if step is not None and step > 1.0:
        text = f"FBX export leaves out frames at a sampling rate of {step:g}, and {loss}"
        yield setting_trap("bake_anim_step", meshes[0], text, settings, bake_anim_step=1.0)


def take_traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields traps of the takes: which ones are written, over which frames, and whose flesh is in them."""
    every, strips = (settings.value(name) for name in ONE_TAKE)
    if not every and not strips:
        for obj in meshes:
            yield from exported_range_traps(obj, settings, scene.frame_start, scene.frame_end)
        return
    if not every and not any(has_strips(other) for other in scene.objects):
        text = f"FBX export of NLA strips alone writes {names_of(meshes)} without motion: the scene has no strips"
        yield setting_trap("bake_anim_use_all_actions", meshes[0], text, settings, bake_anim_use_all_actions=True)
        return
    if scene.render.frame_map_old != scene.render.frame_map_new:
        text = f"FBX export takes the frames of actions and plays them with Time Stretching, which cuts the bake of {names_of(meshes)}"
        yield setting_trap("fbx_stretch", meshes[0], text, settings, **ONE_TAKE)
        return
    for obj in meshes:
        yield from strip_traps(obj, settings)
    if every:
        for obj in meshes:
            yield from clip_range_traps(obj)


def strip_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of a scene's range that NLA strips play: no take holds all of it."""
    bake, armature = saved_bakes.playing(obj), key_playing.moving_armature(obj)
    clip = bake.scene_clip if bake is not None else None
    if (
        clip is None
        or armature is None
        or clips.exported_actions(obj)
        or key_playing.active_action(armature) is not None
    ):
        return
    strips = animation.strips(armature.animation_data)
    if not strips or (len(strips) == 1 and strips[0].frame_start <= clip.start and clip.end <= strips[0].frame_end):
        return
    text = (
        f"FBX writes each NLA strip of {describe(armature)} as a take of its own frames, and the bake of {describe(obj)} has frames "
        f"{clip.start} to {clip.end} of the scene: export the scene as one take, or bake all actions"
    )
    yield setting_trap("fbx_strips", obj, text, settings, **ONE_TAKE)


def has_strips(obj: bpy.types.Object) -> bool:
    """Returns whether NLA strips move an object."""
    return obj.animation_data is not None and any(
        not strip.mute for track in obj.animation_data.nla_tracks for strip in track.strips
    )


def clip_range_traps(obj: bpy.types.Object) -> Iterator[Trap]:
    """Yields the trap of a take that is shorter than its clip, or begins between two frames."""
    for action, first, last in clip_ranges(obj):
        start, end = action.frame_range
        if in_bones(obj):  # between two frames bones move straight, as Blender shows them
            start, end = float(math.floor(start)), float(math.ceil(end))
        if holds_clip(start, end, first, last):
            continue
        if start > first or last_sample(start, end) < last:
            text = (
                f"FBX writes frames {start:g} to {last_sample(start, end):g}, those of the action “{action.name}”, and the bake of "
                f"{describe(obj)} has {first} to {last}: give the action a manual frame range"
            )
        else:
            text = (
                f"FBX samples the action “{action.name}” from frame {start:g} on, between the baked shapes of {describe(obj)}: give it "
                "a manual frame range that begins at a whole frame"
            )
        yield Trap("action_range", obj, text, "Set Frame Range of Action")
        return


def holds_clip(start: float, end: float, first: int, last: int) -> bool:
    """Returns whether a take of an action from `start` to `end` has the frames of a clip."""
    return start <= first and last_sample(start, end) >= last and abs(start - round(start)) <= 1e-4


def last_sample(start: float, end: float) -> float:
    """Returns the last frame that the exporter samples of an action: of some that begin before frame 0 it loses the last one to rounding."""
    return start + len(np.arange(start, np.nextafter(end, np.inf))) - 1


def range_for(start: float, end: float, first: int, last: int) -> tuple[float, float]:
    """Returns a frame range around that of an action, with which a take has the frames of a clip."""
    start, end = float(min(math.floor(start), first)), float(max(math.ceil(end), last))
    return start, end if last_sample(start, end) >= last else end + 0.25

# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of exports of helper bones: bones, their weights and their curves leave as a part of the armature."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..logic.names import describe
from ..logic.sentences import join_words, plural
from ..saved import bakes as saved_bakes
from ..scene import own_skin, writing
from ..scene.key_playing import moving_armature
from . import fbx_traps, gltf_traps, point_traps
from .skin_traps import SHAPELESS_MODIFIERS, left_modifier_traps
from .traps import NOTICE, WARNING, ExportSettings, Trap, is_exported, names_of, setting_trap

#: Options of the glTF exporter that spoil the motion of bones as they spoil that of keys.
BONE_OPTIONS = {"export_animations", "export_frame_step"}
#: Settings by which exporters apply modifiers.
APPLY_SETTINGS = {"glTF": "export_apply", "FBX": "use_mesh_modifiers"}
#: Settings by which exporters write deforming bones alone.
DEFORM_SETTINGS = {"glTF": "export_def_bones", "FBX": "use_armature_deform_only", "USD": "only_deform_bones"}


def object_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields traps of a mesh that plays a bake of helper bones: modifiers that the file lacks."""
    name = APPLY_SETTINGS.get(settings.format, "")
    if obj.data.shape_keys is not None:
        if settings.exporter:
            yield from left_modifier_traps(obj, settings)
        return
    left = [modifier for modifier in obj.modifiers if modifier.type != "ARMATURE" and modifier.show_viewport]
    if left and settings.value(name) is False:
        words = join_words([f"“{modifier.name}”" for modifier in left])
        text = f"{settings.format} export that applies no modifiers writes {describe(obj)} without {words}"
        shaping = any(modifier.type not in SHAPELESS_MODIFIERS for modifier in left)
        yield setting_trap(name, obj, text, settings, WARNING if shaping else NOTICE, **{name: True})


def traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields what an export with these settings would do wrong with the helper bones of `meshes`."""
    finder = {"glTF": of_gltf, "FBX": of_fbx, "USD": of_usd}.get(settings.format)
    if meshes and finder is not None:
        yield from finder(meshes, settings, scene)


def idle_traps(meshes: list[bpy.types.Object], settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of helper bones of bakes that do not play: they leave among the bones of their armature, and move nothing."""
    name = DEFORM_SETTINGS.get(settings.format, "")
    if not name or settings.value(name) is not False or settings.value("export_armatures") is False:
        return
    told = set()
    for obj in meshes:
        armature = moving_armature(obj)
        for bake in obj.thew.bakes if armature is not None and is_exported(armature, settings) else ():
            helpers = own_skin.helper_names(armature, bake.token).values() if bake.token else ()
            idle = [bone for bone in helpers if not armature.data.bones[bone].use_deform]
            if not idle or (armature, bake.token) in told:
                continue
            told.add((armature, bake.token))
            text = (
                f"{settings.format} export writes {plural(len(idle), 'helper bone')} of “{bake.name}”, a bake that does not play, which "
                f"{'moves' if len(idle) == 1 else 'move'} nothing: export deforming bones alone, or remove that bake"
            )
            yield setting_trap("idle_bones", obj, text, settings, NOTICE, **{name: True})
            break  # one press mends them all


def of_gltf(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields traps of the glTF exporter."""
    names = names_of(meshes)
    yield from gltf_traps.option_traps(meshes, settings, BONE_OPTIONS)
    yield from gltf_traps.skin_traps(meshes, settings)
    if settings.value("export_reset_pose_bones") is False and leaves_actions(meshes):
        text = (
            "glTF export that does not reset pose bones writes the helper bones of the animation before into those without flesh of "
            f"{names}"
        )
        yield setting_trap("export_reset_pose_bones", meshes[0], text, settings, export_reset_pose_bones=True)
    yield from gltf_traps.range_traps(meshes, settings, scene)
    yield from gltf_traps.time_traps(meshes, settings, scene)


def leaves_actions(meshes: list[bpy.types.Object]) -> bool:
    """Returns whether the file has actions without a clip of these bakes."""
    clips = {clip.action or clip.curves for obj in meshes for clip in saved_bakes.playing(obj).clips}
    return bool(set(bpy.data.actions) - clips)


def of_fbx(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields traps of the FBX exporter."""
    names = names_of(meshes)
    yield from fbx_traps.sampling_traps(meshes, settings, f"the helper bones of {names} move in each")
    if settings.value("bake_anim") is False:
        return
    yield from fbx_traps.take_traps(meshes, settings, scene)
    if settings.value("add_leaf_bones"):
        count = sum(helper_count(obj) for obj in meshes)
        text = (
            f"FBX export adds a bone behind every last bone, so {plural(count, 'helper bone')} of {names} "
            f"{'gets one' if count == 1 else 'get one each'} that moves nothing"
        )
        yield setting_trap("add_leaf_bones", meshes[0], text, settings, NOTICE, add_leaf_bones=False)


def helper_count(obj: bpy.types.Object) -> int:
    """Returns the number of helper bones that an object plays."""
    armature = moving_armature(obj)
    return 0 if armature is None else len(own_skin.helper_names(armature, saved_bakes.playing(obj).token))


def of_usd(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields traps of the USD exporter where it writes skins."""
    names = names_of(meshes)
    yield from point_traps.animation_traps(meshes, settings, scene)
    if settings.value("export_armatures") is False:
        text = f"USD export without armatures writes {names} without the bones that move the flesh"
        yield setting_trap("export_armatures", meshes[0], text, settings, export_armatures=True)
    yield from dead_key_traps(meshes, settings)


def dead_key_traps(meshes: list[bpy.types.Object], settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of baked keys that leave beside helper bones and move nothing, where the mesh has no other keys."""
    dead = [obj for obj in meshes if has_dead_keys(obj)]
    if dead and settings.value("export_shapekeys"):
        count = sum(len(writing.baked_keys(obj)) for obj in dead)
        text = (
            f"USD export writes muted keys too: {plural(count, 'baked key')} of {names_of(dead)} would leave beside the helper bones and "
            "move nothing"
        )
        yield setting_trap("export_shapekeys", dead[0], text, settings, NOTICE, export_shapekeys=False)


def has_dead_keys(obj: bpy.types.Object) -> bool:
    """Returns whether all shape keys of a mesh but the basis are baked ones."""
    keys, baked = obj.data.shape_keys, writing.baked_keys(obj)
    return keys is not None and bool(baked) and len(baked) == len(keys.key_blocks) - 1

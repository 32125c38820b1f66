# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks before an export: flesh left behind, a bake deformed twice or left out.

Exporters write the skin of every mesh that an Armature modifier or an armature parent could deform, even if the
modifier is switched off. They know nothing of modifiers like Thew's.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..logic.names import describe
from ..logic.sentences import join_words
from ..saved import bakes as saved_bakes
from ..scene import writing
from . import clips

#: Part of the name of Blender's glTF exporter.
GLTF = "gltf"
#: Exporters that write evaluated meshes, at each frame or at the current one: flesh is exported as it is seen.
EVALUATING_EXPORTERS = ("alembic", "obj_export", "ply_export", "stl_export")


def check(obj: bpy.types.Object, exporter: str = "") -> list[str]:
    """Returns warnings about one mesh, each with what to do. Empty if it is exported as it is seen.

    `exporter`: the operator that is about to write it, such as `EXPORT_SCENE_OT_fbx`; empty checks for all of them.
    """
    if obj.type != "MESH":
        return []
    settings, made, bake = obj.thew, obj.thew.made, saved_bakes.playing(obj)
    name = describe(obj)
    if any(each in exporter.lower() for each in EVALUATING_EXPORTERS):
        return []
    if (made.flesh or made.rides or made.keyframed) and settings.enabled and not made.shows_bake:
        kept = writing.baked_keys(obj)
        what = "show its bake" if kept else "bake it"
        return [
            f"The flesh of {name} is live, which glTF, FBX and USD do not support: it would be exported with its "
            f"plain skin; {what} first"
        ]
    if not plays_bake(obj):
        return []
    into_gltf = GLTF in exporter.lower()
    told = (
        "" if into_gltf else clips.mismatch_warning(obj),
        clips.split_export_warning(obj) if into_gltf or not exporter else "",
    )
    of_clip = [text for text in told if text]
    motionless = (
        []
        if moves_in_fbx(obj, exporter)
        else [
            f"FBX writes the motion of shape keys along with an object's action, and no object near {name} has one: without an "
            "action it stands still there; key its armature or any object once"
        ]
    )
    if bake.space == "POSED":
        holders = skin_holders(obj)
        if holders:
            return [
                f"The bake of {name} is in posed space and {join_words(holders)} would deform it once more in every exported "
                "file: press Finish Bake, or bake in rest space"
            ]
        return of_clip + motionless + modifier_warning(obj, exporter)
    sentences = of_clip + motionless + modifier_warning(obj, exporter)
    armatures = [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE" and modifier.object is not None]
    if len(armatures) > 1:
        sentences.append(
            f"{name} has {len(armatures)} Armature modifiers, and files hold only one skin: bake in posed space and "
            "press Finish Bake"
        )
    if any(modifier.use_deform_preserve_volume and modifier.show_viewport for modifier in armatures):
        sentences.append(
            f"The armature of {name} preserves volume, which no file stores: joints of the exported skin bend "
            "differently"
        )
    return sentences


def check_all(objects: Iterable[bpy.types.Object], exporter: str = "") -> list[str]:
    """Returns the warnings about every mesh of `objects`."""
    return [said for obj in objects for said in check(obj, exporter)]


def moves_in_fbx(obj: bpy.types.Object, exporter: str) -> bool:
    """Returns whether an FBX export keeps the motion of the keys. True for other exporters.

    The exporter samples shape keys along with objects that have an action or an NLA strip: the scene needs one.
    """
    if exporter and "fbx" not in exporter.lower():
        return True
    animations = (other.animation_data for scene in obj.users_scene for other in scene.objects)
    return any(each is not None and (each.action is not None or len(each.nla_tracks)) for each in animations)


def plays_bake(obj: bpy.types.Object) -> bool:
    """Returns whether keys that Thew baked are playing."""
    bake = saved_bakes.playing(obj)
    return bake is not None and any(not key.mute for key in writing.keys_of(obj, bake))


def skin_holders(obj: bpy.types.Object) -> list[str]:
    """Returns the modifiers and parents, in words, for which exporters write a skin of the mesh."""
    holders = [
        f"the modifier “{modifier.name}”"
        for modifier in obj.modifiers
        if modifier.type == "ARMATURE" and modifier.object is not None
    ]
    if obj.parent is not None and obj.parent.type == "ARMATURE" and obj.parent_type == "ARMATURE":
        holders.append(f"the parent “{obj.parent.name}”")
    return holders


def modifier_warning(obj: bpy.types.Object, exporter: str) -> list[str]:
    """Returns the warning about modifiers that an FBX export would apply: that drops the keys. It does so by default."""
    applied = [
        f"“{modifier.name}”"
        for modifier in obj.modifiers
        if modifier.type != "ARMATURE" and (modifier.show_viewport or modifier.show_render)
    ]
    if not applied or (exporter and "fbx" not in exporter.lower()):
        return []
    return [
        f"FBX export applies {join_words(applied)} of {describe(obj)} and drops the baked keys for it: switch off Apply "
        "Modifiers there, or apply it before baking"
    ]

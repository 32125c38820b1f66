# SPDX-License-Identifier: GPL-3.0-or-later
"""The check before an export: flesh left behind, a bake deformed twice, cut or left out.

Exporters write the skin of every mesh that an Armature modifier or an armature parent could deform, even if the
modifier is switched off. They know nothing of modifiers like Thew's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import bpy

from ..logic.names import describe
from ..logic.sentences import plural
from ..saved import bakes as saved_bakes
from ..scene import bakes, cache_playing, key_playing, texture_playing, writing
from . import clips, fbx, fbx_traps, gltf_traps, helper_traps, key_traps, point_traps, skin_traps
from .traps import (
    EVALUATED_FORMATS,
    NOTICE,
    USD_POINTS,
    WARNING,
    ExportSettings,
    Trap,
    absence,
    armature_modifiers,
    exported,
    in_bones,
    in_rest_space,
    muted_keys,
    plays_bake,
    setting_trap,
    skin_holders,
    writes_points,
)  # fmt: skip

__all__ = ["check", "check_all", "find_traps", "plays_bake", "skin_holders"]


def check(obj: bpy.types.Object, exporter: str = "", values: Any = None) -> list[str]:
    """Returns warnings about one mesh, each with what to do. Empty if it is exported as it is seen.

    `exporter`: the operator that is about to write it, such as `EXPORT_SCENE_OT_fbx`; empty checks for all of them. `values`: its
    settings, as for `ExportSettings`.
    """
    return check_all([obj], exporter, values)


def check_all(objects: Iterable[bpy.types.Object], exporter: str = "", values: Any = None) -> list[str]:
    """Returns the warnings about every mesh of `objects`."""
    return [text for text, level in check_levels(objects, exporter, values) if level == WARNING]


def check_levels(objects: Iterable[bpy.types.Object], exporter: str = "", values: Any = None) -> list[tuple[str, str]]:
    """Returns the text and the level of all that an export would do wrong or at a price, the worst first."""
    return [(trap.text, trap.level) for trap in find_traps(objects, ExportSettings(exporter, values))]


def find_traps(objects: Iterable[bpy.types.Object], settings: ExportSettings) -> list[Trap]:
    """Returns everything that an export would do wrong with the meshes of `objects`, the worst first."""
    meshes, scene = exported(objects, settings), bpy.context.scene
    found = [trap for obj in meshes for trap in mesh_traps(obj, settings)]
    if settings.known:
        found += setting_traps(meshes, settings, scene)
    return sorted(found, key=lambda trap: trap.level != WARNING)


def mesh_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the traps that one mesh brings with it."""
    if writes_points(settings):
        return
    if is_live(obj) or in_bones(obj) or (plays_bake(obj) and in_rest_space(obj)):
        yield from rest_position_traps(obj)
    if is_live(obj):
        yield live_trap(obj, settings)
        return
    if settings.format in {"FBX", "USD"}:
        yield from muted_traps(obj, settings)
    if in_bones(obj):
        yield from bone_traps(obj, settings)
        return
    if not plays_bake(obj):
        yield from cache_traps(obj, settings)
        return
    yield from clip_traps(obj, settings)
    if settings.concerns("FBX"):
        yield from fbx_traps.object_traps(obj, settings)
    yield from skin_traps.traps(obj, settings)
    if settings.format in {"FBX", "USD"}:
        yield from key_traps.of_others(obj, settings)
    if settings.exporter:
        yield from skin_traps.left_modifier_traps(obj, settings)
    if settings.known and in_rest_space(obj):
        yield from armature_traps(obj, settings)


def bone_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the traps of a mesh that plays a bake of helper bones."""
    yield from mismatch_traps(obj, settings)
    yield from skin_traps.traps(obj, settings)
    yield from helper_traps.object_traps(obj, settings)
    if settings.known:
        yield from armature_traps(obj, settings)


def cache_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the traps of a point cache and of a vertex texture, which exporters of skins leave out."""
    if settings.known and cache_playing.is_shown(obj):
        text = (
            f"{describe(obj)} plays a point cache, which glTF, FBX and USD's own export leave out: bake keys for them, or press Export "
            "Cache, which writes USD and Alembic as seen"
        )
        yield Trap("cache", obj, text, keys_remedy(obj))
    if settings.known and texture_playing.is_shown(obj):
        text = (
            f"{describe(obj)} plays a vertex texture, and {settings.format} holds its plain skin: that is right for an engine that plays the "
            "texture, and for others bake keys"
        )
        remedy = keys_remedy(obj) if keyed_bake(obj) is not None or obj.thew.made.flesh or obj.thew.made.rides else ""
        yield Trap("texture", obj, text, remedy, NOTICE)


def setting_traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> list[Trap]:
    """Returns the traps that settings of the exporter bring with them."""
    boned = [obj for obj in meshes if in_bones(obj) and not is_live(obj)]
    playing = [obj for obj in meshes if plays_bake(obj) and not is_live(obj)]
    shown = [obj for obj in meshes if plays_bake(obj) or is_live(obj) or obj in boned]
    if settings.format in EVALUATED_FORMATS and shown:
        return list(point_traps.point_traps(shown, settings, scene))
    if settings.format == "USD" and writes_points(settings):
        return list(point_traps.usd_traps(shown, settings, scene)) if shown else []
    finders = {"glTF": gltf_traps.traps, "FBX": fbx_traps.traps, "USD": point_traps.usd_traps}
    finder = finders.get(settings.format)
    of_keys = list(finder(playing, settings, scene)) if playing and finder is not None else []
    return [*of_keys, *helper_traps.traps(boned, settings, scene), *helper_traps.idle_traps(meshes, settings)]


# live flesh ---------------------------------------------------------------------------------------------------------


def is_live(obj: bpy.types.Object) -> bool:
    """Returns whether the mesh shows live flesh, and not a bake."""
    settings, made = obj.thew, obj.thew.made
    return bool(made.flesh or made.rides or made.keyframed) and settings.enabled and not made.shows_bake


def live_trap(obj: bpy.types.Object, settings: ExportSettings) -> Trap:
    """Returns the trap of live flesh."""
    name = describe(obj)
    kept = keyed_bake(obj) is not None
    what = "show its bake" if kept else "bake it"
    if settings.format == "USD" and settings.known:
        text = (
            f"The flesh of {name} is live, which USD export does not hold along with skins and shape keys: leave out both to write it "
            f"as it is seen, or {what} first"
        )
        return setting_trap("live", obj, text, settings, **USD_POINTS)
    text = (
        f"The flesh of {name} is live, which glTF, FBX and USD do not support: it would be exported with its "
        f"plain skin; {what} first"
    )
    return Trap("live", obj, text, "Show Bake" if kept else "Bake")


def keyed_bake(obj: bpy.types.Object) -> saved_bakes.ThewBake | None:
    """Returns a bake of an object that exporters hold, of shape keys or helper bones: the one that plays or is chosen, else the last."""
    playing = saved_bakes.playing(obj)
    found = [bake for bake in obj.thew.bakes if writing.keys_of(obj, bake) or bakes.moves_bones(bake)]
    chosen = [bake for bake in found if playing is not None and bake.name == playing.name]
    return (chosen or found[::-1] or [None])[0]


def keys_remedy(obj: bpy.types.Object) -> str:
    """Returns the label of the button that lets shape keys play in place of a point cache."""
    bake = keyed_bake(obj)
    return f"Show “{bake.name}”" if bake is not None else "Bake Compressed Keys"


def muted_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of muted keys, which FBX and USD write as if they played."""
    if settings.format == "FBX" and fbx.leaves_out_keys(obj):
        return
    muted = muted_keys(obj)
    if muted and settings.value("export_shapekeys") is not False:
        text = (
            f"{settings.format} has no muted shape keys: {plural(len(muted), 'baked key')} of {describe(obj)} that you do not see "
            "would play in the file; silence their curves"
        )
        yield Trap("muted_keys", obj, text, "Silence Them")


# the bones ------------------------------------------------------------------------------------------------------------


def mismatch_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of bones that play something else than the bake."""
    if settings.format == "glTF":
        matters = settings.known and gltf_traps.leaves_clip(obj, settings)
    else:  # with All Actions the FBX exporter itself plays every action
        matters = not (settings.format == "FBX" and settings.value("bake_anim_use_all_actions"))
    text = clips.mismatch_warning(obj) if matters else ""
    if text:
        yield Trap("mismatch", obj, text, "Play the Baked Action")


def clip_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields traps of bones that play something else than the bake, or apart from it."""
    yield from mismatch_traps(obj, settings)
    whole = settings.value("export_animation_mode") == "SCENE"
    text = clips.split_export_warning(obj) if settings.concerns("glTF") and not whole else ""
    if text and settings.known:
        change = {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False}
        yield setting_trap("split", obj, text, settings, **change)
    elif text:
        yield Trap("split", obj, text, "Bake All Actions" if obj.thew.made.flesh or obj.thew.made.rides else "")


def rest_position_traps(obj: bpy.types.Object) -> Iterator[Trap]:
    """Yields the trap of an armature that is held in its rest position, in every exported file too."""
    armature = key_playing.moving_armature(obj)
    if armature is not None and armature.type == "ARMATURE" and armature.data.pose_position == "REST":
        text = (
            f"{describe(armature)} is held in its rest position, and {describe(obj)} would leave without the motion of its bones: "
            "set it to Pose Position (Object Data Properties > Pose)"
        )
        yield Trap("rest_position", obj, text, "Set Pose Position")


#: What is wrong with an armature that an exporter leaves out, and the label of the button that mends it.
ABSENCES = {
    "SELECTION": ("is not selected", "Select the Armature"),
    "VISIBILITY": ("is hidden", "Show the Armature"),
    "RENDER": ("is hidden in renders", "Show the Armature in Renders"),
    "COLLECTION": ("is not in the active collection", ""),
    "TYPES": ("is not among the types of objects to export", ""),
}


def armature_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of an armature that the exporter is about to leave out, with the bones that move the baked keys."""
    for armature in {modifier.object for modifier in armature_modifiers(obj)}:
        why = absence(armature, settings)
        if not why:
            continue
        how, remedy = ABSENCES[why]
        text = f"{settings.format} export leaves out {describe(armature)}, which {how}: {describe(obj)} would not follow its bones"
        if why == "COLLECTION":
            yield setting_trap("armature_left", obj, text, settings, use_active_collection=False)
        elif why == "TYPES":
            types = set(settings.value("object_types")) | {"ARMATURE"}
            yield setting_trap("armature_left", obj, text, settings, object_types=types)
        else:
            yield Trap("armature_left", obj, text, remedy)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of the skin: files hold linear skinning by the weights of one armature, and nothing else that bends a mesh in Blender."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import bpy
import numpy as np

from ..logic.names import describe
from ..logic.sentences import join_words
from ..scene.mesh import read_shown_groups
from ..scene.tension_nodes import stores_only
from .traps import (
    NOTICE,
    USD_POINTS,
    WARNING,
    ExportSettings,
    Trap,
    armature_modifiers,
    in_rest_space,
    setting_trap,
    skin_holders,
)  # fmt: skip

#: Smallest weight of a bone that exporters write.
MIN_WEIGHT = 1e-4
#: Label of the button that writes the skin's motion into the keys.
POSED_BAKE = "Bake Flesh and Bones, and Finish"


def traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields what files would do otherwise with the skin of a mesh that plays its bake."""
    if in_rest_space(obj):
        for key, text in lost_skinning(obj):
            yield skin_trap(key, obj, text, settings)
        return
    holders = skin_holders(obj)
    if holders and settings.format != "USD":  # it leaves out modifiers that are switched off
        text = (
            f"The bake of {describe(obj)} holds flesh and bones, and {join_words(holders)} would bend it once more in every exported "
            "file: press Finish Bake, or set Keys Hold to Flesh Alone and bake"
        )
        yield Trap("posed_skin", obj, text, "Finish Bake")


#: Modifiers without which a mesh has the same shape, but for bends between its vertices, shading and data.
SHAPELESS_MODIFIERS = {
    "SUBSURF", "TRIANGULATE", "EDGE_SPLIT", "WEIGHTED_NORMAL", "NORMAL_EDIT", "UV_PROJECT", "UV_WARP", "DATA_TRANSFER",
    "VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY", "COLLISION",
}  # fmt: skip


def left_modifier_traps(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of modifiers that are not in the file, as formats hold no modifiers beside shape keys."""
    applied = settings.format == "FBX" and settings.value("use_mesh_modifiers") is not False
    if applied or settings.value("export_apply"):
        return  # these drop the keys instead, which is another trap
    left = [m for m in obj.modifiers if m.type != "ARMATURE" and m.show_viewport and not stores_only(m)]
    if not left:
        return
    shaping = any(modifier.type not in SHAPELESS_MODIFIERS for modifier in left)
    names, they = join_words([f"“{modifier.name}”" for modifier in left]), "it" if len(left) == 1 else "them"
    text = f"{settings.format} holds no modifiers beside shape keys, so {describe(obj)} would leave without {names}"
    if settings.format == "USD" and settings.known:
        yield setting_trap("left_modifiers", obj, f"{text}: write points", settings, **USD_POINTS)
        return
    text = f"{text}: apply {they} before you add flesh"
    yield Trap("left_modifiers", obj, text, level=WARNING if shaping else NOTICE)


def skin_trap(key: str, obj: bpy.types.Object, text: str, settings: ExportSettings) -> Trap:
    """Returns a trap of skinning that no file holds: USD may hold points instead, else a bake in posed space holds it."""
    if settings.format == "USD" and settings.known:
        return setting_trap(key, obj, text, settings, **USD_POINTS)
    made = obj.thew.made
    return Trap(key, obj, text, POSED_BAKE if made.flesh or made.rides else "")


def lost_skinning(obj: bpy.types.Object) -> Iterator[tuple[str, str]]:
    """Yields (key, sentence) of what the armature does to the mesh and no file holds."""
    name, armatures = describe(obj), armature_modifiers(obj)
    if len(armatures) > 1:
        yield (
            "armatures",
            f"{name} has {len(armatures)} Armature modifiers, and files hold only one: set Keys Hold to Flesh and Bones, bake, and press Finish Bake",
        )
    if any(modifier.use_deform_preserve_volume and modifier.show_viewport for modifier in armatures):
        yield (
            "preserve_volume",
            f"The armature of {name} preserves volume, which no file stores, so joints of the exported skin bend differently: "
            "set Keys Hold to Flesh and Bones, bake, and press Finish Bake",
        )
    bendy = next((bone.name for bone in deforming_bones(obj) if bone.bbone_segments > 1), "")
    if bendy:
        yield (
            "bendy_bones",
            f"The bone “{bendy}” of {name} bends within itself, and files hold straight bones: "
            "set Keys Hold to Flesh and Bones, bake, and press Finish Bake",
        )
    masked = next((modifier for modifier in armatures if modifier.vertex_group), None)
    if masked is not None:
        yield (
            "skin_mask",
            f"The modifier “{masked.name}” of {name} is limited to the vertex group “{masked.vertex_group}”, which no file stores: "
            "set Keys Hold to Flesh and Bones, bake, and press Finish Bake",
        )


def deforming_bones(obj: bpy.types.Object) -> list[bpy.types.Bone]:
    """Returns the deforming bones of the mesh's armatures that have a vertex group."""
    bones = (bone for modifier in armature_modifiers(obj) for bone in modifier.object.data.bones)
    return [bone for bone in bones if bone.use_deform and bone.name in obj.vertex_groups]


def stray_bone_traps(obj: bpy.types.Object, settings: ExportSettings, option: str) -> Iterator[Trap]:
    """Yields the trap of bones that do not deform and yet have weights, which exporters write. `option`: leaves them out."""
    _, stray = skin_numbers(obj, settings)
    if stray and settings.value(option) is False:
        text = (
            f"{settings.format} export lets the bone “{stray}” move {describe(obj)}, which does not deform it in Blender: it has a "
            "vertex group of that name"
        )
        yield setting_trap(option, obj, text, settings, **{option: True})


#: Time for which weights are not read again while a dialog is open, in seconds: its panel is drawn at each move of the mouse.
READING_INTERVAL = 5.0
#: Latest readings of weights: (time, numbers) by mesh and size.
_readings: dict[tuple[str, int], tuple[float, tuple[int, str]]] = {}


def skin_numbers(obj: bpy.types.Object, settings: ExportSettings) -> tuple[int, str]:
    """Returns the largest number of bones that a vertex follows, and a bone with weights that does not deform ("" without one)."""
    if isinstance(settings.values, Mapping):
        return read_skin(obj)
    name, now = (obj.data.name_full, len(obj.data.vertices)), time.monotonic()
    if name not in _readings or now - _readings[name][0] > READING_INTERVAL:
        _readings[name] = now, read_skin(obj)
    return _readings[name][1]


def read_skin(obj: bpy.types.Object) -> tuple[int, str]:
    """Reads `skin_numbers` from the weights."""
    bones = {bone.name: bone for modifier in armature_modifiers(obj) for bone in modifier.object.data.bones}
    group, vertex, weight = read_shown_groups(obj.data)
    group, vertex = group[weight > MIN_WEIGHT], vertex[weight > MIN_WEIGHT]
    owners = [bones.get(each.name) for each in obj.vertex_groups]
    deforms = np.array([bone is not None and bone.use_deform for bone in owners], dtype=bool)
    counts = np.bincount(vertex[deforms[group]], minlength=1) if len(group) else np.zeros(1, dtype=int)
    used = set(group.tolist())
    stray = next(
        (bone.name for i, bone in enumerate(owners) if bone is not None and i in used and not bone.use_deform), ""
    )
    return int(counts.max()), stray

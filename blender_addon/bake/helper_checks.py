# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusals of a bake of helper bones before any work: skins that bones alone do not make, and armatures that cannot be edited."""

from __future__ import annotations

import math

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..scene import animation, armature_actions, libraries, own_skin, reading, stack
from ..scene.key_curves import CurvePlace
from .clip_plans import ClipPlan, is_foreign
from .target import BakeRequest

#: Bounds of the number of helper bones of a mesh, and of the bones of a vertex.
MAX_BONES, MAX_INFLUENCES = 256, 8
#: Modifiers that change weights before the armature acts.
WEIGHT_MODIFIERS = {"VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY"}


def own_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """Returns the Armature modifier of a body or of a rider, on or off."""
    mine = stack.modifier_by_id(obj, obj.thew.made.armature_modifier)
    if mine is not None and mine.type == "ARMATURE" and mine.object is not None:
        return mine
    return reading.armature_modifier(obj)


def check_request(request: BakeRequest) -> None:
    """Refuses impossible numbers."""
    if not 1 <= request.bones <= MAX_BONES:
        raise Refusal(f"A mesh takes 1 to {MAX_BONES} helper bones, not {request.bones}: choose another number")
    if not 1 <= request.influences <= MAX_INFLUENCES:
        raise Refusal(
            f"A vertex follows 1 to {MAX_INFLUENCES} bones, not {request.influences}: choose 4, or 8 for engines that take so many"
        )
    if not 0.0 <= request.rest_tolerance < math.inf:
        raise Refusal("The error at rest of helper bones is 0 or a number of millimetres: choose another")


def check_object(obj: bpy.types.Object) -> None:
    """Refuses a mesh that helper bones could not move as its flesh does."""
    libraries.check_own_mesh(obj, "it takes no weights of other bones", "bake PC2 or MDD")
    name, modifier = describe(obj), own_modifier(obj)
    if obj.thew.made.keyframed:
        raise Refusal(f"{name} has keyframed flesh, which needs no skeleton: bake shape keys")
    if modifier is None:
        raise Refusal(f"{name} has no Armature modifier, so helper bones cannot move it: bake shape keys")
    check_skinning(obj, modifier)
    armature = modifier.object
    rig = describe(armature)
    for owner in (armature, armature.data):
        if owner.library is not None or owner.override_library is not None:
            raise Refusal(
                f"{rig} comes from another file, where it takes no bones: make it local (Object > Relations > Make Local)"
            )
    if armature.data.users - int(armature.data.use_fake_user) > 1:
        raise Refusal(
            f"{rig} shares its bones with another armature, which would get the helper bones too: make it single user first "
            "(Object > Relations > Make Single User > Object & Data)"
        )
    if armature.mode == "EDIT":
        raise Refusal(f"{rig} is in edit mode: press Tab to leave it first")
    if bpy.context.view_layer.objects.get(armature.name) != armature:
        raise Refusal(f"{rig} is not in this view layer, where its bones could be edited: show its collection first")


def check_skinning(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier) -> None:
    """Refuses a skin that is more than the blend of straight bones by the weights of the vertex groups."""
    name = describe(obj)
    if modifier.use_deform_preserve_volume:
        raise Refusal(
            f"The Armature modifier of {name} preserves volume, which engines do not and helper bones cannot: switch Preserve Volume off"
        )
    if modifier.vertex_group or modifier.use_bone_envelopes:
        what = (
            f"is limited to the vertex group “{modifier.vertex_group}”"
            if modifier.vertex_group
            else "uses bone envelopes"
        )
        raise Refusal(
            f"The Armature modifier of {name} {what}, which helper bones cannot follow: clear that, or bake shape keys"
        )
    others = [
        each for each in obj.modifiers if each.type == "ARMATURE" and each.object is not None and each != modifier
    ]
    if any(any(stack.artist_switches(obj, each)) for each in others):
        raise Refusal(
            f"{name} has several Armature modifiers, and helper bones belong to one: remove the others, or bake shape keys"
        )
    for each in reading.Subject.of(obj, modifier).modifiers_before():
        if each.type in WEIGHT_MODIFIERS or (each.type == "DATA_TRANSFER" and each.use_vert_data):
            raise Refusal(
                f"The modifier “{each.name}” of {name} changes weights, those of helper bones too: apply it first"
            )
    bones = modifier.object.data.bones
    for index, bone in own_skin.own_group_names(obj, modifier.object).items():
        if bones[bone].use_deform and bones[bone].bbone_segments > 1:
            raise Refusal(
                f"The bone “{bone}” of {name} bends within itself, which helper bones cannot: set its Segments to 1"
            )
        if bones[bone].use_deform and obj.vertex_groups[index].lock_weight:
            raise Refusal(
                f"The vertex group “{bone}” of {name} is locked, and a bake of helper bones changes its weights: unlock it"
            )


def check_joins(obj: bpy.types.Object, name: str, kept: list) -> None:
    """Refuses a bake that would leave clips of the one of its name: bones are fitted to all clips of a bake at once."""
    if kept:
        labels = ", ".join("its scene range" if clip.is_scene else f"“{clip.label}”" for clip in kept)
        raise Refusal(
            f"The bake “{name}” of {describe(obj)} keeps {labels}, and its helper bones are fitted to all of its clips at once: bake "
            "these too (Other Clips Anew), or give the new bake a name of its own"
        )


# the places of curves -------------------------------------------------------------------------------------------------


def place_of(armature: bpy.types.Object, plan: ClipPlan) -> CurvePlace | None:
    """Returns the place of the curves of a clip; None where an action must be made. Refuses one that cannot have any."""
    if plan.action is not None:
        return CurvePlace(plan.action, plan.slot)
    data = armature.animation_data
    if plan.played is not None:
        if is_foreign(plan.played):
            raise Refusal(
                f"The action “{plan.played.name}” comes from another file, where no curves can be added: make it local"
            )
        found = armature_actions.suitable_action(armature, plan.played)
        slot = found.slot if found is not None else animation.active_slot(data)
        return CurvePlace(plan.played, slot)
    if data is not None and (data.action is not None or animation.strips(data)):
        raise Refusal(
            f"{describe(armature)} plays a mix of actions, and the curves of helper bones belong to one: bake its actions (Clips > All "
            "Actions)"
        )
    return None

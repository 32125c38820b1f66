# SPDX-License-Identifier: GPL-3.0-or-later
"""The twist of single bones in the armature: reading, writing and checking it, and the bones that are meant."""

from __future__ import annotations

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.twist import BoneTwist
from ..saved import validation
from .own_skin import own_bones
from .reading import armature_of


def own_twists(obj: bpy.types.Object) -> tuple[BoneTwist, ...]:
    """Returns the twists that bones of the armature of `obj` have of their own, in the armature's order."""
    armature = armature_of(obj)
    if armature is None:
        return ()
    return tuple(
        BoneTwist(
            bone.name,
            validation.value_in_range(bone.thew, "twist_radius"),
            validation.value_in_range(bone.thew, "twist_strength"),
        )
        for bone in armature.data.bones
        if bone.thew.use_twist
    )


def check(armature: bpy.types.Object) -> None:
    """Refuses numbers of a damaged file, by bone and setting."""
    for bone in armature.data.bones:
        if bone.thew.use_twist:
            for prop, value in validation.wrong_values(bone.thew):
                raise Refusal(
                    f"“{prop.name}” of the twist of the bone “{bone.name}” of {describe(armature)} is {value:g}: set it to between "
                    f"{prop.hard_min:g} and {prop.hard_max:g}"
                )


def editable_armature(obj: bpy.types.Object) -> bpy.types.Object:
    """Returns the armature of `obj`; refuses none, and one whose bones cannot be written."""
    armature = armature_of(obj)
    if armature is None:
        raise Refusal(f"{describe(obj)} has no armature: a twist is that of a bone")
    if armature.data.library is not None:
        raise Refusal(
            f"The bones of {describe(armature)} are linked from another file: set their twist there, or make the armature's data local"
        )
    if armature.mode == "EDIT":
        raise Refusal(f"{describe(armature)} is in Edit mode: leave it first")
    return armature


def active_bone(armature: bpy.types.Object) -> bpy.types.Bone | None:
    """Returns the active bone."""
    return armature.data.bones.active


def selected_bones(armature: bpy.types.Object) -> list[str]:
    """Returns the names of the selected bones, in the armature's order."""
    chosen = []
    for bone in own_bones(armature):
        posed = armature.pose.bones.get(bone.name)
        if posed is not None and (
            posed.select if hasattr(posed, "select") else bone.select
        ):  # moved there in Blender 5.0
            chosen.append(bone.name)
    return chosen


def chosen_bones(armature: bpy.types.Object, names: str) -> list[bpy.types.Bone]:
    """Returns the bones named one per line, or else the selected ones; refuses none, and names that are no bone's."""
    chosen = names.split("\n") if names else selected_bones(armature)
    missing = [name for name in chosen if name not in armature.data.bones]
    if missing:
        raise Refusal(f"{describe(armature)} has no bone “{missing[0]}”: name bones of this armature")
    if not chosen:
        raise Refusal(f"No bone of {describe(armature)} is selected: select bones in Pose mode, and press again")
    return [armature.data.bones[name] for name in chosen]


def write(bone: bpy.types.Bone, radius: float, strength: float) -> None:
    """Gives a bone a twist of its own."""
    bone.thew.twist_radius, bone.thew.twist_strength, bone.thew.use_twist = radius, strength, True


def clear(bone: bpy.types.Bone) -> bool:
    """Takes a bone's own twist; returns whether it had one."""
    had = bone.thew.use_twist
    for name in ("use_twist", "twist_radius", "twist_strength"):
        bone.thew.property_unset(name)
    return had

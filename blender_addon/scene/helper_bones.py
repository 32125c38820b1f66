# SPDX-License-Identifier: GPL-3.0-or-later
"""Helper bones in an armature: made and removed in its edit mode, the only place where Blender makes bones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from . import animation, own_skin, poses
from .armature_actions import bones_named
from .key_curves import CurvePlace
from .own_skin import HELPER_MARK, helper_names

#: Name of the bone collection of helper bones, and the custom property that marks it.
COLLECTION, COLLECTION_MARK = "Flesh", "thew_helpers"
#: Smallest length of a bone that Blender keeps, with room to spare, in units of the armature.
MIN_LENGTH = 1e-4


@dataclass(frozen=True)
class NewBone:
    """A helper bone that is about to be made, in the armature's space."""

    name: str
    parent: str
    head: np.ndarray  # [3]
    tail: np.ndarray  # [3]


@contextmanager
def edit_mode(armature: bpy.types.Object) -> Iterator[bpy.types.ArmatureEditBones]:
    """Holds one armature in edit mode within the context; mode, selection and active object are then as before."""
    objects = bpy.context.view_layer.objects
    if objects.get(armature.name) != armature:
        raise Refusal(
            f"{describe(armature)} is not in this view layer, where its bones could be edited: show its collection"
        )
    active, mode, selected = objects.active, armature.mode, [obj for obj in objects if obj.select_get()]
    with poses.silence_handlers(), poses.show_hidden([armature]):
        for obj in selected:
            obj.select_set(False)
        objects.active = armature
        try:
            bpy.ops.object.mode_set(mode="EDIT")
            yield armature.data.edit_bones
        except RuntimeError as error:
            raise Refusal(
                f"Blender cannot edit the bones of {describe(armature)} ({error}): show it, and try again"
            ) from error
        finally:
            if armature.mode != mode:
                bpy.ops.object.mode_set(mode=mode)
            objects.active = active
            for obj in selected:
                obj.select_set(True)


def add_bones(armature: bpy.types.Object, token: str, bones: list[NewBone]) -> None:
    """Makes helper bones, marked with the token of their bake; all of them or, after a failure, none."""
    try:
        with edit_mode(armature) as edited:
            for number, bone in enumerate(bones):
                made = edited.new(bone.name)
                made[HELPER_MARK] = f"{token} {number}"
                made.head, made.tail, made.parent = bone.head, far_tail(bone), edited[bone.parent]
                made.use_connect, made.use_inherit_rotation, made.inherit_scale = False, True, "FULL"
                made.use_deform = True
        collection = flesh_collection(armature)
        for name in helper_names(armature, token).values():
            bone = armature.data.bones[name]
            for other in list(bone.collections):
                other.unassign(bone)
            collection.assign(bone)
            armature.pose.bones[name].rotation_mode = "QUATERNION"
        if len(helper_names(armature, token)) != len(bones):
            raise Refusal(
                f"Blender did not keep all helper bones of {describe(armature)}: does it have bones without a length?"
            )
    except BaseException:
        remove_bones(armature, token)
        raise


def far_tail(bone: NewBone) -> np.ndarray:
    """Returns the tail of a bone, at a distance from its head at which Blender keeps the bone."""
    along = bone.tail - bone.head
    length = float(np.linalg.norm(along))
    return bone.tail if length >= MIN_LENGTH else bone.head + np.array([0.0, 0.0, MIN_LENGTH])


def remove_bones(armature: bpy.types.Object, token: str) -> None:
    """Removes the helper bones of a bake, and their collection with the last of them; bones that hang on them move to the parent."""
    names = set(helper_names(armature, token).values())
    if names:
        with edit_mode(armature) as edited:
            for name in names:
                bone = edited[name]
                for child in bone.children:
                    child.use_connect, child.parent = False, bone.parent
                edited.remove(bone)
    for collection in [each for each in every_collection(armature.data) if each.get(COLLECTION_MARK)]:
        if not len(collection.bones) and not len(getattr(collection, "children", ())):
            armature.data.collections.remove(collection)


def flesh_collection(armature: bpy.types.Object) -> bpy.types.BoneCollection:
    """Returns the bone collection of helper bones, made and hidden where there is none."""
    found = next((each for each in every_collection(armature.data) if each.get(COLLECTION_MARK)), None)
    if found is None:
        found = armature.data.collections.new(COLLECTION)
        found[COLLECTION_MARK] = 1
        found.is_visible = False
    return found


def every_collection(data: bpy.types.Armature) -> list[bpy.types.BoneCollection]:
    """Returns all bone collections of an armature, those within others too."""
    return list(getattr(data, "collections_all", data.collections))


def rename_bones(armature: bpy.types.Object, token: str, names: list[str], places: list[CurvePlace]) -> None:
    """Gives the helper bones of a bake these names, by their numbers; curves in `places` follow."""
    for number, former in helper_names(armature, token).items():
        if names[number] == former:
            continue
        armature.data.bones[former].name = names[number]
        before, after = (bone_path(name) for name in (former, armature.data.bones[names[number]].name))
        for place in places:
            for curve in place.curves():
                if curve.data_path.startswith(before):  # Blender has renamed those of the action in use
                    curve.data_path = after + curve.data_path[len(before) :]
            group = animation.ensure_bag(place.action, place.slot).groups.get(former)
            if group is not None:
                group.name = names[number]


def bone_path(name: str) -> str:
    """Returns the beginning of the paths of a pose bone's properties."""
    return f'pose.bones["{bpy.utils.escape_identifier(name)}"].'


def taken_names(armature: bpy.types.Object, without: str = "") -> set[str]:
    """Returns the names that a new bone must not have: of bones, of vertex groups of the meshes on it, and of bones in actions.

    `without`: the token of a bake whose bones do not count.
    """
    left = set(helper_names(armature, without).values()) if without else set()
    taken = {bone.name for bone in armature.data.bones} - left
    for obj in bpy.data.objects:
        if obj.type == "MESH" and own_skin.reading.armature_of(obj) == armature:
            taken |= {group.name for group in obj.vertex_groups} - left
    for action in bpy.data.actions:
        taken |= bones_named(animation.every_curve(action)) - left
    return taken

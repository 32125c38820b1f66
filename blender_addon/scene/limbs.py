# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's side of limbs: the character in its own space, the selected bones, the attributes."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.spaces import inverse, transform
from ..saved.limbs import ThewLimb
from . import libraries, own_frame
from .bone_marks import find_marked_bone, mark_bone
from .character import Character, read_character, world_matrix
from .mesh import keep_active_attribute
from .own_skin import own_bones
from .reading import Subject, armature_of, subject

#: Attributes that limbs write, and their types.
ATTRIBUTES = {"Along": "FLOAT", "Around": "FLOAT", "Depth": "FLOAT", "Limb": "INT"}


def read(obj: bpy.types.Object, context) -> tuple[Subject, Character, np.ndarray, np.ndarray]:
    """Returns (the subject, the character at rest, heads and tails [b, 3] of its bones in the object's own space)."""
    found = subject(obj, context.view_layer)
    character = read_character(found, context.scene, context.evaluated_depsgraph_get)
    with own_frame.own_frame_if_animated(context.scene, obj, found.armature):
        into = np.linalg.inv(world_matrix(found.obj)) @ world_matrix(found.armature)
    return found, character, transform(into, character.heads), transform(into, character.tails)


def selected_bones(obj: bpy.types.Object) -> list[str]:
    """Returns the selected bones of the armature of `obj`; raises a `Refusal` where none is selected."""
    armature = armature_of(obj)
    if armature is None:
        raise Refusal(f"{describe(obj)} has no armature: a limb is made along bones")
    chosen = []
    for bone in own_bones(armature):
        posed = armature.pose.bones.get(bone.name)
        if posed.select if hasattr(posed, "select") else bone.select:  # moved there in Blender 5.0
            chosen.append(bone.name)
    if not chosen:
        raise Refusal(
            f"No bone of {describe(armature)} is selected: in pose mode select the bones of one limb, each the child of the one "
            "before (two at least are best), and press again"
        )
    return chosen


def anchor(obj: bpy.types.Object, limb: ThewLimb, bones: list[str]) -> None:
    """Lets a limb run along bones of the armature of `obj`, the first one nearest to the root."""
    armature = armature_of(obj)
    limb.bones = "\n".join(bones)
    limb.tokens = "\n".join(mark_bone(armature, armature.data.bones[bone]) for bone in bones)


def chain(obj: bpy.types.Object, limb: ThewLimb) -> list[str]:
    """Returns the present names of a limb's bones, the first one nearest to the root; a missing bone keeps its old name."""
    armature = armature_of(obj)
    if armature is None:
        return [name for name, _ in limb.saved_bones()]
    return [find_marked_bone(armature, name, token) or name for name, token in limb.saved_bones()]


def sound_chain(obj: bpy.types.Object, character: Character, limb: ThewLimb) -> list[str]:
    """Returns the names of `chain`, and stores them; raises a `Refusal` where a bone is gone, or carries nothing any more."""
    bones = chain(obj, limb)
    if limb.bones != "\n".join(bones):  # a bone that goes later is reported by its last name
        limb.bones = "\n".join(bones)
    lost = [bone for bone in bones if bone not in character.bones]
    if lost:
        raise Refusal(
            f"The bone “{lost[0]}” of the limb “{limb.name}” is gone or moves nothing of {describe(obj)} any more: give it back, with "
            "its vertex group, or remove the limb and make it again"
        )
    return bones


def pose_maps(obj: bpy.types.Object, bones: list[str]) -> np.ndarray:
    """Returns the maps by which each bone carries the object's own space at rest into the present world, [b, 4, 4]."""
    armature = armature_of(obj)
    mesh, holder = np.array(obj.matrix_world), np.array(armature.matrix_world)
    into = inverse(holder, describe(armature)) @ mesh
    maps = []
    for name in bones:
        posed = armature.pose.bones.get(name)
        if posed is None:
            maps.append(mesh)
            continue
        rest = np.array(posed.bone.matrix_local)
        maps.append(holder @ np.array(posed.matrix) @ np.linalg.inv(rest) @ into)
    return np.array(maps)


def new_armature(context, obj: bpy.types.Object, skeleton) -> bpy.types.Object:
    """Builds an armature from a skeleton in the space of `obj`, at the place of `obj`; it becomes the active object."""
    data = bpy.data.armatures.new(f"{obj.name} Bones")
    armature = bpy.data.objects.new(data.name, data)
    context.collection.objects.link(armature)
    armature.matrix_world = obj.matrix_world
    armature.show_in_front = True
    for other in context.view_layer.objects:
        other.select_set(other == armature)
    context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    made = []
    for name, parent, head, tail in zip(skeleton.names, skeleton.parents, skeleton.heads, skeleton.tails, strict=True):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = head.tolist(), tail.tolist()
        if parent >= 0:
            bone.parent = made[parent]
            bone.use_connect = bool(np.linalg.norm(head - skeleton.tails[parent]) < 1e-6 * np.linalg.norm(tail - head))
        made.append(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


def write(obj: bpy.types.Object, values: dict[str, np.ndarray]) -> None:
    """Writes values [n] into point attributes of the mesh, made where missing; the active one stays active."""
    libraries.check_own_mesh(obj, "it takes no attributes", "let Thew do this in that file")
    attributes = obj.data.attributes
    with keep_active_attribute(obj.data):
        for name, array in values.items():
            kind = ATTRIBUTES[name]
            there = attributes.get(name)
            if there is not None and (there.data_type != kind or there.domain != "POINT"):
                raise Refusal(f"{describe(obj)} has an attribute “{name}” of another type: rename it, and press again")
            there = there or attributes.new(name, kind, "POINT")
            there.data.foreach_set("value", np.ascontiguousarray(array, np.float32 if kind == "FLOAT" else np.int32))
    obj.data.update_tag()

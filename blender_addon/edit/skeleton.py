# SPDX-License-Identifier: GPL-3.0-or-later
"""Skeletons by clicking: the mesh that is clicked on, the armature made of the clicks, and its mirror image."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.skeleton_clicks import SkeletonClicks
from ..logic.spaces import inverse
from ..scene import binding
from ..scene.libraries import check_own_bones, check_own_mesh
from ..scene.limbs import new_armature
from ..scene.mesh import basis_positions, triangles_of
from ..scene.own_skin import own_bones
from ..scene.reading import armature_of, check_editable, idle_armature_modifier, idle_armature_text

#: Distance from the mirror plane, as a share of the longest bone, up to which a bone's middle counts as in the plane.
ON_PLANE = 0.02


def begin(obj: bpy.types.Object, mirror: bool) -> SkeletonClicks:
    """Begins a skeleton in a mesh without bones."""
    if obj is None or obj.type != "MESH":
        raise Refusal(f"{describe(obj) if obj else 'Nothing'} is no mesh: select the mesh that needs bones")
    if armature_of(obj) is not None:
        raise Refusal(f"{describe(obj)} has bones already: remove its Armature modifier first")
    if obj.mode != "OBJECT":
        raise Refusal(f"{describe(obj)} is being edited: leave the mode first")
    return SkeletonClicks(basis_positions(obj.data).astype(np.float64), triangles_of(obj.data), mirror)


def ray_in(obj: bpy.types.Object, origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns a ray of the world in the space of a mesh."""
    into = inverse(np.array(obj.matrix_world), describe(obj))
    return into[:3, :3] @ origin + into[:3, 3], into[:3, :3] @ direction


def keep(context: bpy.types.Context, obj: bpy.types.Object, clicks: SkeletonClicks) -> tuple[bpy.types.Object, int]:
    """Makes the armature and binds the mesh to it; returns it, and the number of vertices with weights by distance."""
    skeleton = clicks.skeleton()
    armature = new_armature(context, obj, skeleton)
    try:
        return armature, binding.bind(context, obj, armature)
    except Exception:
        bpy.data.armatures.remove(armature.data)  # and the object with it
        raise


def bind(
    context: bpy.types.Context, obj: bpy.types.Object | None, mesh: str, armature: str
) -> tuple[bpy.types.Object, int, bpy.types.Object]:
    """Lets an armature move a mesh; returns it, the number of vertices with weights by distance, and the mesh.

    `obj`: the active object. `mesh`, `armature`: names, or "" for the likely one.
    """
    scene = context.scene
    bones = obj if obj is not None and obj.type == "ARMATURE" else None
    if mesh or bones is not None:
        obj = scene.objects.get(mesh) if mesh else binding.likely_mesh(bones, scene)
    if obj is None or obj.type != "MESH":
        raise Refusal(
            f"There is no mesh “{mesh}” in this scene: choose another one"
            if mesh
            else "No mesh lies around the active object: select the mesh that needs bones"
        )
    check_editable(obj)
    if armature_of(obj) is not None:
        raise Refusal(f"{describe(obj)} has bones already: press Add Flesh")
    if (idle := idle_armature_modifier(obj)) is not None:
        raise Refusal(idle_armature_text(obj, idle))
    if armature or bones is None:
        bones = scene.objects.get(armature) if armature else binding.likely_armature(obj, scene)
    if bones is None or bones.type != "ARMATURE" or not len(bones.data.bones):
        raise Refusal(
            f"There is no armature “{armature}” with bones in this scene: choose another one"
            if armature
            else f"No bones lie in {describe(obj)}: press Suggest Bones, or select an armature too"
        )
    for each in (obj, bones):
        if each.mode != "OBJECT":
            raise Refusal(f"{describe(each)} is being edited: leave the mode first")
        if not each.visible_get():
            raise Refusal(f"{describe(each)} is hidden: show it first")
    return bones, binding.bind(context, obj, bones), obj


def symmetrize(context: bpy.types.Context, obj: bpy.types.Object, direction: str) -> tuple[int, int]:
    """Mirrors the bones of one side to the other, about the armature's own X, and weighs the mesh anew.

    Returns the number of new bones, and that of vertices with weights by distance. Names without a side get one.
    """
    armature = None if obj is None else armature_of(obj)
    if armature is None:
        raise Refusal(f"{describe(obj) if obj else 'Nothing'} has no bones: click a skeleton first")
    if obj.thew.made.flesh:
        raise Refusal(f"{describe(obj)} has flesh: remove it before its skeleton changes, and add it again")
    check_editable(obj)
    check_own_mesh(obj, "it takes no weights", "symmetrize the bones in that file")
    check_own_bones(armature)
    before = len(armature.data.bones)
    side = 1.0 if direction == "POSITIVE_X" else -1.0
    name_sides(armature, side)
    for other in context.view_layer.objects:
        other.select_set(other == armature)
    context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        bpy.ops.armature.select_all(action="SELECT")
        bpy.ops.armature.symmetrize(direction=direction)
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
    for bone in own_bones(armature):
        group = obj.vertex_groups.get(bone.name)
        if group is not None:
            obj.vertex_groups.remove(group)
    return len(armature.data.bones) - before, binding.bind(context, obj, armature)


def name_sides(armature: bpy.types.Object, side: float) -> None:
    """Gives bones on the side to keep that name no side the ending of theirs; Blender renames their vertex groups."""
    bones = own_bones(armature)
    longest = max((bone.length for bone in bones), default=0.0)
    for bone in bones:
        x = 0.5 * (bone.head_local.x + bone.tail_local.x)
        if side * x > ON_PLANE * longest and bpy.utils.flip_name(bone.name) == bone.name:
            bone.name += ".L" if x > 0.0 else ".R"

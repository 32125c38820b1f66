# SPDX-License-Identifier: GPL-3.0-or-later
"""The mesh that the artist means: the active one, one that the active armature moves, or the one whose lattice or pin is active.

Importers of glTF leave an empty active that the armature hangs on; it stands for the armature.
"""

from __future__ import annotations

import bpy

from ..scene import reading
from .session import register as fleshes


def target_mesh(context: bpy.types.Context) -> bpy.types.Object | None:
    """Returns the mesh meant; the active object itself where it is neither a mesh nor an armature that moves one."""
    active = target_armature(context)
    if active is None:
        active = context.view_layer.objects.active
        return active if active is None else mesh_of_helper(active, context.scene) or active
    chosen = active.thew.chosen
    if chosen is not None and chosen.name in context.scene.objects and is_moved_by(chosen, active):
        return chosen
    return next(iter(moved_meshes(active, context.scene)), active)


def mesh_of_helper(obj: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Object | None:
    """Returns the mesh whose lattice `obj` shows, or whose flesh a pin made `obj` for holds; None for other objects."""
    shown = obj.thew.lattice_of
    if shown is not None:
        return shown if shown.name in scene.objects else None
    if obj.type != "EMPTY":
        return None
    return next(
        (each for each in fleshes.objects(scene) if any(pin.made and pin.target == obj for pin in each.thew.pins)), None
    )


def target_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """Returns the active armature, or one that moves meshes and hangs on the active empty; None where there is neither."""
    active = context.view_layer.objects.active
    if active is None or active.type not in {"ARMATURE", "EMPTY"}:
        return None
    if active.type == "ARMATURE":
        return active
    below = (obj for obj in context.scene.objects if obj.type == "ARMATURE" and is_descendant_of(obj, active))
    return next((obj for obj in below if moved_meshes(obj, context.scene)), None)


def is_descendant_of(obj: bpy.types.Object, above: bpy.types.Object) -> bool:
    """Returns whether `above` is among the parents of `obj`."""
    parent = obj.parent
    while parent is not None and parent != above:
        parent = parent.parent
    return parent is not None


def moved_meshes(armature: bpy.types.Object, scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Returns the meshes with flesh that an armature moves, or all its meshes where none has flesh; largest first."""
    found = [obj for obj in fleshes.objects(scene) if is_moved_by(obj, armature)]
    found = found or [obj for obj in scene.objects if is_moved_by(obj, armature)]
    return sorted(found, key=lambda obj: (-len(obj.data.vertices), obj.name))


def is_moved_by(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Returns whether `obj` is a mesh whose Armature modifier in force is one of `armature`."""
    if obj.type != "MESH":
        return False
    modifier = reading.armature_modifier(obj)
    return modifier is not None and modifier.object == armature

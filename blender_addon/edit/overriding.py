# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes characters of a library editable here: library overrides of linked or instanced ones, and meshes of their own."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..saved import overrides
from ..scene import libraries, modifier, offsets, reading
from ..scene.libraries import describe_library


def make_override(context: bpy.types.Context, obj: bpy.types.Object) -> bpy.types.Object:
    """Overrides the character that `obj` is linked from or shows, editable as a whole; returns its mesh, now active.

    An instance goes on carrying its character, as the parent of it. Linked objects leave the scene for their overrides.
    """
    if not libraries.can_override(obj):
        raise Refusal(refusal_text(obj))
    before = set(bpy.data.objects)
    scene, layer = context.scene, context.view_layer
    shown = obj.instance_collection if obj.library is None else linked_collection(obj, scene)
    if shown is None:
        override_alone(obj, scene)
    else:
        shown.override_hierarchy_create(scene, layer, reference=obj, do_fully_editable=True)
    new = [each for each in bpy.data.objects if each not in before and each.override_library is not None]
    mesh = mesh_of(obj, new)
    if mesh is None:
        raise Refusal(
            f"Blender could not override {describe(obj)} of {describe_library(obj)}: link its collection, not the object alone, and press "
            "again"
        )
    if obj.library is None:
        carry(obj, new)
    else:
        take_over(shown, new, scene)
    for each in new:
        overrides.make_editable(each)
    layer.update()
    for each in layer.objects:
        each.select_set(each == mesh)
    layer.objects.active = mesh
    return mesh


def refusal_text(obj: bpy.types.Object) -> str:
    """Returns the sentence about an object that needs no override, or takes none."""
    if libraries.is_instance(obj):
        return libraries.instance_text(obj)
    if obj.override_library is not None:
        return f"{describe(obj)} is an override already: press Add Flesh"
    return f"{describe(obj)} is not linked from another file: it needs no override"


def linked_collection(obj: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Collection | None:
    """Returns the outermost linked collection of a scene that holds a linked object; None where the object is linked alone."""
    for parent in own_collections(scene):
        for child in parent.children:
            if child.library is not None and any(each == obj for each in child.all_objects):
                return child
    return None


def override_alone(obj: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """Overrides a linked object without a collection, with its armature and the scene's other linked meshes on that."""
    armature = reading.armature_of(obj)
    others = [each for each in scene.objects if each.library is not None and each.type == "MESH" and each != obj]
    kin = [each for each in others if armature is not None and reading.armature_of(each) == armature]
    made = {}
    for each in [*([armature] if armature is not None and armature.library is not None else []), obj, *kin]:
        made[each] = each.override_create()
    for new in filter(None, made.values()):
        for each in new.modifiers:
            if getattr(each, "object", None) in made:
                each.object = made[each.object]
        if new.parent in made:
            new.parent = made[new.parent]


def own_collections(scene: bpy.types.Scene) -> Iterator[bpy.types.Collection]:
    """Yields the collections of this file in a scene."""
    yield scene.collection
    yield from (each for each in scene.collection.children_recursive if each.library is None)


def mesh_of(obj: bpy.types.Object, new: list[bpy.types.Object]) -> bpy.types.Object | None:
    """Returns the override of a linked mesh, or the largest skinned mesh of an instance."""
    if obj.library is not None:
        return next((each for each in new if each.override_library.reference == obj), None)
    meshes = [each for each in new if each.type == "MESH"]
    return max(meshes, key=lambda each: (reading.armature_of(each) is not None, len(each.data.vertices)), default=None)


def carry(empty: bpy.types.Object, new: list[bpy.types.Object]) -> None:
    """Lets an instance carry the overrides made of it where they were seen, and show its collection no more."""
    shown = empty.instance_collection
    for each in new:
        if each.parent is None:
            each.parent = empty
            each.matrix_parent_inverse.identity()
            each.matrix_parent_inverse.translation = -shown.instance_offset
    empty.instance_type, empty.instance_collection = "NONE", None


def take_over(shown: bpy.types.Collection | None, new: list[bpy.types.Object], scene: bpy.types.Scene) -> None:
    """Puts overrides in the place of what was linked; where Blender has linked them already, they stay there alone."""
    references = {each.override_library.reference: each for each in new}
    for parent in list(own_collections(scene)):
        if shown is not None and any(child == shown for child in parent.children):
            parent.children.unlink(shown)
        for linked in [each for each in parent.objects if each in references]:
            parent.objects.unlink(linked)
            if not any(each == references[linked] for each in parent.objects):
                parent.objects.link(references[linked])
    for each in new:
        if not any(user == scene for user in each.users_scene):
            scene.collection.objects.link(each)


def make_mesh_local(obj: bpy.types.Object) -> None:
    """Gives an override a mesh of its own, which takes shape keys and maps; the rest stays the library's."""
    reading.check_editable(obj)
    if libraries.owns_mesh(obj):
        raise Refusal(f"The mesh of {describe(obj)} belongs to this file already")
    kept = offsets.written(obj)
    obj.data = obj.data.copy()
    overrides.make_editable(obj)
    made = obj.thew.made
    if made.flesh or made.rides:
        modifier.renew_tree(obj, obj.thew.body if made.rides else None)
        if kept is not None:
            offsets.write(obj, *kept)
    obj.update_tag()

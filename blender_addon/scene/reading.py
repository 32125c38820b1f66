# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of objects: whether a mesh can have flesh, its Armature modifier, and the modifiers before it.

The rest shape is the mesh just before the Armature modifier, every shape key at its basis. Modifiers before it that only move
vertices are respected; those that change the number of vertices are refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from . import animation, libraries, stack, tension_nodes
from .libraries import owns_mesh

#: Modifiers that may make or remove vertices: refused before the Armature modifier.
REBUILDING_MODIFIERS = {
    "ARRAY", "BEVEL", "BOOLEAN", "BUILD", "DECIMATE", "EDGE_SPLIT", "EXPLODE", "FLUID", "MASK", "MESH_TO_VOLUME", "MIRROR",
    "MULTIRES", "OCEAN", "PARTICLE_INSTANCE", "REMESH", "SCREW", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE",
    "VOLUME_TO_MESH", "WELD", "WIREFRAME",
}  # fmt: skip


@dataclass
class Subject:
    """A mesh that can have flesh, checked, with its armature and the Armature modifier that deforms it.

    Tasks keep it while the artist works on: a reference to a modifier would dangle once that is removed.
    """

    obj: bpy.types.Object
    armature: bpy.types.Object
    modifier_uid: int  # persistent id of the Armature modifier

    @staticmethod
    def of(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier) -> Subject:
        """Returns a mesh with an Armature modifier that has an armature, unchecked."""
        return Subject(obj, modifier.object, modifier.persistent_uid)

    @property
    def modifier(self) -> bpy.types.ArmatureModifier:
        """Returns the Armature modifier; refuses a mesh that has lost it meanwhile."""
        found = stack.modifier_by_id(self.obj, self.modifier_uid)
        if found is None:
            raise Refusal(lost_modifier_text(self.obj))
        return found

    def counts(self) -> tuple[int, int, int]:
        """Returns how many bones, rigs and pins it has: each pose that is read has a row for each."""
        return len(self.armature.pose.bones), len(self.obj.thew.rigs), len(self.obj.thew.pins)

    def require_counts(self, then: tuple[int, int, int]) -> None:
        """Raises a Refusal if bones, rigs or pins came or went since they were counted."""
        if self.counts() != then:
            raise Refusal(
                f"Bones, rigs or pins of {describe(self.obj)} came or went while its motion was read: press Simulate"
            )

    def modifiers_before(self) -> list[bpy.types.Modifier]:
        """Returns the modifiers before the Armature modifier that the artist has on, Thew's own left out."""
        found, last = [], self.modifier.persistent_uid
        for modifier in self.obj.modifiers:
            if modifier.persistent_uid == last:
                break
            mine = modifier.persistent_uid == self.obj.thew.made.modifier or tension_nodes.stores_only(modifier)
            if not mine and any(stack.artist_switches(self.obj, modifier)):
                found.append(modifier)
        return found

    def posing_modifiers(self) -> set[int]:
        """Returns the ids of the Armature modifier and of those chained to it."""
        last, found = stack.chain_end(self.obj, self.modifier).persistent_uid, set()
        for modifier in self.obj.modifiers:
            uid = modifier.persistent_uid
            if found or uid == self.modifier_uid:
                found.add(uid)
            if uid == last:
                break
        return found - {self.obj.thew.made.modifier}


def armature_modifier(obj: bpy.types.Object, anew: bool = False) -> bpy.types.ArmatureModifier | None:
    """Returns the Armature modifier that the flesh follows, or else the first one that is switched on and has an armature.

    `anew`: the latter also for flesh whose own Armature modifier is gone.
    """
    made = obj.thew.made
    if made.flesh:
        for modifier in obj.modifiers:
            if modifier.persistent_uid == made.armature_modifier and modifier.type == "ARMATURE":
                return modifier
        if not anew:
            return None
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object is not None and modifier.show_viewport:
            return modifier
    return None


def idle_armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """Returns the Armature modifier that would move a mesh without an effective one: switched off, or else without an armature."""
    found = [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE"]
    off = [modifier for modifier in found if modifier.object is not None and not modifier.show_viewport]
    return next(iter(off or found), None) if armature_modifier(obj) is None else None


def is_shared(mesh: bpy.types.Mesh) -> bool:
    """Returns whether more than one object has the mesh."""
    return mesh.users - int(mesh.use_fake_user) > 1


def check_unshared(obj: bpy.types.Object, would: str) -> None:
    """Refuses an object whose mesh another one has, too; `would`: what would happen to that. A library's mesh is never changed."""
    mesh = obj.data
    others = (
        (other for other in bpy.data.objects if other.data == mesh and other != obj)
        if owns_mesh(obj) and is_shared(mesh)
        else ()
    )
    for other in others:
        raise Refusal(
            f"{describe(obj)} shares its mesh with {describe(other)}, which would {would}: "
            "make it single user first (Object > Relations > Make Single User > Object & Data)"
        )


def subject(obj: bpy.types.Object | None, view_layer: bpy.types.ViewLayer, anew: bool = False) -> Subject:
    """Checks that `obj` can have flesh; a `Refusal` holds the reason and the remedy. `anew`: see `armature_modifier`."""
    check_editable(obj)
    name = describe(obj)
    mesh = obj.data
    check_unshared(obj, "get the same flesh")
    modifier = armature_modifier(obj, anew)
    if modifier is None:
        if obj.thew.made.flesh:
            raise Refusal(lost_modifier_text(obj))
        if obj.parent is not None and obj.parent.type == "ARMATURE" and obj.parent_type == "ARMATURE":
            raise Refusal(parent_deforms_text(obj))
        idle = idle_armature_modifier(obj)
        if idle is not None:
            raise Refusal(idle_armature_text(obj, idle))
        raise Refusal(
            f"{name} has no Armature modifier with an armature: parent it to its armature with Armature Deform"
        )
    if obj.parent is not None and obj.parent.type == "ARMATURE" and obj.parent_type == "ARMATURE":
        raise Refusal(
            f"{name} is deformed twice, by its parent {describe(obj.parent)} and by the modifier “{modifier.name}”: set its "
            "parent's Type to Object (Object Properties > Relations), or remove the modifier"
        )
    armature = modifier.object
    if armature is None or armature.type != "ARMATURE":
        missing = "" if armature is None else libraries.missing_text(armature)
        raise Refusal(missing or f"The Armature modifier of {name} has no armature: choose one in the modifier")
    if len(mesh.vertices) == 0:
        raise Refusal(libraries.missing_text(obj) or f"{name} has no vertices: flesh needs a mesh")
    if len(mesh.polygons) == 0:
        raise Refusal(f"{name} has no faces: flesh needs a surface")
    if armature.data.is_editmode:
        raise Refusal(f"{describe(armature)} is in edit mode, where no bone moves: press Tab to leave it first")
    if len(armature.data.bones) == 0:
        without = f"The armature {describe(armature)} of {name} has no bones: add bones and weights first"
        raise Refusal(libraries.missing_text(armature) or without)
    if not modifier.use_vertex_groups:
        raise Refusal(f"The Armature modifier of {name} ignores vertex groups: switch on Bind To > Vertex Groups")
    if len(obj.vertex_groups) == 0:
        raise Refusal(f"{name} has no vertex groups: give it weights (parent with automatic weights, or paint them)")
    for member in (obj, armature):
        if not is_in(member, view_layer.objects):
            view_layer.update()  # it may just have been linked
        if not is_in(member, view_layer.objects):
            raise Refusal(f"{describe(member)} is not in this view layer: show its collection first")
    if mesh.shape_keys is not None and not mesh.shape_keys.use_relative:
        raise Refusal(f"The shape keys of {name} are absolute: switch on Relative in its shape key panel")
    if animation.animates(obj, f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"].show_'):
        raise Refusal(
            f"The visibility of the Armature modifier of {name} is animated or driven, and flesh follows it at every "
            "frame: clear its animation"
        )
    found = Subject.of(obj, modifier)
    for other in found.modifiers_before():
        if other.type in REBUILDING_MODIFIERS:
            raise Refusal(
                f"The modifier “{other.name}” of {name} makes or removes vertices before the Armature modifier: {modifier_remedy(other)}"
            )
    return found


def lost_modifier_text(obj: bpy.types.Object) -> str:
    """Returns the sentence about flesh whose Armature modifier is gone."""
    return (
        f"The Armature modifier that the flesh of {describe(obj)} followed is gone: give it one and press Add Flesh, "
        "or press Remove Flesh"
    )


def idle_armature_text(obj: bpy.types.Object, idle: bpy.types.ArmatureModifier) -> str:
    """Returns the sentence about an Armature modifier that does nothing."""
    if idle.object is None:
        return f"The Armature modifier “{idle.name}” of {describe(obj)} has no armature: choose one in the modifier"
    return f"The Armature modifier “{idle.name}” of {describe(obj)} is switched off: switch it on in the viewport"


def parent_deforms_text(obj: bpy.types.Object) -> str:
    """Returns the sentence about a mesh that its parent deforms by itself."""
    return (
        f"{describe(obj)} is deformed by its parent without a modifier: give it an Armature modifier "
        "(parent with Armature Deform again, or use Make Real in the modifier panel)"
    )


#: Modifiers that, behind the Armature modifier, leave the skin in place except for bends between its vertices.
MOVABLE_MODIFIERS = {"EDGE_SPLIT", "SUBSURF", "TRIANGULATE"}


def modifier_remedy(modifier: bpy.types.Modifier) -> str:
    """Returns the remedy for a modifier that may not stand before the Armature modifier."""
    keyed = modifier.id_data.data.shape_keys is not None
    apply = "apply it" + (" (Blender does so where there are no shape keys)" if keyed else "")
    return f"{apply}, or move it below the Armature modifier" if modifier.type in MOVABLE_MODIFIERS else apply


def view_layer(scene: bpy.types.Scene) -> bpy.types.ViewLayer:
    """Returns the view layer in which a scene is read: the artist's, if it shows that scene."""
    return bpy.context.view_layer if bpy.context.scene == scene else scene.view_layers[0]


def shown_collections(top: bpy.types.LayerCollection) -> list[bpy.types.Collection]:
    """Returns the collections of a view layer whose objects are evaluated; the eye icon hides from the view alone."""
    found, left = [], [top]
    while left:
        layer = left.pop()
        if layer.collection.hide_viewport:
            continue
        if not layer.exclude:
            found.append(layer.collection)
        left.extend(layer.children)
    return found


def is_enabled(other, layer: bpy.types.ViewLayer, collections: list[bpy.types.Collection]) -> bool:
    """Returns whether an object takes part in the simulations of a view layer, by Blender's own rules."""
    if other.hide_viewport or not is_in(other, layer.objects):
        return False
    return any(is_in(other, collection.objects) for collection in collections)


def check_editable(obj: bpy.types.Object | None) -> None:
    """Refuses an object that cannot be edited here: no mesh, another file's data, or in edit mode."""
    if obj is None:
        raise Refusal(NOTHING_ACTIVE_TEXT)
    name = describe(obj)
    if libraries.is_instance(obj):
        raise Refusal(libraries.instance_text(obj))
    if obj.type != "MESH":
        raise Refusal(libraries.missing_text(obj) or meshless_text(obj))
    if obj.library is not None:
        raise Refusal(libraries.missing_text(obj) or libraries.linked_text(obj))
    if obj.mode == "EDIT" or obj.data.is_editmode:
        raise Refusal(f"{name} is in edit mode: press Tab to leave it first")


#: The sentence where no object is active.
NOTHING_ACTIVE_TEXT = "Nothing is active: select a skinned mesh or its armature"


def meshless_text(obj: bpy.types.Object) -> str:
    """Returns the sentence about an active object that is no mesh: what to select, or what its armature lacks."""
    if obj.type == "ARMATURE":
        return bare_armature_text(obj)
    kind = obj.type.replace("_", " ").lower()
    article = "an" if kind[0] in "aeiou" else "a"
    return f"{describe(obj)} is {article} {kind}, not a mesh: select a skinned mesh or its armature"


def bare_armature_text(armature: bpy.types.Object) -> str:
    """Returns the sentence about an armature without a mesh that its bones deform: which mesh was meant, or that there is none."""
    return lost_mesh_text(armature) or (
        f"The armature {describe(armature)} moves no mesh: press Ctrl+Z if its mesh was deleted, or parent one to it "
        "(Ctrl+P, With Automatic Weights)"
    )


def lost_mesh_text(armature: bpy.types.Object) -> str:
    """Returns the sentence about a mesh that belongs to an armature whose bones do not deform it; "" without one."""
    meshes = [obj for scene in armature.users_scene for obj in scene.objects if obj.type == "MESH"]
    for obj in meshes:
        idle = idle_armature_modifier(obj)
        if idle is not None and idle.object == armature:
            return idle_armature_text(obj, idle)
    children = [obj for obj in meshes if obj.parent == armature and obj.parent_type != "BONE"]
    deformed = next((obj for obj in children if obj.parent_type == "ARMATURE"), None)
    if deformed is not None:
        return parent_deforms_text(deformed)
    if children:
        return (
            f"{describe(children[0])} is parented to {describe(armature)}, but no bone deforms it: parent it again "
            "(Ctrl+P, With Automatic Weights)"
        )
    return ""


def has_edited_armature(obj: bpy.types.Object) -> bool:
    """Returns whether the armature that moves a mesh is in edit mode, which shows its bones at rest."""
    armature = armature_of(obj)
    return armature is not None and armature.data.is_editmode


def is_own(obj: bpy.types.Object) -> bool:
    """Returns whether the object belongs to this file, if only as an override; a linked one shows what it was saved with."""
    return obj.library is None


def is_in(obj: bpy.types.Object, objects) -> bool:
    """Returns whether an object is among those of a scene or view layer, where one of a library may have the same name."""
    found = objects.get(obj.name)
    return found == obj or (found is not None and any(each == obj for each in objects))


def armature_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Returns the armature that moves `obj`."""
    modifier = armature_modifier(obj)
    return None if modifier is None else modifier.object


def active_bone(armature: bpy.types.Object) -> str:
    """Returns the bone that is active and selected in the armature, or ""."""
    bone = armature.data.bones.active
    return bone.name if bone is not None and _is_selected(armature, bone) else ""


def selected_bones(armature: bpy.types.Object) -> list[str]:
    """Returns the bones that are selected in the armature, in the armature's order."""
    return [bone.name for bone in armature.data.bones if _is_selected(armature, bone)]


def _is_selected(armature: bpy.types.Object, bone: bpy.types.Bone) -> bool:
    posed_bone = armature.pose.bones.get(bone.name)
    return posed_bone.select if hasattr(posed_bone, "select") else bone.select  # moved there in Blender 5.0

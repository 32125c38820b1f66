# SPDX-License-Identifier: GPL-3.0-or-later
"""Record of Thew's additions to an object and its former state, which removal restores."""

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .choices import BAKE_SPACES


class ThewMade(bpy.types.PropertyGroup):
    """Thew's additions to one object, and its former state."""

    flesh: BoolProperty(description="Flesh was added to this object", options={"HIDDEN"})
    modifier: IntProperty(description="Persistent id of Thew's modifier", options={"HIDDEN"})
    armature_modifier: IntProperty(
        description="Persistent id of the Armature modifier that the flesh follows", options={"HIDDEN"}
    )
    found: StringProperty(
        description="Modifiers that Thew switched, as it found them: id:viewport:render, blank separated",
        options={"HIDDEN"},
    )
    found_active: IntProperty(description="Persistent id of the modifier that was active", options={"HIDDEN"})
    found_attribute: StringProperty(description="Name of the attribute that was active", options={"HIDDEN"})
    mesh_rest: FloatVectorProperty(size=16, description="World matrix of the mesh at rest, by rows", options={"HIDDEN"})
    armature_rest: FloatVectorProperty(
        size=16, description="World matrix of the armature at rest, by rows", options={"HIDDEN"}
    )
    longest_side: FloatProperty(description="Longest side of the whole character, scene units", options={"HIDDEN"})
    guessed_height: FloatProperty(description="Real height that Thew guessed, metres", options={"HIDDEN"})
    elsewhere: StringProperty(
        description="Names of the bones that carry other meshes of the character, line by line", options={"HIDDEN"}
    )
    baked_keys: StringProperty(description="Names of the baked shape keys, line by line", options={"HIDDEN"})
    baked_start: IntProperty(description="First baked frame", options={"HIDDEN"})
    baked_end: IntProperty(description="Last baked frame", options={"HIDDEN"})
    baked_space: EnumProperty(
        items=BAKE_SPACES,
        default="POSED",  # as bakes of earlier versions are
        description="What space the baked keys are in",
        options={"HIDDEN"},
    )
    baked_miss: FloatProperty(
        description="The farthest that baked keys stay from the flesh, of the character's size", options={"HIDDEN"}
    )
    baked_settings: StringProperty(description="A hash of the settings that were baked", options={"HIDDEN"})
    baked_basis: BoolProperty(description="The Basis key was made for the bake", options={"HIDDEN"})
    baked_action: BoolProperty(description="The keys' action was made for the bake", options={"HIDDEN"})
    baked_of: PointerProperty(
        type=bpy.types.Action, description="The action of the armature that was baked", options={"HIDDEN"}
    )
    shows_bake: BoolProperty(description="The baked keys play, not the live flesh", options={"HIDDEN"})
    flesh_map: StringProperty(
        description="Hash of the automatic map that the vertex group Flesh was filled with", options={"HIDDEN"}
    )
    flesh_map_count: IntProperty(description="How many vertices that map had", options={"HIDDEN"})
    rides: BoolProperty(description="The object rides on a body's flesh", options={"HIDDEN"})
    along: BoolProperty(description="The object rides because Add Flesh took its whole character", options={"HIDDEN"})
    left: StringProperty(
        description="Which meshes of the character were left as they are, and why, line by line", options={"HIDDEN"}
    )
    keyframed: BoolProperty(description="The object has keyframed flesh", options={"HIDDEN"})
    cache: PointerProperty(
        type=bpy.types.Image, description="Holds the motion, where it is kept in the file", options={"HIDDEN"}
    )
    notes: StringProperty(description="What was found while building, line by line", options={"HIDDEN"})


#: Properties that describe a bake.
BAKED = (
    "baked_keys", "baked_start", "baked_end", "baked_space", "baked_miss", "baked_settings", "baked_basis", "baked_action",
    "baked_of",
)  # fmt: skip


def reset(obj: bpy.types.Object, keep_rigs: bool = False, keep_bake: bool = False) -> None:
    """Resets every property to its default, as if Thew had never been here; rigs and limbs, and notes of a bake, may be kept."""
    kept = {"rigs", "active_rig", "limbs", "active_limb", "limb_lattice"} if keep_rigs else set()
    kept |= set(BAKED) if keep_bake else set()
    for group in (obj.thew.made, obj.thew):
        for name in group.bl_rna.properties.keys():
            if name not in {"rna_type", "name", "made"} | kept:
                group.property_unset(name)
    if keep_bake or (keep_rigs and (len(obj.thew.rigs) or len(obj.thew.limbs))):
        return
    obj.thew.rigs.clear()
    obj.thew.limbs.clear()
    if "thew" in obj.keys():  # before Blender 5.0 the group itself is a custom property
        del obj["thew"]

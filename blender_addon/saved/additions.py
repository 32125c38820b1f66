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

from . import overrides
from .choices import BAKE_SPACES
from .comparison import compared_properties
from .edit_callbacks import record


class ThewMade(bpy.types.PropertyGroup):
    """Thew's additions to one object, and its former state."""

    flesh: record(BoolProperty, "Flesh was added to this object")
    modifier: record(IntProperty, "Persistent id of Thew's modifier")
    armature_modifier: record(IntProperty, "Persistent id of the Armature modifier that the flesh follows")
    found: record(
        StringProperty, "Modifiers that Thew switched, as it found them: id:viewport:render, separated by blanks"
    )
    added_modifiers: record(StringProperty, "Modifiers that were added to an override: id:name, one per line")
    found_active: record(IntProperty, "Persistent id of the modifier that was active")
    found_attribute: record(StringProperty, "Name of the attribute that was active")
    mesh_rest: record(FloatVectorProperty, "World matrix of the mesh at rest, by rows", size=16)
    armature_rest: record(FloatVectorProperty, "World matrix of the armature at rest, by rows", size=16)
    longest_side: record(FloatProperty, "Longest side of the whole character, in scene units")
    guessed_height: record(FloatProperty, "Real height that Thew guessed, in metres")
    elsewhere: record(StringProperty, "Names of the bones that carry other meshes of the character, one per line")
    baked_basis: record(BoolProperty, "The Basis key was made for the bakes")
    baked_tracks: record(StringProperty, "Names of the NLA tracks that were made for the baked keys, one per line")
    baked_rest_position: record(BoolProperty, "Add Rest Position was switched on for the tension of baked keys")
    shows_bake: record(BoolProperty, "A bake plays, not the live flesh")
    # The one bake of files of earlier versions, which `bakes.migrate` makes a bake of `Object.thew.bakes`:
    baked_keys: record(StringProperty, "Names of the baked shape keys, one per line")
    baked_start: record(IntProperty, "First baked frame")
    baked_end: record(IntProperty, "Last baked frame")
    baked_space: record(  # in bakes of earlier versions, posed space
        EnumProperty, "Space of the baked keys", items=BAKE_SPACES, default="POSED"
    )
    baked_miss: record(
        FloatProperty, "Largest distance of baked keys from the flesh, as a share of the character's size"
    )
    baked_settings: record(StringProperty, "A hash of the settings that were baked")
    baked_action: record(BoolProperty, "The keys' action was made for the bake")
    baked_of: record(PointerProperty, "The action of the armature that was baked", type=bpy.types.Action)
    flesh_map: record(StringProperty, "Hash of the automatic map that the vertex group Flesh was filled with")
    flesh_map_count: record(IntProperty, "Number of vertices of that map")
    rigid_map: record(BoolProperty, "The vertex group Rigid was made for the flesh")
    rides: record(BoolProperty, "The object rides on a body's flesh")
    along: record(BoolProperty, "The object rides because Add Flesh took its whole character")
    left: record(StringProperty, "Meshes of the character that were left as they are, and why, one per line")
    own_maps: record(StringProperty, "Names of the maps that were kept when flesh was removed, one per line")
    keyframed: record(BoolProperty, "The object has keyframed flesh")
    cache: record(PointerProperty, "Holds the motion, where it is kept in the file", type=bpy.types.Image)
    notes: record(StringProperty, "Findings of the build, one per line")


#: Properties that describe bakes, of the record here and of the settings.
BAKE_PROPERTIES = {"baked_basis", "baked_tracks", "baked_rest_position", "store_tension", "bakes", "active_bake"}


#: Settings of the artist that choose frames and collections. All others are those that A and B hold.
CHOICES = ("use_scene_range", "frame_start", "frame_end", "field_collection", "collider_collection")


def changed_settings(obj: bpy.types.Object) -> set[str]:
    """Returns the names of the artist's settings that differ from their defaults."""
    known = {prop.identifier: prop for prop in compared_properties(obj.thew)}
    known |= {name: obj.thew.bl_rna.properties[name] for name in CHOICES}
    return {name for name, prop in known.items() if getattr(obj.thew, name) != getattr(prop, "default", None)}


def reset(obj: bpy.types.Object, keep_rigs: bool = False, keep_bake: bool = False, keep_settings: bool = False) -> None:
    """Resets every property to its default, as if Thew had never been here; rigs and limbs, notes of a bake, and changed settings may be
    kept. Maps that stay are remembered.
    """
    by_hand = {"use_hand_lattice", "hand_lattice", "hand_mesh"}
    kept = {"rigs", "active_rig", "limbs", "active_limb", "limb_lattice", *by_hand} if keep_rigs else set()
    kept |= BAKE_PROPERTIES if keep_bake else set()
    settings = changed_settings(obj) if keep_settings else set()
    kept |= settings | ({"own_maps"} if obj.thew.made.own_maps else set())
    for group in (obj.thew.made, obj.thew):
        for name in group.bl_rna.properties.keys():
            if name not in {"rna_type", "name", "made"} | kept and not overrides.has_entries(obj, group, name):
                group.property_unset(name)
    work = keep_rigs and (len(obj.thew.rigs) or len(obj.thew.limbs) or obj.thew.hand_lattice)
    if keep_bake or settings or work or obj.thew.made.own_maps:
        return
    for name in ("rigs", "limbs"):
        if not overrides.has_entries(obj, obj.thew, name):
            getattr(obj.thew, name).clear()
    if "thew" in obj.keys():  # before Blender 5.0 the group itself is a custom property
        del obj["thew"]

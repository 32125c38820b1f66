# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved bakes of an object: a list of named bakes, each with its clips. One of them plays at a time.

A clip is a range of frames of one action of the armature, or of the scene as it played. Files of earlier versions hold one bake of
one range in `Object.thew.made`; `migrate` makes a bake of it.
"""

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .choices import BAKE_SPACES
from .edit_callbacks import record

#: Kind and name of the bakes of earlier versions: the only target there was.
FORMER_KIND, FORMER_NAME = "SHAPE_KEYS", "Shape Keys"


class ThewClip(bpy.types.PropertyGroup):
    """One clip of a bake; its builtin `name` is that of its action at the bake, empty for the scene's range."""

    action: record(PointerProperty, "The action of the armature that was baked", type=bpy.types.Action)
    bones_slot: record(StringProperty, "Identifier of the action's slot that moves the bones")
    slot: record(StringProperty, "Identifier of the slot that holds the curves of the bake")
    curves: record(
        PointerProperty,
        "The action that holds the curves of the bake, where that is another one",
        type=bpy.types.Action,
    )
    played: record(
        PointerProperty, "The one action that the armature played unchanged over a scene's range", type=bpy.types.Action
    )
    start: record(IntProperty, "First frame")
    end: record(IntProperty, "Last frame")
    fps: record(FloatProperty, "Frames per second at the bake; 0: unknown")
    error: record(FloatProperty, "Largest distance of the bake from the flesh, in metres")
    error_frame: record(IntProperty, "Frame of the largest distance")
    error_vertex: record(IntProperty, "Vertex of the largest distance; -1: unknown", default=-1)
    keys: record(StringProperty, "Names of the shape keys of this clip alone, one per line")
    file: record(StringProperty, "The file of this clip, relative to the .blend")
    owner: record(StringProperty, "Mark of the .blend that owns the file; empty: the one beside whose folder it lies")
    modifier: record(IntProperty, "Persistent id of the modifier that plays the file; 0: none")
    layer: record(StringProperty, "Name of the UV layer with the texel of each vertex, where it was made for the bake")
    moves_bones: record(
        BoolProperty, "The curves of the bake move bones of the armature, in the slot of its own curves"
    )
    made_slot: record(BoolProperty, "The slot was made for the bake")
    made_curves: record(BoolProperty, "The action with the curves was made for the bake")
    made_range: record(BoolProperty, "The action's manual frame range was set for the bake")

    @property
    def is_scene(self) -> bool:
        """Returns whether the clip is the scene's range as it played, not one action."""
        return not self.name

    @property
    def label(self) -> str:
        """Returns the clip's name for panels and sentences: that of its action as it is called now."""
        if self.is_scene:
            return "Scene"
        return self.action.name if self.action is not None else self.name


class ThewClipTick(bpy.types.PropertyGroup):
    """An action in the dialog of a bake; its builtin `name` is the action's."""

    chosen: BoolProperty(name="Bake", description="Bake this action", default=True)


class ThewBakeChoice(bpy.types.PropertyGroup):
    """Choices last made in Bake As… for an object; its builtin `name` is that of the bake."""

    target: record(StringProperty, "Key of the bake target; empty: nothing was chosen yet")
    tolerance: record(FloatProperty, "Largest distance allowed, in millimetres of the character", default=2.0)
    folder: record(StringProperty, "Folder for files; empty: beside the .blend")
    image: record(StringProperty, "Format of textures", default="EXR")
    bones: record(IntProperty, "Largest number of helper bones", default=16)
    regions: record(IntProperty, "Largest number of regions of compressed keys", default=1)
    influences: record(IntProperty, "Largest number of bones of a vertex", default=4)
    rest_error: record(
        FloatProperty,
        "Largest distance from the plain skin while helper bones rest, in millimetres of the character",
        default=3.0,
    )


class ThewBake(bpy.types.PropertyGroup):
    """One bake of an object; its builtin `name` is unique in the object's list."""

    kind: record(StringProperty, "Key of the bake target")
    space: record(EnumProperty, "Space of the baked keys", items=BAKE_SPACES, default="REST")
    miss: record(FloatProperty, "Largest distance of baked keys from the flesh, as a share of the character's size")
    tolerance: record(FloatProperty, "Largest distance that the artist allowed, in metres; 0: exact")
    keys: record(StringProperty, "Names of the baked shape keys, one per line")
    plays: record(BoolProperty, "This bake plays while the object shows its bake")
    settings: record(StringProperty, "A hash of the settings that were baked")
    holds: record(BoolProperty, "Helper bones stay in their end poses beside a clip, and do not rest")
    resting_error: record(
        FloatProperty, "Largest distance of the skin from the plain one while helper bones rest, in metres"
    )
    regions: record(IntProperty, "Number of regions that was asked for, whose keys move nothing else", default=1)
    bones: record(IntProperty, "Number of helper bones that was asked for; 0: the bake is of another kind")
    influences: record(IntProperty, "Largest number of bones of a vertex that was asked for")
    notes: record(StringProperty, "Sentences about the last bake into it, one per line")
    rest_tolerance: record(
        FloatProperty,
        "Largest distance from the plain skin that was allowed while helper bones rest, in metres",
        default=3e-3,
    )
    token: record(StringProperty, "Mark of the helper bones that were made for the bake, and of their weights")
    clips: CollectionProperty(type=ThewClip, description="Clips of the bake")

    @property
    def key_names(self) -> list[str]:
        """Returns the names of the baked shape keys."""
        return [name for name in self.keys.splitlines() if name]

    @property
    def scene_clip(self) -> ThewClip | None:
        """Returns the clip of the scene's range, if there is one."""
        return next((clip for clip in self.clips if clip.is_scene), None)

    def clip_of(self, action: bpy.types.Action, slot: str = "") -> ThewClip | None:
        """Returns the clip of an action; `slot`: identifier of the slot that moves the bones, where the action has several."""
        found = [clip for clip in self.clips if not clip.is_scene and clip.action == action]
        exact = [clip for clip in found if slot and clip.bones_slot == slot]
        return (exact or found or [None])[0]


def named(obj: bpy.types.Object, name: str) -> ThewBake | None:
    """Returns the bake with this name."""
    return obj.thew.bakes.get(name)


def playing(obj: bpy.types.Object) -> ThewBake | None:
    """Returns the bake that plays while the object shows its bake; None without bakes."""
    return next((bake for bake in obj.thew.bakes if bake.plays), None)


def choose(obj: bpy.types.Object, chosen: ThewBake | None) -> None:
    """Makes one bake the one that plays."""
    for index, bake in enumerate(obj.thew.bakes):
        plays = chosen is not None and bake.name == chosen.name
        if bake.plays != plays:
            bake.plays = plays
        if plays:
            obj.thew.active_bake = index


def all_clips() -> list[ThewClip]:
    """Returns the clips of every bake of every object of the file."""
    return [clip for obj in bpy.data.objects if obj.type == "MESH" for bake in obj.thew.bakes for clip in bake.clips]


def migrate(obj: bpy.types.Object) -> bool:
    """Makes a bake of the one that an earlier version saved; returns whether there was one."""
    made = obj.thew.made
    names = [name for name in made.baked_keys.splitlines() if name]
    if not names or obj.library is not None:
        return False
    keys = obj.data.shape_keys if obj.type == "MESH" else None
    animation = keys.animation_data if keys is not None else None
    bake = obj.thew.bakes.add()
    bake.name, bake.kind, bake.keys = FORMER_NAME, FORMER_KIND, "\n".join(names)
    bake.space, bake.miss, bake.settings = made.baked_space, made.baked_miss, made.baked_settings
    clip = bake.clips.add()
    clip.start, clip.end, clip.keys = made.baked_start, made.baked_end, bake.keys
    clip.played, clip.made_curves = made.baked_of, made.baked_action
    if animation is not None and animation.action is not None:
        slot = getattr(animation, "action_slot", None)
        clip.curves, clip.slot = animation.action, slot.identifier if slot is not None else ""
    for name in FORMER_PROPERTIES:
        made.property_unset(name)
    choose(obj, bake)
    return True


def migrate_all() -> None:
    """Makes bakes of those that earlier versions saved, on every object of the file."""
    for obj in bpy.data.objects:
        if obj.type == "MESH":
            migrate(obj)


#: Properties of `Object.thew.made` in which earlier versions described their bake.
FORMER_PROPERTIES = (
    "baked_keys", "baked_start", "baked_end", "baked_space", "baked_miss", "baked_settings", "baked_of", "baked_action",
)  # fmt: skip

CLASSES = (ThewClip, ThewBake, ThewClipTick, ThewBakeChoice)

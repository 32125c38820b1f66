# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifier stack of an object as its artist has it, whether flesh or a bake plays at the moment.

A bake switches modifiers off while it plays; their former state is noted at the object, and saved with it.
"""

from __future__ import annotations

import bpy

from . import tension_nodes


def modifier_by_id(obj: bpy.types.Object, uid: int) -> bpy.types.Modifier | None:
    """Returns the modifier with that persistent id."""
    return next((m for m in obj.modifiers if uid and m.persistent_uid == uid), None)


def switch_off(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> None:
    """Switches `modifier` off and notes its former state, once."""
    made = obj.thew.made
    if modifier.persistent_uid not in noted_ids(obj):
        note = f"{modifier.persistent_uid}:{int(modifier.show_viewport)}:{int(modifier.show_render)}"
        made.found = f"{made.found} {note}".strip()
    set_switches(modifier, False, False)


def restore(obj: bpy.types.Object, uid: int) -> None:
    """Restores a modifier's former state and drops the note."""
    made = obj.thew.made
    kept = []
    for noted, viewport, render in _noted_switches(obj):
        if noted != uid:
            kept.append(f"{noted}:{viewport}:{render}")
            continue
        modifier = modifier_by_id(obj, uid)
        if modifier is not None:
            set_switches(modifier, bool(viewport), bool(render))
    made.found = " ".join(kept)


def noted_ids(obj: bpy.types.Object) -> list[int]:
    """Returns the persistent ids of the modifiers that Thew switched off."""
    return [uid for uid, _, _ in _noted_switches(obj)]


def _noted_switches(obj: bpy.types.Object) -> list[tuple[int, int, int]]:
    """Returns (id, viewport, render) of the modifiers that Thew switched off; unreadable parts of a damaged note are left out."""
    entries = (entry.split(":") for entry in obj.thew.made.found.split())
    numbers = (entry for entry in entries if len(entry) == 3 and all(part.isdecimal() for part in entry))
    return [(int(uid), int(viewport), int(render)) for uid, viewport, render in numbers]


def artist_switches(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> tuple[bool, bool]:
    """Returns the artist's switches of a modifier, (viewport, render), even if Thew has switched it off."""
    for uid, viewport, render in _noted_switches(obj):
        if uid == modifier.persistent_uid:
            return bool(viewport), bool(render)
    return modifier.show_viewport, modifier.show_render


def chain_end(obj: bpy.types.Object, armature: bpy.types.ArmatureModifier) -> bpy.types.ArmatureModifier:
    """Returns the last Armature modifier that Blender evaluates as one with `armature`: those right behind it with Multi Modifier.

    They get the same input vertices, as long as no other modifier stands between; Thew's own does not count.
    """
    stack = list(obj.modifiers)
    for other in stack[stack.index(armature) + 1 :]:
        if other.persistent_uid == obj.thew.made.modifier:
            continue
        if other.type != "ARMATURE" or not other.use_multi_modifier:
            break
        armature = other
    return armature


def set_switches(modifier: bpy.types.Modifier, viewport: bool, render: bool) -> None:
    """Sets both switches, and touches only those that differ (each touch re-evaluates the object)."""
    if modifier.show_viewport != viewport:
        modifier.show_viewport = viewport
    if modifier.show_render != render:
        modifier.show_render = render


def modifiers_in_bake(obj: bpy.types.Object, armature: bpy.types.Modifier, space: str) -> list[bpy.types.Modifier]:
    """Returns the modifiers whose effect the keys of a bake hold, and which must not act while it plays.

    In posed space these are all up to the Armature modifier and those chained to it; in rest space those before it that are not
    Armature modifiers. Modifiers that Thew switched off count as on, and one that only stores tension does not count.
    """
    made, found = obj.thew.made, []
    last = chain_end(obj, armature).persistent_uid
    for modifier in obj.modifiers:
        uid = modifier.persistent_uid
        if (
            any(artist_switches(obj, modifier))
            and uid != made.modifier
            and not tension_nodes.stores_only(modifier)
            and (space == "POSED" or modifier.type != "ARMATURE")
        ):
            found.append(modifier)
        if uid == last:
            break
    return found

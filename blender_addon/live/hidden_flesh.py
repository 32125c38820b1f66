# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons why the view does not show intact flesh: something else was hidden, switched off, removed or exchanged."""

from __future__ import annotations

import bpy

from ..scene import bakes, modifier, reading
from .flesh import Flesh


def hidden_reason(obj: bpy.types.Object, flesh: Flesh | None) -> str:
    """Returns why the view shows neither the live flesh of `obj` nor its bake, and the remedy; "" where it shows one."""
    made = obj.thew.made
    if obj.hide_viewport or not obj.visible_get():
        return "Hidden: show the object to see its flesh"
    if made.shows_bake:
        return "" if bakes.bake_descriptions(obj) else "What was baked is gone: press Show Live, or Bake again"
    armature, mine = reading.armature_modifier(obj), modifier.modifier_by_id(obj, made.modifier)
    if mine is None:
        return "Thew's modifier is gone: press Add Flesh again, or Remove Flesh"
    if armature is None:
        return "The Armature modifier that the flesh followed is gone: give it one and press Add Flesh, or Remove Flesh"
    if armature.object is None:
        return f"The modifier “{armature.name}” has no armature: choose one there"
    if not armature.show_viewport:
        return f"The modifier “{armature.name}” is switched off in viewports: switch it on to see the flesh"
    if mine.node_group is None:
        return f"The modifier “{mine.name}” has lost its nodes: press Add Flesh again"
    if not mine.show_viewport:
        return f"The modifier “{mine.name}” is switched off in viewports: switch it on to see the flesh"
    stack = [each.persistent_uid for each in obj.modifiers]
    if stack.index(mine.persistent_uid) < stack.index(armature.persistent_uid):
        return f"The modifier “{mine.name}” stands before “{armature.name}”: move it right behind"
    if obj.mode in {"EDIT", "SCULPT"}:
        return f"{obj.mode.capitalize()} Mode shows the plain skin"
    if reading.has_edited_armature(obj):
        return "Edit Mode of the armature shows the plain skin at rest"
    if flesh is not None and flesh.clip is not None and not flesh.condition.is_showable:
        return "The mesh or its bones have changed: play, or press Simulate"
    return ""


def can_add_again(obj: bpy.types.Object) -> bool:
    """Returns whether Add Flesh restores the missing part: Thew's modifier, its nodes, or the Armature modifier that the flesh
    followed.
    """
    made = obj.thew.made
    mine = modifier.modifier_by_id(obj, made.modifier)
    unfollowed = reading.armature_modifier(obj) is None and not made.shows_bake  # keys in posed space need none
    return mine is None or mine.node_group is None or unfollowed

# SPDX-License-Identifier: GPL-3.0-or-later
"""Tension on a skin that plays baked keys: a modifier before all others compares its edges with those of the rest positions.

It stores the attribute of the live flesh and moves nothing. It needs no extension, and stays with the keys after Finish Bake. Keys in posed
space hold the motion of the bones too, so that nothing is left to compare them with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..saved import bakes as saved_bakes
from . import cache_playing, helper_playing, key_playing, modifier, writing
from .stack import set_switches
from .tension_nodes import KEYED_NAME, keyed_tree, stores_only


def modifier_of(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """Returns the modifier; None where the object has none."""
    return next((each for each in obj.modifiers if stores_only(each)), None)


def settle(obj: bpy.types.Object) -> None:
    """Makes, switches or removes the modifier, as the object's setting Tension and its bakes demand."""
    found = modifier_of(obj)
    if not obj.thew.store_tension or not any(holds_rest_keys(obj, bake) for bake in obj.thew.bakes):
        remove(obj, found)
        return
    if found is None:
        found = add(obj)
    if found is not None:
        bake = saved_bakes.playing(obj)
        on = bake is not None and holds_rest_keys(obj, bake) and key_playing.is_shown(obj)
        set_switches(found, on, on)


def holds_rest_keys(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> bool:
    """Returns whether a bake has shape keys in rest space."""
    return bake.space == "REST" and bool(writing.keys_of(obj, bake))


def add(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """Makes the modifier, switched off, and switches Add Rest Position on; None where Blender allows no modifier before all others."""
    try:
        new = modifier.add_first(obj, KEYED_NAME)
    except Refusal:
        return None  # `remark` tells of it
    new.node_group = keyed_tree()
    if not obj.add_rest_position_attribute:
        obj.add_rest_position_attribute = obj.thew.made.baked_rest_position = True
    return new


def remove(obj: bpy.types.Object, found: bpy.types.Modifier | None) -> None:
    """Removes the modifier, and switches Add Rest Position off if it was switched on for it."""
    if found is not None:
        group = found.node_group
        obj.modifiers.remove(found)
        if group.users == 0 and group.library is None:
            bpy.data.node_groups.remove(group)
    if obj.thew.made.baked_rest_position:
        obj.add_rest_position_attribute = obj.thew.made.baked_rest_position = False


def remark(obj: bpy.types.Object) -> str:
    """Returns a sentence on why the bake that plays lacks the attribute although Tension is on; "" where it has it."""
    bake = saved_bakes.playing(obj)
    if not obj.thew.store_tension or bake is None:
        return ""
    without = (
        "point caches"
        if bake.kind in cache_playing.SUFFIXES
        else "helper bones"
        if bake.kind == helper_playing.KIND
        else ""
    )
    if without:
        return f"{without} hold no Tension, which materials of {describe(obj)} may read: bake keys or a texture, or export USD from the live flesh"
    if not writing.keys_of(obj, bake):
        return ""
    if bake.space == "POSED":
        return f"the keys of {describe(obj)} hold flesh and bones and store no Tension: set Keys Hold to Flesh Alone and bake"
    if modifier_of(obj) is None:
        return f"{modifier.no_place_refusal(obj)}; until then its keys store no Tension"
    return ""


@contextmanager
def without_modifiers() -> Iterator[None]:
    """Switches the modifiers of all objects off within the context, for exporters that would apply them."""
    found = [each for obj in bpy.data.objects for each in obj.modifiers if stores_only(each)]
    switches = [(each, each.show_viewport, each.show_render) for each in found]
    for each in found:
        set_switches(each, False, False)
    try:
        yield
    finally:
        for each, viewport, render in switches:
            set_switches(each, viewport, render)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of rigs of a character: adds, removes and moves rigs."""

from __future__ import annotations

import bpy

from ..logic.names import free_name
from ..rigs import drivers
from ..rigs.anchors import unmark
from ..saved import rigs as saved_rigs
from ..saved.samples import quiet_edits
from ..scene.libraries import check_own_entry
from ..scene.own_skin import own_group_names, read_groups


def new_rig(obj: bpy.types.Object, name: str) -> saved_rigs.ThewRig:
    """Adds a rig with a free name at the end of the list and makes it active."""
    rigs = obj.thew.rigs
    taken = {rig.name for rig in rigs}
    rig = saved_rigs.new_rig(obj)
    with quiet_edits():
        rig.name = free_name(name, taken)
    obj.thew.active_rig = len(rigs) - 1
    return rig


def drop_rig(obj: bpy.types.Object, index: int) -> None:
    """Removes a rig. Keys and drivers of the others are kept."""
    check_own_entry(obj, "rigs", index, "rig")
    drivers.update_paths(obj, lambda i: None if i == index else i - (i > index))
    obj.thew.rigs.remove(index)
    obj.thew.active_rig = max(0, min(obj.thew.active_rig, len(obj.thew.rigs) - 1))
    unmark(obj)


def move_rig(obj: bpy.types.Object, start: int, end: int) -> None:
    """Moves a rig within the list. Keys and drivers are kept."""
    check_own_entry(obj, "rigs", min(start, end), "rig")
    order = list(range(len(obj.thew.rigs)))
    order.insert(end, order.pop(start))
    drivers.update_paths(obj, lambda i: order.index(i) if i < len(order) else i)
    obj.thew.rigs.move(start, end)


def heaviest_bone(obj: bpy.types.Object, armature: bpy.types.Object | None) -> str:
    """Returns the active bone of the armature if it has weight here, or else the bone with most weight."""
    if armature is None:
        return ""
    names = own_group_names(obj, armature)
    active = armature.data.bones.active
    if active is not None and active.name in names.values():
        return active.name
    groups, _, weights = read_groups(obj)
    total = {index: float(weights[groups == index].sum()) for index in names if (groups == index).any()}
    return names[max(total, key=total.__getitem__)] if total else ""

# SPDX-License-Identifier: GPL-3.0-or-later
"""New baked keys in place of former ones, so that it can be undone until all objects of a bake have theirs.

Former keys are set aside under other names, and the new ones take theirs. `finish` removes the former keys, `restore` gives all keys the
names back that they had. Keys are held by reference, which stays valid as long as none is added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from . import key_curves, writing
from .key_curves import CurvePlace

#: Names of keys that are set aside: short enough that no name is cut.
ASIDE = "Thew former {:05d}"


@dataclass
class KeySwap:
    """Keys of one object that change their names, each with the name that it had."""

    obj: bpy.types.Object
    places: list[CurvePlace]
    active: str  # name of the active key
    made_basis: bool  # of former bakes
    new: list[tuple[bpy.types.ShapeKey, str]] = field(default_factory=list)
    aside: list[tuple[bpy.types.ShapeKey, str]] = field(default_factory=list)
    former: list[str] = field(default_factory=list)  # names of all keys that go, as they are now


def swap(
    obj: bpy.types.Object,
    former: list[str],
    new: list[str],
    wanted: list[str],
    places: list[CurvePlace],
    swaps: list[KeySwap],
) -> list[str]:
    """Gives the keys `new` their wanted names, of which those that `former` keys have become free. Returns their names.

    Adds what it does to `swaps` before it begins.
    """
    keys = obj.data.shape_keys
    active = obj.active_shape_key
    done = KeySwap(obj, places, active.name if active is not None else "", obj.thew.made.baked_basis)
    swaps.append(done)
    blocks = keys.key_blocks
    done.new = [(blocks[name], name) for name in new]
    done.former = [name for name in former if name in blocks]
    taken = [name for name in done.former if name in set(wanted)]
    done.aside = [(blocks[name], name) for name in taken]
    own = [place for place in places if not key_curves.is_shared(obj, place)]
    names = [ASIDE.format(i) for i in range(len(taken))]
    set_aside = dict(zip(taken, writing.rename(obj, taken, names, own), strict=True))
    done.former = [set_aside.get(name, name) for name in done.former]
    return writing.rename(obj, new, wanted, places)


def restore(done: KeySwap) -> None:
    """Gives all keys the names back that they had, and makes the former active key active."""
    for pairs in (done.new, done.aside):
        renamed = {}
        for block, name in pairs:
            if block.name != name:
                renamed[block.name] = name
                block.name = name
        for place in done.places:
            there = {curve.data_path for curve in place.curves()}
            left = {now: name for now, name in renamed.items() if key_curves.value_path(name) not in there}
            key_curves.rename_curves([place], left)
    done.obj.thew.made.baked_basis = done.made_basis
    writing.activate_key(done.obj, done.active)


def finish(done: KeySwap) -> None:
    """Removes the former keys with their curves. Drivers that named one of them follow the key that has its name now."""
    aside = [(block.name, name) for block, name in done.aside]
    writing.remove_keys_of(done.obj, done.former)
    blocks = done.obj.data.shape_keys.key_blocks
    for former, name in aside:
        block = blocks.get(name)
        if block is not None:
            # Blender renames a key in all drivers: there and back takes along those that had followed the former one.
            block.name = former
            block.name = name

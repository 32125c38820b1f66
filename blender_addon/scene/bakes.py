# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes on an object, of every kind: one plays at a time, and each is shown, hidden, renamed and removed by itself.

The targets of `bake/` register in `kinds`; modules below them know bakes only through this interface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..saved import bakes as saved_bakes
from ..saved.bakes import ThewBake
from .libraries import check_own_entry


@dataclass(frozen=True)
class Kind:
    """Functions of one kind of bake, called with the object and the record of the bake."""

    key: str  # of the target
    describe: Callable[[bpy.types.Object, ThewBake], str]
    """Returns a description of the bake's amount, such as "20 baked shape keys"; "" if nothing of it is left."""
    show: Callable[[bpy.types.Object, ThewBake, bool], None]
    """Plays or mutes the bake."""
    remove: Callable[[bpy.types.Object, ThewBake], None]
    """Removes everything that was made for the bake, but not its record."""
    moves_bones: bool = False
    """Whether it plays by bones of the armature: it has no space, and the modifiers before the armature go on acting."""


kinds: list[Kind] = []


def kind_of(bake: ThewBake) -> Kind | None:
    """Returns the kind of a bake; None for one that only a later version knows."""
    return next((kind for kind in kinds if kind.key == bake.kind), None)


def moves_bones(bake: ThewBake | None) -> bool:
    """Returns whether a bake plays by bones of the armature."""
    kind = kind_of(bake) if bake is not None else None
    return kind is not None and kind.moves_bones


def describe_bake(obj: bpy.types.Object, bake: ThewBake) -> str:
    """Returns a description of a bake's amount; "" if nothing of it is left."""
    kind = kind_of(bake)
    return "bake of a later version of Thew" if kind is None else kind.describe(obj, bake)


def bake_descriptions(obj: bpy.types.Object) -> list[str]:
    """Returns descriptions of an object's bakes, one each; empty where it has none."""
    return [text for bake in obj.thew.bakes if (text := describe_bake(obj, bake))]


def show(obj: bpy.types.Object, on: bool) -> None:
    """Plays the chosen bake of an object, or mutes it; all others are muted."""
    for bake in obj.thew.bakes:
        kind = kind_of(bake)
        if kind is not None:
            kind.show(obj, bake, on and bake.plays)


def remove(obj: bpy.types.Object) -> None:
    """Removes all bakes of an object; refused before any is, where the first ones are its library's."""
    check_own_entry(obj, "bakes", 0, "bake")
    for bake in reversed(list(obj.thew.bakes)):
        remove_bake(obj, bake.name)
    obj.thew.made.shows_bake = False


def remove_bake(obj: bpy.types.Object, name: str) -> None:
    """Removes one bake and everything that was made for it; if it played, the last of the others is chosen."""
    bake = find(obj, name)
    check_own_entry(obj, "bakes", obj.thew.bakes.find(bake.name), "bake")
    kind, played = kind_of(bake), bake.plays
    if kind is None:
        raise Refusal(
            f"The bake “{name}” of {describe(obj)} was made by a later version of Thew: update Thew to remove it"
        )
    kind.remove(obj, bake)
    bakes = obj.thew.bakes
    bakes.remove(bakes.find(name))
    if played:
        saved_bakes.choose(obj, bakes[-1] if len(bakes) else None)
    if not len(bakes):
        obj.thew.made.shows_bake = False


def find(obj: bpy.types.Object, name: str) -> ThewBake:
    """Returns the bake of an object with this name, for "" the one that plays; raises a `Refusal` where it has none."""
    if not len(obj.thew.bakes):
        raise Refusal(f"{describe(obj)} has no bake{f' “{name}”' if name else ''}: press Bake first")
    bake = saved_bakes.named(obj, name) if name else saved_bakes.playing(obj) or obj.thew.bakes[-1]
    if bake is None:
        names = ", ".join(f"“{each.name}”" for each in obj.thew.bakes)
        raise Refusal(f"{describe(obj)} has no bake “{name}”; its bakes are: {names}")
    return bake


def rename(obj: bpy.types.Object, name: str, new: str) -> None:
    """Gives a bake another name; raises a `Refusal` for an empty one, and for that of another bake."""
    bake, new = find(obj, name), new.strip()
    if not new:
        raise Refusal(f"A bake of {describe(obj)} needs a name: type one")
    if new != name and saved_bakes.named(obj, new) is not None:
        raise Refusal(f"{describe(obj)} has a bake “{new}” already: choose another name")
    bake.name = new

# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes on an object, of every kind: shown, hidden and removed together.

The targets of `bake/` register in `kinds`; modules below them know bakes only through this interface.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy


@dataclass(frozen=True)
class Kind:
    """Functions of one kind of bake."""

    describe: Callable[[bpy.types.Object], str]
    """Returns a description of the bake's amount; "" without a bake."""
    show: Callable[[bpy.types.Object, bool], None]
    """Plays or mutes the bake."""
    remove: Callable[[bpy.types.Object], None]
    """Removes the bake, and everything that was made for it; does nothing without a bake."""


kinds: list[Kind] = []


def bake_descriptions(obj: bpy.types.Object) -> list[str]:
    """Returns descriptions of an object's bakes, one a kind; empty where it has none."""
    return [text for kind in kinds if (text := kind.describe(obj))]


def show(obj: bpy.types.Object, on: bool) -> None:
    """Plays or mutes all bakes of an object."""
    for kind in kinds:
        kind.show(obj, on)


def remove(obj: bpy.types.Object) -> None:
    """Removes all bakes of an object."""
    for kind in kinds:
        kind.remove(obj)

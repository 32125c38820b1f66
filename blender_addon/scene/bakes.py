# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes on an object, into whatever they were baked: shown, hidden and removed together.

The targets of `bake/` put their kinds into `kinds`; what stands below them knows no more of them than this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy


@dataclass(frozen=True)
class Kind:
    """What one target has baked on an object."""

    said: Callable[[bpy.types.Object], str]
    """How much of it there is, in words; "" where there is none."""
    show: Callable[[bpy.types.Object, bool], None]
    """Let it play, or silence it."""
    remove: Callable[[bpy.types.Object], None]
    """Take it away, with all that had to be made for it; nothing happens where there is none."""


kinds: list[Kind] = []


def said(obj: bpy.types.Object) -> list[str]:
    """What is baked on an object, in words; empty where nothing is."""
    return [text for kind in kinds if (text := kind.said(obj))]


def show(obj: bpy.types.Object, on: bool) -> None:
    """Let all bakes of an object play, or silence them."""
    for kind in kinds:
        kind.show(obj, on)


def remove(obj: bpy.types.Object) -> None:
    """Take away all bakes of an object."""
    for kind in kinds:
        kind.remove(obj)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Callbacks after an edit of a setting that changes the result."""

from __future__ import annotations

from collections.abc import Callable

import bpy

from ..languages.contexts import own_context

#: Called with the object; set by `handlers`.
on_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with the object at each step of a drag of the dial; set by `handlers`.
on_dial: list[Callable[[bpy.types.Object], None]] = []


def call_on_dial(self, _context) -> None:
    """Calls `on_dial`, as the update callback of properties that are dragged to see their effect."""
    for call in on_dial:
        call(self.id_data)


def call_on_change(self, _context) -> None:
    """Calls `on_change`, as the update callback of Blender's properties."""
    for call in on_change:
        call(self.id_data)


def setting(kind: Callable, name: str, description: str, update: Callable = call_on_change, **options):
    """Builds a setting of the artist, a property of `bpy.props`: it is not animated, and `update` is called after an edit."""
    return kind(name=name, description=description, options=set(), update=update, **own_context(name), **options)


def record(kind: Callable, description: str, **options):
    """Builds a property in which Thew records something, and which no panel shows."""
    return kind(description=description, options={"HIDDEN"}, **options)

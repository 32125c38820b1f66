# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is called after a setting that changes the result was edited."""

from __future__ import annotations

from collections.abc import Callable

import bpy

#: Called with the object; set by `handlers`.
on_change: list[Callable[[bpy.types.Object], None]] = []
#: Called with the object after the dial was turned, at each step of a drag; set by `handlers`.
on_dial: list[Callable[[bpy.types.Object], None]] = []


def dialled(self, _context) -> None:
    """The same for what is dragged to find out how it looks."""
    for call in on_dial:
        call(self.id_data)


def changed(self, _context) -> None:
    """As Blender calls it for a property that was edited."""
    for call in on_change:
        call(self.id_data)

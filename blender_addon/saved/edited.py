# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is called after a setting that changes the result was edited."""

from __future__ import annotations

from collections.abc import Callable

import bpy

#: Called with the object; set by `handlers`.
on_change: list[Callable[[bpy.types.Object], None]] = []


def changed(self, _context) -> None:
    """As Blender calls it for a property that was edited."""
    for call in on_change:
        call(self.id_data)

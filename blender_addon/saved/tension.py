# SPDX-License-Identifier: GPL-3.0-or-later
"""The setting of the attribute Tension, a mix-in of `properties.ThewSettings`."""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.props import BoolProperty

from .edit_callbacks import setting

#: Called with the object after the setting was switched; set by `handlers`.
on_tension: list[Callable[[bpy.types.Object], None]] = []


def call_on_tension(self, _context) -> None:
    """Calls `on_tension`, as the update callback of the setting."""
    for call in on_tension:
        call(self.id_data)


class TensionProperties:
    """Whether the skin's tension is stored."""

    store_tension: setting(
        BoolProperty,
        "Tension",
        "Store how far the flesh stretches (above 0) or compresses (below 0) the skin, as the attribute Tension: materials read it. Keys of "
        "flesh alone, vertex textures and USD keep it; keys of flesh and bones, helper bones and point caches do not",
        default=False,
        update=call_on_tension,
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened to flesh, told in one place: its condition changes by `logic.states`, and what that asks for is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import bpy

from ..logic.states import Effect, Event, after

if TYPE_CHECKING:
    from .flesh import Flesh

#: What carries out each effect, with the object and its flesh; given by the modules that can.
DOES: dict[Effect, Callable[[bpy.types.Object, Flesh], None]] = {}


def happened(obj: bpy.types.Object, flesh: Flesh, event: Event) -> None:
    """Something happened to the flesh of an object."""
    flesh.condition, effects = after(flesh.condition, event)
    for effect in effects:
        DOES[effect](obj, flesh)

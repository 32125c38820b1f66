# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where events change the condition of flesh, by `logic.states`, and trigger the effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import bpy

from ..logic.states import Effect, Event, after

if TYPE_CHECKING:
    from .flesh import Flesh

#: The function that carries out each effect, called with the object and its flesh; filled by the modules that provide them.
DOES: dict[Effect, Callable[[bpy.types.Object, Flesh], None]] = {}


def happened(obj: bpy.types.Object, flesh: Flesh, event: Event) -> None:
    """Reports an event to the flesh of an object: updates its condition and carries out the effects."""
    flesh.condition, effects = after(flesh.condition, event)
    for effect in effects:
        DOES[effect](obj, flesh)

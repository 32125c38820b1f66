# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where events change the condition of what moves, by `logic.states`, and trigger the effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import bpy

from ..logic.states import Condition, Effect, Event, apply_event


class Life(Protocol):
    """Data kept for an object that Thew moves: flesh, keyframed flesh, or a rider."""

    condition: Condition


#: The function that carries out an effect for a kind of life, called with the object and its life; filled by the modules that
#: provide them. A kind without a function needs none.
EFFECT_HANDLERS: dict[tuple[type, Effect], Callable[[bpy.types.Object, Life], None]] = {}


def report_event(obj: bpy.types.Object, life: Life, event: Event) -> None:
    """Reports an event to an object: updates its condition and carries out the effects."""
    life.condition, effects = apply_event(life.condition, event)
    for effect in effects:
        if (type(life), effect) in EFFECT_HANDLERS:
            EFFECT_HANDLERS[type(life), effect](obj, life)

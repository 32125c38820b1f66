# SPDX-License-Identifier: GPL-3.0-or-later
"""Two sets of settings of one object, A and B: a swap shows the other motion without simulating it again."""

from __future__ import annotations

import bpy

from ..logic.comparison import SIDES, other_side, pack
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.tasks import finish
from ..saved import comparison
from ..scene import reading
from . import jobs, parked_stages
from .build_settings import BuildSettings
from .session import register


def store(obj: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """Keeps the present settings as the other side, with their motion: edits that follow replace the one in view."""
    obj.thew.compared_other = pack(comparison.values_of(obj.thew))
    park(obj, BuildSettings.from_object(obj, scene))


def park(obj: bpy.types.Object, build_settings: BuildSettings) -> None:
    """Parks the flesh in view if it has these settings."""
    flesh = register.known_state(obj)
    if flesh is not None and flesh.build_settings == build_settings:
        parked_stages.park(obj, flesh)


def swap(obj: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    """Brings the other side into view; returns whether its motion was in memory."""
    settings = obj.thew
    side = other_side(settings.compared_side)
    if not settings.compared_other:
        raise Refusal(f"{describe(obj)} has one set of settings alone: press Store as {side} first")
    values, now = comparison.other_values(settings), BuildSettings.from_object(obj, scene)
    settings.compared_other, settings.compared_side = pack(comparison.values_of(settings)), side
    comparison.put(settings, values)
    ready = show_parked(obj, scene)
    if not ready:
        park(obj, now)
    return ready


def copy(obj: bpy.types.Object, scene: bpy.types.Scene, source: str) -> None:
    """Gives both sides the settings of the side `source`."""
    settings = obj.thew
    if settings.compared_side == source or not settings.compared_other:
        store(obj, scene)
        return
    comparison.put(settings, comparison.other_values(settings))
    show_parked(obj, scene)


def end(obj: bpy.types.Object) -> None:
    """Forgets the side that is not in view."""
    obj.thew.compared_other, obj.thew.compared_side = "", SIDES[0]
    parked_stages.forget(obj)


def show_parked(obj: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    """Shows the motion of the present settings if it is parked, or already in view; returns whether it does."""
    flesh, build_settings = register.known_state(obj), BuildSettings.from_object(obj, scene)
    if flesh is None or flesh.character is None:
        return False
    if flesh.build_settings == build_settings and flesh.condition.is_showable:
        return True
    if not parked_stages.holds(obj, build_settings):
        return False
    finish(jobs.update(obj, scene, reading.view_layer(scene), flesh))
    return True

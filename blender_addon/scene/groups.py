# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of objects that are simulated together, because their flesh is to touch other flesh."""

from __future__ import annotations

import bpy

from ..logic.contact import JOINT_METHODS
from ..saved import restarts as saved_restarts
from . import reading, restart_keys


def joins_others(obj: bpy.types.Object) -> bool:
    """Returns whether an object's settings ask for contact with other flesh, and its method supports it."""
    settings = obj.thew
    return settings.use_other_flesh and settings.use_contact and settings.method in JOINT_METHODS


def has_flesh(other: bpy.types.Object) -> bool:
    """Returns whether an object has flesh that can be simulated here and is switched on.

    An object that shows its bake counts too, for its bake holds the motion that the others were simulated with.
    """
    if other.type != "MESH" or not (other.thew.made.flesh and other.thew.enabled):
        return False
    return reading.is_own(other) and reading.armature_of(other) is not None


def others(obj: bpy.types.Object, scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Returns the other objects of `scene` that `obj` is simulated together with, by name; cheap enough for every frame."""
    if not joins_others(obj):
        return []
    found = [other for other in scene.objects if joins_others(other) and other != obj and has_flesh(other)]
    if not found:
        return []
    layer = reading.view_layer(scene)
    shown = reading.shown_collections(layer.layer_collection)
    if not reading.is_enabled(obj, layer, shown):
        return []  # it takes no part for the others either
    return sorted((other for other in found if reading.is_enabled(other, layer, shown)), key=lambda other: other.name)


def restarts(obj: bpy.types.Object, scene: bpy.types.Scene) -> tuple[int, ...]:
    """Returns the frames, ascending, in which any member of the group of `obj`, and so all of it, begins anew."""
    found: set[int] = set()
    for each in (obj, *others(obj, scene)):
        found |= saved_restarts.frames(each.thew) | restart_keys.keyed_frames(each, reading.armature_of(each))
    return tuple(sorted(found))


def simulated_range(obj: bpy.types.Object, scene: bpy.types.Scene, start: int, end: int) -> tuple[int, int]:
    """Returns the frames to simulate for a bake or a shot of `start`..`end`, so that it shows what the preview does.

    They begin where the preview begins, and reach to its end, because the start of the motion depends on all of them.
    """
    live = frames(obj, scene)
    first = min(start, live[0]) if live[0] <= end else start
    return first, max(end, live[1]) if first == live[0] else end


def frames(
    obj: bpy.types.Object, scene: bpy.types.Scene, own: tuple[int, int] | None = None,
    together: list[bpy.types.Object] | None = None,
) -> tuple[int, int]:  # fmt: skip
    """Returns first and last frame of the live motion, over `obj` and all objects simulated with it.

    `own`: the range that `obj` is about to have; `together`: the other objects (None: looked up).
    """
    start, end = own or obj.thew.frames(scene)
    if end < start:
        return start, end
    ranges = [other.thew.frames(scene) for other in (others(obj, scene) if together is None else together)]
    ranges = [(start, end), *(each for each in ranges if each[0] <= each[1])]
    return min(first for first, _ in ranges), max(last for _, last in ranges)

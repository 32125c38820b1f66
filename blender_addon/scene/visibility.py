# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests whether anybody looks at an object: it is visible, or something visible takes its shape.

An object hidden in the view is looked at all the same where a rider, a child on its vertices, a constraint, a modifier or an instance
that is visible needs its shape. The answers are kept until Blender reports a change of objects.
"""

from __future__ import annotations

import bpy

from . import frame_dependence

#: Types of IDs that take no shape from objects.
PASSIVE_TYPES = (bpy.types.Scene, bpy.types.Screen, bpy.types.WindowManager, bpy.types.WorkSpace, bpy.types.Library)

_needed: dict[int, bool] = {}  # session id of a hidden object -> whether something visible takes its shape


def forget() -> None:
    """Drops what is known, after objects have changed."""
    _needed.clear()


def is_looked_at(obj: bpy.types.Object) -> bool:
    """Returns whether an object, or something that takes its shape, is visible; cheap enough for every frame.

    An object outside the artist's view layer counts as looked at: another window may show it.
    """
    if obj.visible_get() or bpy.context.view_layer.objects.get(obj.name) != obj:
        return True
    known = _needed.get(obj.session_uid)
    if known is None:
        known = _needed[obj.session_uid] = is_needed(obj)
    return known


def is_needed(obj: bpy.types.Object) -> bool:
    """Returns whether something visible takes the shape of an object."""
    users = bpy.data.user_map()
    seen: set[bpy.types.ID] = {obj}
    left: list[bpy.types.ID] = [obj]
    while left:
        used = left.pop()
        for user in users.get(used, ()):
            if user in seen or isinstance(user, PASSIVE_TYPES):
                continue
            if isinstance(user, bpy.types.Object):
                if not takes_shape(user, used):
                    continue
                if user.visible_get():
                    return True
            seen.add(user)
            left.append(user)
    return False


def takes_shape(user: bpy.types.Object, used: bpy.types.ID) -> bool:
    """Returns whether an object takes the shape of an ID that it refers to, or shows it."""
    if not isinstance(used, bpy.types.Object):
        return True  # an instanced collection, a tree of nodes, settings of particles
    if user.thew.made.rides and user.thew.body == used:
        return True
    if user.parent == used and user.parent_type in {"VERTEX", "VERTEX_3"}:
        return True
    bones = user.pose.bones if user.pose is not None else ()
    constraints = (*user.constraints, *(each for bone in bones for each in bone.constraints))
    if any(getattr(each, "target", None) == used for each in constraints):
        return True
    return any(used in frame_dependence.references(modifier) for modifier in user.modifiers)

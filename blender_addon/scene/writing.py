# SPDX-License-Identifier: GPL-3.0-or-later
"""Numpy to Blender: baked shape keys and their curves.

A bake is additive: existing keys stay as they are, and each frame's key holds the difference of the live shape from their mix. The
keys' F-curves are the only animation: playing them does not need Thew.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.keys import key_name, key_points
from ..logic.names import describe
from .animation import curves_in, disturbance, drop_action, drop_empty_action
from .mesh import key_positions


def baked_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    """Returns the remaining keys that Thew baked on this object."""
    keys = obj.data.shape_keys
    if keys is None:
        return []
    names = set(obj.thew.made.baked_keys.splitlines())
    return [key for key in keys.key_blocks if key.name in names]


def mute_baked(obj: bpy.types.Object, mute: bool) -> None:
    """Mutes the baked keys, or lets them play."""
    for key in baked_keys(obj):
        if key.mute != mute:
            key.mute = mute


def check_bakeable(obj: bpy.types.Object) -> None:
    """Refuses an object on which a bake could not be played."""
    if obj.show_only_shape_key:
        raise Refusal(f"{describe(obj)} shows a single pinned shape key: unpin it first (the pin below the key list)")
    keys = obj.data.shape_keys
    animation = keys.animation_data if keys is not None else None
    action = animation.action if animation is not None else None
    why = disturbance(animation)
    if why:
        raise Refusal(f"Keys of {describe(obj)} would not play as baked: its shape keys {why}")
    if action is not None and (action.library is not None or action.override_library is not None):
        raise Refusal(
            f"The shape keys of {describe(obj)} are animated by “{action.name}” from another file: make the action local"
        )
    if shares_action(keys):
        raise Refusal(
            f"The shape keys of {describe(obj)} share the action “{action.name}” with another mesh, which would play this "
            "bake too: make the action single user first"
        )


def write_keys(obj: bpy.types.Object, start: int, stretch: float, offsets: np.ndarray, made: dict) -> None:
    """Makes one key a frame beside the existing ones; `offsets` float32[f, n, 3] from the basis.

    `stretch`: of the times of curves, see `saved.timing`. `made` records each object as soon as it is made: for `swap_keys`, or for
    `discard_keys` after a failure.
    """
    mesh, active = obj.data, obj.active_shape_key
    made["active"] = active.name if active is not None else ""
    made["names"] = names = []
    made["basis"] = mesh.shape_keys is None
    if made["basis"]:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = mesh.shape_keys
    animation = keys.animation_data
    # An action without a slot plays nothing: Blender makes one for the keys.
    slotless = animation is not None and getattr(animation, "action_slot", animation) is None
    made["action"] = animation is None or animation.action is None or slotless
    basis = key_positions(keys.reference_key)
    for i, offset in enumerate(offsets):
        key = obj.shape_key_add(name=key_name(start + i), from_mix=False)
        names.append(key.name)
        key.relative_key = keys.reference_key
        key.points.foreach_set("co", np.ascontiguousarray(basis + offset, dtype=np.float32).ravel())
    write_curves(keys, names, key_curves(len(names), start, stretch))


def discard_keys(obj: bpy.types.Object, made: dict) -> None:
    """Removes what `write_keys` has made."""
    if made:
        remove_keys(obj, made["names"], made["basis"], made.get("action", False))


def swap_keys(obj: bpy.types.Object, start: int, new: dict) -> list[str]:
    """Replaces the keys baked before by those that `write_keys` made; returns their names."""
    made, keys, names = obj.thew.made, obj.data.shape_keys, new["names"]
    # If the old keys were deleted by hand, the new ones may bear their names.
    remove_keys(obj, [key.name for key in baked_keys(obj) if key.name not in names])
    names = rename(keys, names, [key_name(start + i) for i in range(len(names))])
    made.baked_keys = "\n".join(names)
    made.baked_start, made.baked_end = start, start + len(names) - 1
    made.baked_basis = made.baked_basis or new["basis"]
    made.baked_action = made.baked_action or new["action"]
    obj.active_shape_key_index = max(keys.key_blocks.find(new["active"]), 0)
    return names


def rename(keys: bpy.types.Key, names: list[str], wanted: list[str]) -> list[str]:
    """Gives keys their wanted names, unless another key has them; returns their names."""
    taken = [(name, new) for name, new in zip(names, wanted, strict=True) if name != new]
    # Keys deleted by hand leave their curves behind.
    drop_curves(keys, [new for _, new in taken if new not in keys.key_blocks])
    for name, new in taken:
        keys.key_blocks[name].name = new  # Blender renames in the curves too
    return [key.name for key in list(keys.key_blocks)[-len(names) :]]


#: Points of a curve: times and values.
CurvePoints = list[tuple[float, float]]


def key_curves(count: int, start: int, stretch: float) -> list[CurvePoints]:
    """Returns the curves of `count` keys, one a frame: on at its frame, off at its neighbours."""
    last = start + count - 1
    return [[(stretch * at, value) for at, value in key_points(start + i, start, last)] for i in range(count)]


def write_curves(keys: bpy.types.Key, names: list[str], every: list[CurvePoints]) -> None:
    """Animates each key through its points, linear between, constant outside."""
    # Keys deleted by hand leave their curves behind.
    drop_curves(keys, names)
    for name, points in zip(names, every, strict=True):
        if not keys.key_blocks[name].keyframe_insert("value", frame=points[0][0]):
            raise Refusal(f"Blender refused a keyframe on the shape key “{name}”: is its action locked?")
    curves = {curve.data_path: curve for curve in curves_in(keys.animation_data)}
    for name, points in zip(names, every, strict=True):
        curve = curves[value_path(name)]
        curve.keyframe_points.add(len(points) - len(curve.keyframe_points))
        curve.keyframe_points.foreach_set("co", np.array(points, dtype=np.float32).ravel())
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
        curve.extrapolation = "CONSTANT"
        curve.update()
        keys.key_blocks[name].value = 0.0


def value_path(name: str) -> str:
    """Returns the path of a key's value."""
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def drop_curves(keys: bpy.types.Key, names: list[str]) -> None:
    """Removes the curves of the keys with these names."""
    curves = curves_in(keys.animation_data)
    paths = {value_path(name) for name in names}
    for curve in [c for c in curves if c.data_path in paths]:
        curves.remove(curve)


def shares_action(keys: bpy.types.Key | None) -> bool:
    """Returns whether other shape keys play the same curves."""
    animation = keys.animation_data if keys is not None else None
    if animation is None or animation.action is None:
        return False
    if hasattr(animation, "action_slot"):
        slot = animation.action_slot
        return slot is not None and len(slot.users()) > 1
    return animation.action.users - int(animation.action.use_fake_user) > 1


def remove_baked(obj: bpy.types.Object) -> None:
    """Removes Thew's keys, their curves, and everything made for them."""
    made = obj.thew.made
    remove_keys(obj, [key.name for key in baked_keys(obj)], made.baked_basis, made.baked_action)
    made.baked_keys = ""
    made.baked_basis = made.baked_action = made.shows_bake = False
    made.baked_start = made.baked_end = 0
    made.property_unset("baked_space")
    made.property_unset("baked_miss")
    made.baked_settings, made.baked_of = "", None


def remove_keys(obj: bpy.types.Object, names: list[str], basis: bool = False, action: bool = False) -> None:
    """Removes keys and their curves; with `basis` and `action` also the Basis and the action, if they are empty now."""
    keys = obj.data.shape_keys
    if keys is None:
        return
    active = obj.active_shape_key_index
    if not shares_action(keys):  # else other keys play them
        drop_curves(keys, names)
    for name in names:
        obj.shape_key_remove(keys.key_blocks[name])
    if action:
        drop_empty_action(keys)
    if basis and len(keys.key_blocks) == 1:
        obj.shape_key_remove(keys.key_blocks[0])
    elif len(keys.key_blocks) > 0:
        obj.active_shape_key_index = min(active, len(keys.key_blocks) - 1)


def join_action(obj: bpy.types.Object, action: bpy.types.Action) -> bool:
    """Moves the baked keys to a slot of `action`, the armature's: every exporter then writes one animation.

    Returns False, with no change, where that is impossible: before Blender 4.4, which has no slots, where the keys play an action
    of the artist's, and where `action` cannot be edited.
    """
    made, keys = obj.thew.made, obj.data.shape_keys
    animation = keys.animation_data
    if not hasattr(animation, "action_slot") or not made.baked_action or animation.action in {None, action}:
        return False
    if action.library is not None or action.override_library is not None or shares_action(keys):
        return False
    names = [key.name for key in baked_keys(obj)]
    written = {curve.data_path: curve for curve in curves_in(animation)}
    if any(value_path(name) not in written for name in names):
        return False  # someone has taken curves away
    every = [[tuple(point.co) for point in written[value_path(name)].keyframe_points] for name in names]
    played = animation.action, animation.action_slot
    animation.action = action
    animation.action_slot = action.slots.new(id_type="KEY", name=obj.name)
    try:
        write_curves(keys, names, every)
    except (Refusal, RuntimeError):
        refused = animation.action_slot
        animation.action, animation.action_slot = played
        drop_action(action, refused)
        return False
    drop_action(*played)
    return True

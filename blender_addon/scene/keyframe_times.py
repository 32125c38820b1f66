# SPDX-License-Identifier: GPL-3.0-or-later
"""The times of keyframed flesh: points of one F-curve of the object, which are dragged in the dope sheet or timeline.

A point's frame is a time, its value the index of the list's key reached then. The rest of the object's animation is left alone.
Where the curve is lost with its action, the list's own times apply.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.keyframes import free_time
from ..logic.names import describe
from ..saved import keyframed as saved
from .animation import curves_in, drop_empty_action
from .mesh import numbers

PATH = "thew.keyframed.marker"

#: A time, and the index of the list's key reached then.
TimePoint = tuple[float, int]


def curve_of(obj: bpy.types.Object) -> bpy.types.FCurve | None:
    """Returns the curve with the times."""
    return next((curve for curve in curves_in(obj.animation_data) if curve.data_path == PATH), None)


def points(obj: bpy.types.Object) -> list[TimePoint]:
    """Returns all times, in order; points without a key of the list are left out."""
    count = len(obj.thew.keyframed.keyframes)
    curve = curve_of(obj)
    if curve is None:
        return sorted((key.kept, i) for i, key in enumerate(obj.thew.keyframed.keyframes))
    rows = numbers(curve.keyframe_points, "co", 2)
    pairs = [(float(frame), round(float(value))) for frame, value in rows if np.isfinite(value)]
    return sorted((frame, value) for frame, value in pairs if np.isfinite(frame) and 0 <= value < count)


def is_curve_lost(obj: bpy.types.Object) -> bool:
    """Returns whether the curve is gone: the times cannot be dragged then."""
    return curve_of(obj) is None


def frames_of(obj: bpy.types.Object, place: int) -> list[float]:
    """Returns the frames at which the key at a place of the list is reached."""
    return [frame for frame, value in points(obj) if value == place]


def check(obj: bpy.types.Object) -> None:
    """Refuses an object whose action cannot be edited here."""
    action = obj.animation_data.action if obj.animation_data is not None else None
    if action is not None and (action.library is not None or action.override_library is not None):
        raise Refusal(
            f"{describe(obj)} plays the action “{action.name}” from another file, which cannot hold the times of its keys: "
            "make the action local"
        )


def write(obj: bpy.types.Object, wanted: list[TimePoint]) -> None:
    """Replaces the times by `wanted`; the list keeps them too."""
    check(obj)
    for i, key in enumerate(obj.thew.keyframed.keyframes):
        key.kept = next((frame for frame, value in wanted if value == i), key.kept)
    if not wanted:
        remove(obj)
        return
    curve = curve_of(obj)
    # Blender selects added points, and dragging one would drag them all: only points selected before stay selected.
    chosen = {point.co.x for point in curve.keyframe_points if point.select_control_point} if curve is not None else ()
    curve = curve or _make(obj, wanted[0][0])
    curve.keyframe_points.clear()
    curve.keyframe_points.add(len(wanted))
    curve.keyframe_points.foreach_set("co", np.array(sorted(wanted), dtype=np.float32).ravel())
    for point in curve.keyframe_points:
        point.interpolation = "CONSTANT"
        on = point.co.x in chosen
        point.select_control_point = point.select_left_handle = point.select_right_handle = on
    curve.update()
    obj.animation_data.action.update_tag()


def _make(obj: bpy.types.Object, frame: float) -> bpy.types.FCurve:
    group = obj.thew.keyframed
    had = obj.animation_data is not None and obj.animation_data.action is not None
    if not group.keyframe_insert("marker", frame=frame):
        raise Refusal(f"Blender refused a keyframe on {describe(obj)}: is its action locked?")
    group.made_action = group.made_action or not had
    group.name = "Times"  # the dope sheet shows it behind the channel's own name, empty brackets without it
    curve = curve_of(obj)
    curve.extrapolation = "CONSTANT"
    return curve


def remove(obj: bpy.types.Object) -> None:
    """Removes the curve, and the action that was made for it if it is empty now."""
    animation, curve, group = obj.animation_data, curve_of(obj), obj.thew.keyframed
    if curve is None:
        return
    curves = curves_in(animation)
    curves.remove(curve)
    if group.made_action and drop_empty_action(obj):
        group.made_action = False


def keep(obj: bpy.types.Object) -> None:
    """Stores the times in the list, in case their action is lost."""
    if is_curve_lost(obj):
        return
    found = points(obj)
    for i, key in enumerate(obj.thew.keyframed.keyframes):
        frame = next((frame for frame, value in found if value == i), None)
        if frame is not None and key.kept != frame:
            key.kept = frame


def _get(key) -> float:
    frames = frames_of(key.id_data, saved.index_of(key))
    return frames[0] if frames else key.kept


def _set(key, frame: float) -> None:
    obj, place = key.id_data, saved.index_of(key)
    found = points(obj)
    mine = next((i for i, (_, value) in enumerate(found) if value == place), None)
    if mine is not None:
        before, _ = found.pop(mine)
        # Blender merges two keyframes that meet: the other key would lose its time to a slider that only passes it.
        frame = free_time(frame, before, [time for time, _ in found])
    write(obj, [*found, (frame, place)])
    key.kept = frame
    for call in saved.on_edit:
        call(obj)


saved.TIME_ACCESS.update(get=_get, set=_set)

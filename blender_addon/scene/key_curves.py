# SPDX-License-Identifier: GPL-3.0-or-later
"""Curves of baked shape keys, in the actions of their clips.

A clip's curves live with its action: in a slot of the same action from Blender 4.4 on, before in an action of the keys. In each of
these places every key of the bake has a curve: keys of other clips stay at 0 there. Curves reach one frame beyond their clip, so
the action gets a manual frame range that leaves its playback and its exports as they were.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.keys import CurvePoints
from ..logic.names import describe
from ..saved import bakes as saved_bakes
from . import animation, own_skin
from .armature_actions import bones_named


@dataclass(frozen=True)
class CurvePlace:
    """A place for curves: an action, and from Blender 4.4 on one of its slots."""

    action: bpy.types.Action
    slot: object = None

    def curves(self):
        """Returns the F-curves of this place; () if it has none."""
        return animation.curves_of(self.action, self.slot)

    def is_played_by(self, keys: bpy.types.Key) -> bool:
        """Returns whether these shape keys play this place."""
        data = keys.animation_data
        return data is not None and data.action == self.action and animation.active_slot(data) == self.slot

    def other_players(self, keys: bpy.types.Key) -> bool:
        """Returns whether other shape keys play this place."""
        return any(self.is_played_by(other) for other in bpy.data.shape_keys if other != keys)


def place_of(clip: saved_bakes.ThewClip) -> CurvePlace | None:
    """Returns the place of a clip's curves of shape keys; None where it has none, or it is gone."""
    action = clip.curves or clip.action
    if action is None or clip.moves_bones:
        return None
    if not hasattr(action, "slots"):  # an action of bones holds no curves of keys
        return CurvePlace(action) if clip.curves is not None else None
    slot = animation.slot_named(action, clip.slot)
    return None if slot is None else CurvePlace(action, slot)


def places_of(obj: bpy.types.Object) -> list[CurvePlace]:
    """Returns the places of the curves of all bakes of an object."""
    found = (place_of(clip) for bake in obj.thew.bakes for clip in bake.clips)
    return list(dict.fromkeys(place for place in found if place is not None))


def played_place(keys: bpy.types.Key | None) -> CurvePlace | None:
    """Returns the place that shape keys play; None where they play no action, or one without a slot."""
    data = keys.animation_data if keys is not None else None
    if data is None or data.action is None:
        return None
    slot = animation.active_slot(data)
    return None if hasattr(data, "action_slot") and slot is None else CurvePlace(data.action, slot)


def is_shared(obj: bpy.types.Object, place: CurvePlace) -> bool:
    """Returns whether another mesh plays a place, or has a bake in it, as after the object was duplicated."""
    keys = obj.data.shape_keys
    if keys is not None and place.other_players(keys):
        return True
    others = (other for other in bpy.data.objects if other.type == "MESH" and other.data != obj.data)
    return any(place_of(clip) == place for other in others for bake in other.thew.bakes for clip in bake.clips)


# writing --------------------------------------------------------------------------------------------------------------


def value_path(name: str) -> str:
    """Returns the path of a key's value."""
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def write_curves(place: CurvePlace, points: dict[str, CurvePoints]) -> None:
    """Animates keys, by name, through their points, linear between them and constant outside."""
    drop_curves(place, list(points))  # keys deleted by hand leave their curves behind
    curves = animation.ensure_curves(place.action, place.slot)
    for name, each in points.items():
        try:
            curve = curves.new(value_path(name), index=0)
        except RuntimeError as error:
            raise Refusal(
                f"Blender refused a curve in {describe(place.action)} ({error}): is it of another file?"
            ) from error
        curve.keyframe_points.add(len(each))
        curve.keyframe_points.foreach_set("co", np.array(each, dtype=np.float32).ravel())
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
        curve.extrapolation = "CONSTANT"
        curve.update()


def drop_curves(place: CurvePlace, names: list[str]) -> None:
    """Removes the curves of the keys with these names."""
    curves, paths = place.curves(), {value_path(name) for name in names}
    for curve in [each for each in curves if each.data_path in paths]:
        curves.remove(curve)


def rename_curves(places: list[CurvePlace], names: dict[str, str]) -> None:
    """Lets curves follow keys that were renamed, from the former names to the present ones.

    Blender itself only does so in the action that the keys play.
    """
    paths = {value_path(old): value_path(new) for old, new in names.items() if old != new}
    for place in places:
        for curve in place.curves():
            if curve.data_path in paths:
                curve.data_path = paths[curve.data_path]


# places for new clips -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewPlace:
    """A place for the curves of a clip, and what was made for it."""

    place: CurvePlace
    made_slot: bool = False
    made_curves: bool = False


def place_in_action(obj: bpy.types.Object, action: bpy.types.Action) -> NewPlace:
    """Returns the place for the keys' curves that belong to an action of the armature; makes one where there is none."""
    keys = obj.data.shape_keys
    clips = (clip for bake in obj.thew.bakes for clip in bake.clips if action in {clip.action, clip.curves})
    known = [place for clip in clips if (place := place_of(clip)) is not None and not is_shared(obj, place)]
    if known:
        return NewPlace(known[0])
    if not hasattr(action, "slots"):
        made = bpy.data.actions.new(f"{action.name} {obj.name}")
        made.id_root = "KEY"
        return NewPlace(CurvePlace(made), made_curves=True)
    played = played_place(keys)
    if played is not None and played.action == action:
        return NewPlace(played)  # the artist animates these keys beside the bones
    return NewPlace(CurvePlace(action, action.slots.new(id_type="KEY", name=obj.name)), made_slot=True)


def place_of_scene(obj: bpy.types.Object) -> NewPlace:
    """Returns the place for the keys' curves over the scene's range: the action that the artist animates them with, or one made."""
    keys = obj.data.shape_keys
    clips = [clip for bake in obj.thew.bakes for clip in bake.clips]
    known = [place for clip in clips if clip.is_scene and (place := place_of(clip)) is not None]
    if known:
        return NewPlace(known[0])
    played = played_place(keys)
    if played is not None and played not in [place_of(clip) for clip in clips]:
        return NewPlace(played)
    data = keys.animation_data
    slotless = data is not None and data.action is not None and played is None
    action = data.action if slotless else bpy.data.actions.new(f"{keys.name}Action")
    if not hasattr(action, "slots"):
        action.id_root = "KEY"
        return NewPlace(CurvePlace(action), made_curves=True)
    slot = action.slots.new(id_type="KEY", name=keys.name)
    return NewPlace(CurvePlace(action, slot), made_slot=slotless, made_curves=not slotless)


def drop_place(keys: bpy.types.Key | None, new: NewPlace) -> None:
    """Removes what was made for a place, once no curve is left in it and nobody else plays it."""
    place = new.place
    if len(place.curves()) or (keys is not None and place.other_players(keys)):
        return
    if keys is not None and place.is_played_by(keys) and (new.made_slot or new.made_curves):
        keys.animation_data.action = None
        drop_empty_data(keys)
    if new.made_curves and place.action.users == int(place.action.use_fake_user):
        bpy.data.actions.remove(place.action)
    elif (new.made_slot or new.made_curves) and place.slot is not None:
        place.action.slots.remove(place.slot)


def drop_empty_data(keys: bpy.types.Key) -> None:
    """Takes the animation data from shape keys that nothing animates any more."""
    data = keys.animation_data
    if data is not None and data.action is None and not data.drivers and not data.nla_tracks:
        keys.animation_data_clear()


# frame ranges ---------------------------------------------------------------------------------------------------------


def is_ranged(action: bpy.types.Action) -> bool:
    """Returns whether the manual frame range of an action was set for a bake."""
    return any(clip.made_range and action == (clip.curves or clip.action) for clip in saved_bakes.all_clips())


def artist_range(action: bpy.types.Action) -> tuple[float, float] | None:
    """Returns the curve times over which an action plays without the curves of any bake; None where it has no others."""
    if action.use_frame_range and not is_ranged(action):
        return action.frame_start, action.frame_end
    baked, helpers = {value_path(name) for name in baked_names()}, own_skin.every_helper_name()
    curves = (curve for curve in animation.every_curve(action) if curve.data_path not in baked and not curve.is_empty)
    ranges = [curve.range() for curve in curves if not (helpers & bones_named([curve]))]
    if not ranges:
        return None
    return min(float(first) for first, _ in ranges), max(float(last) for _, last in ranges)


def scene_spans(action: bpy.types.Action) -> list[tuple[int, int]]:
    """Returns the frames of the bakes of scenes' ranges whose curves are in an action."""
    clips = (clip for clip in saved_bakes.all_clips() if clip.is_scene and (clip.curves or clip.action) == action)
    return [(clip.start, clip.end) for clip in clips]


def baked_names() -> set[str]:
    """Returns the names of all baked keys of the file."""
    objects = (obj for obj in bpy.data.objects if obj.type == "MESH")
    return {name for obj in objects for bake in obj.thew.bakes for name in bake.key_names}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Numpy to Blender: baked shape keys, and their curves in the actions of their clips.

A bake is additive: existing keys stay as they are, and baked keys hold the difference of the live shape from their mix. New keys are
written beside those of former bakes and take their names when these are gone. Playing them does not need Thew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.keys import CurvePoints
from ..logic.names import describe
from ..saved import bakes as saved_bakes
from ..saved import timing
from . import animation, key_curves, key_tracks, libraries
from .animation import disturbance
from .key_curves import NewPlace, drop_curves, drop_place, place_of, places_of, write_curves
from .mesh import key_positions

# the keys of bakes ----------------------------------------------------------------------------------------------------


def baked_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    """Returns the remaining keys of all bakes of this object."""
    return keys_named(obj, (name for bake in obj.thew.bakes for name in bake.key_names))


def keys_of(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> list[bpy.types.ShapeKey]:
    """Returns the remaining keys of one bake."""
    return keys_named(obj, bake.key_names)


def keys_named(obj: bpy.types.Object, names: Iterable[str]) -> list[bpy.types.ShapeKey]:
    """Returns the keys of an object with these names, in their order on the mesh."""
    keys, wanted = obj.data.shape_keys, set(names)
    return [] if keys is None or not wanted else [key for key in keys.key_blocks if key.name in wanted]


def mute_bake(obj: bpy.types.Object, bake: saved_bakes.ThewBake, mute: bool) -> None:
    """Mutes the keys of a bake and their curves, or lets them play: FBX and USD know no muted keys, and would write their motion.

    Curves that another mesh plays too go on; the check before exports names those keys.
    """
    for key in keys_of(obj, bake):
        if key.mute != mute:
            key.mute = mute
        if mute and key.value != 0.0:
            key.value = 0.0
    silence_curves(obj, bake.key_names, mute, shared=not mute)
    if not mute:
        restore_values(obj, bake)


def restore_values(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> None:
    """Gives keys that were silent the values of the curves that they play, as the next evaluation will."""
    place = key_curves.played_place(obj.data.shape_keys)
    curves = {curve.data_path: curve for curve in place.curves()} if place in places_of(obj) else {}
    time = timing.curve_time(bpy.context.scene)
    for key in keys_of(obj, bake) if curves else ():
        curve = curves.get(key_curves.value_path(key.name))
        if curve is not None and not curve.mute and key.value != (value := curve.evaluate(time)):
            key.value = value


def silence_curves(obj: bpy.types.Object, names: Iterable[str], silent: bool, shared: bool = True) -> None:
    """Mutes the curves of baked keys in every clip, or lets them play. `shared`: those that another mesh plays too."""
    paths = {key_curves.value_path(name) for name in names}
    for place in places_of(obj):
        for curve in place.curves() if shared or not key_curves.is_shared(obj, place) else ():
            if curve.mute != silent and curve.data_path in paths:
                curve.mute = silent


def check_bakeable(obj: bpy.types.Object) -> None:
    """Refuses an object on which a bake could not be played."""
    libraries.check_own_mesh(obj, "it takes no shape keys", "bake PC2 or MDD, which need none")
    if obj.show_only_shape_key:
        raise Refusal(f"{describe(obj)} shows a single pinned shape key: unpin it first (the pin below the key list)")
    keys = obj.data.shape_keys
    data = keys.animation_data if keys is not None else None
    action = data.action if data is not None else None
    own = set(obj.thew.made.baked_tracks.splitlines())
    why = disturbance(data) if data is not None and any(track.name not in own for track in data.nla_tracks) else ""
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


def shares_action(keys: bpy.types.Key | None) -> bool:
    """Returns whether other shape keys play the same curves."""
    played = key_curves.played_place(keys)
    return played is not None and played.other_players(keys)


# writing beside -------------------------------------------------------------------------------------------------------


@dataclass
class ClipCurves:
    """The curves of one clip that is about to be written."""

    action: bpy.types.Action | None  # None: the scene's range
    start: int
    end: int
    points: dict[int, CurvePoints]  # by the index of the new keys, times of curves; the other keys stay at 0
    new: NewPlace | None = None  # filled as it is written
    former_range: tuple[bool, float, float] | None = None  # the action's manual frame range, where it was set

    @property
    def made_range(self) -> bool:
        """Returns whether the action had no manual frame range."""
        return self.former_range is not None and not self.former_range[0]


@dataclass
class NewKeys:
    """Keys and curves that were written beside those of former bakes, recorded as soon as they are made."""

    active: str = ""  # name of the key that was active
    names: list[str] = field(default_factory=list)
    made_basis: bool = False
    clips: list[ClipCurves] = field(default_factory=list)
    swaps: list = field(default_factory=list)  # of `key_swaps`, at most one


def write_keys(obj: bpy.types.Object, names: list[str], offsets: np.ndarray, new: NewKeys) -> None:
    """Makes keys called `names` (as far as these are free) beside the existing ones; `offsets` float32[k, n, 3] from the basis."""
    mesh, active = obj.data, obj.active_shape_key
    new.active = active.name if active is not None else ""
    new.made_basis = mesh.shape_keys is None
    if new.made_basis:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = mesh.shape_keys
    basis = key_positions(keys.reference_key)
    for name, offset in zip(names, offsets, strict=True):
        key = obj.shape_key_add(name=name, from_mix=False)
        new.names.append(key.name)
        key.relative_key, key.value = keys.reference_key, 0.0
        key.points.foreach_set("co", np.ascontiguousarray(basis + offset, dtype=np.float32).ravel())


def write_clips(
    obj: bpy.types.Object, clips: list[ClipCurves],
    kept: list[tuple[saved_bakes.ThewClip, dict[int, CurvePoints]]], silent: list[str], stretch: float, new: NewKeys,
) -> None:  # fmt: skip
    """Writes the curves of the new keys in each clip.

    `kept`: clips of the same bake that stay, with the points of new keys over them (the others are at 0); `silent`: keys of these,
    at 0 in the new clips.
    """
    for clip in clips:
        new.clips.append(clip)
        if clip.action is None:
            clip.new = key_curves.place_of_scene(obj)
        else:
            clip.new = key_curves.place_in_action(obj, clip.action)
        keep_range(clip, stretch)
        zero = [(stretch * clip.start, 0.0)]
        points = {name: clip.points.get(index, zero) for index, name in enumerate(new.names)}
        write_curves(clip.new.place, points | dict.fromkeys(silent, zero))
    written = {clip.new.place for clip in clips}
    for clip, over in kept:
        place, zero = place_of(clip), [(stretch * clip.start, 0.0)]
        if place is not None and place not in written:
            write_curves(place, {name: over.get(index, zero) for index, name in enumerate(new.names)})


def keep_range(clip: ClipCurves, stretch: float) -> None:
    """Gives the action of a clip a manual frame range where the artist gave it none, since curves are about to reach beyond it.

    Over the scene's range an action plays at least the frames that were baked.
    """
    action = clip.new.place.action
    if action.use_frame_range and not key_curves.is_ranged(action):
        return
    had = key_curves.artist_range(action)
    if clip.action is not None:
        source = had if clip.action == action else key_curves.artist_range(clip.action)
        first, last = source or (stretch * clip.start, stretch * clip.end)
    else:
        spans = [(clip.start, clip.end), *key_curves.scene_spans(action)]
        spans = [*((stretch * start, stretch * end) for start, end in spans), *([had] if had is not None else [])]
        first, last = min(start for start, _ in spans), max(end for _, end in spans)
    clip.former_range = (action.use_frame_range, action.frame_start, action.frame_end)
    action.use_frame_range = True
    action.frame_start, action.frame_end = first, last


def restore_range(clip: ClipCurves) -> None:
    """Gives the action of a clip that was not written its former manual frame range."""
    if clip.former_range is not None:
        action = clip.new.place.action
        action.use_frame_range, action.frame_start, action.frame_end = clip.former_range


def discard(obj: bpy.types.Object, new: NewKeys) -> None:
    """Removes everything that was written beside the former bakes."""
    keys = obj.data.shape_keys
    if keys is None:
        return
    for clip in new.clips:
        if clip.new is None:
            continue
        drop_curves(clip.new.place, new.names)
        restore_range(clip)
        drop_place(keys, clip.new)
    for place in places_of(obj):
        drop_curves(place, new.names)
    remove_keys(obj, new.names, new.made_basis)


# swapping in ----------------------------------------------------------------------------------------------------------


def rename(
    obj: bpy.types.Object, names: list[str], wanted: list[str], places: list[key_curves.CurvePlace]
) -> list[str]:
    """Gives keys their wanted names, unless another key has them; returns their names."""
    keys = obj.data.shape_keys
    taken = [(name, new) for name, new in zip(names, wanted, strict=True) if name != new]
    for place in places:  # keys deleted by hand leave their curves behind
        drop_curves(place, [new for _, new in taken if new not in keys.key_blocks])
    blocks, renamed = [keys.key_blocks[name] for name in names], {}
    for name, new in taken:
        keys.key_blocks[name].name = new
    for name, block in zip(names, blocks, strict=True):
        renamed[name] = block.name
    key_curves.rename_curves(places, renamed)
    return [block.name for block in blocks]


def activate_key(obj: bpy.types.Object, name: str) -> None:
    """Makes a key active, or else the first one."""
    obj.active_shape_key_index = max(obj.data.shape_keys.key_blocks.find(name), 0)


# removing -------------------------------------------------------------------------------------------------------------


def remove_keys_of(obj: bpy.types.Object, names: list[str]) -> None:
    """Removes baked keys by name, and their curves in the places of all bakes."""
    for place in places_of(obj):
        if obj.data.shape_keys is not None and not key_curves.is_shared(obj, place):  # else other keys play them
            drop_curves(place, names)
    remove_keys(obj, [key.name for key in keys_named(obj, names)])


def remove_bake(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> None:
    """Removes the keys of a bake, their curves, and everything made for them."""
    key_tracks.remove(obj)
    remove_keys_of(obj, bake.key_names)
    bake.keys = ""
    made_places = [place_of(clip) for clip in bake.clips if clip.made_slot or clip.made_curves]
    for clip in bake.clips:
        release(obj, clip)
    made, others = obj.thew.made, [other for other in obj.thew.bakes if other.name != bake.name and other.keys]
    keys = obj.data.shape_keys
    if keys is None or others:
        return
    played = key_curves.played_place(keys)
    if played is not None and played in made_places:  # another object's clips go on in it
        keys.animation_data.action = None
    key_curves.drop_empty_data(keys)
    if made.baked_basis and len(keys.key_blocks) == 1:
        obj.shape_key_remove(keys.key_blocks[0])
    made.baked_basis = False


def release(obj: bpy.types.Object, clip: saved_bakes.ThewClip) -> None:
    """Removes what was made for a clip, or hands it over to another clip that uses it; the clip is about to go."""
    place, action = place_of(clip), clip.curves or clip.action
    made_slot, made_curves, ranged = clip.made_slot, clip.made_curves, clip.made_range
    clip.made_slot = clip.made_curves = clip.made_range = False
    clip.action = clip.curves = clip.played = None
    heirs = [each for each in saved_bakes.all_clips() if (each.curves or each.action) == action and action is not None]
    if ranged and heirs:
        heirs[0].made_range = True
    elif ranged and action is not None:
        action.use_frame_range = False
    heirs = [each for each in heirs if place_of(each) == place]
    if heirs:
        heirs[0].made_slot, heirs[0].made_curves = heirs[0].made_slot or made_slot, heirs[0].made_curves or made_curves
    elif place is not None:
        drop_place(obj.data.shape_keys, NewPlace(place, made_slot, made_curves))


def remove_keys(obj: bpy.types.Object, names: list[str], basis: bool = False) -> None:
    """Removes keys by name; with `basis` also the Basis, if nothing else is left."""
    keys = obj.data.shape_keys
    if keys is None:
        return
    active = obj.active_shape_key_index
    for name in names:
        obj.shape_key_remove(keys.key_blocks[name])
    if basis and len(keys.key_blocks) == 1:
        obj.shape_key_remove(keys.key_blocks[0])
    elif len(keys.key_blocks) > 0:
        obj.active_shape_key_index = min(active, len(keys.key_blocks) - 1)


# Finish Bake ----------------------------------------------------------------------------------------------------------


def join_action(obj: bpy.types.Object, bake: saved_bakes.ThewBake, action: bpy.types.Action) -> bool:
    """Moves the curves of a bake's scene range to a slot of `action`, the armature's: every exporter then writes one animation.

    Returns False, with no change, where that is impossible: before Blender 4.4, which has no slots, where the keys play an action
    of the artist's, where `action` cannot be edited, and where it has a clip of its own.
    """
    clip, keys = bake.scene_clip, obj.data.shape_keys
    place = place_of(clip) if clip is not None else None
    if place is None or place.slot is None or not clip.made_curves or place.action == action:
        return False
    if action.library is not None or action.override_library is not None or key_curves.is_shared(obj, place):
        return False
    if bake.clip_of(action) is not None:
        return False
    names = [key.name for key in keys_of(obj, bake)]
    written = {curve.data_path: curve for curve in place.curves()}
    if any(key_curves.value_path(name) not in written for name in names):
        return False  # someone has taken curves away
    points = {
        name: [tuple(point.co) for point in written[key_curves.value_path(name)].keyframe_points] for name in names
    }
    new = key_curves.place_in_action(obj, action)
    joined = ClipCurves(None, clip.start, clip.end, {}, new)
    try:
        keep_range(joined, timing.stretch(bpy.context.scene))
        write_curves(new.place, points)
    except (Refusal, RuntimeError):
        restore_range(joined)
        drop_place(keys, new)
        return False
    former = NewPlace(place, clip.made_slot, clip.made_curves)
    drop_curves(place, names)
    clip.curves, clip.slot = action, new.place.slot.identifier
    clip.made_slot, clip.made_curves, clip.made_range = new.made_slot, False, joined.made_range
    data = keys.animation_data
    if data is not None and data.action == place.action:
        animation.assign(data, action, new.place.slot)
    drop_place(keys, former)
    return True

# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of bake targets that write shape keys: how keys and their curves are written, swapped in, shown and removed.

A target of its own makes, in `pack`, a `KeyedMotion` of the clips: the keys, and their weights over each clip.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.keys import CurvePoints
from ..saved.bakes import ThewBake
from ..scene import animation, baked_tension, bakes, key_curves, key_playing, key_swaps, poses, writing
from ..scene.writing import ClipCurves, NewKeys
from . import bake_records, fbx
from .target import PendingBake


@dataclass(frozen=True)
class KeyedClip:
    """Weights of the keys over one clip."""

    points: dict[int, CurvePoints]  # by the index of a key, frames of the scene and weights; the other keys stay at 0
    own: range | None = None  # keys that belong to this clip alone; None: the clips share them


@dataclass(frozen=True)
class KeyedMotion:
    """Keys of a bake, and their weights."""

    names: list[str]  # the wanted ones
    offsets: np.ndarray  # float32[k, n, 3] from the basis
    clips: list[KeyedClip]  # of the pending bake, in order
    #: Weights over the clips that stay, in their order in the record, where these keys replace those that all clips share.
    kept: list[KeyedClip] | None = None


class KeyTarget:
    """Base of targets that write shape keys. A subclass defines `prepare`, `pack` and `describe`."""

    key = ""

    def __init__(self) -> None:
        self.kind = bakes.Kind(self.key, self.describe, self.show, self.remove)

    def check(self, obj: bpy.types.Object) -> None:
        """Refuses an object on which keys could not be played."""
        writing.check_bakeable(obj)

    def describe(self, obj: bpy.types.Object, bake: ThewBake) -> str:
        """Returns the number of keys in words; "" where none are left."""
        raise NotImplementedError

    def has_keys(self, obj: bpy.types.Object, bake: ThewBake) -> bool:
        """Returns whether keys of a bake are left."""
        return bool(writing.keys_of(obj, bake))

    def show(self, obj: bpy.types.Object, bake: ThewBake, on: bool) -> None:
        """Lets the keys of a bake play what the armature plays, or mutes them. While poses are read, another action may play."""
        writing.mute_bake(obj, bake, not on)
        baked_tension.settle(obj)
        fbx.hook()
        if on and not poses.silence_depth:
            key_playing.follow(obj)

    def remove(self, obj: bpy.types.Object, bake: ThewBake) -> None:
        """Removes the keys of a bake, and the modifier that stores their tension with the last of them."""
        writing.remove_bake(obj, bake)
        baked_tension.settle(obj)

    def write(self, pending: PendingBake) -> None:
        """Writes the keys and their curves next to those of former bakes."""
        packed: KeyedMotion = pending.packed
        pending.made = new = NewKeys()
        writing.write_keys(pending.obj, packed.names, packed.offsets, new)
        scale = pending.stretch
        clips = [
            ClipCurves(each.plan.action, each.plan.start, each.plan.end, stretched(keyed.points, scale))
            for each, keyed in zip(pending.clips, packed.clips, strict=True)
        ]
        kept = bake_records.kept(pending)
        silent = [name for clip in kept for name in clip.keys.splitlines()]
        points = [stretched(keyed.points, scale) for keyed in packed.kept or ()] or [{}] * len(kept)
        writing.write_clips(pending.obj, clips, list(zip(kept, points, strict=True)), silent, scale, new)

    def discard(self, pending: PendingBake) -> None:
        """Removes the keys written by an unfinished `write`."""
        if pending.made is not None:
            writing.discard(pending.obj, pending.made)

    def swap(self, pending: PendingBake) -> list[str]:
        """Lets the new keys take the names of those that are replaced. Returns their names."""
        obj, new, packed = pending.obj, pending.made, pending.packed
        gone, kept = bake_records.replaced(pending), bake_records.kept(pending)
        # If former keys were deleted by hand, the new ones may bear their names.
        former = {name for clip in gone for name in clip.keys.splitlines()} - set(new.names)
        shared = [] if kept and packed.kept is None else self.shared_names(pending)
        places = list(dict.fromkeys([*key_curves.places_of(obj), *(clip.new.place for clip in new.clips)]))
        names = key_swaps.swap(obj, [*former, *shared], new.names, packed.names, places, new.swaps)
        obj.thew.made.baked_basis = obj.thew.made.baked_basis or new.made_basis
        pending.notes = [clip_notes(clip, keyed, names) for clip, keyed in zip(new.clips, packed.clips, strict=True)]
        return names

    def restore(self, pending: PendingBake) -> None:
        """Gives the keys of former bakes their names back."""
        for done in pending.made.swaps:
            key_swaps.restore(done)

    def finish(self, pending: PendingBake) -> None:
        """Removes the keys that are replaced."""
        for done in pending.made.swaps:
            key_swaps.finish(done)
        writing.activate_key(pending.obj, pending.made.active)

    def shared_names(self, pending: PendingBake) -> list[str]:
        """Returns the keys of the former bake that no clip owns."""
        bake = bake_records.former(pending)
        if bake is None:
            return []
        owned = {name for clip in bake.clips for name in clip.keys.splitlines()}
        return [name for name in bake.key_names if name not in owned and name not in pending.made.names]


def stretched(points: dict[int, CurvePoints], scale: float) -> dict[int, CurvePoints]:
    """Returns the points of curves at times of curves instead of frames."""
    return {index: [(scale * frame, weight) for frame, weight in each] for index, each in points.items()}


def clip_notes(clip: ClipCurves, keyed: KeyedClip, names: list[str]) -> dict:
    """Returns what the record of a clip keeps of its curves."""
    place = clip.new.place
    own = names[keyed.own.start : keyed.own.stop] if keyed.own is not None else []
    return {
        "curves": None if place.action == clip.action else place.action,
        "slot": animation.identifier_of(place.slot),
        "made_slot": clip.new.made_slot, "made_curves": clip.new.made_curves, "made_range": clip.made_range,
        "keys": "\n".join(own),
    }  # fmt: skip

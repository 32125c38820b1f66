# SPDX-License-Identifier: GPL-3.0-or-later
"""Joining of a new bake and a former one of its name: it joins it, writes over some of its clips, or gets a free name beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from ..live import riding
from ..logic.names import free_name
from ..saved import bakes as saved_bakes
from ..saved.bakes import ThewBake, ThewClip


@dataclass(frozen=True)
class Joining:
    """The bake that is about to be written, and the one that bears the wanted name."""

    name: str  # of the bake that is written
    wanted: str  # the name that was asked for
    former: ThewBake | None = None  # the bake that bears the wanted name
    same_kind: bool = True  # whether it is of the kind that is written
    met: list[ThewClip] = field(default_factory=list)  # its clips that are about to be baked
    others: list[ThewClip] = field(default_factory=list)  # its other clips

    @property
    def replaced(self) -> list[ThewClip]:
        """Returns the clips that are written over."""
        return self.met if self.name == self.wanted else []

    @property
    def kept(self) -> list[ThewClip]:
        """Returns the clips that the written bake keeps."""
        return self.others if self.name == self.wanted else []


def join(obj: bpy.types.Object, kind: str, wanted: str, chosen: set[str] | None, overwrite: bool = False) -> Joining:
    """Returns what a bake of `kind` does under the name `wanted`.

    `chosen`: names of the actions that are baked; None: the scene's range. Clips are only written over with `overwrite`: else the
    bake gets a free name. It gets one beside a bake of another kind too.
    """
    former = saved_bakes.named(obj, wanted)
    if former is None:
        return Joining(wanted if not is_taken(obj, kind, wanted) else beside(obj, wanted), wanted)
    if former.kind != kind:
        return Joining(beside(obj, wanted), wanted, former, same_kind=False)
    met = [
        clip
        for clip in former.clips
        if (clip.is_scene if chosen is None else not clip.is_scene and clip.label in chosen)
    ]
    met_names = {clip.name for clip in met}
    others = [clip for clip in former.clips if clip.name not in met_names]
    return Joining(beside(obj, wanted) if met and not overwrite else wanted, wanted, former, True, met, others)


def is_taken(obj: bpy.types.Object, kind: str, name: str) -> bool:
    """Returns whether a rider, which is baked along, has a bake of another kind with this name."""
    found = (saved_bakes.named(rider, name) for rider in riders(obj))
    return any(bake is not None and bake.kind != kind for bake in found)


def beside(obj: bpy.types.Object, wanted: str) -> str:
    """Returns a name that no bake of the object and of its riders has."""
    return free_name(wanted, {bake.name for each in (obj, *riders(obj)) for bake in each.thew.bakes})


def riders(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Returns the objects that are baked along."""
    return list(riding.riders_of(obj)) if obj.thew.made.flesh else []

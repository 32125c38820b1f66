# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a bake, and the remarks on it."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from ..logic.errors import sentence
from ..logic.names import describe
from ..logic.sentences import join_words, percent, plural
from ..saved import bakes as saved_bakes
from ..scene.bakes import describe_bake, moves_bones

#: Largest miss that is not reported, as a part of the size. It is a fifth of a pixel of a body that fills 2,160 lines.
MIN_VISIBLE_MISS = 1e-4


@dataclass
class BakeResult:
    """The result of a bake."""

    names: list[str]  # of what was made, such as the keys
    space: str
    miss: float  # largest distance of the bake from the flesh, as a part of the size
    unbaked: str  # sentence about the frames that it leaves out
    warnings: list[str]  # sentences about what an export would do wrong
    riders: list[str] = field(default_factory=list)  # names of the riders that were baked along
    clips: list[str] = field(default_factory=list)  # names of the actions that were baked
    remarks: list[str] = field(default_factory=list)  # sentences about what was left out
    bake: str = ""  # the name of the bake

    def message(self, obj: bpy.types.Object) -> str:
        """Returns the message for the artist."""
        bake = saved_bakes.named(obj, self.bake)
        what = bake_text(bake, obj, len(self.names))
        space = " in rest space" if self.space == "REST" else " in posed space"
        text = f"{describe(obj)} plays {what}{'' if moves_bones(bake) else space}."
        for remark in (miss_remark(self.miss), self.unbaked, *self.remarks):
            text += f" {sentence(remark)}" if remark else ""
        if self.riders:
            text += f" {join_words(self.riders)} {'rides' if len(self.riders) == 1 else 'ride'} along."
        return " ".join([text, *(sentence(warning) for warning in self.warnings)])


def bake_text(bake: saved_bakes.ThewBake | None, obj: bpy.types.Object, count: int) -> str:
    """Returns what a bake consists of, in words."""
    text = describe_bake(obj, bake) if bake is not None else plural(count, "baked shape key")
    clips = [] if bake is None else [clip for clip in bake.clips if not clip.is_scene]
    return f"{text} of {plural(len(bake.clips), 'clip')}" if clips else text


def miss_remark(miss: float) -> str:
    """Returns the remark about keys that differ from the flesh by `miss` of the size; "" if that is invisible."""
    if miss <= MIN_VISIBLE_MISS:
        return ""
    return f"where the armature flattens the skin, or its bendy bones fold it, keys miss the flesh by up to {percent(miss)} of the size"


def unbaked_frames_remark(bake: saved_bakes.ThewBake | None, scene: bpy.types.Scene) -> str:
    """Returns the remark about frames of the scene that a bake of its range leaves out; "" if it holds them all."""
    clip = bake.scene_clip if bake is not None else None
    preview = scene.use_preview_range
    first = scene.frame_preview_start if preview else scene.frame_start
    last = scene.frame_preview_end if preview else scene.frame_end
    if clip is None or (clip.start <= first and last <= clip.end):
        return ""
    holds = bake.space == "POSED" or bake.holds
    beside = "its first and its last shape stay" if holds else "the plain skin shows"
    return f"the scene plays {first} to {last}: outside the bake's frames {beside}"

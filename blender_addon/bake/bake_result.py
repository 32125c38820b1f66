# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a bake, and the remarks on it."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from ..logic.errors import sentence
from ..logic.health import shorten
from ..logic.sentences import join_words, percent, plural, significant
from ..saved import bakes as saved_bakes
from ..scene.bakes import describe_bake

#: Largest miss that is not reported, as a part of the size. It is a fifth of a pixel of a body that fills 2,160 lines.
MIN_VISIBLE_MISS = 1e-4
#: Smallest error that the message states, in metres: exact keys miss the flesh by rounding, far below.
MIN_STATED_ERROR = 1e-5
#: Longest name of an object in the message, of which the status bar shows about 100 letters.
MAX_NAME = 24


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
    figures: list[str] = field(default_factory=list)  # sentences about what it misses, which its record tells too

    @property
    def notes(self) -> list[str]:
        """Returns what is said of this bake once, as sentences: its record keeps them."""
        along = f"{join_words(self.riders)} {'rides' if len(self.riders) == 1 else 'ride'} along" if self.riders else ""
        return [sentence(text) for text in (*self.remarks, along) if text]

    @property
    def details(self) -> list[str]:
        """Returns everything beside the message, as sentences. The foldout Bake shows it."""
        told = [sentence(text) for text in (miss_remark(self.miss), *self.figures, self.unbaked) if text]
        return [*told, *self.notes, *map(sentence, self.warnings)]

    def message(self, obj: bpy.types.Object) -> str:
        """Returns the message for the artist, short enough for the status bar: the largest error first."""
        bake = saved_bakes.named(obj, self.bake)
        name = shorten(obj.name, MAX_NAME)
        what = f"“{name}” plays {bake_text(bake, obj, len(self.names))}"
        off = max((clip.error for clip in bake.clips), default=0.0) if bake is not None else 0.0
        text = f"{significant(1e3 * off)} mm off at most: {what}" if off >= MIN_STATED_ERROR else what
        left = len(self.details) - len(self.figures)
        if self.warnings:
            return f"{text}; {plural(len(self.warnings), 'warning')} in the foldout Bake"
        return f"{text}; {plural(left, 'remark')} in the foldout Bake" if left else text


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

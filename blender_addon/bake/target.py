# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of bake targets, and how their content replaces the previous bake.

A target defines how the motion of one object is written. It *prepares* content, which changes nothing, *writes* it next
to the previous bake, *swaps* it in when everything else is done, and *removes* it. Only `bake_parts` calls `write` and `swap`:
if anything fails or is cancelled before the last part is written, every object keeps its previous bake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import bpy
import numpy as np

from ..logic.tasks import Task
from ..saved.timing import stretch
from ..scene import animation
from ..scene.bakes import Kind
from ..scene.reading import Subject


@dataclass(frozen=True)
class Source:
    """One object whose motion is baked: a body, or a rider. All arrays are in its object space."""

    obj: bpy.types.Object
    subject: Subject | None  # `None`: no armature deforms it
    scene: bpy.types.Scene
    view_layer: bpy.types.ViewLayer
    frames: list[int]
    size: float  # diagonal of the object's box at rest
    offset: Callable[[int], np.ndarray]
    """Returns the offsets from its skin at the i-th frame, [n, 3]. The scene must be at that frame."""
    differences: Callable[[set[int]], Task]
    """Builds the task that measures the shown mesh less the mesh with only these modifiers (ids), float32[f, n, 3]."""
    accept: Callable[[], None]
    """Switches the object to its bake, once that is in place."""

    @property
    def clip(self) -> bpy.types.Action | None:
        """The one action that the armature plays unchanged; `None` where it plays several, or no action."""
        played = animation.played_action(self.subject.armature) if self.subject is not None else None
        return played.action if played is not None and played.plain else None


@dataclass(frozen=True)
class Content:
    """The content to be written for one object."""

    rows: np.ndarray  # one a frame
    space: str  # an item of `BAKE_SPACES`
    miss: float = 0.0  # largest distance from the live motion, as a part of the size


@dataclass
class PendingContent:
    """Content of one object while it is written: what a target has made until now, for `swap` and `discard`."""

    obj: bpy.types.Object
    start: int  # the first frame
    stretch: float  # stretch of the times of curves, see `saved.timing`
    content: Content
    clip: bpy.types.Action | None = None  # the one action that the armature played
    made: dict[str, Any] = field(default_factory=dict)  # the target's own notes, filled as it goes


class Target(Protocol):
    """A form in which bakes are written."""

    key: str  # saved in files and named in scripts: never changed
    label: str
    description: str
    kind: Kind  # how the bake is shown, hidden and removed

    def check(self, obj: bpy.types.Object) -> None:
        """Refuses an object on which the bake could not be played; called before any work."""

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that returns the `Content`. The scene and the object are left as they were found."""

    def write(self, pending: PendingContent) -> None:
        """Writes the content next to the previous bake. Records in `pending.made` what was made as soon as it is."""

    def discard(self, pending: PendingContent) -> None:
        """Removes what an unfinished `write` has made."""

    def swap(self, pending: PendingContent) -> list[str]:
        """Replaces the target's previous bake with the new one. Returns the names of what was made."""


def bake_parts(target: Target, parts: list[tuple[Source, Content]]) -> list[list[str]]:
    """Bakes all parts; after a failure every object keeps its previous bake. Returns the names of what was made for each."""
    pending = [
        PendingContent(source.obj, source.frames[0], stretch(source.scene), content, source.clip)
        for source, content in parts
    ]
    try:
        for each in pending:
            target.write(each)
    except BaseException:
        for each in reversed(pending):
            target.discard(each)
        raise
    names = [target.swap(each) for each in pending]
    for source, _ in parts:
        source.accept()
    return names

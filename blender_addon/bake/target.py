# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake target is, and how its content takes the place of what was baked before.

A target says how the motion of one object is written: it *prepares* content, which changes nothing, *writes* it beside what is
there, *swaps* it in when everything else is done, and *removes* it. `put` is the only place that calls `write` and `swap`:
whatever fails or is cancelled before the last part is written leaves every object with the bake that it had.
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
    """One object whose motion is baked: a body, or what rides on one. All arrays in its object space."""

    obj: bpy.types.Object
    found: Subject | None  # None: no armature deforms it
    scene: bpy.types.Scene
    view_layer: bpy.types.ViewLayer
    frames: list[int]
    size: float  # the diagonal of the object's box at rest
    offset: Callable[[int], np.ndarray]
    """What is added to its skin at the i-th frame, at which the scene stands, [n, 3]."""
    differences: Callable[[set[int]], Task]
    """A task: how far what is shown is from the mesh on which only these modifiers (ids) act, float32[f, n, 3]."""
    accept: Callable[[], None]
    """Show the bake from now on, when it is in its place."""

    @property
    def clip(self) -> bpy.types.Action | None:
        """The one action that its armature plays as it is written; None where it plays none, or several."""
        played = animation.playing(self.found.armature) if self.found is not None else None
        return played.action if played is not None and played.plain else None


@dataclass(frozen=True)
class Content:
    """What is to be written for one object."""

    rows: np.ndarray  # one a frame
    space: str  # an item of `BAKE_SPACES`
    miss: float = 0.0  # the farthest that it stays from what was live, of the size


@dataclass
class Beside:
    """Content of one object on its way: what a target has made beside what was there, for `swap` and `discard`."""

    obj: bpy.types.Object
    start: int  # the first frame
    stretch: float  # of the times of curves, see `saved.timing`
    content: Content
    clip: bpy.types.Action | None = None  # the one action of the armature that was played
    made: dict[str, Any] = field(default_factory=dict)  # the target's own notes, filled as it goes


class Target(Protocol):
    """Into what a bake is written."""

    key: str  # saved in files and named in scripts: never changed
    label: str
    description: str
    kind: Kind  # how it is shown, hidden and removed, whatever else is baked

    def check(self, obj: bpy.types.Object) -> None:
        """Refuse an object on which it could not be played; asked before any work."""

    def prepare(self, source: Source, space: str) -> Task:
        """A task that gives the `Content`; the scene and the object are left as they were found."""

    def write(self, beside: Beside) -> None:
        """Make the content beside what is there, noting in `beside.made` what was made as soon as it was."""

    def discard(self, beside: Beside) -> None:
        """Take away what `write` had made so far."""

    def swap(self, beside: Beside) -> list[str]:
        """Let it take the place of what the target had made before; gives the names of what was made."""


def put(target: Target, parts: list[tuple[Source, Content]]) -> list[list[str]]:
    """Bake parts: all of them or, where anything fails, none; gives the names of what was made for each."""
    beside = [
        Beside(source.obj, source.frames[0], stretch(source.scene), content, source.clip) for source, content in parts
    ]
    try:
        for each in beside:
            target.write(each)
    except BaseException:
        for each in reversed(beside):
            target.discard(each)
        raise
    names = [target.swap(each) for each in beside]
    for source, _ in parts:
        source.accept()
    return names

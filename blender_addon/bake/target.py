# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of bake targets, and how their content joins or replaces former bakes.

A target defines how the motion of one object is written. It *prepares* the content of each clip, while that clip plays alone, and
*packs* the clips together; neither changes anything. It *writes* them next to the former bakes, *swaps* them in when everything
else is done, and *removes* them. Only `bake_parts` calls `write` and `swap`: if anything fails or is cancelled before the last part
is swapped, every object keeps its bakes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import bpy
import numpy as np

from ..logic.tasks import Task
from ..saved.timing import stretch
from ..scene.bakes import Kind
from ..scene.poses import Motion
from ..scene.reading import Subject
from . import bake_records
from .clip_plans import ClipPlan


@dataclass(frozen=True)
class SkinMotion:
    """The poses of a clip, for targets that need the skinning: what the flesh was simulated with."""

    motion: Motion  # maps T_b of the world and the mesh's matrices; its first pose is that of frame `motion.start`
    bones: list[str]
    weights: np.ndarray  # [n, b], of the vertices of a body
    metres_per_unit: float  # of Blender's world
    rest_matrix: np.ndarray  # [4, 4] the mesh's world matrix in the bind pose


@dataclass(frozen=True)
class BoneMotion:
    """The bones of a mesh over a clip as its Armature modifier has them, in the armature's space and units."""

    bones: list[str]  # the artist's, those with weights
    weights: np.ndarray  # [n, b], of sum 1 in each row
    rest: np.ndarray  # [n, 3] the vertices before the modifier, object space
    poses: np.ndarray  # [f, b, 4, 4] from rest to posed
    places: np.ndarray  # [f, 4, 4] from the mesh's object space to the armature's
    metres: float  # length of a unit of the armature's space in metres of the character


@dataclass(frozen=True)
class Source:
    """One object whose motion is baked over one clip: a body, or a rider. All arrays are in its object space."""

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
    metres: float = 1.0  # length of a unit of the object's space in metres of the character
    skin: SkinMotion | None = None  # `None`: a rider, or keyframed motion


@dataclass(frozen=True)
class Miss:
    """The largest distance of a bake from the live motion, in object space; the frame and the vertex where it is."""

    distance: float = 0.0
    frame: int = 0
    vertex: int = -1


@dataclass(frozen=True)
class Content:
    """The content of one clip of one object."""

    rows: np.ndarray  # float32[f, n, 3], one a frame, from the basis
    space: str  # an item of `BAKE_SPACES`
    miss: float = 0.0  # largest distance from the live motion, as a part of the size
    worst: Miss = Miss()
    skin: SkinMotion | None = None  # None: not known
    bones: BoneMotion | None = None  # of targets that read the bones along
    tension: np.ndarray | None = None  # float32[f, n], of the live flesh; None: not wanted, or not storable


@dataclass(frozen=True)
class ClipContent:
    """One clip of a bake that is about to be written: what it is of, and its content."""

    plan: ClipPlan
    content: Content
    metres: float = 1.0  # length of a unit of the object's space in metres of the character


@dataclass(frozen=True)
class BakeRequest:
    """What was asked of a bake."""

    name: str  # of the bake, on every object
    space: str  # an item of `BAKE_SPACES`
    tolerance: float = 0.0  # metres of the character; 0: exact
    replace: bool = False  # the bake's other clips go
    settings: str = ""  # a hash of the settings that are baked
    folder: str = ""  # for files, as Blender writes paths; empty: beside the .blend
    image: str = "EXR"  # format of textures, an item of `vertex_textures.IMAGES`
    bones: int = 16  # most helper bones of each mesh
    influences: int = 4  # most bones of a vertex, helpers among them
    regions: int = 1  # most parts of the mesh with keys of their own
    rest_tolerance: float = 3e-3  # metres of the character by which resting helper bones may miss the plain skin


@dataclass
class PendingBake:
    """A bake of one object while it is written: its clips, and what a target has made until now for `swap` and `discard`."""

    obj: bpy.types.Object
    request: BakeRequest
    stretch: float  # stretch of the times of curves, see `saved.timing`
    clips: list[ClipContent]
    packed: Any = None  # the result of `pack`
    made: Any = None  # the target's own notes, filled as it goes
    #: What `write` notes for the record of each clip, by the names of `saved.bakes.ThewClip`.
    notes: list[dict[str, Any]] = field(default_factory=list)
    #: What `swap` notes for the record of the bake, by the names of `saved.bakes.ThewBake`.
    bake_notes: dict[str, Any] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)  # indices of the clips of the record that are replaced
    #: Largest distance of each clip from the flesh as it is written, where packing changed that of its content.
    worst: list[Miss] = field(default_factory=list)


class Target(Protocol):
    """A form in which bakes are written.

    It may have more: `space`, the only one in which it bakes; `writes_files`, true if it does; `default_tolerance`, the error allowed
    where none is given, in metres; `check_request(request)` and `check_plans(obj, request, plans)`, which refuse before any work;
    `leaves(obj)`, whether a rider stays as it is; `remark(request)` and `result_remark(obj, bake)`, sentences for the artist; and
    `settle(pending)`, which moves files to their places after every object's `write`, and which `discard` undoes; `restore(pending)`,
    which undoes a `swap`, also an unfinished one; and `finish(pending)`, which removes what was replaced once all objects are swapped.
    """

    key: str  # saved in files and named in scripts: never changed
    label: str  # also the name of a bake that was given none
    description: str
    kind: Kind  # how a bake is shown, hidden and removed

    def check(self, obj: bpy.types.Object) -> None:
        """Refuses an object on which the bake could not be played; called before any work."""

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that returns the `Content` of one clip, while it plays. Scene and object are left as they were found."""

    def pack(self, pending: PendingBake) -> Task:
        """Builds the task that makes of all clips what is written, and sets `pending.packed`; changes nothing else."""

    def write(self, pending: PendingBake) -> None:
        """Writes the clips next to the former bakes. Records in `pending.made` what was made as soon as it is."""

    def discard(self, pending: PendingBake) -> None:
        """Removes what an unfinished `write` or `settle` has made; earlier bakes are as they were."""

    def swap(self, pending: PendingBake) -> list[str]:
        """Puts the new clips in place of what they replace (`bake_records.replaced`). Returns the names of what was made."""


def bake_parts(target: Target, parts: list[PendingBake], accept: list[Callable[[], None]]) -> list[list[str]]:
    """Writes all parts; after a failure every object keeps its former bakes. Returns the names of what was made for each."""
    names, records = [], []
    try:
        for each in parts:
            target.write(each)
        for each in parts if hasattr(target, "settle") else ():
            target.settle(each)
        for each in parts:
            records.append((each, bake_records.keep(each)))
            names.append(target.swap(each))
            bake_records.store(each, target, names[-1])
    except BaseException:
        for each, record in reversed(records):
            bake_records.restore(each, record)
            if hasattr(target, "restore"):
                target.restore(each)
        for each in reversed(parts):
            target.discard(each)
        raise
    for each in parts:
        if hasattr(target, "finish"):
            target.finish(each)
        bake_records.finish(each)
    for call in accept:
        call()
    return names


def pending(
    obj: bpy.types.Object, request: BakeRequest, scene: bpy.types.Scene, clips: list[ClipContent]
) -> PendingBake:
    """Returns the bake of an object that is about to be packed and written."""
    return PendingBake(obj, request, stretch(scene), clips)

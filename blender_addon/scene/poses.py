# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender to numpy: poses of armatures, of a moment or of a range of frames, as maps of the world (see `logic.spaces`).

No other module reads Blender's evaluated armatures, or plays frames to read them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..logic.colliders import Colliders
from ..logic.digests import digest_of
from ..logic.driven import Driven
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.pins import TARGET_NUMBERS
from ..logic.spaces import bone_maps, is_singular
from ..logic.still_poses import still_row
from ..logic.tasks import Progress, Task, span
from ..saved import timing
from . import animation, colliders, driven, movers, pins, rig_controls, windows
from .mesh import numbers
from .modifiers_off import without_modifiers
from .own_skin import own_pose_bones, own_rows
from .plain_meshes import without_thew
from .reading import Subject, armature_modifier

#: Targets of no pins at one pose.
NO_PINS = np.empty((1, 0, TARGET_NUMBERS))
#: Rows of nothing that drives flesh apart from poses.
NO_DRIVE = np.empty((1, 0))


@dataclass(frozen=True)
class Pose:
    """One character at one moment, as Blender has evaluated it; Blender's world."""

    maps: np.ndarray  # [b, 4, 4] T_b
    mesh: np.ndarray  # [4, 4] the mesh object's world matrix
    controls: np.ndarray  # [r] of every rig
    raw: np.ndarray  # float32[16 B + 32] see `read_raw`
    colliders: Colliders = field(default_factory=Colliders)  # colliders, if they were read
    pins: np.ndarray = field(default_factory=lambda: NO_PINS[0])  # [p, 17] targets of every pin
    drive: np.ndarray = field(default_factory=lambda: NO_DRIVE[0])  # [n] see `logic.driven`


@dataclass(frozen=True)
class LeadPoses:
    """Poses before a range of frames."""

    maps: np.ndarray  # [l, b, 4, 4] T_b
    controls: np.ndarray  # [l, r] of every rig
    #: Colliders of the flesh, in those poses and in all poses of the range.
    colliders: Colliders = field(default_factory=Colliders)
    pins: np.ndarray = field(default_factory=lambda: NO_PINS)  # [l, p, 17] targets of every pin
    drive: np.ndarray = field(default_factory=lambda: NO_DRIVE)  # [l, n]

    def __len__(self) -> int:
        return len(self.maps)


@dataclass
class Motion:
    """Poses of a range of frames, Blender's world."""

    start: int
    maps: np.ndarray  # [f, b, 4, 4] T_b
    matrices: np.ndarray  # [f, 4, 4] the mesh object's world matrix
    raw: np.ndarray  # float32[f, 16 B + 32] as Blender gave them: all poses, the armature's and the mesh's matrix
    digest: bytes
    controls: np.ndarray  # [f, r] of every rig
    moving: tuple  # their keys and drivers: see `rig_controls.control_animation`
    marked: tuple[int, int] | None = None  # frames over which the artist marked the armature's action as a cycle
    keyed_to: float | None = None  # last keyed frame of the armature; None: nothing of it is keyed
    colliders: Colliders = field(default_factory=Colliders)  # colliders of the flesh
    before: LeadPoses | None = None  # poses that lead to it; None: not read
    pins: np.ndarray = field(
        default_factory=lambda: NO_PINS
    )  # [f, p, 17] targets of every pin: see `logic.pins.target_row`
    pinned: tuple = ()  # the pins: see `pins.fingerprint`
    movers: bytes = b""  # what moved it, keys apart: see `movers.fingerprint`; b"": it comes from the disk cache
    drive: np.ndarray = field(default_factory=lambda: NO_DRIVE)  # [f, n] see `logic.driven`
    driven: Driven = field(default_factory=Driven)  # force fields and keyed settings
    #: Results of `still_frame`.
    still: dict[tuple[int, int], int | None] = field(default_factory=dict, init=False, compare=False)

    @property
    def lead_length(self) -> int:
        """Returns the number of frames that were read before it."""
        return 0 if self.before is None else len(self.before)

    def still_frame(self, first: int, last: int) -> int | None:
        """Returns the frame from which the character stands still for most of `first`..`last`; None where it does not."""
        key = first, last
        if key not in self.still:
            row = still_row(self.raw[max(first - self.start, 0) : last - self.start + 1])
            self.still[key] = None if row is None else max(first, self.start) + row
        return self.still[key]

    def differs(self, obj: bpy.types.Object, frame: int, depsgraph: bpy.types.Depsgraph) -> bool:
        """Returns whether the evaluated character is not where it was at `frame` when it was read."""
        modifier = armature_modifier(obj)
        if modifier is None or modifier.object is None:
            return False
        then = self.raw[frame - self.start]
        helped = (
            16 * len(modifier.object.pose.bones) + 32 != then.size
        )  # else all bones are the artist's, which saves a look at each
        raw = read_raw(modifier.object, obj, depsgraph, helped)
        if raw.shape != then.shape:
            return True
        # Poses that play again have the same bits. Else they are near within a tenth of np.allclose's tolerance.
        near = np.array_equal(raw, then) or (np.abs(raw - then) <= 1e-6 + 1e-5 * np.abs(then)).all()
        others = self.controls_differ, self.pins_differ, self.drive_differs
        return not near or any(differ(obj, frame, depsgraph) for differ in others)

    def displaced_collider(self, frame: int, depsgraph: bpy.types.Depsgraph) -> str:
        """Returns the name, in quotes, of a collider that is not where it was read at `frame`; "" if all are."""
        return colliders.moved_collider(self.colliders, frame - self.start, depsgraph) if self.colliders.each else ""

    def controls_differ(self, obj: bpy.types.Object, frame: int, depsgraph: bpy.types.Depsgraph) -> bool:
        """Returns whether a keyed or driven control differs from its value read at `frame`."""
        if not self.moving:
            return False
        then = self.controls[frame - self.start]
        moved = rig_controls.are_animated(obj)
        if len(moved) != len(then):
            return True
        now = rig_controls.evaluated_controls(obj, depsgraph)
        return not np.allclose(now[list(moved)], then[list(moved)], rtol=1e-5, atol=1e-6, equal_nan=True)

    def pins_differ(self, obj: bpy.types.Object, frame: int, depsgraph: bpy.types.Depsgraph) -> bool:
        """Returns whether a pin is not as it was read at `frame`."""
        return bool(self.pinned) and pins.differ(obj, self.pins[frame - self.start], depsgraph)

    def drive_differs(self, obj: bpy.types.Object, frame: int, depsgraph: bpy.types.Depsgraph) -> bool:
        """Returns whether fields or keyed settings are not as they were read at `frame`."""
        read = self.drive.shape[1] > 0
        return read and driven.differs(obj, self.drive[frame - self.start], self.driven, depsgraph)


#: Above zero while frames are played to read them: the frame handlers then do nothing.
silence_depth = 0


#: Seconds of reading before the window gets its turn: less is slower in total, three times as much is felt.
SLICE_TIME = 0.1


@contextmanager
def silence_handlers() -> Iterator[None]:
    """Silences the frame handlers within the context."""
    global silence_depth
    silence_depth += 1
    try:
        yield
    finally:
        silence_depth -= 1


@contextmanager
def show_hidden(objects: list[bpy.types.Object]) -> Iterator[None]:
    """Shows hidden objects within the context, so that they are evaluated."""
    before = [(obj, obj.hide_viewport, obj.hide_get()) for obj in objects]
    try:
        for obj, viewport, eye in before:
            if viewport:
                obj.hide_viewport = False
            if eye:
                obj.hide_set(False)
        yield
    finally:
        for obj, viewport, eye in before:
            if viewport:
                obj.hide_viewport = True
            if eye:
                obj.hide_set(True)


def read_raw(
    armature: bpy.types.Object, mesh: bpy.types.Object, depsgraph: bpy.types.Depsgraph, helped: bool = True
) -> np.ndarray:
    """Returns the pose matrices of all of the artist's bones (by columns), then the armature's and the mesh's world matrix (by rows),
    float32[16 B + 32]. `helped`: there may be helper bones of bakes.
    """
    rows = own_rows(armature) if helped else None
    armature, mesh = armature.evaluated_get(depsgraph), mesh.evaluated_get(depsgraph)
    matrices = numbers(armature.pose.bones, "matrix", 16)
    matrices = matrices if rows is None else matrices[rows]
    worlds = [np.array(obj.matrix_world, dtype=np.float32).ravel() for obj in (armature, mesh)]
    return np.concatenate([matrices.ravel(), *worlds])


def bone_matrices(raw: np.ndarray) -> np.ndarray:
    """Returns the pose matrices of all bones, armature space, float32[..., B, 4, 4], from `read_raw` data [..., 16 B + 32]."""
    return raw[..., :-32].reshape(*raw.shape[:-1], -1, 4, 4).swapaxes(-1, -2)


def bone_matrix(armature: bpy.types.Object, bone: str) -> np.ndarray:
    """Returns the last evaluated pose matrix of one bone, armature space, [4, 4]."""
    return np.array(armature.pose.bones[bone].matrix, dtype=np.float64)


class LostBone(Refusal):
    """A bone that was read is gone, renamed or deleted: the next simulation reads the skeleton again."""


class PoseReader:
    """Reads T_b and the mesh's matrix at the scene's present frame."""

    def __init__(self, subject: Subject, bones: list[str], mesh_rest: np.ndarray):
        self.subject, self.names, self.mesh_rest = subject, bones, mesh_rest
        self.drive, self.counts = driven.DriveReader(subject.obj), subject.counts()
        place = {bone.name: i for i, bone in enumerate(own_pose_bones(subject.armature))}
        lost = next((name for name in bones if name not in place), None)
        if lost is not None:
            raise LostBone(
                f"The bone “{lost}” is gone from {describe(subject.armature)}, or has another name now: press Simulate"
            )
        self.rows = np.array([place[name] for name in bones])
        rest = np.array([subject.armature.data.bones[name].matrix_local for name in bones], dtype=np.float64)
        self.unrest = np.linalg.inv(rest)

    def read(self, depsgraph: bpy.types.Depsgraph, frame: int) -> Pose:
        """Returns the pose that `depsgraph` has evaluated; `frame` is for sentences."""
        self.subject.require_counts(self.counts)
        bones, world, mesh, raw = self.read_bones(depsgraph, frame)
        maps = bone_maps(world, bones, mesh, self.mesh_rest)
        obj = self.subject.obj
        controls, held = rig_controls.evaluated_controls(obj, depsgraph), pins.evaluated_pins(obj, depsgraph)
        return Pose(maps, mesh, controls, raw, pins=held, drive=self.drive.read(depsgraph))

    def read_bones(
        self, depsgraph: bpy.types.Depsgraph, frame: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns the bones' maps B_b in the armature's space [b, 4, 4], the world matrices of armature and mesh, and all as read."""
        raw = read_raw(self.subject.armature, self.subject.obj, depsgraph)
        pose = bone_matrices(raw)[self.rows].astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(pose).all(axis=(1, 2)))
        if len(bad):
            raise Refusal(
                f"The bone “{self.names[bad[0]]}” of {describe(self.subject.armature)} has a pose that is not a number "
                f"at frame {frame}: repair its keys, constraints or drivers"
            )
        world, mesh = raw[-32:].reshape(2, 4, 4).astype(np.float64)
        for obj, matrix in ((self.subject.armature, world), (self.subject.obj, mesh)):
            if not np.isfinite(matrix).all():
                raise Refusal(
                    f"{describe(obj)} is at a place that is not a number at frame {frame}: repair its animation"
                )
            if is_singular(matrix):
                raise Refusal(
                    f"{describe(obj)} is scaled to zero at frame {frame}: to hide it, key Disable in Viewports and in Renders, or "
                    "scale it to a hundredth"
                )
        return pose @ self.unrest, world, mesh, raw


def play_frames(
    scene: bpy.types.Scene, frames: Sequence[int], look: Callable[[int, int], Any], text: str | Callable[[int], str],
    within: Callable[[], AbstractContextManager] = nullcontext,
) -> Task:  # fmt: skip
    """Builds a task that plays frames with the frame handlers off, in slices; after each the scene returns to its frame.

    The task returns the list of results `look(i, frame)`. `text`: progress text before the frame's number, or a function of it. `within()` is
    entered for each slice. A playing animation shows none of these frames, because every slice restores its frame.
    """
    found, alone = [], windows.is_headless()
    told = text if callable(text) else lambda frame: f"{text} {frame}"
    while len(found) < len(frames):
        here, part, until = scene.frame_current, scene.frame_subframe, time.monotonic() + SLICE_TIME
        with silence_handlers():
            try:
                with within():
                    over = False
                    while not over:
                        frame = frames[len(found)]
                        scene.frame_set(frame)
                        found.append(look(len(found), frame))
                        over = len(found) == len(frames) or not (alone or time.monotonic() < until)
                        if alone and len(found) % 8 == 0:
                            yield Progress(len(found) / len(frames), told(frame))
            finally:
                scene.frame_set(here, subframe=part)
        if not alone:
            yield Progress(len(found) / len(frames), told(frame))
    return found


class MotionRequest(NamedTuple):
    """A character whose motion is to be read."""

    subject: Subject
    bones: list[str]
    mesh_rest: np.ndarray  # [4, 4] the mesh's world matrix in the bind pose
    requests: tuple[colliders.ColliderRequest, ...] = ()  # the colliders to read


def read_motions(wanted: list[MotionRequest], scene, view_layer, start: int, end: int, lead: int = 0) -> Task:
    """Builds a task that plays `start`..`end` and one more frame, once, and returns the `Motion` of each; the scene's frame is
    restored.

    `lead`: number of frames to read before `start`. The frame after the last one tells the last frame its direction, so that a
    longer range has the same frames.
    """
    readers = [PoseReader(each.subject, each.bones, each.mesh_rest) for each in wanted]
    moving = [rig_controls.control_animation(each.subject.obj) for each in wanted]
    objects = [obj for each in wanted for obj in (each.subject.armature, each.subject.obj)]
    skins = [each.subject.obj for each in wanted]
    every = tuple(request for each in wanted for request in each.requests)

    def read(frames: range, meshes: list[bpy.types.Object]) -> Task:
        things = colliders.ColliderReader(every)

        def read_frame(_i: int, frame: int) -> list[Pose]:
            # Faults before the range are reported at its first frame, which the artist sees.
            things.look(view_layer.depsgraph, max(frame, start))
            return [reader.read(view_layer.depsgraph, frame) for reader in readers]

        @contextmanager
        def within() -> Iterator[None]:
            with show_hidden(objects), without_thew(skins), without_modifiers(meshes):
                yield

        def told(frame: int) -> str:
            # Frames around the range are read too: their numbers would puzzle the artist.
            return f"Reading frame {frame}" if start <= frame <= end else "Reading the motion"

        poses = yield from play_frames(scene, frames, read_frame, told, within)
        return poses, things

    frames, meshes = range(start - lead, end + 2), [] if every else skins
    poses, things = yield from span(read(frames, meshes), 0.0, 0.9 if meshes else 1.0)
    if meshes and not (yield from span(poses_hold(read, poses, frames, scene.frame_current), 0.9, 1.0)):
        poses, things = yield from read(frames, [])
    kept = zip(readers, moving, zip(*poses, strict=True), (each.requests for each in wanted), strict=True)
    return [motion_of(reader, scene, start, list(run), how, things.result(of), lead) for reader, how, run, of in kept]


def poses_hold(read: Callable[[range, list], Task], poses: list[list[Pose]], frames: range, here: int) -> Task:
    """Builds a task that returns whether poses read without modifiers are true: a constraint may depend on the shape of a mesh.

    Compares them at the frame `here`, which the artist sees, or at the first one.
    """
    frame = here if here in frames else frames[0]
    (again,), _ = yield from read(range(frame, frame + 1), [])
    return all(np.array_equal(a.raw, b.raw) for a, b in zip(again, poses[frame - frames[0]], strict=True))


def read_motion(
    subject: Subject, bones: list[str], mesh_rest: np.ndarray, scene, view_layer, start: int, end: int,
    requests: tuple[colliders.ColliderRequest, ...] = (), lead: int = 0,
) -> Task:  # fmt: skip
    """Builds the task of `read_motions` for one character; it returns its `Motion`. `requests`: the colliders to read."""
    wanted = MotionRequest(subject, bones, mesh_rest, requests)
    (motion,) = yield from read_motions([wanted], scene, view_layer, start, end, lead)
    return motion


def motion_of(
    reader: PoseReader,
    scene: bpy.types.Scene,
    start: int,
    poses: list[Pose],
    moving: tuple,
    collided: Colliders,
    lead: int = 0,
) -> Motion:
    """Builds the motion through `poses`, `lead` of them before the frame `start`."""
    maps, matrices = np.stack([pose.maps for pose in poses]), np.stack([pose.mesh for pose in poses])
    raw, controls = np.stack([pose.raw for pose in poses]), np.stack([pose.controls for pose in poses])
    held = np.stack([pose.pins for pose in poses])
    drive = np.stack([pose.drive for pose in poses])
    before = LeadPoses(maps[:lead], controls[:lead], collided, held[:lead], drive[:lead])
    if lead:
        maps, matrices, raw, controls = maps[lead:], matrices[lead:], raw[lead:], controls[lead:]
        collided = collided.at_poses(np.arange(lead, lead + len(maps)))
    digest, marked = digest_of(maps, matrices), marked_cycle(reader.subject, scene)
    obj, armature = reader.subject.obj, reader.subject.armature
    end, pinned = animation.last_key(armature, scene), pins.fingerprint(obj)
    others = before, held[lead:], pinned, movers.fingerprint(obj, armature), drive[lead:], reader.drive.driven
    return Motion(start, maps, matrices, raw, digest, controls, moving, marked, end, collided, *others)


def marked_cycle(subject: Subject, scene: bpy.types.Scene) -> tuple[int, int] | None:
    """Returns first and last frame of the armature's action in `scene`, if the artist marked it as a cycle."""
    played = animation.played_action(subject.armature)
    if played is None or not played.plain or not (played.action.use_frame_range and played.action.use_cyclic):
        return None
    start, end = (timing.frame_at(scene, time) for time in (played.action.frame_start, played.action.frame_end))
    return round(start), round(end)

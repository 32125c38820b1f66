# SPDX-License-Identifier: GPL-3.0-or-later
"""The fit of helper bones to clips, and what is written of it: bones, weights, and channels of Blender's pose bones.

Everything is in the space of the armature, where both the helper bones and the artist's turn and move as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import bpy
import numpy as np
from mathutils import Vector

from ..logic import helper_motion, native
from ..logic.helper_motion import Channels
from ..logic.sentences import plural
from ..logic.spaces import diagonal, transform
from ..logic.tasks import Task, Work, span
from ..scene import own_skin, poses
from ..scene.character import rest_mesh
from ..scene.reading import Subject
from . import measuring
from .target import BoneMotion, ClipContent, Content, Source

#: Share of the progress of packing that fits the bones; the rest measures them as they are written.
FIT_SHARE = 0.8
#: Largest difference of a scale from 1 that is not written, as it comes from rounding alone.
SCALE_TOLERANCE = 1e-5
#: Distance by which written bones may move the skin otherwise than fitted ones, as a part of the size. Rounding is a thousandth of it.
UNEVEN_SHARE = 1e-3
#: Frames whose points are moved at once: at 30,000 points their places take 12 MB.
FRAMES_AT_ONCE = 32


@dataclass(frozen=True)
class FittedBone:
    """A helper bone at rest, in the armature's space and units."""

    parent: str
    head: np.ndarray  # [3]
    tail: np.ndarray  # [3]


@dataclass(frozen=True)
class HelperMotion:
    """Helper bones of a bake, the weights of the mesh, and their channels over each clip."""

    bones: list[FittedBone]
    own: list[str]  # the artist's bones of the first columns of the weights
    weights: np.ndarray  # float32[n, b + N]
    clips: list[Channels]
    errors: list[tuple[np.ndarray, np.ndarray]]  # of each clip: largest in each frame [f], metres, and its vertex [f]
    resting: float  # largest distance of the skin with resting helper bones from the plain one in these clips, metres
    uneven: bool  # bones are scaled unevenly, which the channels of their children cannot undo

    @property
    def holds(self) -> bool:
        """Returns whether bones stay in their end poses beside a clip: at rest they would show less of the plain skin than of the flesh."""
        return self.resting > max(float(largest.max()) for largest, _ in self.errors)

    @property
    def has_scale(self) -> bool:
        """Returns whether the scale of a helper bone differs from 1."""
        return any((each.scale != 1.0).any() for each in self.clips)


# reading --------------------------------------------------------------------------------------------------------------


def read_clip(source: Source) -> Task:
    """Builds the task that returns the `Content` of a clip: the vertices as the bones and the flesh have them, and the bones."""
    subject, view_layer = source.subject, source.view_layer
    rest = rest_mesh(subject, source.scene, bpy.context.evaluated_depsgraph_get)[0].astype(np.float64)
    names, painted = weights_of(subject)
    weights = helper_motion.whole_weights(painted, rest)
    bare = painted.sum(axis=1) <= 0.0
    reader, found, places, metres = poses.PoseReader(subject, names, np.eye(4)), [], [], []

    def read_frame(i: int) -> np.ndarray:
        bones, world, mesh, _ = reader.read_bones(view_layer.depsgraph, source.frames[i])
        place = np.linalg.solve(world, mesh)
        points = transform(place, rest)
        plain = helper_motion.skinned(weights, bones, points)
        plain[bare] = points[bare]
        found.append(bones)
        places.append(place)
        metres.append(source.metres * np.linalg.norm(world[:3, :3], ord=2) / np.linalg.norm(mesh[:3, :3], ord=2))
        return plain + np.asarray(source.offset(i), dtype=np.float64) @ place[:3, :3].T

    rows = yield from measuring.measure_offsets(source.scene, source.frames, read_frame)
    motion = BoneMotion(names, weights, rest, np.stack(found), np.stack(places), max(metres))
    return Content(rows, "REST", bones=motion)


def weights_of(subject: Subject) -> tuple[list[str], np.ndarray]:
    """Returns the artist's bones that move a mesh, and their weights as painted [n, b]."""
    obj, bones = subject.obj, subject.armature.data.bones
    groups = {g: name for g, name in own_skin.own_group_names(obj, subject.armature).items() if bones[name].use_deform}
    group, vertex, weight = own_skin.read_groups(obj)
    used = [index for index in groups if (weight[group == index] > 0.0).any()]
    weights = np.zeros((len(obj.data.vertices), len(used)))
    for column, index in enumerate(used):
        mine = group == index
        weights[vertex[mine], column] = weight[mine]
    return [groups[index] for index in used], weights


# fitting --------------------------------------------------------------------------------------------------------------


def fit(clips: list[ClipContent], count: int, influences: int, rest_tolerance: float) -> Task:
    """Builds the task that returns the `HelperMotion` of clips, with at most `count` bones and `influences` of a vertex.

    `rest_tolerance`: metres by which resting bones may miss the plain skin.
    """
    motions = [each.content.bones for each in clips]
    first, metres = motions[0], max(each.metres for each in motions)
    reference = first.places[0]
    # A mesh that moves against its armature is carried by the poses of its bones.
    moves = [np.linalg.solve(reference.T, each.places.swapaxes(1, 2)).swapaxes(1, 2) for each in motions]
    rest = metres * transform(reference, first.rest)
    carried = [in_metres(each.poses @ move[:, None], metres) for each, move in zip(motions, moves, strict=True)]
    frames = [np.float32(metres) * each.content.rows for each in clips]
    found = yield from span(
        fitting(rest, frames, carried, first.weights, count, influences, rest_tolerance), 0.0, FIT_SHARE
    )
    transforms = [np.asarray(each, dtype=np.float64) for each in found.transforms]  # of each clip, in metres
    weights = np.asarray(found.weights, dtype=np.float32)
    parents = np.asarray(found.parents, dtype=int)
    bones = [
        FittedBone(first.bones[parent], np.asarray(head) / metres, np.asarray(tail) / metres)
        for parent, head, tail in zip(parents.tolist(), found.heads, found.tails, strict=True)
    ]

    def measure(_progress) -> HelperMotion:
        rests, errors, resting, gap = rest_matrices(bones), [], 0.0, 0.0
        channels = channels_of(rests, parents, motions, moves, transforms, metres)
        several = zip(motions, moves, carried, transforms, channels, frames, strict=True)
        for motion, move, own, fitted, each, wanted in several:
            played = in_metres(helper_motion.poses_of(rests, motion.poses[:, parents], each) @ move[:, None], metres)
            errors.append(distances(weights, np.concatenate([own, played], axis=1), rest, wanted))
            gap = max(gap, distance_between(played, fitted, weights[:, len(first.bones) :], rest))
            still = np.concatenate([own, own[:, parents]], axis=1)
            apart, _ = distances(weights, still, rest, blended(first.weights, own, rest))
            resting = max(resting, float(apart.max(initial=0.0)))
        uneven = gap > UNEVEN_SHARE * diagonal(rest)
        return HelperMotion(bones, first.bones, weights, channels, errors, resting, uneven)

    return (yield from span(measuring_task(measure), FIT_SHARE, 1.0))


def channels_of(
    rests: np.ndarray, parents: np.ndarray, motions: list[BoneMotion], moves: list[np.ndarray],
    transforms: list[np.ndarray], metres: float,
) -> list[Channels]:  # fmt: skip
    """Returns the channels of helper bones over each clip, given their transforms in metres; scales of 1 are exactly that."""
    found = []
    for motion, move, each in zip(motions, moves, transforms, strict=True):
        helpers = in_units(each, metres) @ np.linalg.inv(move)[:, None]
        found.append(helper_motion.channels_of(rests, motion.poses[:, parents], helpers))
    if any(np.abs(each.scale - 1.0).max(initial=0.0) > SCALE_TOLERANCE for each in found):
        return found
    return [replace(each, scale=np.ones_like(each.scale)) for each in found]


def fitting(rest, frames, carried, weights, count: int, influences: int, rest_tolerance: float) -> Task:
    """Builds the task of the core's fit."""
    return (
        yield Work(
            f"Fitting {plural(count, 'helper bone')}",
            lambda progress: native.core().helper_bones(
                rest, [np.ascontiguousarray(each) for each in frames], carried, weights, count, influences=influences,
                rest_tolerance=rest_tolerance, progress=progress,
            ),
        )
    )  # fmt: skip


def measuring_task(measure) -> Task:
    """Builds the task of a measurement."""
    return (yield Work("Measuring the helper bones", measure))


def in_metres(maps: np.ndarray, metres: float) -> np.ndarray:
    """Returns affine maps [..., 4, 4] of units of `metres` as maps of metres."""
    found = maps.copy()
    found[..., :3, 3] *= metres
    return found


def in_units(maps: np.ndarray, metres: float) -> np.ndarray:
    """Returns affine maps [..., 4, 4] of metres as maps of units of `metres`."""
    return in_metres(maps, 1.0 / metres)


def distance_between(maps: np.ndarray, others: np.ndarray, weights: np.ndarray, points: np.ndarray) -> float:
    """Returns a bound of the distance of points moved by one of two sets of maps [f, N, 4, 4], times their weights [n, N].

    It is taken at the corners of the box of each bone's points.
    """
    most = 0.0
    for bone in range(weights.shape[1]):
        mine = points[weights[:, bone] > 0.0]
        if len(mine):
            low, high = mine.min(axis=0), mine.max(axis=0)
            corners = np.array([[(low, high)[i >> k & 1][k] for k in range(3)] + [1.0] for i in range(8)])
            apart = np.linalg.norm((maps[:, bone, :3] - others[:, bone, :3]) @ corners.T, axis=1)
            most = max(most, float(apart.max(initial=0.0)) * float(weights[:, bone].max()))
    return most


def rest_matrices(bones: list[FittedBone]) -> np.ndarray:
    """Returns the rest matrices that Blender gives bones without a roll, [N, 4, 4]."""
    found = np.tile(np.eye(4), (len(bones), 1, 1))
    for matrix, bone in zip(found, bones, strict=True):
        matrix[:3, :3] = bpy.types.Bone.MatrixFromAxisRoll(Vector(bone.tail - bone.head), 0.0)
        matrix[:3, 3] = bone.head
    return found


def blended(weights: np.ndarray, maps: np.ndarray, points: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the points [n, 3] moved by the maps [f, b, 4, 4] of each frame, blended by `weights` [n, b], in single precision.

    All maps of some frames are one matrix, which is many times as fast as gathering those of each point.
    """
    whole = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    shares = (weights[:, :, None] * whole[:, None, :]).reshape(len(points), -1).astype(np.float32)
    for first in range(0, len(maps), FRAMES_AT_ONCE):
        part = maps[first : first + FRAMES_AT_ONCE, :, :3].astype(np.float32)
        moved = shares @ part.transpose(1, 3, 0, 2).reshape(shares.shape[1], -1)
        yield from moved.reshape(len(points), -1, 3).transpose(1, 0, 2)


def distances(
    weights: np.ndarray, maps: np.ndarray, points: np.ndarray, wanted: Iterable[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the largest distance of moved points from the wanted ones in each frame [f], and its vertex [f]."""
    largest, vertices = [], []
    for there, here in zip(blended(weights, maps, points), wanted, strict=True):
        apart = np.linalg.norm(there - here, axis=1)
        vertices.append(int(apart.argmax()))
        largest.append(apart[vertices[-1]])
    return np.array(largest), np.array(vertices)

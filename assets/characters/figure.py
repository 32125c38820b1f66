# SPDX-License-Identifier: MIT OR Apache-2.0
"""A character as numbers: bones, skin, weights, colours and clips. Needs numpy only, no Blender."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import implicit
from .choreography import FPS, Pose


@dataclass(frozen=True)
class Bone:
    """One bone of the armature, metres, in the armature's space (Z up, facing -Y)."""

    name: str
    parent: str | None
    head: tuple[float, float, float]
    tail: tuple[float, float, float]

    def mirrored(self) -> Bone:
        """Returns the same bone on the right-hand side."""
        other = lambda name: name.replace(".L", ".R") if name else None  # noqa: E731
        flip = lambda p: (-p[0], p[1], p[2])  # noqa: E731
        return Bone(other(self.name), other(self.parent), flip(self.head), flip(self.tail))


@dataclass(frozen=True)
class Eye:
    """A ball with a pupil, loose in the body's mesh and held by one bone. Metres."""

    centre: tuple[float, float, float]
    radius: float
    look: tuple[float, float, float]
    bone: str


@dataclass(frozen=True)
class Horn:
    """A claw or a tooth: a bent cone, loose in the body's mesh and held by one bone. Metres."""

    base: tuple[float, float, float]
    tip: tuple[float, float, float]
    radius: float
    bone: str
    bend: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Distance of the cone's middle from the straight line."""
    colour: str = "claw"

    def mirrored(self) -> Horn:
        """Returns the same horn on the right-hand side."""
        flip = lambda p: (-p[0], p[1], p[2])  # noqa: E731
        bone = self.bone.replace(".L", ".R")
        return Horn(flip(self.base), flip(self.tip), self.radius, bone, flip(self.bend), self.colour)


@dataclass(frozen=True)
class Clip:
    """A motion: its number of frames, and a function that returns the pose at a time in seconds from the first."""

    frames: int
    pose_at: Callable[[Figure, float], Pose]


@dataclass
class Figure:
    """A character's description."""

    name: str
    bones: list[Bone]
    parts: list[implicit.Part]
    palette: dict[str, tuple[float, float, float]]
    eyes: list[Eye] = field(default_factory=list)
    horns: list[Horn] = field(default_factory=list)
    paint: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """Changes the colours [n, 3] of the skin's vertices [n, 3], both linear."""
    cell: float = 0.016
    softness: float = 0.02
    blend: float = 0.03
    """Length over which skin weights pass from one bone to the next, metres."""
    scales: float = 0.0
    """Width of the scales that the hide's material raises, metres; 0: smooth skin."""
    clips: dict[str, Clip] = field(default_factory=dict)

    def bone(self, name: str) -> Bone:
        return next(bone for bone in self.bones if bone.name == name)

    def poses(self, clip: str) -> list[Pose]:
        """Returns the pose of every frame."""
        motion = self.clips[clip]
        return [motion.pose_at(self, frame / FPS) for frame in range(motion.frames)]

    def maps(self, clip: str) -> np.ndarray:
        """Returns every bone's map from rest to posed, [frames, bones, 4, 4]."""
        return np.array([[pose.map(bone.name) for bone in self.bones] for pose in self.poses(clip)])


@dataclass
class Skin:
    """The surface of a figure: the body first, then each eye, claw and tooth as a loose part."""

    vertices: np.ndarray
    """Positions, [n, 3], metres."""
    faces: list[list[int]]
    """Quads, and triangles at the eyes' poles."""
    weights: np.ndarray
    """Skin weights, [n, bones]; rows sum to one with at most four non-zero entries."""
    colours: np.ndarray
    """Linear colours, [n, 3]."""

    def triangles(self) -> np.ndarray:
        """Returns the faces cut into triangles, int32[t, 3]."""
        fans = [(face[0], face[i], face[i + 1]) for face in self.faces for i in range(1, len(face) - 1)]
        return np.array(fans, dtype=np.int32)


def skin(figure: Figure) -> Skin:
    """Returns a figure's mesh with weights and colours."""
    vertices, quads = implicit.mesh(figure.parts, figure.cell, figure.softness)
    weights = _weights(figure, vertices, quads)
    tint = colours(figure, vertices)
    if figure.paint:
        tint = figure.paint(vertices, tint)
    faces = quads.tolist()
    names = [bone.name for bone in figure.bones]
    loose = [(*eyeball(eye), eye.bone) for eye in figure.eyes]
    loose += [(*cone(horn, figure.palette[horn.colour]), horn.bone) for horn in figure.horns]
    for ball, ball_faces, ball_colours, bone in loose:
        faces += [[len(vertices) + i for i in face] for face in ball_faces]
        held = np.zeros((len(ball), len(names)))
        held[:, names.index(bone)] = 1.0
        vertices, weights = np.concatenate([vertices, ball]), np.concatenate([weights, held])
        tint = np.concatenate([tint, ball_colours])
    return Skin(vertices, faces, weights, tint)


def _weights(figure: Figure, vertices: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """Returns skin weights [n,b]: proximity to the parts of each bone, smoothed over the surface."""
    names = [bone.name for bone in figure.bones]
    distance = np.full((len(vertices), len(names)), 1e3)
    for part in (part for part in figure.parts if part.bone):
        column = names.index(part.bone)
        distance[:, column] = np.minimum(distance[:, column], part.distance(vertices))
    weights = np.exp((distance.min(axis=1, keepdims=True) - distance) / figure.blend)
    weights /= weights.sum(axis=1, keepdims=True)
    pairs = np.concatenate([quads[:, [i, (i + 1) % 4]] for i in range(4)])  # each edge once per direction
    degree = np.bincount(pairs[:, 0], minlength=len(vertices))[:, None]
    for _ in range(12):
        total = np.zeros_like(weights)
        np.add.at(total, pairs[:, 0], weights[pairs[:, 1]])
        weights = 0.5 * weights + 0.5 * total / degree
    # At most four bones a vertex. If two tie for the fourth place both are dropped, so that both sides stay alike.
    fifth = np.sort(weights, axis=1)[:, -5, None]
    weights[(weights <= fifth * (1.0 + 1e-9)) | (weights < 0.01)] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)


def colours(figure: Figure, vertices: np.ndarray) -> np.ndarray:
    """Returns linear colours [n,3], each from the nearest part."""
    distance = np.stack([part.distance(vertices) for part in figure.parts], axis=1)
    share = np.exp((distance.min(axis=1, keepdims=True) - distance) / (0.08 * figure.cell))
    share /= share.sum(axis=1, keepdims=True)
    srgb = np.array([figure.palette[part.colour] for part in figure.parts])
    return share @ srgb**2.2


def eyeball(eye: Eye, rings: int = 12, around: int = 20) -> tuple[np.ndarray, list[list[int]], np.ndarray]:
    """Returns vertices, faces and colours of a ball, in rings around the direction of its look."""
    look = np.array(eye.look) / np.linalg.norm(eye.look)
    side = np.cross(look, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    up = np.cross(look, side)
    points, dark = [look], [True]
    for ring in range(1, rings):
        angle = np.pi * ring / rings
        for turn in 2.0 * np.pi * np.arange(around) / around:
            points.append(np.cos(angle) * look + np.sin(angle) * (np.cos(turn) * side + np.sin(turn) * up))
            dark.append(ring <= 3)
    points.append(-look)
    dark.append(False)
    last = len(points) - 1
    faces = []
    for turn in range(around):
        after = (turn + 1) % around
        faces.append([0, 1 + turn, 1 + after])
        faces.append([last, last - around + after, last - around + turn])
        for ring in range(rings - 2):
            near, far = 1 + ring * around, 1 + (ring + 1) * around
            faces.append([near + turn, far + turn, far + after, near + after])
    colours = np.where(np.array(dark)[:, None], 0.01, 0.9) * np.ones((1, 3))
    return np.array(eye.centre) + eye.radius * np.array(points), faces, colours


def cone(
    horn: Horn, srgb: tuple[float, float, float], rings: int = 5, around: int = 8
) -> tuple[np.ndarray, list[list[int]], np.ndarray]:
    """Returns vertices, faces and colours of a closed bent cone, in rings from its base to its tip."""
    base, tip = np.array(horn.base), np.array(horn.tip)
    ahead = (tip - base) / np.linalg.norm(tip - base)
    # A slanted direction, mirrored with the horn, so that both sides of a character have the same points.
    side = np.cross(ahead, [np.copysign(0.37, base[0]), 0.21, 0.9])
    side /= np.linalg.norm(side)
    up = np.cross(ahead, side)
    points = [base]
    for ring in range(rings):
        t = ring / rings
        middle = base + t * (tip - base) + 4.0 * t * (1.0 - t) * np.array(horn.bend)
        radius = horn.radius * np.sqrt(1.0 - t) * (1.0 - 0.5 * t)
        for turn in 2.0 * np.pi * np.arange(around) / around:
            points.append(middle + radius * (np.cos(turn) * side + np.sin(turn) * up))
    points.append(tip)
    last, faces = len(points) - 1, []
    for turn in range(around):
        after = (turn + 1) % around
        faces.append([0, 1 + after, 1 + turn])
        faces.append([last, last - around + turn, last - around + after])
        for ring in range(rings - 1):
            near, far = 1 + ring * around, 1 + (ring + 1) * around
            faces.append([near + turn, near + after, far + after, far + turn])
    return np.array(points), faces, np.tile(np.array(srgb) ** 2.2, (len(points), 1))

# SPDX-License-Identifier: GPL-3.0-or-later
"""A skeleton made by clicks: joints midway through the body, bones between them, mirrored with X.

All in the space of the mesh. A joint hangs on the one that was active when it was clicked; a bone runs from there to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np

from .errors import Refusal
from .names import free_name
from .picking import Picker
from .spaces import diagonal

#: Distance of a click's ray from a joint, as a share of the mesh's size, up to which the click means the joint.
ON_JOINT = 0.015
#: Distance from the mirror plane, as a share of the mesh's size, up to which a joint of the trunk is put onto it.
ON_PLANE = 0.02
#: Depth, as a share of the mesh's size, below which a second hit is still the first one: doubled faces.
SKIN_DEPTH = 1e-5
#: Bones that a vertex follows where weights go by distance: four is what game engines take.
MAX_BONES = 4


@dataclass
class Joints:
    """Joints of a skeleton: places, and for each the joint that it hangs on (-1: none) and its mirror image (itself: none)."""

    places: list[np.ndarray] = field(default_factory=list)
    above: list[int] = field(default_factory=list)
    image: list[int] = field(default_factory=list)
    active: int = -1

    def copy(self) -> Joints:
        """Returns a copy that later clicks do not change."""
        return replace(self, places=list(self.places), above=list(self.above), image=list(self.image))

    def add(self, place: np.ndarray, above: int) -> int:
        """Adds a joint, and returns its number."""
        self.places.append(np.asarray(place, dtype=np.float64))
        self.above.append(above)
        self.image.append(len(self.places) - 1)
        return len(self.places) - 1


class SkeletonClicks:
    """Clicks on a mesh: `vertices` [n, 3], `triangles` [t, 3]. `mirror`: each joint beside the plane x = 0 gets an image."""

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray, mirror: bool = False):
        if not len(triangles):
            raise Refusal("This mesh has no faces to click on")
        self.picker = Picker(vertices, triangles)
        self.size = diagonal(self.picker.vertices)
        self.joints, self.mirror = Joints(), mirror
        self._past: list[Joints] = []

    def click(self, origin: np.ndarray, direction: np.ndarray) -> str:
        """Takes a click along a ray: chooses the joint under it, or makes one midway between its first two hits.

        Returns what happened, a sentence; raises a `Refusal` where the ray misses the body, and nothing is made.
        """
        direction = np.asarray(direction, dtype=np.float64) / np.linalg.norm(direction)
        chosen = self.joint_under(origin, direction)
        if chosen is None:
            return self.place(self.midway(origin, direction))
        self._past.append(self.joints.copy())
        self.joints.active = chosen
        return "The next click goes on from this joint"

    def joint_under(self, origin: np.ndarray, direction: np.ndarray) -> int | None:
        """Returns the joint nearest to a ray, within reach of a click; None where there is none."""
        if not self.joints.places:
            return None
        away = np.array(self.joints.places) - origin
        along = away @ direction
        off = np.linalg.norm(away - along[:, None] * direction, axis=1)
        off[along < 0.0] = np.inf
        nearest = int(np.argmin(off))
        return nearest if off[nearest] <= ON_JOINT * self.size else None

    def midway(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Returns the point midway between the first two hits of a ray."""
        first = self.picker.ray(origin, direction)
        if first is None:
            raise Refusal("There is no body under the mouse: click on the body")
        second = self.picker.ray(first.point, direction, SKIN_DEPTH * self.size)
        if second is None:
            raise Refusal("The body has no far side under the mouse: close the mesh there, or click elsewhere")
        return 0.5 * (first.point + second.point)

    def place(self, point: np.ndarray) -> str:
        """Adds a joint at a point, below the active joint, with its mirror image; it becomes the active one."""
        joints, above = self.joints, self.joints.active
        point = np.array(point, dtype=np.float64)
        central = above < 0 or joints.image[above] == above
        if self.mirror and central and abs(point[0]) <= ON_PLANE * self.size:
            point[0] = 0.0
        if above >= 0 and np.linalg.norm(point - joints.places[above]) <= SKIN_DEPTH * self.size:
            raise Refusal("The new joint would lie on the one before: click farther away")
        self._past.append(joints.copy())
        made = joints.add(point, above)
        if self.mirror and point[0] != 0.0 and above >= 0:
            other = joints.add(point * [-1.0, 1.0, 1.0], joints.image[above])
            joints.image[made], joints.image[other] = other, made
        joints.active = made
        return "Click the end of the bone" if above < 0 else "Click the end of the next bone, or a joint to go on from"

    def take_back(self) -> bool:
        """Takes the last click back; returns whether there was one."""
        if not self._past:
            return False
        self.joints = self._past.pop()
        return True

    def lines(self) -> np.ndarray:
        """Returns the bones as pairs of points, [b, 2, 3]."""
        places, above = self.joints.places, self.joints.above
        pairs = [(places[a], places[i]) for i, a in enumerate(above) if a >= 0]
        return np.array(pairs, dtype=np.float64).reshape(-1, 2, 3)

    def skeleton(self) -> SimpleNamespace:
        """Returns `names`, `parents`, `heads` and `tails` of the bones, parents first.

        Bones at the first joint are children of the first of them, so that one root carries the whole tree.
        """
        joints = self.joints
        tips = [i for i, above in enumerate(joints.above) if above >= 0]
        if not tips:
            raise Refusal("Two joints make a bone: click at least twice on the body")
        bone = {tip: k for k, tip in enumerate(tips)}
        names: list[str] = []
        for tip in tips:
            image = joints.image[tip]
            if image < tip:
                names.append(names[bone[image]][:-1] + ("L" if joints.places[tip][0] > 0.0 else "R"))
                continue
            name = free_name("Bone", {each.removesuffix(".L").removesuffix(".R") for each in names})
            side = "" if image == tip else (".L" if joints.places[tip][0] > 0.0 else ".R")
            names.append(name + side)
        parents = [bone.get(joints.above[tip], 0 if k else -1) for k, tip in enumerate(tips)]
        return SimpleNamespace(
            names=names,
            parents=np.array(parents),
            heads=np.array([joints.places[joints.above[tip]] for tip in tips]),
            tails=np.array([joints.places[tip] for tip in tips]),
        )


def distance_weights(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Returns weights of points [n, 3] for bones by the inverse fourth power of the distance, the nearest `MAX_BONES` alone, [n, b]."""
    axis = tails - heads
    lengths = np.maximum((axis * axis).sum(axis=1), 1e-300)
    away = points[:, None] - heads[None]
    along = np.clip((away * axis).sum(axis=2) / lengths, 0.0, 1.0)
    squared = ((away - along[..., None] * axis) ** 2).sum(axis=2)
    weights = 1.0 / np.maximum(squared, 1e-12 * max(diagonal(points), 1e-12) ** 2) ** 2
    if weights.shape[1] > MAX_BONES:
        least = np.partition(weights, -MAX_BONES, axis=1)[:, -MAX_BONES, None]
        weights[weights < least] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)

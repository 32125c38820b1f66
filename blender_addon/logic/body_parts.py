# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a body that may be soft, and their places: usual names of their bones, and directions from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .bone_names import CHEST, Role, find, words

HIPS = Role("the hips", ("hips", "hip", "pelvis", "lowerback", "spine", "back", "root", "body"))
HEAD = Role("the head", ("head", "skull"), last=True)
BREASTS = Role("the breasts", ("breast", "boob", "bust", "pectoral", "pec"))
BUTTOCKS = Role("the buttocks", ("buttock", "butt", "glute", "gluteus"))
CHEEKS = Role("the cheeks", ("cheek", "cheeks"))


@dataclass(frozen=True)
class BodyPart:
    """A part of the body: round patches of skin around centres, or whole limbs whose bone names begin with a word.

    A centre lies along `out` (forward, up, to the side) from a place `along` its bone, or on the way from there to the bone with
    role `to`. Its patch is `girth` times as large as the distance to the skin there.
    """

    label: str
    description: str
    role: Role | None = None
    to: Role | None = None
    own: Role | None = None  # bones of its own, one on each side, under the skin
    along: float = 0.5
    out: tuple[float, float, float] = (1.0, 0.0, 0.0)
    height: float | None = None  # height share of the skin that the bone carries, in place of `along`
    beneath: bool = False  # turns from the front of a standing body to the underside of one on four legs
    girth: float = 1.0
    pair: bool = False  # one centre on each side
    limbs: tuple[str, ...] = ()  # first words of the names of the limb's bones
    amount: float = 1.0


PARTS = {
    "BELLY": BodyPart(
        "Belly", "The front of the trunk, or its underside on four legs", HIPS, CHEST, along=0.32, beneath=True, girth=1.3
    ),
    "CHEST": BodyPart(
        "Chest", "Breasts, or the breast muscles", CHEST, own=BREASTS, along=0.5, out=(1.0, 0.0, 0.55),
        girth=0.9, pair=True,
    ),
    "CHEEKS": BodyPart(
        "Cheeks", "Both sides of the face", HEAD, own=CHEEKS, height=0.32, out=(0.75, 0.0, 0.65), girth=0.6, pair=True
    ),
    "BUTTOCKS": BodyPart(
        "Buttocks", "The back of the hips", HIPS, own=BUTTOCKS, along=0.0, out=(-1.0, -0.35, 0.5), girth=0.9, pair=True
    ),
    "TAIL": BodyPart("Tail", "The tail, softest at its tip", limbs=("tail",)),
    "EARS": BodyPart("Ears", "Both ears, softest at their tips", limbs=("ear",)),
    "JOWLS": BodyPart(
        "Jowls", "The lower cheeks and what hangs below them", HEAD, height=0.14, out=(0.6, 0.0, 0.8), girth=0.6, pair=True
    ),
    "WHOLE": BodyPart("Whole Body", "All of it: the map that thickness gives, times the amount"),
}  # fmt: skip


@dataclass(frozen=True)
class PatchCentre:
    """Start and direction of the search for a patch, from a point near a bone outwards; the distance from `inside` gives its size."""

    bone: int
    origin: np.ndarray  # [3]
    direction: np.ndarray  # [3], unit; zero: straight to the nearest skin
    inside: np.ndarray  # [3]


@dataclass(frozen=True)
class Skeleton:
    """Bones at rest: names, parents [b] (-1 for none), heads and tails [b, 3], in axes where +Z is up."""

    names: list[str]
    parents: np.ndarray
    heads: np.ndarray
    tails: np.ndarray

    def forward(self) -> np.ndarray:
        """Returns the direction in which the feet point, or else -Y; a horizontal unit vector."""
        total = np.zeros(3)
        for i, name in enumerate(self.names):
            if words(name)[0] in {"foot", "toe", "toes", "toebase", "ball"}:
                toe = self.tails[i] - self.heads[i]
                total += np.array([toe[0], toe[1], 0.0])
        size = np.linalg.norm(total)
        lengths = np.linalg.norm(self.tails - self.heads, axis=1)
        if size <= 0.05 * (lengths.mean() if len(lengths) else 0.0) or size == 0.0:
            return np.array([0.0, -1.0, 0.0])
        return total / size

    def limb(self, starts: tuple[str, ...]) -> list[int]:
        """Returns the bones whose names begin with one of the words, and those below them."""
        return self.with_descendants(i for i, name in enumerate(self.names) if words(name)[0].startswith(starts))

    def with_descendants(self, bones) -> list[int]:
        """Returns `bones` and all bones below them."""
        chosen = set(bones)
        for i in range(len(self.names)):
            above, steps = int(self.parents[i]), 0
            while above >= 0 and above not in chosen and steps <= len(self.names):
                above, steps = int(self.parents[above]), steps + 1
            if above in chosen:
                chosen.add(i)
        return sorted(chosen)


def patch_centres(
    part: BodyPart, skeleton: Skeleton, carried: Callable[[int], np.ndarray], bone: str = ""
) -> list[PatchCentre]:
    """Returns the centres of a part's patches, at `bone` or else by bone names; empty where no bone has a fitting name.

    `carried(bone)`: the points of the skin [m, 3] that mostly follow a bone.
    """
    own = [] if bone else own_centres(part, skeleton)
    if own or part.role is None:
        return own
    name = bone or find(skeleton.names, part.role, "", skeleton.parents)
    if name is None:
        return []
    index = skeleton.names.index(name)
    head, tail = skeleton.heads[index], skeleton.tails[index]
    to = None if part.to is None or bone else find(skeleton.names, part.to, "", skeleton.parents)
    if to is not None and to != name:
        end = skeleton.names.index(to)
        tail = (skeleton.tails if skeleton.parents[end] == index else skeleton.heads)[end]
    way = tail - head
    share = part.along
    if part.beneath:  # bellies hang near the hips of a standing body, in the middle of one on four legs
        share += (0.5 - share) * (1.0 - abs(float(way[2])) / max(float(np.linalg.norm(way)), 1e-30))
    origin = head + share * way
    skin = carried(index) if part.height is not None else np.empty((0, 3))
    if len(skin):
        low, middle, high = np.quantile(skin, [0.02, 0.5, 0.98], axis=0)
        origin = np.array([middle[0], middle[1], low[2] + part.height * (high[2] - low[2])])
    ways = directions(part, skeleton.forward(), way)
    return [PatchCentre(index, origin, out, origin) for out in ways]


def own_centres(part: BodyPart, skeleton: Skeleton) -> list[PatchCentre]:
    """Returns the centres over the part's own bones: the skin nearest to their tails."""
    if part.own is None:
        return []
    found = (find(skeleton.names, part.own, side, skeleton.parents) for side in ("L", "R", ""))
    bones = [skeleton.names.index(name) for name in found if name is not None]
    return [PatchCentre(bone, skeleton.tails[bone], np.zeros(3), skeleton.heads[bone]) for bone in bones]


def directions(part: BodyPart, forward: np.ndarray, bone: np.ndarray) -> list[np.ndarray]:
    """Returns the directions from a bone (its vector, [3]) to the centres of a part, unit vectors."""
    up = np.array([0.0, 0.0, 1.0])
    side = np.cross(forward, up)
    length = np.linalg.norm(bone)
    axis = bone / length if length > 0.0 else up
    if part.beneath:
        front = forward - up
        front = front - (front @ axis) * axis
        size = np.linalg.norm(front)
        front = front / size if size > 1e-6 else forward
    else:
        front = forward
    ahead, above, aside = part.out
    ways = []
    for sign in (1.0, -1.0) if part.pair else (0.0,):
        way = ahead * front + above * up + sign * aside * side
        ways.append(way / np.linalg.norm(way))
    return ways

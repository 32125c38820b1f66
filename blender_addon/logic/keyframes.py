# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh as numbers: keys in time, the segments between cuts, and the core's input for each.

Lengths are those of the object. The shell counts them in tenths of the mesh's diameter, so that the dials mean the same at any
size. Time is the flesh's own, seconds of the scene times the speed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .errors import Refusal
from .sentences import join_words, plural

KINDS = (
    ("EXACT", "Exact", "The motion goes through the shape"),
    ("NEAR", "Approximate", "The shape pulls, and the motion passes near it"),
    ("GROUP", "Vertex Group", "Only the vertices of a group reach the shape; the others follow"),
)
VELOCITIES = (
    ("FREE", "Free", "Whatever takes the least force"),
    ("ZERO", "Zero", "The motion stands still there"),
    ("NEIGHBOURS", "From Neighbours", "From the shape before towards the one after"),
    ("ARROW", "Arrow", "Along the arrow, the same for all vertices"),
)
#: Diameter of meshes in units of the shell's weights.
CORE_DIAMETER = 10.0
#: Frames nearer than this are one; Blender merges such keyframes.
TIME_TOLERANCE = 0.01
#: Pull of a key for a vertex group on the other vertices, so that its shape can be reached.
WEAK_PULL = 1e-6
#: Largest reach, over that of plain curves, without a note.
MAX_REACH = 3.0


@dataclass(frozen=True)
class Velocity:
    """Velocity of the motion at a key."""

    kind: str = "FREE"
    arrow: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Key:
    """A shape that is reached at a time."""

    entry: int  # its index in the artist's list
    name: str  # of the shape key
    frame: float
    kind: str = "EXACT"
    weight: float = 1.0
    group: str = ""
    arriving: Velocity = Velocity()
    leaving: Velocity = Velocity()
    cut: bool = False
    fixed: str = ""  # the vertex group that is fixed from this cut on


@dataclass(frozen=True)
class KeyframePlan:
    """All inputs of one object's motion except its shapes."""

    keys: tuple[Key, ...]  # ordered in time
    cyclic: bool = False
    fixed: str = ""
    modes: int = 10
    bending: float = 1.0
    ghosts: bool = False
    rest: str = "KEYS"
    stiffness: float = 300.0
    damping: tuple[float, float] = (0.0, 0.0)
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)  # object space, object units per second squared
    speed: float = 1.0
    fps: float = 24.0

    def structure(self) -> tuple:
        """Returns the inputs whose change requires another reduced space; the rest is quick."""
        keys = tuple((key.name, key.cut, key.fixed if key.cut else "") for key in self.keys)
        return keys, self.cyclic, self.fixed, self.modes, self.bending, self.ghosts, self.rest

    def groups(self) -> list[str]:
        """Returns the vertex groups that it names, each once."""
        names = [self.fixed, *(key.fixed for key in self.keys if key.cut)]
        names += [key.group for key in self.keys if key.kind == "GROUP"]
        return list(dict.fromkeys(name for name in names if name))


def reach_remedy(plan: KeyframePlan, reach: float) -> str:
    """Returns a remedy where the motion goes `reach` times as far as plain curves: a sentence, or "" below `MAX_REACH`."""
    if reach < MAX_REACH:
        return ""
    free = [
        key.name
        for i, key in enumerate(plan.keys)
        if ((i == 0 and not plan.cyclic) or key.cut) and first_velocity(key).kind == "FREE"
    ]
    if free:
        remedy = f"give the velocity with which it leaves “{free[0]}”"
    elif plan.rest == "BASIS":
        remedy = "press Relax Sculpt on its sculpts, or set Rest to Each Key"
    else:
        remedy = "damp it more, or make it less stiff"
    return f"Goes {reach:.0f} times as far as plain curves: {remedy}"


@dataclass(frozen=True)
class Segment:
    """Keys from one cut to the next; the first and the last are shared with the neighbouring segments."""

    keys: tuple[Key, ...]
    fixed: tuple[str, ...]
    cyclic: bool = False


def check(plan: KeyframePlan, name: str) -> None:
    """Refuses a plan that defines no motion; `name`: the object's, in quotes."""
    keys = plan.keys
    if len(keys) < 2:
        raise Refusal(
            f"{name} has {plural(len(keys), 'key')} in time, and a motion needs two: add shape keys to the list of Keyframed "
            "Flesh, and give each a time"
        )
    for first, second in itertools.pairwise(keys):
        if second.frame - first.frame < TIME_TOLERANCE:
            both = f"“{first.name}” twice" if first.name == second.name else f"“{first.name}” and “{second.name}”"
            raise Refusal(f"{name} is to be {both} at frame {first.frame:g}: drag one of them to another time")
    if plan.cyclic and keys[0].name != keys[-1].name:
        raise Refusal(
            f"The motion of {name} is cyclic, but its last key is “{keys[-1].name}” and its first “{keys[0].name}”: press "
            "Close Loop, which lets it reach the first one again at the end"
        )
    if sum(key.kind != "GROUP" for key in keys) < 2:
        raise Refusal(f"{name} has fewer than two whole keys: let two of them be exact or approximate")
    for key in keys:
        if key.kind == "GROUP" and not key.group:
            raise Refusal(f"The key “{key.name}” of {name} is of a vertex group, but names none: choose one")
        if key.kind != "EXACT" and key.cut:
            raise Refusal(f"The key “{key.name}” of {name} is a cut, which is always exact: choose one of the two")


def free_time(frame: float, before: float, taken: list[float]) -> float:
    """Returns the frame for a key moved from `before` to `frame`: where another key has it, the next whole step on the way back."""
    step = 1.0 if before >= frame else -1.0
    while any(abs(frame - other) < 2.0 * TIME_TOLERANCE for other in taken):
        frame += step
    return frame


def segments(plan: KeyframePlan) -> list[Segment]:
    """Cuts the motion into segments; a cyclic one with cuts begins at the first cut, and ends there a loop later."""
    keys = plan.keys

    def fixed_groups(key: Key) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in (plan.fixed, key.fixed if key.cut else "") if name))

    if plan.cyclic:
        period, inner = keys[-1].frame - keys[0].frame, keys[:-1]
        if keys[-1].cut and not inner[0].cut:
            inner = (replace(inner[0], cut=True, leaving=keys[-1].leaving, fixed=keys[-1].fixed), *inner[1:])
        start = next((i for i, key in enumerate(inner) if key.cut), None)
        if start is None:
            return [Segment(keys, fixed_groups(replace(keys[0], cut=False)), True)]
        later = [replace(key, frame=key.frame + period) for key in inner[: start + 1]]
        keys = (*inner[start:], *later)
    cuts = [i for i, key in enumerate(keys) if key.cut and 0 < i < len(keys) - 1]
    ends = [0, *cuts, len(keys) - 1]
    return [Segment(keys[a : b + 1], fixed_groups(keys[a])) for a, b in itertools.pairwise(ends)]


def motion_frame(frame: float, start: float, end: float, cyclic: bool) -> float:
    """Returns the frame of the motion shown at `frame`: constant beyond the ends, or repeated."""
    if cyclic:
        return start + (frame - start) % (end - start)
    return min(max(frame, start), end)


def size_of(basis: np.ndarray) -> float:
    """Returns the diagonal of a mesh's box; where the mesh is a point, that for which lengths count as they are."""
    size = float(np.linalg.norm(np.ptp(np.asarray(basis, dtype=np.float64), axis=0)))
    return size if size > 0.0 else CORE_DIAMETER


@dataclass(frozen=True)
class Spot:
    """Places that some vertices are to reach at a time."""

    time: float
    points: np.ndarray
    positions: np.ndarray


def core_input(segment: Segment, plan: KeyframePlan, origin: float, shapes: np.ndarray, masks: dict[str, np.ndarray]):
    """Returns the core's input for a segment: `(options, softened, spots)`, for `Spacetime.set`, `soften` and `partial`.

    `shapes` [k, m, 3] of its keys; `masks`: bool[m] by vertex group; `origin`: the frame of time 0.
    """
    keys, speed = segment.keys, plan.speed
    times = np.array([(key.frame - origin) / plan.fps * speed for key in keys])
    moves = ~fixed_mask(segment, masks, shapes.shape[1])
    last = len(keys) - 1

    def velocity(i: int, what: Velocity) -> Any:
        if what.kind == "FREE":
            return None
        if what.kind == "ZERO":
            return np.zeros(shapes.shape[1:])
        if what.kind == "ARROW":
            return moves[:, None] * (np.array(what.arrow) / speed)
        if segment.cyclic and i in {0, last}:
            return (shapes[1] - shapes[-2]) / (times[1] - times[0] + times[-1] - times[-2])
        a, b = max(i - 1, 0), min(i + 1, last)
        return (shapes[b] - shapes[a]) / (times[b] - times[a])

    inner = {i: found for i in range(1, last) if (found := velocity(i, keys[i].arriving)) is not None}
    if segment.cyclic and (seam := velocity(0, keys[0].arriving)) is not None:
        inner[0] = seam
    options = {
        "times": times,
        "stiffness": plan.stiffness,
        "damping": plan.damping,
        "gravity": tuple(float(g) / speed**2 for g in plan.gravity),
        "start_velocity": None if segment.cyclic else velocity(0, first_velocity(keys[0])),
        "end_velocity": None if segment.cyclic else velocity(last, keys[last].arriving),
        "velocities": inner,
    }
    softened, spots = {}, []
    for i, key in enumerate(keys):
        if key.kind == "EXACT":
            continue
        beside = [times[j + 1] - times[j] for j in (i - 1, i) if 0 <= j < last]
        # A beam through its neighbours, a time T apart, resists with 6 / T³, an oscillator at ω with about ω³ (ω² is a third of the
        # stiffness in the slowest modes): a pull of 1 meets them about half-way.
        unit = 6.0 / float(np.mean(beside)) ** 3 + (plan.stiffness / 3.0) ** 1.5
        softened[i] = unit * (key.weight if key.kind == "NEAR" else WEAK_PULL)
        if key.kind == "GROUP":
            points = np.flatnonzero(masks[key.group] & moves)
            spots.append(Spot(float(times[i]), points, shapes[i][points]))
    return options, softened, spots


def first_velocity(key: Key) -> Velocity:
    """Returns the velocity with which a motion leaves its first key."""
    return key.leaving if key.cut else key.arriving


def fixed_mask(segment: Segment, masks: dict[str, np.ndarray], count: int) -> np.ndarray:
    """Returns whether each point is fixed in a segment, bool[m]."""
    mask = np.zeros(count, dtype=bool)
    for name in segment.fixed:
        mask |= masks[name]
    return mask


def hold(segment: Segment, shapes: np.ndarray, mask: np.ndarray, name: str, size: float) -> np.ndarray:
    """Returns the shapes of a segment with its fixed points exactly as in its first key; refuses keys that move them."""
    if not mask.any():
        return shapes
    away = np.linalg.norm(shapes[:, mask] - shapes[:1, mask], axis=2).max(axis=1)
    bad = np.flatnonzero(away > 1e-4 * size)
    if len(bad):
        raise Refusal(
            f"The key “{segment.keys[bad[0]].name}” of {name} moves what {join_words([f'“{each}”' for each in segment.fixed])} is "
            f"to hold fixed, away from where “{segment.keys[0].name}” has it: mend the sculpt there, or make the group smaller"
        )
    held = shapes.copy()
    held[:, mask] = shapes[0, mask]
    return held

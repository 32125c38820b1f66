# SPDX-License-Identifier: MIT OR Apache-2.0
"""How flesh looks beside the plain skin of the same motion, as numbers with bounds.

Lengths are told as shares of the size, the diagonal of the box around the skin of the first frame; r is how far a
vertex lies from the bones that carry it. Numbers that pass are no proof of a good picture: look at the sheets too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SNAP = 1.25
"""What is shown accelerates at most this many times as hard as the skin does within a second."""
SLACK = 0.01
"""Share of the size a frame², at 24 frames a second, that is not counted as a snap: one per cent is nothing to see."""
STANDSTILL = 0.001
"""The skin counts as accelerating by at least this share of the size a frame², so that snap is a number for a still skin."""
JUMP, JUMP_OF_STEP = 0.04, 1.6
BURIED = 0.75
TORN = 0.005
FLIPPED = 0.003
LIVELY = 5.0
"""Root mean square of the skin's acceleration, m/s², were the character two metres large: from there on flesh must move."""
MOVES = 0.001
FAVOUR, VARIED = 1.5, 2.0
"""Thick flesh sways so many times as far as thin flesh where the one is so many times as thick as the other."""

HARD = 0.004
"""Largest sway of hard parts: skulls, shells, horns, hooves, shins."""
SWINGING = 10.0
"""As LIVELY: from there on soft parts must sway for all to see."""
SOFT, SOFTER = 0.005, 2.0
"""Least sway of soft parts then, as a share of the size and beside the hard parts of the same character."""
CALM = 1.25
"""Longest time after the bones stop until the swing is a twentieth of its largest, s."""

CARRIES = 0.15
"""A bone carries the vertices for which it has more than this weight."""


@dataclass(frozen=True)
class Look:
    """The measures of one motion."""

    jump: float
    """Largest change of a vertex's offset from its skin in 1/24 s."""
    step: float
    """Largest way of a vertex of the skin in 1/24 s."""
    buried: float
    """Offset over r (and half a per cent of the size more): the 0.995 quantile of the worst frame."""
    torn: float
    """Share of edges longer than twice, or shorter than half, of what they are on the skin, in the worst frame."""
    flipped: float
    """Share of triangles that look the other way than on the skin, in the worst frame."""
    thick: float
    """0.9 quantile of the sway about the mean offset, over the quarter with the largest r."""
    thin: float
    """The same over the quarter with the smallest r."""
    varied: float
    """How many times as large r is in the middle of the one quarter than in the middle of the other."""
    acceleration: float
    """Root mean square of the skin's acceleration, m/s², were the character two metres large."""
    snap: float = 0.0
    """Largest acceleration of what is shown over the skin's largest within a second (`snap`)."""
    rides: bool = False
    """It has no flesh of its own: it moves as what it rides on, much or little."""
    hard: float | None = None
    """0.9 quantile of the sway of that hard part which sways most; None where none is named."""
    soft: float | None = None
    """0.9 quantile of the sway of that soft part which sways most."""
    soft_acceleration: float | None = None
    """Root mean square of the acceleration of all soft parts' skin, as `acceleration`."""
    calm: float | None = None
    """Seconds from a stop of all bones until the swing stays below a twentieth of its largest; None: not measured."""
    rigid: bool = False
    """All of it is named hard: it should not move by itself."""
    over_exact: float | None = None
    """Sway of the soft parts (where none is named, of the thick quarter) over that of neo-Hookean flesh; None: not measured."""

    @property
    def jump_bound(self) -> float:
        """The largest jump that passes."""
        return max(JUMP, JUMP_OF_STEP * self.step)

    def faults(self) -> list[str]:
        """What fails, by the names of the measures; none: the motion passes. Numbers that are none fail."""
        within = {
            "snap": self.snap <= SNAP,
            "jump": self.jump <= self.jump_bound,
            "buried": self.buried <= BURIED,
            "torn": self.torn <= TORN,
            "flipped": self.flipped <= FLIPPED,
        }
        if self.hard is not None:
            within["hard parts sway"] = self.hard <= HARD
        if self.calm is not None:
            within["rings"] = self.calm <= CALM
        if self.rides or self.rigid:
            return [name for name, passes in within.items() if not passes]
        if self.soft is not None and self.acceleration > SWINGING:
            within["soft parts still"] = self.soft >= SOFT
            within["soft as hard"] = self.hard is None or self.soft >= SOFTER * self.hard
        if self.acceleration > LIVELY:
            within["still"] = self.thick > MOVES
            if self.varied > VARIED:
                within["stiffest where thick"] = self.thick > FAVOUR * self.thin
        return [name for name, passes in within.items() if not passes]


def thickness(rest: np.ndarray, heads: np.ndarray, tails: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """r [n]: the distance of rest[n, 3] from the nearest bone (heads[b, 3] to tails[b, 3]) that carries it; inf if none does."""
    nearest = np.full(len(rest), np.inf)
    for bone, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        carried = np.flatnonzero(weights[:, bone] > CARRIES)
        axis, away = tail - head, rest[carried] - head
        along = np.clip(away @ axis / max(float(axis @ axis), 1e-30), 0.0, 1.0)
        nearest[carried] = np.minimum(nearest[carried], np.linalg.norm(away - along[:, None] * axis, axis=1))
    return nearest


def look(
    skin: np.ndarray,
    shown: np.ndarray,
    r: np.ndarray,
    edges: np.ndarray,
    triangles: np.ndarray,
    fps: float,
    body: float | None = None,
    hard: Sequence[np.ndarray] = (),
    soft: Sequence[np.ndarray] = (),
    whole: float | None = None,
) -> Look:
    """The measures of `shown` [f, n, 3] beside `skin` [f, n, 3], r[n] in their unit (`thickness`), edges[e, 2], triangles[t, 3].

    `body`: the size of the body that the mesh rides on, of which lengths are shares then; `whole`: that of
    the character, where its mesh is one of several. `hard`, `soft`: parts
    that are known to be so, the vertices of each bool[n]; how many vertices a part has does not weigh.

    Raises ValueError: shapes that differ, fewer than three frames, no vertex carried by a bone.
    """
    skin, shown = np.asarray(skin, np.float64), np.asarray(shown, np.float64)
    held = np.isfinite(r)
    if skin.shape != shown.shape:
        raise ValueError(
            f"the skin has the shape {skin.shape}, what is shown {shown.shape}: give the same frames of both"
        )
    if len(skin) < 3:
        raise ValueError(f"{len(skin)} frames tell nothing about motion: give three or more")
    if not held.any():
        raise ValueError("no vertex is carried by a bone: give the weights and bones of this mesh")
    size = body or whole or float(np.linalg.norm(np.ptp(skin[0], axis=0)))
    offsets = shown - skin
    r = r[held]
    every = sway(skin, shown) / size
    swings = every[held]
    fat, lean = r >= np.quantile(r, 0.75), r <= np.quantile(r, 0.25)
    away = np.linalg.norm(offsets[:, held], axis=2) / (r + 0.005 * size)
    usual = np.median(_lengths(skin, edges), axis=0)
    return Look(
        jump=_largest_step(offsets[:, held]) / size * fps / 24.0,
        step=_largest_step(skin[:, held]) / size * fps / 24.0,
        buried=float(np.quantile(away, 0.995, axis=1).max()),
        torn=max(_torn(*frame, edges, usual, size) for frame in zip(skin, shown, strict=True)),
        flipped=max(_flipped(*frame, triangles) for frame in zip(skin, shown, strict=True)),
        thick=float(np.quantile(swings[fat], 0.9)),
        thin=float(np.quantile(swings[lean], 0.9)),
        varied=float(np.median(r[fat]) / max(np.median(r[lean]), 1e-12)),
        acceleration=acceleration(skin, fps) * 2.0 / size,
        snap=snap(skin[:, held], shown[:, held], size, fps),
        rides=body is not None,
        rigid=bool(len(hard)) and bool(np.logical_or.reduce(hard).all()),
        hard=_farthest(every, hard),
        soft=_farthest(every, soft),
        soft_acceleration=acceleration(skin[:, np.logical_or.reduce(soft)], fps) * 2.0 / size if len(soft) else None,
    )


def sway(skin: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """How far each vertex swings about its mean offset from the skin, root mean square over the frames, [n]."""
    offsets = shown - skin
    return np.sqrt(np.square(offsets - offsets.mean(axis=0)).sum(axis=2).mean(axis=0))


def snap(skin: np.ndarray, shown: np.ndarray, size: float, fps: float) -> float:
    """How hard what is shown [f, n, 3] accelerates beside the skin [f, n, 3]: flesh filters the motion of its bones.

    Of each frame the largest second difference of any shown vertex, less `SLACK`, over the largest of any vertex of the skin
    within a second before or behind. A hard stop passes, a pop does not: what pops accelerates where nothing else did.
    """
    plain, moved = (_largest_bend(points) / size * (fps / 24.0) ** 2 for points in (skin, shown))
    second = max(1, round(fps))
    around = np.array([plain[max(0, i - second) : i + second].max() for i in range(len(plain))])
    return float((np.maximum(moved - SLACK, 0.0) / np.maximum(around, STANDSTILL)).max())


def calm(swing: np.ndarray, fps: float, share: float = 0.05) -> float:
    """Seconds until a swing [f], whose bones stopped at its first frame, stays below a share of its largest; 0 without a swing.

    Between frames the envelope, the largest value from a frame on, is taken as linear. A swing that is above to the end takes at least
    the whole time.
    """
    envelope = np.maximum.accumulate(np.asarray(swing, np.float64)[::-1])[::-1]
    if not np.isfinite(envelope[0]):
        return float("inf")
    limit = share * envelope[0]
    if envelope[0] <= 0.0:
        return 0.0
    if envelope[-1] > limit:
        return len(envelope) / fps
    after = int(np.argmax(envelope <= limit))
    before, behind = envelope[after - 1], envelope[after]
    return float(after - 1 + (before - limit) / (before - behind)) / fps


def _farthest(swings: np.ndarray, parts: Sequence[np.ndarray]) -> float | None:
    return max((float(np.quantile(swings[part], 0.9)) for part in parts), default=None)


def _largest_bend(points: np.ndarray) -> np.ndarray:
    """Largest second difference of any vertex, [f - 2]."""
    return np.linalg.norm(np.diff(points, n=2, axis=0), axis=2).max(axis=1)


def acceleration(skin: np.ndarray, fps: float) -> float:
    """Root mean square of the skin's acceleration over vertices and frames, in the skin's unit per second squared."""
    return float(np.sqrt(np.square(np.diff(skin, n=2, axis=0)).sum(axis=2).mean())) * fps**2


def _largest_step(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=2).max())


def _lengths(points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[..., edges[:, 0], :] - points[..., edges[:, 1], :], axis=-1)


def _torn(skin: np.ndarray, shown: np.ndarray, edges: np.ndarray, usual: np.ndarray, size: float) -> float:
    """Of one frame; an edge that the skin itself collapses is no witness. `usual` [e]: the skin's median lengths."""
    plain = _lengths(skin, edges)
    witness = (plain > 0.3 * usual) & (usual > 1e-4 * size)
    ratio = np.where(witness, _lengths(shown, edges) / np.maximum(plain, 1e-30), 1.0)
    return float(np.mean(~((ratio >= 0.5) & (ratio <= 2.0))))


def _flipped(skin: np.ndarray, shown: np.ndarray, triangles: np.ndarray) -> float:
    """Of one frame; slivers of the skin look anywhere and do not count."""
    plain, moved = _normals(skin, triangles), _normals(shown, triangles)
    area = np.linalg.norm(plain, axis=1)
    counts = area > 0.1 * np.median(area)
    return float(np.mean(np.einsum("ti,ti->t", plain, moved)[counts] < 0.0))


def _normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = points[triangles.T]
    return np.cross(b - a, c - a)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures of how flesh looks relative to the plain skin of the same motion, with bounds.

Lengths are shares of the size, the diagonal of the box around the skin of the first frame. r is a vertex's distance
from the bones that carry it. Passing numbers do not prove a good picture: look at the sheets too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from demo.look import pieces

SNAP = 1.25
"""Largest ratio of the acceleration of the shown flesh to that of its skin within a second."""
SLACK = 0.01
"""Acceleration that does not count as a snap, shares of the size per frame² at 24 frames/s: one per cent is invisible."""
STANDSTILL = 0.001
"""Lower bound of the skin's acceleration, shares of the size per frame², so that snap is defined for a still skin."""
JUMP, JUMP_OF_STEP = 0.04, 1.6
BURIED = 0.75
TORN = 0.005
FLIPPED = 0.003
LIVELY = 5.0
"""RMS acceleration of the skin from which flesh must move, m/s², scaled to a character of two metres."""
MOVES = 0.001
FAVOUR, VARIED = 1.5, 2.0
"""Thick flesh must sway at least FAVOUR times as far as thin flesh if it is more than VARIED times as thick."""

SLIP = 0.01
"""Largest slip of a piece of the mesh over what it lies on: eyes, teeth, pockets."""
HARD = 0.004
"""Largest sway of hard parts: skulls, shells, horns, hooves, shins."""
SWINGING = 10.0
"""RMS acceleration of the skin from which soft parts must sway visibly; unit as for LIVELY."""
SOFT, SOFTER = 0.005, 2.0
"""Least sway of soft parts then: a share of the size, and a multiple of the sway of the character's hard parts."""
CALM = 1.25
"""Longest time from a stop of the bones until the swing falls to a twentieth of its maximum, s."""

CARRIES = 0.15
"""Weight above which a bone carries a vertex."""


@dataclass(frozen=True)
class Look:
    """Measures of one motion. Lengths are shares of the size."""

    jump: float
    """Largest change of a vertex's offset from its skin in 1/24 s."""
    step: float
    """Largest displacement of a vertex of the skin in 1/24 s."""
    buried: float
    """Offset divided by r plus half a per cent of the size: the 0.995 quantile of the worst frame."""
    torn: float
    """Share of edges longer than twice, or shorter than half, their length on the skin, in the worst frame."""
    flipped: float
    """Share of triangles whose normals point away from those on the skin, in the worst frame."""
    thick: float
    """0.9 quantile of the sway about the mean offset, over the quarter with the largest r."""
    thin: float
    """0.9 quantile of the sway over the quarter with the smallest r."""
    varied: float
    """Ratio of the median r of the thick quarter to that of the thin one."""
    acceleration: float
    """RMS acceleration of the skin, m/s², scaled to a character of two metres."""
    snap: float = 0.0
    """Largest acceleration of the shown flesh over the skin's largest within a second (`snap`)."""
    rides: bool = False
    """True for a mesh that rides on another one, without flesh of its own."""
    hard: float | None = None
    """0.9 quantile of the sway of the hard part that sways most; `None` without hard parts."""
    soft: float | None = None
    """0.9 quantile of the sway of the soft part that sways most; `None` without soft parts."""
    soft_acceleration: float | None = None
    """RMS acceleration of the skin of all soft parts, scaled like `acceleration`."""
    calm: float | None = None
    """Time from a stop of all bones until the swing stays below a twentieth of its maximum, s; `None`: not measured."""
    rigid: bool = False
    """True if all of the mesh is hard, so that it should not move by itself."""
    slip: float | None = None
    """Largest difference between the offsets of a piece and of what it lies on; `None` for a mesh in one piece."""
    over_exact: float | None = None
    """Sway of the soft parts (or else of the thick quarter) over that of neo-Hookean flesh; `None`: not measured."""

    @property
    def jump_bound(self) -> float:
        """The largest jump that passes."""
        return max(JUMP, JUMP_OF_STEP * self.step)

    def faults(self) -> list[str]:
        """Returns the names of the measures that fail; empty if the motion passes. NaN fails."""
        within = {
            "snap": self.snap <= SNAP,
            "jump": self.jump <= self.jump_bound,
            "buried": self.buried <= BURIED,
            "torn": self.torn <= TORN,
            "flipped": self.flipped <= FLIPPED,
        }
        if self.hard is not None:
            within["hard parts sway"] = self.hard <= HARD
        if self.slip is not None:
            within["pieces slip"] = self.slip <= SLIP
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
    """Returns r [n]: the distance of rest[n, 3] from the nearest bone (heads[b, 3] to tails[b, 3]) that carries it.

    Infinite for a vertex that no bone carries.
    """
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
    pairs: np.ndarray | None = None,
) -> Look:
    """Measures `shown` [f, n, 3] relative to `skin` [f, n, 3], with r[n] (`thickness`), edges[e, 2] and triangles[t, 3].

    `body`: the size of the body that the mesh rides on, to which lengths are then relative. `whole`: the size of the
    character, if its mesh is one of several. `hard`, `soft`: vertex masks bool[n] of parts known to be so; a part's
    number of vertices has no influence. `pairs` [p, 2]: vertices of pieces that touch (`pieces.touching_pairs`). Raises ValueError for shapes that differ, fewer than three frames, or a mesh
    that no bone carries.
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
        flipped=max(_flipped_share(*frame, triangles) for frame in zip(skin, shown, strict=True)),
        thick=float(np.quantile(swings[fat], 0.9)),
        thin=float(np.quantile(swings[lean], 0.9)),
        varied=float(np.median(r[fat]) / max(np.median(r[lean]), 1e-12)),
        acceleration=acceleration(skin, fps) * 2.0 / size,
        snap=snap(skin[:, held], shown[:, held], size, fps),
        rides=body is not None,
        rigid=bool(len(hard)) and bool(np.logical_or.reduce(hard).all()),
        hard=_largest_swing(every, hard),
        soft=_largest_swing(every, soft),
        slip=pieces.slip(offsets, pairs) / size if pairs is not None and len(pairs) else None,
        soft_acceleration=acceleration(skin[:, np.logical_or.reduce(soft)], fps) * 2.0 / size if len(soft) else None,
    )


def sway(skin: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Returns the RMS distance of each vertex from its mean offset from the skin over the frames, [n]."""
    offsets = shown - skin
    return np.sqrt(np.square(offsets - offsets.mean(axis=0)).sum(axis=2).mean(axis=0))


def snap(skin: np.ndarray, shown: np.ndarray, size: float, fps: float) -> float:
    """Returns the ratio of the accelerations of the shown flesh [f, n, 3] and the skin [f, n, 3].

    Flesh filters the motion of its bones. The largest second difference of any shown vertex in a frame, less `SLACK`,
    is divided by the largest one of any vertex of the skin within a second before or after. A hard stop passes. A pop
    fails, because it accelerates while the skin does not.
    """
    plain, moved = (_largest_bend(points) / size * (fps / 24.0) ** 2 for points in (skin, shown))
    second = max(1, round(fps))
    around = np.array([plain[max(0, i - second) : i + second].max() for i in range(len(plain))])
    return float((np.maximum(moved - SLACK, 0.0) / np.maximum(around, STANDSTILL)).max())


def calm_time(swing: np.ndarray, fps: float, share: float = 0.05) -> float:
    """Returns the time until a swing [f], whose bones stopped at its first frame, stays below a share of its maximum, s.

    The envelope (the largest value from a frame on) is linear between frames. A swing above the share to the end takes
    at least the whole time; one that is zero takes 0.
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


def _largest_swing(swings: np.ndarray, parts: Sequence[np.ndarray]) -> float | None:
    return max((float(np.quantile(swings[part], 0.9)) for part in parts), default=None)


def _largest_bend(points: np.ndarray) -> np.ndarray:
    """Returns the largest second difference of any vertex, [f - 2]."""
    return np.linalg.norm(np.diff(points, n=2, axis=0), axis=2).max(axis=1)


def acceleration(skin: np.ndarray, fps: float) -> float:
    """Returns the RMS acceleration of the skin over vertices and frames, in the skin's unit per second squared."""
    return float(np.sqrt(np.square(np.diff(skin, n=2, axis=0)).sum(axis=2).mean())) * fps**2


def _largest_step(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=2).max())


def _lengths(points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[..., edges[:, 0], :] - points[..., edges[:, 1], :], axis=-1)


def _torn(skin: np.ndarray, shown: np.ndarray, edges: np.ndarray, usual: np.ndarray, size: float) -> float:
    """Returns the share of torn edges in one frame. Edges that the skin itself collapses do not count.

    `usual` [e]: the skin's median lengths.
    """
    plain = _lengths(skin, edges)
    witness = (plain > 0.3 * usual) & (usual > 1e-4 * size)
    ratio = np.where(witness, _lengths(shown, edges) / np.maximum(plain, 1e-30), 1.0)
    return float(np.mean(~((ratio >= 0.5) & (ratio <= 2.0))))


def _flipped_share(skin: np.ndarray, shown: np.ndarray, triangles: np.ndarray) -> float:
    """Returns the share of flipped triangles in one frame. Slivers of the skin do not count."""
    plain, moved = _normals(skin, triangles), _normals(shown, triangles)
    area = np.linalg.norm(plain, axis=1)
    counts = area > 0.1 * np.median(area)
    return float(np.mean(np.einsum("ti,ti->t", plain, moved)[counts] < 0.0))


def _normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = points[triangles.T]
    return np.cross(b - a, c - a)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields on a limb, as they would be on another: places by figural coordinates, directions by the limbs' axes there, sizes by
their radii."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: A field whose middle is deeper out than this belongs to no limb.
FARTHEST = 1.6
#: Directions are taken this far within the ends of a limb, where its caps have none along it.
INNER = 0.02
#: Half the step along a limb from which its direction is told.
STEP = 1e-3


@dataclass(frozen=True)
class Carried:
    """What becomes of a place on a limb."""

    frame: np.ndarray  # [4, 4]
    turn: np.ndarray  # [3, 3], from directions there to directions here
    ratio: float  # how much larger the limb is here


def depth(model, point: np.ndarray) -> float:
    """How deep in a limb a point is, 0 on its axis and 1 on its skin; infinite where it is not on the limb."""
    found = float(model.coordinates(np.asarray(point)[None])[0, 3])
    return found if np.isfinite(found) and found <= FARTHEST else np.inf


def carried(ours, theirs, frame: np.ndarray) -> Carried | None:
    """A frame on the limb `ours` as it is on the limb `theirs`; None where its middle is not on the limb. Raises what the core says of
    limbs that do not correspond."""
    place = frame[:3, 3]
    if not np.isfinite(depth(ours, place)):
        return None
    there = ours.correspond(theirs, place[None])[0]
    if not np.isfinite(there).all():
        return None
    first, second = axes(ours, place), axes(theirs, there)
    turn = second[0] @ first[0].T
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = turn @ frame[:3, :3], there
    return Carried(moved, turn, second[1] / first[1])


def axes(model, place: np.ndarray) -> tuple[np.ndarray, float]:
    """(columns [3, 3]: along the limb, outward across it, and across both; the length of the spoke) at a place on a limb."""
    u, v, around, _ = model.coordinates(place[None])[0]
    u = float(np.clip(u, INNER, 1.0 - INNER))
    before, behind, hub, tip = model.points(
        [[u - STEP, v, around, 0.0], [u + STEP, v, around, 0.0], [u, v, around, 0.0], [u, v, around, 1.0]]
    )
    along = (behind - before) / np.linalg.norm(behind - before)
    spoke = tip - hub
    out = spoke - (spoke @ along) * along
    out /= np.linalg.norm(out)
    return np.stack([along, out, np.cross(along, out)], axis=1), float(np.linalg.norm(spoke))

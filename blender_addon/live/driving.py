# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields and keyed settings in the core's terms, from what was read along with the poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..logic import driven
from ..logic.native import core
from ..logic.spaces import MetricSpace, relative_sizes
from .build_settings import hash_of

#: Factors on the stiffness that the core can follow, of the body at hand.
STIFFNESS_RANGE = (0.1, 100.0)
#: Factor by which a keyed scale makes the sway of flesh visibly too small or large, and share of the frames in which it has to.
VISIBLE_GROWTH, LONG_GROWTH = 1.5, 0.25
#: Methods whose stiffness cannot change in motion.
STIFF_METHODS = {"modal", "blended", "blended_printed", "warped_vertex"}


def rows_of(new: Any, lead: int = 0) -> np.ndarray:
    """Returns the rows of the motion, preceded by `lead` of those that lead to it."""
    motion = new.motion
    return np.concatenate([motion.before.drive[-lead:], motion.drive]) if lead else motion.drive


def acts(new: Any) -> bool:
    """Returns whether fields or keyed settings change the simulation."""
    settings, found = new.build_settings, new.motion.driven
    weighted = settings.field_weight > 0.0 or "field_weight" in found.keyed
    return bool((found.fields and weighted) or found.keyed & {"softness", "gravity"})


def key(new: Any, rows: np.ndarray) -> tuple:
    """Returns what fields and keyed settings add to the key of a simulation; () where nothing does."""
    if not acts(new):
        return ()
    found, counted = new.motion.driven, rows.copy()
    counted[:, driven.INFLUENCE] = 0.0  # display only
    for name, at in (("softness", driven.SOFTNESS), ("field_weight", driven.WEIGHT), ("gravity", driven.GRAVITY)):
        if name not in found.keyed:
            counted[:, at] = 0.0
    return (hash_of(found.keyed - {"influence"} and sorted(found.keyed - {"influence"}), found.fields, counted.tobytes()),
            new.build_settings.field_weight, new.motion.start if has_noise(new, rows) else 0)  # fmt: skip


def has_noise(new: Any, rows: np.ndarray) -> bool:
    """Returns whether a field changes with the time of day, not only from row to row."""
    noise = driven.NUMBERS.index("noise")
    return any((driven.field_rows(rows, k)[1][:, noise] != 0.0).any() for k in range(len(new.motion.driven.fields)))


def options(
    new: Any, rows: np.ndarray, place: MetricSpace | None = None, moves: np.ndarray | None = None, lead: int = 0
) -> dict[str, Any]:
    """Returns the arguments of `thew.simulate` and `thew.Shot` for rows [f, n] in the metres of `place` (None: those of the motion).

    `moves` [f, 4, 4]: maps of the world that move the fields along; `lead`: number of rows before the range.
    """
    if not acts(new):
        return {}
    found, settings, given, place = new.motion.driven, new.build_settings, {}, place or new.motion_place
    if found.fields:
        weights = np.maximum(rows[:, driven.WEIGHT], 0.0) if "field_weight" in found.keyed else settings.field_weight
        moved = rows if moves is None else driven.moved_rows(rows, len(found.fields), moves)
        start = (new.motion.start - lead) / settings.fps
        made = driven.core_fields(core().ForceField, found, moved, weights, place, start)
        given |= {"fields": made} if made else {}
    if "gravity" in found.keyed:
        given["gravities"] = place.directions(rows[:, driven.GRAVITY])
    factors = stiffness(new, rows)
    return given if factors is None else {**given, "stiffness": factors}


def settings_at(new: Any, place: MetricSpace) -> Any:
    """Returns the thew.SimulationSettings of the body, with gravity along the axes of `place`."""
    settings = new.build_settings.with_damping(new.body)
    return settings.replace(gravity=gravity_at(new, place)) if place.mirrored else settings


def gravity_at(new: Any, place: MetricSpace) -> tuple[float, float, float]:
    """Returns gravity along the axes of `place`, m/s²."""
    x, y, z = new.build_settings.simulation.gravity
    return (-x, y, z) if place.mirrored else (x, y, z)


def stiffness(new: Any, rows: np.ndarray) -> np.ndarray | None:
    """Returns the factors on the body's stiffness of a keyed softness, [f]; None where it does not change."""
    settings, found = new.build_settings, new.motion.driven
    if (
        "softness" not in found.keyed
        or settings.softness is None
        or settings.method in STIFF_METHODS
        or settings.levels
    ):
        return None
    dials = np.clip(rows[:, driven.SOFTNESS], 0.0, 1.0)
    both = np.asarray(new.automatic.softness_factors([settings.softness, *dials]))
    factors = np.clip(both[1:] / both[0], *STIFFNESS_RANGE)
    return None if (factors == 1.0).all() else factors


def problems(new: Any) -> list[str]:
    """Returns sentences on fields and keyed settings that cannot act."""
    if new.motion is None:
        return []
    found, settings = new.motion.driven, new.build_settings
    said = [*found.problems, *driven.faults(found, new.motion.drive).values()] if new.motion.drive.shape[1] else []
    sizes = np.abs(relative_sizes(new.bind_pose.mesh_matrix, new.motion.matrices))
    if np.mean(np.abs(np.log(sizes / np.median(sizes))) > np.log(VISIBLE_GROWTH)) > LONG_GROWTH:
        said.append(
            f"Its scale changes {sizes.max() / sizes.min():.2g}-fold while it plays, and its flesh does not sway along: "
            "bake it at one scale, then key the scale"
        )
    if "softness" in found.keyed and settings.softness is not None:
        if settings.method in STIFF_METHODS:
            said.append(
                "Softness is keyed, but this method keeps its stiffness: it is that of the first frame. Choose Hyperelastic"
            )
        elif settings.levels:
            said.append(
                "Softness is keyed, but Fine Detail keeps its stiffness: it is that of the first frame. Set Fine Detail to 0"
            )
    return said


def shown_offsets(new: Any, index: int) -> np.ndarray:
    """Returns what the view adds to the skin at a pose of the clip, by its index: world axes, metres, float32[n, 3]."""
    return np.float32(influence(new, index)) * new.held(np.asarray(new.clip.offsets(index)))


def influence(new: Any, at: float) -> float:
    """Returns the share of the flesh that is shown at the pose `at` of the motion, fractional between two of them."""
    motion = new.motion
    if motion is None or "influence" not in motion.driven.keyed:
        return new.build_settings.influence
    values = motion.drive[:, driven.INFLUENCE]
    share = float(np.interp(at, np.arange(len(values)), values))
    return min(max(share, 0.0), 1.0) if np.isfinite(share) else 1.0

# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers of flesh apart from poses: force fields, and settings that are keyed or driven; their values by frame as rows of numbers.

A row begins with the `HEAD` numbers. Each field follows with its world matrix [16] and its `NUMBERS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .spaces import REFLECTION, MetricSpace

#: Numbers at the beginning of a row: influence, softness, weight of the fields, gravity.
HEAD = 6
INFLUENCE, SOFTNESS, WEIGHT = 0, 1, 2
GRAVITY = slice(3, 6)

#: Numbers of a field, as the core names them.
NUMBERS = (
    "strength",
    "flow",
    "noise",
    "size",
    "linear_drag",
    "quadratic_drag",
    "power",
    "radial_power",
    "min_distance",
    "max_distance",
    "min_radius",
    "max_radius",
)
#: Those that the weight of the fields multiplies.
WEIGHTED = ("strength", "flow", "noise", "linear_drag", "quadratic_drag")

#: Blender's names of what flesh feels, and the core's.
KINDS = {"WIND": "wind", "FORCE": "force", "VORTEX": "vortex", "TURBULENCE": "turbulence", "DRAG": "drag"}
SHAPES = {"POINT": "point", "LINE": "line", "PLANE": "plane"}
FALLOFFS = {"SPHERE": "sphere", "TUBE": "tube", "CONE": "cone"}
SIDES = {"BOTH": "both", "POSITIVE": "positive", "NEGATIVE": "negative"}


@dataclass(frozen=True)
class FieldChoices:
    """Choices of a field, the same in every frame."""

    name: str
    kind: str
    shape: str
    falloff: str
    side: str
    gravitation: bool
    global_space: bool
    seed: int


@dataclass(frozen=True)
class Driven:
    """Drivers of a flesh: the names of its keyed settings, its fields, and why others do not act."""

    keyed: frozenset[str] = frozenset()
    fields: tuple[FieldChoices, ...] = ()
    problems: tuple[str, ...] = ()


def field_rows(rows: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns world matrices [f, 4, 4] and numbers [f, 12] of the field `index` of rows [f, n]."""
    width = 16 + len(NUMBERS)
    own = rows[:, HEAD + index * width : HEAD + (index + 1) * width]
    return own[:, :16].reshape(-1, 4, 4), own[:, 16:]


def moved_rows(rows: np.ndarray, fields: int, moves: np.ndarray) -> np.ndarray:
    """Returns rows [f, n] whose fields are moved by world maps [f, 4, 4]."""
    moved = rows.copy()
    for index in range(fields):
        matrices, _ = field_rows(moved, index)
        start = HEAD + index * (16 + len(NUMBERS))
        moved[:, start : start + 16] = (moves @ matrices).reshape(-1, 16)
    return moved


def faults(driven: Driven, rows: np.ndarray) -> dict[int, str]:
    """Returns why fields of rows [f, n] cannot act, by index: a number or place that is not finite."""
    found = {}
    for index, choices in enumerate(driven.fields):
        matrices, numbers = field_rows(rows, index)
        # Blender's largest distances may be without limit.
        finite = np.isfinite(numbers) | (numbers == np.inf) & np.isin(NUMBERS, ("max_distance", "max_radius"))
        wrong = [name for name, good in zip(NUMBERS, finite.all(axis=0), strict=True) if not good]
        if wrong:
            found[index] = f"The force field “{choices.name}” does not act: its {wrong[0]} is not a number; repair it"
        elif not np.isfinite(matrices).all() or (np.linalg.norm(matrices[:, :3, 2], axis=1) < 1e-12).any():
            found[index] = f"The force field “{choices.name}” does not act: it has no place or no size; repair it"
    return found


def core_fields(
    force_field: Any, driven: Driven, rows: np.ndarray, weights: np.ndarray | float, place: MetricSpace, start: float
) -> list[Any]:
    """Returns the fields as `force_field` (thew.ForceField) for rows [f, n], in the metres of `place`; faulty ones are left out.

    `weights`: of all fields, [f] or one number; `start`: seconds of the first row.
    """
    made, bad = [], faults(driven, rows)
    for index, choices in enumerate(driven.fields):
        if index in bad:
            continue
        matrices, numbers = field_rows(rows, index)
        matrices = matrices.copy()
        matrices[:, :3, 3] = place.points(matrices[:, :3, 3])
        if place.mirrored:  # the axis along which the field acts is the third one, which the reflection keeps
            matrices[:, :3, :3] *= REFLECTION[:, None] * REFLECTION
        given = {name: short(numbers[:, k]) for k, name in enumerate(NUMBERS)}
        for name in WEIGHTED:
            given[name] = short(numbers[:, NUMBERS.index(name)] * weights)
        if place.mirrored and choices.kind == "vortex":  # it turns the other way in a mirror
            given["strength"] = -given["strength"]
        still = (matrices == matrices[0]).all()
        made.append(
            force_field(
                choices.kind, given.pop("strength"), matrices[0] if still else matrices, name=choices.name,
                shape=choices.shape, falloff=choices.falloff, side=choices.side, gravitation=choices.gravitation,
                global_space=choices.global_space, seed=choices.seed, unit=place.metres_per_unit, start=start, **given,
            )
        )  # fmt: skip
    return made


def short(values: np.ndarray) -> np.ndarray | float:
    """Returns one number for values [f] that are all equal."""
    return float(values[0]) if (values == values[0]).all() else values


def trace(driven: Driven, rows: np.ndarray, place: MetricSpace, size: float) -> np.ndarray | None:
    """Returns rows [f, n] that change as points [f, k, 4, 3], metres, for the same tests as bones; None where nothing changes.

    Numbers become points as far apart as the body is large.
    """
    if rows.shape[1] < HEAD or not (driven.keyed - {"influence"} or driven.fields):
        return None
    columns = [rows[:, k] for name, k in (("softness", SOFTNESS), ("field_weight", WEIGHT)) if name in driven.keyed]
    columns += list(rows[:, GRAVITY].T) if "gravity" in driven.keyed else []
    columns += list(rows[:, HEAD:].T) if driven.fields else []
    noise = NUMBERS.index("noise")
    if any((field_rows(rows, k)[1][:, noise] != 0.0).any() for k in range(len(driven.fields))):
        columns.append(np.arange(len(rows), dtype=np.float64))  # noise never repeats
    points = []
    for column in columns:
        span = np.ptp(column) if np.isfinite(column).all() else 0.0
        if span > 0.0:
            points.append(size * (column - column[0]) / span)
    if not points:
        return None
    lines = np.stack(points, axis=1)[:, :, None, None]
    return np.broadcast_to(lines, (*lines.shape[:2], 4, 3)).copy()

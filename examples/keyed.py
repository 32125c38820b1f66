# SPDX-License-Identifier: MIT OR Apache-2.0
"""Motions through keyframes side by side: what they cost, and rows of moments in one picture."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import thew

from examples.command import Options
from examples.studio import INK, Studio

FAINT = (0.42, 0.45, 0.50)
OURS, OTHER, PLAIN = (0.36, 0.62, 0.70), (0.47, 0.68, 0.42), (0.72, 0.72, 0.72)
FRAMES = 200
"""Frames of the whole motion that an update of the table writes."""


def time_call(work: Callable) -> tuple[float, object]:
    """Seconds, and what came out."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def report(name: str, prepare: Callable[[], list[thew.Spacetime]], keys: int) -> list[thew.Spacetime]:
    """Prepare segments and print a row of the table: vertices, segments, dimensions, keyframes, preprocess, update."""
    seconds, motions = time_call(prepare)
    both = thew.composite(motions)
    instants = np.linspace(both.times[0], both.times[-1], FRAMES)
    n = both(instants[:1]).shape[1]

    def update() -> None:
        for motion in motions:
            motion.set(times=motion.times)
        both(instants)

    again = min(time_call(update)[0] for _ in range(5))
    sizes = {motion.dimension for motion in motions}
    dimensions = ", ".join(str(motion.dimension) for motion in motions)
    if len(motions) > 1 and len(sizes) == 1:
        dimensions = f"{len(motions)} x {motions[0].dimension}"
    print(f"| {name} | {n} | {len(motions)} | {dimensions} | {keys} | {seconds:.2f} | {1000 * again:.1f} |")
    for motion in motions:
        for note in motion.notes:
            print(f"  ({note})")
    return motions


def stretch(shape: np.ndarray, rest: np.ndarray, triangles: np.ndarray) -> float:
    """The largest change of an edge's length, as a share of what it is at rest."""
    edges = np.concatenate([triangles[:, [i, (i + 1) % 3]] for i in range(3)])
    span = lambda x: np.linalg.norm(x[..., edges[:, 1], :] - x[..., edges[:, 0], :], axis=-1)  # noqa: E731
    return float(np.abs(span(np.asarray(shape, float)) / span(rest) - 1).max())


@dataclass
class Row:
    """One motion: its name, frames [k,n,3] and colours: one, or one per vertex (linear)."""

    title: str
    frames: np.ndarray
    colour: tuple[float, float, float] | np.ndarray


@dataclass
class Sheet:
    """Where moments stand: metres from column to column and row to row, how large the words are, from where it is seen."""

    across: float
    down: float
    words: float
    low: tuple[float, float]
    high: tuple[float, float]
    turn: float = -20.0
    tilt: float = 8.0


def draw(
    how: Options,
    sheet: Sheet,
    triangles: np.ndarray,
    rows: Sequence[Row],
    instants: Sequence[float],
    keys: Sequence[float],
    scenery: Callable[[Studio, np.ndarray], None] = lambda studio, place: None,
) -> None:
    """Rows of moments, one under the other; those at keyframes are marked. `low` and `high` are the first cell's corners."""
    studio = Studio(sheet.turn, sheet.tilt)
    mark = studio.material((0.97, 0.73, 0.15), gloss=0.6)
    for r, row in enumerate(rows):
        for c, shape in enumerate(row.frames):
            place = studio.at(c * sheet.across, -r * sheet.down)
            if isinstance(row.colour, tuple):
                studio.mesh(shape, triangles, studio.material(row.colour), place)
            else:
                studio.mesh(shape, triangles, studio.vertex_material(), place, row.colour)
            scenery(studio, place)
        left = studio.at(sheet.low[0], sheet.high[1] - r * sheet.down - 0.2 * sheet.words, 0.0)
        studio.text(row.title, left, 1.15 * sheet.words, align="LEFT")
    bottom = sheet.low[1] - (len(rows) - 1) * sheet.down
    for c, instant in enumerate(instants):
        at_key = min(abs(instant - k) for k in keys) < 1e-6
        place = studio.at(c * sheet.across + 0.5 * (sheet.low[0] + sheet.high[0]), bottom - 1.2 * sheet.words)
        studio.text(f"{instant:.2f} s", place, sheet.words, INK if at_key else FAINT)
        if at_key:
            studio.ball(place + studio.at(0.0, -0.9 * sheet.words), 0.25 * sheet.words, mark)
    width = (len(instants) - 1) * sheet.across
    low = (sheet.low[0] - sheet.words, bottom - 3.2 * sheet.words)
    high = (sheet.high[0] + width + sheet.words, sheet.high[1] + 1.6 * sheet.words)
    studio.render(how.output, low, high, how.width, how.engine)

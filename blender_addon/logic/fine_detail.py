# SPDX-License-Identifier: GPL-3.0-or-later
"""Fine Detail in words: its cost, the reason why it would be too much, and the functions that act with Adaptive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import sentence
from .sentences import plural, significant

#: Largest number of levels of finer functions inside the cells.
MAX_LEVELS = 3
#: Most memory that a body may take, bytes: a quarter of that of a machine with 16 GB, which has the scene to hold too.
MAX_BYTES = 4e9
#: Bodies of one object: with and without its painted maps, and at its softness.
BODIES = 3
#: Memory of a body beyond the integrals of its elements, as a factor: matrices, their factor, the pieces of the flesh.
OVERHEAD = 1.5


#: Longest frame, s: longer ones stall the work, and a second of animation would take half an hour.
MAX_FRAME = 60.0
#: Time of a step of the default method per element of the finest level, s, on one core of 2024 (docs/methods/basis.md).
STEP_SECONDS = 1.2e-5
#: Frames from which the notes name their time, s.
LONG_FRAME = 0.5


def count_elements(cells: Sequence[Sequence[int]], levels: int) -> float:
    """Returns the number of elements of a lattice: each level divides them into eight."""
    corners = sum(len(cell) for cell in cells)
    return corners * 8.0 ** (levels - 1) if levels else len(cells)


def frame_seconds(cells: Sequence[Sequence[int]], levels: int, steps: float) -> float:
    """Returns about how long a frame of so many steps takes, s; 0 without levels."""
    return count_elements(cells, levels) * STEP_SECONDS * steps if levels else 0.0


def memory(cells: Sequence[Sequence[int]], levels: int) -> float:
    """Returns about how much memory the bodies of a lattice take, bytes. Each level divides a cell into eight times as many elements."""
    if levels == 0:
        return 0.0
    corners = np.array([len(cell) for cell in cells])
    elements = corners * 8.0 ** (levels - 1)
    functions = corners + 7 * levels
    return float(BODIES * OVERHEAD * (elements * 36.0 * functions * (functions + 1)).sum())


def refusal(cells: Sequence[Sequence[int]], levels: int, steps: float = 1.0) -> str:
    """Returns a sentence why a lattice cannot have these levels at so many steps a frame; "" where it can."""

    def fits(level: int) -> bool:
        return memory(cells, level) <= MAX_BYTES and frame_seconds(cells, level, steps) <= MAX_FRAME

    if fits(levels):
        return ""
    bytes_needed = memory(cells, levels)
    fitting = max((level for level in range(levels) if fits(level)), default=0)
    # The remedy comes first: the panel shows two rows of the sentence.
    if bytes_needed > MAX_BYTES:
        return f"Set Fine Detail to {fitting}, or lower Detail: {levels} would take about {bytes_needed / 1e9:.0f} GB of memory"
    minutes = significant(frame_seconds(cells, levels, steps) / 60.0)
    return f"Set Fine Detail to {fitting}, or lower Detail: {levels} would take about {minutes} minutes a frame"


#: Places where Adaptive computes Fine Detail, by the choice of Adapt to.
ADAPTED = {"STRAIN": "where little of the flesh is strained", "RIGS": "where rigs act on little of the flesh"}


def cost_text(levels: int, adaptive: bool, adapt_to: str = "STRAIN") -> str:
    """Returns what Fine Detail costs, in words; "" without it."""
    if levels == 0:
        return ""
    # Measured on an arm and two characters of up to 1,200 cells: 26 to 40 times, then 250 times (docs/methods/basis.md). Level 3 has not been.
    longer = {1: "about 30", 2: "about 250", 3: "some thousand"}[levels]
    text = f"With Fine Detail {levels} a step takes {longer} times as long"
    return f"{text}; Adaptive takes a part of that {ADAPTED[adapt_to]}" if adaptive else text


def acting_functions(body: Any, nodes: Any) -> list[np.ndarray]:
    """Returns for each level the finer functions that displace flesh in a frame with these node values, counted from the first finer one."""
    levels = np.asarray(body.level_of_node)
    coarse = int((levels == 0).sum())
    acts = (np.asarray(nodes)[coarse:] != 0.0).any(axis=1)
    return [np.flatnonzero(acts & (levels[coarse:] == level)) for level in range(1, body.basis_levels + 1)]


def function_notes(flesh: Any) -> list[str]:
    """Returns a sentence on the functions of a built flesh with Fine Detail, and on those that act in its clip."""
    if flesh.body is None or flesh.body.basis_levels == 0:
        return []
    count, coarse = flesh.body.node_count, len(flesh.lattice.vertices)
    said = [
        f"Fine Detail {flesh.body.basis_levels} lets {plural(count - coarse, 'more point')} of the flesh move by themselves, beside {coarse} of Detail"
    ]
    if flesh.clip is not None and flesh.clip.settings.adapt != "none":
        active = np.asarray(flesh.clip.active_functions) - coarse
        said.append(f"Adaptive moves {active.min()} to {active.max()} of them in a frame")
    seconds = frame_seconds(flesh.lattice.cells, flesh.body.basis_levels, flesh.build_settings.steps)
    if seconds >= LONG_FRAME:
        said.append(f"With all of them a frame takes about {seconds:.1g} s")
    return [" ".join(map(sentence, said))]

# SPDX-License-Identifier: GPL-3.0-or-later
"""What was found while building a body, in the artist's words."""

from __future__ import annotations

from typing import Any

from .errors import sentence


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 cell`, `3 cells`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def notes_of(flesh: Any) -> list[str]:
    """Sentences about a built flesh: its size, surface defects, loose parts, inverted cells."""
    notes = []
    if flesh.lattice is not None:
        cells, vertices = len(flesh.lattice.cells), len(flesh.lattice.vertices)
        notes.append(f"The lattice has {plural(cells, 'cell')} and {plural(vertices, 'vertex', 'vertices')}.")
        notes += [sentence(note) for note in flesh.lattice.notes]
    notes += [sentence(text) for text in flesh.defects]
    if flesh.character is not None:
        notes += [sentence(text) for text in flesh.character.notes]
    if flesh.surface is not None:
        notes += [sentence(text) for text in flesh.surface.report().sentences]
    if flesh.body is not None:
        if abs(flesh.firmness - 1.0) >= 0.05:
            why = "lose its shape" if flesh.firmness > 1.0 else "hardly move"
            notes.append(
                f"The flesh was made {flesh.firmness:.3g} times as stiff, or it would {why}; switch Fit Stiffness off "
                "for the bare stiffness."
            )
        notes += [sentence(text) for text in flesh.body.loose_parts]
    inverted = max((int(count) for count in flesh.clip.inverted_cells), default=0) if flesh.clip is not None else 0
    if inverted:
        notes.append(
            f"At worst {plural(inverted, 'cell is', 'cells are')} turned inside out: stiffen the flesh or use more cells."
        )
    if flesh.problem:
        notes.append(flesh.problem)
    return notes

# SPDX-License-Identifier: GPL-3.0-or-later
"""What was found while building a body, in the artist's words."""

from __future__ import annotations

from typing import Any


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 cell`, `3 cells`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def notes_of(flesh: Any) -> list[str]:
    """Sentences about a built flesh: size, surface defects, loose parts, inverted cells."""
    notes = []
    if flesh.lattice is not None:
        cells, vertices = len(flesh.lattice.cells), len(flesh.lattice.vertices)
        notes.append(f"The lattice has {plural(cells, 'cell')} and {plural(vertices, 'vertex', 'vertices')}.")
    if flesh.surface is not None:
        notes.extend(line.strip() for line in str(flesh.surface.report()).splitlines() if line.strip())
    if flesh.body is not None:
        loose = flesh.body.loose_parts
        count = loose if isinstance(loose, int) else len(loose)
        if count:
            notes.append(f"{plural(count, 'loose part')} too small to swing: held rigidly by the nearest bone.")
    inverted = getattr(flesh.clip, "inverted_cells", None)
    if inverted:
        notes.append(f"At worst {plural(int(inverted), 'cell')} turned inside out: stiffen the flesh or use more cells.")
    if flesh.problem:
        notes.append(flesh.problem)
    return notes

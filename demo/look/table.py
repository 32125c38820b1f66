# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures of many clips as a table, with what fails and the totals."""

from __future__ import annotations

from collections.abc import Iterable

from demo.look.measures import Look

HEAD = "| character | mesh | clip | m/s² | jump % | of | buried | torn % | flipped % | thick % | thin % | varied | seconds | fails |"


def heading() -> str:
    """The first two lines."""
    return f"{HEAD}\n{'|---' * (HEAD.count('|') - 1)}|"


def line(character: str, mesh: str, clip: str, look: Look, seconds: float) -> str:
    """One clip."""
    numbers = (
        f"{look.acceleration:.1f}",
        f"{100 * look.jump:.2f}",
        f"{100 * look.jump_bound:.1f}",
        f"{look.buried:.2f}",
        f"{100 * look.torn:.2f}",
        f"{100 * look.flipped:.2f}",
        f"{100 * look.thick:.2f}",
        f"{100 * look.thin:.2f}",
        f"{look.varied:.1f}",
        f"{seconds:.2f}",
    )
    names = (character, mesh, clip.replace("|", "/"))
    return f"| {' | '.join(names)} | {' | '.join(numbers)} | {', '.join(look.faults()) or '-'} |"


def totals(looks: Iterable[tuple[str, Look]]) -> str:
    """How many clips and characters pass, and what fails how often; characters by name."""
    looks = list(looks)
    failed = [(name, fault) for name, look in looks for fault in look.faults()]
    clips = sum(not look.faults() for _, look in looks)
    names = {name for name, _ in looks}
    good = names - {name for name, _ in failed}
    faults: dict[str, int] = {}
    for _, fault in failed:
        faults[fault] = faults.get(fault, 0) + 1
    often = ", ".join(f"{fault} {count}" for fault, count in sorted(faults.items(), key=lambda item: -item[1]))
    return (
        f"{clips} of {len(looks)} clips pass, {len(good)} of {len(names)} characters in all their clips."
        f"{f' What fails: {often}.' if often else ''}"
    )

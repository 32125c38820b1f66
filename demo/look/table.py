# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures of many clips as a table, with failures and totals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from demo.look import measures
from demo.look.measures import Look
from demo.look.recording import Clip, Recording

HEAD = (
    "| character | mesh | clip | m/s² | snap | jump % | of | buried | torn % | flipped % | thick % | thin % | varied "
    "| hard % | soft % | soft m/s² | slip % | calm | over exact | seconds | fails |"
)


def heading() -> str:
    """Returns the first two lines of the table."""
    return f"{HEAD}\n{'|---' * (HEAD.count('|') - 1)}|"


def line(character: str, mesh: str, clip: str, look: Look, seconds: float) -> str:
    """Returns the row of one clip."""
    numbers = (
        f"{look.acceleration:.1f}",
        f"{look.snap:.2f}",
        f"{100 * look.jump:.2f}",
        f"{100 * look.jump_bound:.1f}",
        f"{look.buried:.2f}",
        f"{100 * look.torn:.2f}",
        f"{100 * look.flipped:.2f}",
        f"{100 * look.thick:.2f}",
        f"{100 * look.thin:.2f}",
        f"{look.varied:.1f}",
        _maybe(look.hard, 100.0),
        _maybe(look.soft, 100.0),
        _maybe(look.soft_acceleration),
        _maybe(look.slip, 100.0),
        _maybe(look.calm),
        _maybe(look.over_exact),
        f"{seconds:.2f}",
    )
    names = (character, mesh, clip.replace("|", "/"))
    return f"| {' | '.join(names)} | {' | '.join(numbers)} | {', '.join(look.faults()) or '-'} |"


SUMMARY = (
    "| character | mesh | clips | m/s² | snap | jump % | buried | torn % | flipped % | thick % | thin % | hard % | soft % | slip % "
    "| calm | over exact | fails |"
)


def summary(looks: Iterable[tuple[str, str, Look]]) -> str:
    """Returns a table with a row for each mesh: the largest values over its clips, and ranges where more is better.

    It is the table of `docs/look.md`. The jump is the one nearest to its bound.
    """
    meshes: dict[tuple[str, str], list[Look]] = {}
    for character, mesh, look in looks:
        meshes.setdefault((character, mesh), []).append(look)
    lines = [SUMMARY, "|---" * (SUMMARY.count("|") - 1) + "|"]
    for (character, mesh), clips in meshes.items():
        near = max(clips, key=lambda look: look.jump / look.jump_bound)
        faults = list(dict.fromkeys(fault for look in clips for fault in look.faults()))
        cells = (
            character,
            mesh,
            str(len(clips)),
            f"{max(look.acceleration for look in clips):.0f}",
            f"{max(look.snap for look in clips):.2f}",
            f"{100 * near.jump:.2f} of {100 * near.jump_bound:.1f}",
            f"{max(look.buried for look in clips):.2f}",
            f"{100 * max(look.torn for look in clips):.2f}",
            f"{100 * max(look.flipped for look in clips):.2f}",
            _range([look.thick for look in clips], 100.0),
            f"{100 * max(look.thin for look in clips):.2f}",
            _maybe(max((look.hard for look in clips if look.hard is not None), default=None), 100.0),
            _range([look.soft for look in clips if look.soft is not None], 100.0),
            _maybe(max((look.slip for look in clips if look.slip is not None), default=None), 100.0),
            _maybe(max((look.calm for look in clips if look.calm is not None), default=None)),
            _range([look.over_exact for look in clips if look.over_exact is not None]),
            ", ".join(faults) or "–",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _range(values: list[float], times: float = 1.0) -> str:
    least, largest = (f"{times * pick(values, default=0.0):.2f}" for pick in (min, max))
    return "" if not values else least if least == largest else f"{least} to {largest}"


def part_lines(recording: Recording, clip: Clip, shown: np.ndarray) -> list[str]:
    """Returns a line for each hard and each soft part of one clip: its number of vertices, and the 0.9 quantile of their sway."""
    size = recording.body or float(np.linalg.norm(np.ptp(clip.shown[0], axis=0)))
    swings = measures.sway(clip.shown, shown) / size
    return [
        f"    {kind} {part}: {mask.sum()} vertices, {100 * np.quantile(swings[mask], 0.9):.2f} %\n"
        for kind in ("hard", "soft")
        for part, mask in getattr(recording.parts, kind).items()
    ]


def _maybe(value: float | None, times: float = 1.0) -> str:
    return "" if value is None else f"{times * value:.2f}"


def totals(looks: Iterable[tuple[str, Look]]) -> str:
    """Returns a sentence on how many clips and characters pass, and how often each measure fails."""
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

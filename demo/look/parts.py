# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hard and soft parts of the known characters, as people see them: the table in `parts.toml`.

A part is the vertices carried by certain bones (`bones`, patterns of names), or those in a box at rest (`box`, shares
of the box around the mesh: 0 to 1 along the world's axes, right to left, front to back, bottom to top), or in both.
`meshes`, patterns too, select meshes of a character. The names and places are those of these very files: no product may
read them, least of all the automatic map.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_suffix(".toml")
LEADS = 0.5
"""Share of its weight from which a vertex belongs to a part's bones."""
AXES = "xyz"


@dataclass(frozen=True)
class Parts:
    """The parts of one mesh by name, bool[n] each."""

    hard: dict[str, np.ndarray]
    soft: dict[str, np.ndarray]

    def union(self, kind: str) -> np.ndarray | None:
        """Returns all vertices of the hard or the soft parts; `None` if the mesh has no such parts."""
        masks = list(getattr(self, kind).values())
        return np.logical_or.reduce(masks) if masks else None


@cache
def table() -> dict[str, dict[str, dict[str, dict]]]:
    """Returns the contents of `parts.toml`: {character: {"hard" or "soft": {part: rule}}}."""
    return tomllib.loads(TABLE.read_text())


def parts_of(character: str, mesh: str, rest: np.ndarray, names: list[str], weights: np.ndarray) -> Parts:
    """Returns the parts of a mesh, rest[n, 3] in any unit, weights[n, b] of the named bones. Empty without a row in the table.

    Raises ValueError for a part without vertices, a vertex in a hard and a soft part, or a rule with unknown words.
    """
    kinds: dict[str, dict[str, np.ndarray]] = {"hard": {}, "soft": {}}
    row = table().get(character.removesuffix(".fbx"), {})
    for kind, rules in row.items():
        for part, rule in rules.items():
            if not any(fnmatchcase(mesh, pattern) for pattern in rule.get("meshes", ["*"])):
                continue
            kinds[kind][part] = _mask(f"{character}, {part}", rule, rest, names, weights)
    found = Parts(**kinds)
    for hard, first in found.hard.items():
        for soft, second in found.soft.items():
            if (first & second).any():
                raise ValueError(f"{character}: {(first & second).sum()} vertices are both {hard} and {soft}")
    return found


def _mask(title: str, rule: dict, rest: np.ndarray, names: list[str], weights: np.ndarray) -> np.ndarray:
    unknown = set(rule) - {"bones", "box", "meshes"}
    if unknown or not {"bones", "box"} & set(rule):
        raise ValueError(f"{title}: give bones or a box, not {sorted(unknown) or 'nothing'}")
    mask = np.ones(len(rest), bool)
    if "bones" in rule:
        chosen = [any(fnmatchcase(name, pattern) for pattern in rule["bones"]) for name in names]
        mask &= weights[:, chosen].sum(axis=1) > LEADS * np.maximum(weights.sum(axis=1), 1e-12)
    low, high = rest.min(axis=0), rest.max(axis=0)
    for axis, (first, last) in rule.get("box", {}).items():
        i = AXES.index(axis)
        place = (rest[:, i] - low[i]) / max(float(high[i] - low[i]), 1e-30)
        mask &= (place >= first) & (place <= last)
    if not mask.any():
        raise ValueError(f"{title}: no vertex is in this part")
    return mask

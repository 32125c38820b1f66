# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that are used once."""

from __future__ import annotations


def free_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or else it with the lowest number behind it that nobody has."""
    wanted = wanted.strip() or "Rig"
    stem, _, tail = wanted.rpartition(".")
    stem = stem if stem and tail.isdigit() else wanted
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{stem}.{number:03d}"
    return name


def describe(obj) -> str:
    """The object's name as the sentences show it."""
    return f"“{obj.name}”"

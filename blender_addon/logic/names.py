# SPDX-License-Identifier: GPL-3.0-or-later
"""Unique names."""

from __future__ import annotations


def free_name(wanted: str, taken: set[str]) -> str:
    """Returns `wanted`, or else `wanted` with the lowest free number behind it."""
    wanted = wanted.strip() or "Rig"
    stem, _, tail = wanted.rpartition(".")
    stem = stem if stem and tail.isdigit() else wanted
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{stem}.{number:03d}"
    return name


def describe(obj) -> str:
    """Returns the object's name for sentences."""
    return f"“{obj.name}”"

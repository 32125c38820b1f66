# SPDX-License-Identifier: GPL-3.0-or-later
"""Two sets of settings, A and B: kept as text, and told by their differences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .diagnosis import number_text
from .errors import Refusal
from .json_text import parse_json

#: Names of the two sides.
SIDES = ("A", "B")


def other_side(side: str) -> str:
    """Returns the side that is not in view."""
    return SIDES[1 - SIDES.index(side)]


def pack(values: Mapping[str, Any]) -> str:
    """Returns settings as text; those that have their defaults are left out by the caller."""
    return json.dumps(dict(sorted(values.items())))


def unpack(text: str) -> dict[str, Any]:
    """Returns settings from text; refuses text that holds none."""
    try:
        found = parse_json(text)
    except ValueError as error:
        raise Refusal("The other settings are damaged: store them anew") from error
    if not isinstance(found, dict):
        raise Refusal("The other settings are damaged: store them anew")
    return found


def differences(mine: Mapping[str, Any], other: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[tuple]:
    """Returns (name, value, other value) of each setting that differs; what is left out has its default."""
    names = sorted({*mine, *other})
    found = [(name, mine.get(name, defaults.get(name)), other.get(name, defaults.get(name))) for name in names]
    return [each for each in found if each[1] != each[2]]


def difference_text(label: str, mine: Any, other: Any) -> str:
    """Returns one difference in words: `Softness: 0.5, other 0.8`."""
    return f"{label}: {value_text(mine)}, other {value_text(other)}"


def value_text(value: Any) -> str:
    """Returns a value as the panel would show it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "its default" if value is None else number_text(value)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Two sets of settings, A and B: kept as text, and told by their differences."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .errors import Refusal
from .json_text import parse_json

#: Names of the two sides.
SIDES = ("A", "B")

#: Largest number of single precision.
MAX_FLOAT = 3.4e38
#: Decimals after which two numbers of single precision near 1 are the same.
MAX_DECIMALS = 8


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


def fits(kind: str, value: Any) -> bool:
    """Returns whether a value from a text is one that a property of Blender's type `kind` can hold; a damaged text may have any."""
    if kind == "BOOLEAN":
        return isinstance(value, bool)
    if kind in {"STRING", "ENUM"}:
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if kind == "INT":
        return isinstance(value, int) and abs(value) < 2**31
    return abs(value) <= MAX_FLOAT  # not for a number that is none


def differences(mine: Mapping[str, Any], other: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[tuple]:
    """Returns (name, value, other value) of each setting that differs; what is left out has its default."""
    names = sorted({*mine, *other})
    found = [(name, mine.get(name, defaults.get(name)), other.get(name, defaults.get(name))) for name in names]
    return [each for each in found if each[1] != each[2]]


def difference_text(label: str, side: str, mine: str, other: str) -> str:
    """Returns one difference, A first: `Softness: A 0.50, B 0.80`. `side`: the one whose value is `mine`. No word needs translation."""
    values = {side: mine, other_side(side): other}
    return f"{label}: " + ", ".join(f"{each} {values[each]}" for each in SIDES)


def number_texts(
    mine: float, other: float, precision: int, written: Callable[[float, int], str] = "{:.{}f}".format
) -> tuple[str, str]:
    """Returns two different numbers with the decimals of their slider, and with more where they would look alike.

    `written`: returns a number with so many decimals as text, with its unit.
    """
    for decimals in range(precision, MAX_DECIMALS):
        texts = written(mine, decimals), written(other, decimals)
        if texts[0] != texts[1]:
            return texts
    return f"{mine:g}", f"{other:g}"

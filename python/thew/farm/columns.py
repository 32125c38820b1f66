# SPDX-License-Identifier: MIT OR Apache-2.0
"""Columns of a table: which there are, and their values."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any

from .. import InputError, SimulationSettings
from .table import RANGE

#: Columns that say what a job is; all others are settings.
TASKS = ("file", "object", "action", "frames", "target", "out")
#: Further settings of shots and of characters in a .blend: a value of their type each.
SHOT_SETTINGS: dict[str, Any] = {"softness": 0.5, "fps": 24.0, "preroll": 0, "cyclic": False, "modes": 32}
BLEND_SETTINGS: dict[str, Any] = {
    "softness": 0.5,
    "modes": 32,
    "cells_across": 10,
    "levels": 0,
    "settling": 1.0,
    "tremble": 1.0,
    "use_contact": False,
}
#: Settings that a .blend has no property for: Blender's flesh always takes their defaults.
NOT_IN_BLEND = ("adapt_strain", "form", "precision", "solver")
#: Results of a shot, and forms of bakes in a .blend; the first is the usual one.
SHOT_TARGETS = ("clip", "pc2", "mdd")
BLEND_TARGETS = ("shape_keys", "compressed", "helper_bones", "pc2", "mdd", "vertex_texture")

#: Notation of several values of a setting.
SEVERAL = f"several values stand as 0.3{RANGE}0.5 in CSV, and as [0.3, 0.5] in TOML"

_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def settings_of(kind: str) -> dict[str, Any]:
    """Returns a value of each setting of a `kind` of job ("shot" or "blend"), by name: the default, which shows the type."""
    own = SimulationSettings().as_dict()
    if kind == "shot":
        return own | SHOT_SETTINGS
    return {name: value for name, value in own.items() if name not in NOT_IN_BLEND} | BLEND_SETTINGS


def check_name(name: str, kind: str) -> None:
    """Raises InputError for a column that a `kind` of job does not have. The text proposes the nearest name."""
    known = settings_of(kind)
    if name in known or name in TASKS:
        return
    if kind == "blend" and name in NOT_IN_BLEND:
        raise InputError(f"“{name}” is a setting of shots alone: leave it out for a .blend")
    if kind == "shot" and name in BLEND_SETTINGS:
        raise InputError(f"“{name}” is built into a shot: give it to the .blend, and export the shot again")
    near = difflib.get_close_matches(name, [*TASKS, *known], 1, 0.5)
    raise InputError(f"there is no column “{name}”" + (f": is it “{near[0]}”?" if near else ""))


def values_of(name: str, value: Any, kind: str, text: bool) -> list[Any]:
    """Returns the values of one column in one row: several for a range. `text`: the value is a cell of a CSV file."""
    if text:
        return [_from_text(name, part.strip(), kind) for part in str(value).split(RANGE)]
    single = isinstance(value, list) and not (value and isinstance(value[0], list)) and _is_vector(name, kind)
    values = [value] if single or not isinstance(value, list) else value
    if not values:
        raise InputError(f"{name} has no value: give one, or leave it out")
    return [_from_toml(name, each, kind) for each in values]


def check_settings(settings: dict[str, Any], kind: str) -> None:
    """Raises InputError for settings that no simulation takes, as far as that can be told without the character."""
    own = SimulationSettings().as_dict()
    try:
        SimulationSettings(**{name: value for name, value in settings.items() if name in own})
    except TypeError as error:
        raise InputError(str(error)) from error
    if not 0.0 <= settings.get("softness", 0.5) <= 1.0:
        raise InputError(f"softness {settings['softness']:g}: choose 0 to 1")


def frames_of(value: Any) -> tuple[int, int] | None:
    """Returns first and last frame."""
    if value is None:
        return None
    if len(value) != 2 or any(each != int(each) for each in value):
        raise InputError("frames are two whole numbers, the first and the last one: 1 48")
    first, last = (int(each) for each in value)
    if last < first:
        raise InputError(f"frames {first} to {last}: the last comes before the first")
    return first, last


def targets_of(value: str | None, kind: str) -> tuple[str, ...]:
    """Returns the forms of the result: names joined by “+”. A shot always makes its clip."""
    known = SHOT_TARGETS if kind == "shot" else BLEND_TARGETS
    chosen = [word.strip().lower() for word in value.split("+")] if value else [known[0]]
    for word in chosen:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1, 0.5)
            raise InputError(f"there is no target “{word}”: take {near[0] if near else ', '.join(known)}")
    if kind == "blend" and len(chosen) > 1:
        raise InputError(f"target {value}: a .blend is baked in one form a row")
    return tuple(dict.fromkeys([known[0], *chosen])) if kind == "shot" else tuple(chosen)


def label(value: Any) -> str:
    """Returns a value as part of a file's name."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    if isinstance(value, (tuple, list)):
        return "_".join(label(each) for each in value)
    return safe_name(str(value))


def safe_name(text: str) -> str:
    """Returns text with nothing that a file's name should not have."""
    return re.sub(r"[^\w.+-]+", "_", text).strip("._") or "_"


def _is_vector(name: str, kind: str) -> bool:
    return name == "frames" or isinstance(settings_of(kind).get(name), (tuple, list))


def _from_text(name: str, word: str, kind: str) -> Any:
    default = settings_of(kind).get(name)
    if name == "frames":
        found = re.fullmatch(r"(-?\d+)(?:\s*(?:\.\.|:|,|-)\s*|\s+)(-?\d+)", word)
        if not found:
            raise InputError(f"frames “{word}”: write the first and the last one, as in 1 48")
        return [int(found[1]), int(found[2])]
    if name in TASKS or isinstance(default, str):
        return word
    if isinstance(default, bool):
        if word.lower() not in _TRUTHS:
            raise InputError(f"{name} “{word}”: write true or false")
        return _TRUTHS[word.lower()]
    if word.lower() == "none":
        return _typed(name, None, kind)
    vector = _is_vector(name, kind)
    try:
        numbers = [float(part) for part in (re.split(r"[\s,;]+", word) if vector else [word])]
    except ValueError:
        if re.fullmatch(r"[+-]?\d+,\d+", word):
            raise InputError(f"{name} “{word}”: write {word.replace(',', '.')}; {SEVERAL}") from None
        raise InputError(f"{name} “{word}” is not a number; {SEVERAL}") from None
    return _typed(name, numbers if vector else numbers[0], kind)


def _from_toml(name: str, value: Any, kind: str) -> Any:
    if name == "frames":
        if not (isinstance(value, list) and len(value) == 2 and all(type(each) is int for each in value)):
            raise InputError(f"frames {value}: write the first and the last one, as in [1, 48]")
        return value
    if name in TASKS:
        if not isinstance(value, str):
            raise InputError(f"{name} {value} is not a text")
        return value
    return _typed(name, None if value == "none" else value, kind)


def _typed(name: str, value: Any, kind: str) -> Any:
    """Returns a setting in the type of its default: whole numbers, numbers, three numbers, truths, texts."""
    default: Any = settings_of(kind).get(name)
    if isinstance(default, (bool, str)):
        if type(value) is not type(default):
            raise InputError(f"{name} {value} is not {'true or false' if isinstance(default, bool) else 'a text'}")
        return value
    if value is None:
        if default is not None:
            raise InputError(f"{name} cannot be none")
        return None
    if _is_vector(name, kind):
        if not (isinstance(value, list) and len(value) == len(default) and _are_numbers(value)):
            raise InputError(f"{name} {value} is not {len(default)} numbers")
        return tuple(float(each) for each in value)
    if not _are_numbers([value]):
        raise InputError(f"{name} {value} is not a number; {SEVERAL}")
    if isinstance(default, int):
        if value != int(value):
            raise InputError(f"{name} {value} is not a whole number")
        return int(value)
    return float(value)


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(each, (int, float)) and not isinstance(each, bool) and math.isfinite(each) for each in values)

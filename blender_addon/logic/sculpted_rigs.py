# SPDX-License-Identifier: GPL-3.0-or-later
"""Sculpted rigs as saved text: the core's samples with places and lengths in Blender's world at rest, as JSON.

The text is in the world's units and not in metres, so that it stays right when the character's real height changes.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import lru_cache
from typing import Any

import numpy as np

from .errors import Refusal
from .json_text import parse_json
from .spaces import MetricSpace

#: Digits of the numbers, as in rig files.
DIGITS = 5


def saved_text(thew: Any, native: Any, place: MetricSpace, names: dict[str, str] | None = None) -> str:
    """Returns the text to save of a native sculpted rig; `names`: the artist's names of bones by those of the rig, where they differ."""
    samples = tomllib.loads(thew.format_rigs([native]))["rigs"][0]["samples"]
    unit = 1.0 / place.metres_per_unit
    saved = json.dumps([_convert(sample, place.world, unit) for sample in samples])
    return renamed(saved, names) if names else saved


@lru_cache(maxsize=32)
def core_text(saved: str, origin: tuple[float, float, float], metres_per_unit: float) -> str:
    """Returns the samples of a saved text as the core reads them, in metres: the end of a rig's text after its name.

    Raises a `Refusal` for a text that is damaged.
    """
    place = MetricSpace(np.array(origin), metres_per_unit)
    try:
        samples = [_convert(sample, place.points, metres_per_unit) for sample in parse_json(saved)]
        return "\n".join(['kind = "sculpted"', *map(_sample_text, samples), ""])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refusal("Its saved shape is damaged: make the rig again") from error


def native_rig(thew: Any, samples: str, name: str, names: dict[str, str] | None = None) -> Any:
    """Returns the native rig of a `core_text`; `names`: the body's names of bones by those of the text, where they differ."""
    if names:
        samples = "\n".join(_with_names(line, names) for line in samples.split("\n"))
    return thew.parse_rigs(f"format = 1\n\n[[rigs]]\nname = {json.dumps(name)}\n{samples}")[0]


def native_of_samples(thew: Any, samples: list[dict[str, Any]]) -> Any:
    """Returns the native rig of samples in metres."""
    return native_rig(thew, "\n".join(['kind = "sculpted"', *map(_sample_text, samples), ""]), "Sculpt")


def widest_turns(saved: str) -> list[str]:
    """Returns the bones that the shape's pose turns, the one with the widest turn first."""
    try:
        turns: dict[str, float] = {}
        for sample in parse_json(saved):
            for bone, turn in sample.get("turns", {}).items():
                turns[bone] = max(turns.get(bone, 0.0), float(np.linalg.norm(turn)))
    except (ValueError, TypeError, AttributeError):
        return []
    return sorted(turns, key=lambda bone: -turns[bone])


@lru_cache(maxsize=32)
def bone_names(saved: str) -> tuple[str, ...]:
    """Returns the bones that a saved text names, each once; none for a text that is damaged."""
    try:
        samples = parse_json(saved)
        return tuple(sorted({name for each in samples for name in (*each.get("turns", ()), *each.get("bones", ()))}))
    except (ValueError, TypeError, AttributeError):
        return ()


def renamed(saved: str, names: dict[str, str]) -> str:
    """Returns a saved text with other names of bones, by the former ones."""
    samples = parse_json(saved)
    for sample in samples:
        if "turns" in sample:
            sample["turns"] = {names.get(bone, bone): turn for bone, turn in sample["turns"].items()}
        if "bones" in sample:
            sample["bones"] = [names.get(bone, bone) for bone in sample["bones"]]
    return json.dumps(samples)


@lru_cache(maxsize=32)
def whole_shape(saved: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Returns the points of the last sample of a saved text [m, 3], their offsets [m, 3], both at rest, and their bones; nothing for
    a text that is damaged.
    """
    try:
        sample = parse_json(saved)[-1]
        points, offsets = (np.array(sample[name], dtype=np.float64).reshape(-1, 3) for name in ("points", "offsets"))
        if len(points) == len(offsets) == len(sample["bones"]):
            return points, offsets, tuple(sample["bones"])
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        pass
    return np.empty((0, 3)), np.empty((0, 3)), ()


def _convert(sample: dict[str, Any], points, length: float) -> dict[str, Any]:
    """Returns a sample with its points mapped, and its offsets and areas scaled by a length."""
    if "points" not in sample:
        return dict(sample)
    return {
        **sample,
        "points": _rounded(points(np.array(sample["points"], dtype=np.float64).reshape(-1, 3))),
        "offsets": _rounded(np.array(sample["offsets"], dtype=np.float64).reshape(-1, 3) * length),
        "areas": _rounded(np.array(sample["areas"], dtype=np.float64) * length**2),
    }


def _rounded(numbers: np.ndarray) -> list:
    """Returns numbers as nested lists with few digits."""
    flat = [float(f"{number:.{DIGITS + 2}g}") for number in numbers.ravel().tolist()]
    return np.array(flat).reshape(numbers.shape).tolist()


def _with_names(line: str, names: dict[str, str]) -> str:
    """Returns a line of a `core_text` with other names of bones, the only strings in it."""
    if not line.startswith(("turns", "bones")):
        return line
    quoted = {json.dumps(name): json.dumps(other) for name, other in names.items()}
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: quoted.get(found[0], found[0]), line)


def _sample_text(sample: dict[str, Any]) -> str:
    """Returns a sample as the core reads it. Names are written as JSON, which TOML reads alike."""
    lines = ["", "[[rigs.samples]]"]
    for key, value in sample.items():
        if key == "turns":
            turns = ", ".join(f"{json.dumps(bone)} = {json.dumps(turn)}" for bone, turn in value.items())
            lines.append(f"turns = {{ {turns} }}")
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines)

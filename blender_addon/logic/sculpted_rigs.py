# SPDX-License-Identifier: GPL-3.0-or-later
"""Sculpted rigs as saved text: the core's samples with places and lengths in Blender's world at rest, as JSON.

The text is in the world's units and not in metres, so that it stays right when the character's real height changes.
"""

from __future__ import annotations

import json
import tomllib
from functools import lru_cache
from typing import Any

import numpy as np

from .errors import Refusal
from .json_text import parse_json
from .spaces import MetricSpace

#: Digits of the numbers, as in rig files.
DIGITS = 5


def saved_text(thew: Any, native: Any, place: MetricSpace) -> str:
    """Returns the text to save of a native sculpted rig."""
    samples = tomllib.loads(thew.format_rigs([native]))["rigs"][0]["samples"]
    unit = 1.0 / place.metres_per_unit
    return json.dumps([_convert(sample, place.world, unit) for sample in samples])


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


def native_rig(thew: Any, samples: str, name: str) -> Any:
    """Returns the native rig of a `core_text`."""
    return thew.parse_rigs(f"format = 1\n\n[[rigs]]\nname = {json.dumps(name)}\n{samples}")[0]


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

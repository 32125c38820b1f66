# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the command line: by their names in Python, as the properties that Blender saves."""

from __future__ import annotations

import difflib
import json
from typing import Any

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..saved.properties import ThewSettings
from ..scene import animation

#: Names in Python of settings whose property has another name, place or values; see `_special`.
SPECIAL = ("adapt", "engine", "gravity", "mass_damping", "max_offset", "stiffness_damping")


def parse(words: list[str]) -> dict[str, Any]:
    """Returns settings by name from words `NAME=VALUE`. Values are JSON; anything else is a text."""
    found: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise Refusal(f"--set {word}: write a name and a value, as in --set rate=480")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def apply(obj: bpy.types.Object, scene: bpy.types.Scene, given: dict[str, Any]) -> None:
    """Gives settings to an object, in place of the file's. Raises a `Refusal` for one that it does not have, or out of range."""
    for name, value in given.items():
        if name in SPECIAL:
            _special(obj, scene, name, value)
        else:
            _set(obj, obj.thew, name, value)
            if name == "softness":
                obj.thew.use_young = False  # the dial applies


def names() -> list[str]:
    """Returns the names that `apply` takes."""
    kinds = {"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"}
    own = [
        each.identifier
        for each in ThewSettings.bl_rna.properties
        if each.type in kinds and not each.is_readonly and each.identifier != "name"
    ]
    return sorted({*own, *SPECIAL})


def _special(obj: bpy.types.Object, scene: bpy.types.Scene, name: str, value: Any) -> None:
    match name:
        case "adapt":
            _set(obj, obj.thew, "adaptive", value != "none")
            if value != "none":
                _set(obj, obj.thew, "adapt_to", str(value).upper())
        case "engine":
            _set(obj, obj.thew, "engine", str(value).upper())
        case "gravity":
            scene.use_gravity = obj.thew.use_gravity = True
            _set(scene, scene, "gravity", value)
        case "mass_damping" | "stiffness_damping" if value in (None, "none"):
            _check_still(obj, obj.thew, name)
            obj.thew.property_unset(name)  # the body's own damping counts
        case "max_offset":
            _set(obj, obj.thew, "reach", 0.0 if value in (None, "none") else value)
        case _:
            _set(obj, obj.thew, name, value)


def _check_still(owner: bpy.types.ID, group: Any, name: str) -> None:
    """Raises a `Refusal` for a property that is keyed or driven: its curve would count, not the value."""
    path = name if group is owner else f"thew.{name}"
    if any(curve.data_path == path for curve in animation.curves(owner.animation_data)):
        raise Refusal(
            f"The setting {name} of {describe(owner)} is keyed or driven, so another value would change nothing: "
            "remove its keys or its driver, or leave the setting out"
        )


def _set(owner: bpy.types.ID, group: Any, name: str, value: Any) -> None:
    """Sets a property. Blender would bring a number into its range without a word."""
    known = group.bl_rna.properties.get(name)
    if known is None or (group is not owner and name not in names()):
        near = difflib.get_close_matches(name, names(), 1, 0.5)
        raise Refusal(f"There is no setting “{name}”" + (f": is it “{near[0]}”?" if near else ""))
    if known.type in {"INT", "FLOAT"}:
        numbers = value if isinstance(value, list) else [value]
        if any(isinstance(each, bool) or not isinstance(each, (int, float)) for each in numbers):
            raise Refusal(f"The setting {name} of {describe(owner)} is a number, not “{value}”")
        if not all(known.hard_min <= each <= known.hard_max for each in numbers):
            raise Refusal(
                f"The setting {name} of {describe(owner)} is {known.hard_min:g} to {known.hard_max:g}, not {value}"
            )
    _check_still(owner, group, name)
    try:
        setattr(group, name, value)
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise Refusal(f"The setting {name} of {describe(owner)} cannot be “{value}” ({reason})") from error

# SPDX-License-Identifier: GPL-3.0-or-later
"""The native rigs that push a body: as strong as their yields require, but never so strong that the flesh folds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ..logic.errors import sentence
from ..logic.native import core
from ..logic.spaces import MetricSpace
from ..saved.rigs import ThewRig
from ..saved.samples import CONTROL_TOLERANCE
from . import rigging
from .rigging import ResolvedRig, blame_rig, current_parameters

#: Share of the set strength above which no reduction is reported: it rounds to 100 %.
MIN_FULL_STRENGTH = 0.995


@dataclass(frozen=True)
class Pushers:
    """The native rigs of an object on one body, by rig index."""

    natives: dict[int, Any] = field(default_factory=dict)  # rigs that push
    faults: dict[int, str] = field(default_factory=dict)  # why other rigs, enabled and resolved, do not push
    notes: dict[int, str] = field(default_factory=dict)  # why rigs do less than they are set to
    body: Any = None
    cache: dict[tuple, tuple] = field(default_factory=dict)  # cached results by their inputs

    def functions(self) -> Any:
        """Returns the functions of the body that its rigs need together, bool [nodes]; None without rigs."""
        if not self.natives:
            return None
        return np.any([native.functions(self.body) for native in self.natives.values()], axis=0)

    @staticmethod
    def build(rigs: tuple[ResolvedRig, ...], body: Any, place: MetricSpace, before: Pushers | None = None) -> Pushers:
        """Builds the native rigs of `rigs` on `body`. Results that `before` has for it are reused."""
        known = before.cache if before is not None and before.body is body else {}
        found = Pushers(body=body)
        for rig in rigs:
            if not rig.on or rig.problem:
                continue
            key = (rig.essence, place.metres_per_unit, tuple(place.origin))
            native, fault, note = found.cache[key] = known.get(key) or make_native(rig, body, place)
            if native is not None:
                found.natives[rig.index] = native
            if fault:
                found.faults[rig.index] = fault
            if note:
                found.notes[rig.index] = note
        return found


def store_problems(obj: bpy.types.Object, flesh) -> None:
    """Sets at every rig of `obj` why it does not push its flesh, or does less than it is set to."""
    found = rigging.resolve_rigs(obj, flesh.character, flesh.bind_pose, flesh.place)
    pushing = Pushers.build(found, flesh.body, flesh.place)
    rigging.store_problems(obj, {**pushing.faults, **rigging.problems(found)}, pushing.notes)


def make_native(rig: ResolvedRig, body: Any, place: MetricSpace) -> tuple[Any, str, str]:
    """Returns (native rig or `None`, why it does not push, why it does less than it is set to)."""
    thew = core()
    try:
        native = rig.native(thew, place.metres_per_unit, body)
        doubts = native.check(body)
        if doubts:
            return None, blame_rig(rig.name, " ".join(sentence(doubt) for doubt in doubts)), ""
        kept = native.clamped(body)
    except thew.ThewError as error:
        return None, blame_rig(rig.name, str(error)), ""
    return kept, "", weakening_note(rig.name, native, kept)


def weakening_note(name: str, native: Any, kept: Any) -> str:
    """Returns the note that a rig is weakened because flesh would fold; "" if it is not. It tells of a strength, or of a muscle's contraction."""
    share, name_of_amount = 1.0, "contraction" if native.kind == "muscle" else "strength"
    for control, wanted in native.samples or [(None, native.parameters())]:
        if wanted.get(name_of_amount):
            share = min(share, kept.parameters(control)[name_of_amount] / wanted[name_of_amount])
    if share > MIN_FULL_STRENGTH:
        return ""
    return f"The rig “{name}” does {percent(share)} of what it is set to: flesh would fold beyond."


def percent(share: float) -> str:
    """Returns a share in words."""
    return f"{100.0 * share:.0f} %" if share >= 0.01 else "less than 1 %"


def forces(rig: ThewRig, native: Any, control: float, body: Any, metres_per_unit: float, functions: Any = None) -> Any:
    """Returns the generalised forces [nodes, 3] of a rig at a control value, with its draft if there is one.

    `functions`: those that all rigs need together, where the flesh has these alone.
    """
    if rig.draft and abs(rig.at - control) <= CONTROL_TOLERANCE:
        drafted = draft(rig, native, control, body, metres_per_unit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a contraction that is lowered is told once it is kept
            return native.forces(body, parameters=drafted, functions=functions)
    return native.forces(body, gamma=control, functions=functions)


def displayed_parameters(
    rig: ThewRig, native: Any, control: float, body: Any, metres_per_unit: float
) -> dict[str, float]:
    """Returns the native parameters, strength in N/m³, that are displayed at a control value."""
    if rig.draft and abs(rig.at - control) <= CONTROL_TOLERANCE:
        return draft(rig, native, control, body, metres_per_unit)
    return native.parameters(control)


def draft(rig: ThewRig, native: Any, control: float, body: Any, metres_per_unit: float) -> dict[str, float]:
    """Returns the native parameters of the sliders, with a strength that flesh bears."""
    parameters = current_parameters(rig, control, metres_per_unit)
    if "strength" not in parameters:
        return parameters
    if rig.strength_by == "YIELD" and parameters["strength"]:
        per_strength = native.compliance(body, parameters={**parameters, "strength": 1.0})
        parameters["strength"] = parameters["strength"] / per_strength if per_strength > 0.0 else 0.0
    if parameters["strength"]:
        least, most = native.strength_range(body, parameters=parameters)
        parameters["strength"] = min(max(parameters["strength"], least), most)
    return parameters


def amount(rig: ThewRig, native: Any, parameters: dict[str, float], body: Any) -> float:
    """Returns the strength of native parameters as the rig measures it: N/m³, or how far flesh yields, metres."""
    if rig.strength_by == "FORCE":
        return parameters["strength"]
    return parameters["strength"] * native.compliance(body, parameters=parameters)

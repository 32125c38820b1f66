# SPDX-License-Identifier: GPL-3.0-or-later
"""The measure of a rig's strength, a yield or a force: converts it without changing the rig's effect."""

from __future__ import annotations

import bpy

from ..logic.errors import Refusal
from ..logic.native import core
from ..logic.sliders import SLIDERS, native_parameters
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits, slider_values, sliders_of
from ..saved.slider_groups import values_of
from . import rigging


def measure(obj: bpy.types.Object, flesh, rig: ThewRig, by: str) -> None:
    """Converts the strengths of `rig` to the measure `by`, YIELD or FORCE, on the present flesh.

    Raises a `Refusal` if the flesh does not yield to the rig.
    """
    rigging.require_template(rig)
    unit = flesh.place.metres_per_unit

    def amount_of(native, row: tuple[float, ...]) -> float:
        """Returns the strength of some slider values in the new measure."""
        strength = row[SLIDERS.index("strength")]
        if not strength:
            return 0.0
        parameters = native_parameters(sliders_of(rig), row, unit)
        per_strength = native.compliance(flesh.body, parameters={**parameters, "strength": 1.0})
        if per_strength <= 0.0:
            raise Refusal(
                f"Bones hold all the flesh that the rig “{rig.name}” reaches, so that it yields no distance: make it "
                "larger, or keep its force"
            )
        return strength * per_strength / unit if by == "YIELD" else strength * unit / per_strength

    try:
        native = rigging.native_rig(obj, flesh, rig)
        amounts = [amount_of(native, values_of(sample.sliders)) for sample in rig.samples]
        slider = amount_of(native, slider_values(rig))
    except core().OutsideError as error:
        raise Refusal(f"The rig “{rig.name}” cannot be measured: {error}") from error
    with quiet_edits():
        rig.strength_by = by
        for sample, amount in zip(rig.samples, amounts, strict=True):
            sample.sliders.strength = amount
        rig.strength = slider
        rig.pull.preferred.strength = slider

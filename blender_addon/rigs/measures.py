# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rig's strength is kept by, a distance or a force: from one to the other with everything as strong as it was."""

from __future__ import annotations

import bpy

from ..logic.errors import Refusal
from ..logic.native import core
from ..logic.sliders import SLIDERS, native_parameters
from ..saved.rigs import ThewRig
from ..saved.samples import quietly, slider_values, sliders_of
from ..saved.slider_groups import values_of
from . import rigging


def measure(obj: bpy.types.Object, flesh, rig: ThewRig, by: str) -> None:
    """Keep the strengths of `rig`, on the flesh as it is, `by` YIELD or FORCE; refused where flesh does not yield to it."""
    unit = flesh.place.metres_per_unit

    def amount_of(native, row: tuple[float, ...]) -> float:
        """The strength of some slider values as it is measured from now on."""
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
    with quietly():
        rig.strength_by = by
        for sample, amount in zip(rig.samples, amounts, strict=True):
            sample.sliders.strength = amount
        rig.strength = slider
        rig.pull.preferred.strength = slider

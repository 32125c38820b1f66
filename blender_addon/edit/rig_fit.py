# SPDX-License-Identifier: GPL-3.0-or-later
"""Fit of a copied rig on the other character: what it misses there, as a part of what it is to do.

A sculpted rig is to move the skin as it moves that of its own character, which the map carries over; lattice and flesh decide how near it comes.
A force field is to move flesh in proportion to its size; how far it does depends on the flesh around it. A muscle's contraction is a
strain, the same on any body.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..logic import sculpted_rigs
from ..logic.native import EXPECTED_ERRORS, core
from ..logic.sculpt_fit import RestingSkin, missing_share
from ..logic.sliders import size_names
from ..rigs import pushers, rigging
from ..rigs.rigging import ResolvedRig, SculptAttachment
from .limb_guides import LimbOwner
from .rig_copies import RigCopy, SculptCopy
from .sculpting import statics


def fit(here: LimbOwner, there: LimbOwner, planned: RigCopy | SculptCopy, link: Any = None) -> float | None:
    """Returns the part by which a rig misses on the other character what it does on its own, 0 for a perfect fit; None where there is nothing
    to measure. link: the `thew.Correspondence` by which a sculpted rig is copied.
    """
    measure = FITS_BY_KIND[planned.rig.kind]
    if measure is None:
        return None
    try:
        rigs = zip((here, there), resolved_pair(here, there, planned), strict=True)
        natives = [pushers.make_native(rig, side.flesh.body, side.flesh.place)[0] for side, rig in rigs]
        if any(native is None for native in natives):
            return None
        return measure((here, there), natives, link)
    except EXPECTED_ERRORS:  # a rig that cannot push says so itself
        return None


def resolved_pair(here: LimbOwner, there: LimbOwner, planned: RigCopy | SculptCopy) -> tuple[ResolvedRig, ResolvedRig]:
    """Returns a rig as it is, and as it will be on the other character."""
    flesh, place = here.flesh, there.flesh.place
    source = rigging.resolve_rig(here.obj, flesh.character, flesh.bind_pose, flesh.place, planned.rig)
    if isinstance(planned, SculptCopy):
        origin = tuple(float(x) for x in place.origin)
        text = sculpted_rigs.core_text(planned.sculpt, origin, place.metres_per_unit)
        return source, replace(source, attachment=SculptAttachment(text, tuple(there.flesh.character.bones)))
    samples = zip((sample.control for sample in planned.rig.samples), map(tuple, planned.samples), strict=True)
    return source, replace(
        source, attachment=planned.attachment, samples=tuple(sorted(samples)), values=tuple(planned.row)
    )


def sculpt_fit(sides: tuple[LimbOwner, LimbOwner], natives: list[Any], link: Any) -> float | None:
    """Returns how far the skin is from the way that it goes on the first character, over that way."""
    flesh = [side.flesh for side in sides]
    skins = [RestingSkin(each.body, each.character.weights, *statics(each)) for each in flesh]
    here, there = zip(natives, skins, strict=True)
    return missing_share(core(), here, there, link)


def force_fit(sides: tuple[LimbOwner, LimbOwner], natives: list[Any], _link: Any) -> float | None:
    """Returns how far the flesh gives way, beside as far as there in proportion to the field's size: the difference as a part of it."""
    pairs = list(zip(sides, natives, strict=True))
    ways = [np.abs(native.peak_displacements(side.flesh.body)) for side, native in pairs]
    strongest = int(np.argmax(ways[0]))
    size = size_names(natives[0].template.kind.upper())[0]
    sizes = [sample_of(native, strongest)[size] for native in natives]
    wanted = ways[0][strongest] * sizes[1] / sizes[0]
    return float(abs(ways[1][strongest] - wanted) / wanted) if wanted > 0.0 else None


def sample_of(native: Any, index: int) -> dict[str, float]:
    """Returns the parameters of a rig's sample, or its own where it has none."""
    return native.samples[index][1] if native.samples else native.parameters()


#: Measures of the fit of a rig, by its kind; None where nothing tells.
FITS_BY_KIND = {"FORCE": force_fit, "SCULPTED": sculpt_fit, "MUSCLE": None}


def fit_text(share: float) -> str:
    """Returns a fit in words."""
    return f"fits to {pushers.percent(share)}" if share < 1.0 else "does not fit"

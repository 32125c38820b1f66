# SPDX-License-Identifier: GPL-3.0-or-later
"""Sliders of a rig and its samples: recorded values, values at a control, and the effect of edits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

from ..logic.sliders import GUIDE_SLIDERS, MUSCLE_SLIDERS, SLIDERS, TEMPLATE_SLIDERS
from .slider_groups import set_values, values_of

if TYPE_CHECKING:
    from .rigs import ThewRig, ThewRigSample

#: Controls nearer than this are equal. More than a hundred times the rounding of single precision, in which properties are kept.
CONTROL_TOLERANCE = 1e-5

_quiet_depth = 0  # number of our own edits under way


@contextmanager
def quiet_edits() -> Iterator[None]:
    """Marks edits within the context as our own: no callback reacts to them."""
    global _quiet_depth
    _quiet_depth += 1
    try:
        yield
    finally:
        _quiet_depth -= 1


def is_quiet() -> bool:
    """Returns whether the present edit is ours."""
    return _quiet_depth > 0


#: The sliders that a rig uses, by its kind.
SLIDERS_BY_KIND = {
    "FORCE": lambda rig: TEMPLATE_SLIDERS[rig.template] + GUIDE_SLIDERS[rig.guide],
    "SCULPTED": lambda rig: (),
    "MUSCLE": lambda rig: MUSCLE_SLIDERS,
}


def sliders_of(rig: ThewRig) -> tuple[str, ...]:
    """Returns the sliders that a rig uses, in the order of the native parameters."""
    return SLIDERS_BY_KIND[rig.kind](rig)


def slider_values(rig: ThewRig) -> tuple[float, ...]:
    """Returns the present sliders, all of `SLIDERS`."""
    return values_of(rig)


def recorded_samples(rig: ThewRig) -> tuple[tuple[float, tuple[float, ...]], ...]:
    """Returns the samples by rising control: (control, all `SLIDERS`)."""
    return tuple(sorted(((s.control, values_of(s.sliders)) for s in rig.samples), key=lambda sample: sample[0]))


def sample_at(rig: ThewRig, control: float) -> ThewRigSample | None:
    """Returns the sample recorded at that control value."""
    return next((sample for sample in rig.samples if abs(sample.control - control) <= CONTROL_TOLERANCE), None)


def values_at(rig: ThewRig, control: float) -> tuple[float, ...]:
    """Returns all of `SLIDERS` recorded for a control value: blended between samples, constant outside.

    A rig without samples has its present sliders everywhere.
    """
    samples = recorded_samples(rig)
    if not samples:
        return slider_values(rig)
    if not control > samples[0][0]:
        return samples[0][1]
    for (low, before), (high, after) in pairwise(samples):
        if control <= high:
            part = (control - low) / (high - low) if high > low else 1.0
            return tuple(a + part * (b - a) for a, b in zip(before, after, strict=True))
    return samples[-1][1]


def current_values(rig: ThewRig, control: float) -> tuple[float, ...]:
    """Returns the values in the settled view at a control value: the draft if it is there, else the recorded ones."""
    if rig.draft and abs(rig.at - control) <= CONTROL_TOLERANCE:
        return slider_values(rig)
    return values_at(rig, control)


def set_sliders(rig: ThewRig, values: dict[str, float]) -> None:
    """Sets sliders in one go, as if the artist had: the sample at the control follows, or they become a draft.

    Calls no callback: the caller shows the result.
    """
    with quiet_edits():
        for name, value in values.items():
            setattr(rig, name, value)
    keep_sliders(rig)


def keep_sliders(rig: ThewRig) -> None:
    """Stores edited sliders in the sample at the control, or marks them as a draft."""
    rig.fit = -1.0
    with quiet_edits():
        rig.at = rig.control
        sample = sample_at(rig, rig.control)
        if sample is not None:
            set_values(sample.sliders, slider_values(rig))
        rig.draft = sample is None and len(rig.samples) > 0


def show_sliders(rig: ThewRig) -> None:
    """Sets the sliders to the recorded values at the control's present value."""
    with quiet_edits():
        values = values_at(rig, rig.control)
        for name, value in zip(SLIDERS, values, strict=True):
            if getattr(rig, name) != value:
                setattr(rig, name, value)
        rig.at, rig.draft = rig.control, False


def record(rig: ThewRig) -> None:
    """Stores the sliders as the sample at the control's present value; samples stay in order."""
    rig.fit = -1.0
    with quiet_edits():
        sample = sample_at(rig, rig.control)
        if sample is None:
            place = sum(other.control < rig.control for other in rig.samples)
            sample = rig.samples.add()
            sample.control = rig.control
            rig.samples.move(len(rig.samples) - 1, place)
            sample = rig.samples[place]
        set_values(sample.sliders, slider_values(rig))
        rig.at, rig.draft = rig.control, False
        rig.active_sample = next(i for i, s in enumerate(rig.samples) if s == sample)


def start_samples(rig: ThewRig) -> None:
    """Creates the samples of a new rig: strength or contraction zero at 0, the sliders at 1; the control is set to 1."""
    effect = "contraction" if rig.kind == "MUSCLE" else "strength"
    with quiet_edits():
        rig.samples.clear()
        for control in (0.0, 1.0):
            sample = rig.samples.add()
            sample.control = control
            set_values(sample.sliders, slider_values(rig))
            setattr(sample.sliders, effect, control * getattr(rig, effect))
        rig.control = rig.at = 1.0
        rig.active_sample, rig.draft = 1, False
        set_values(rig.pull.preferred, slider_values(rig))

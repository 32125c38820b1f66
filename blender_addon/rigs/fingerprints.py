# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprints of rigs: values that differ if anything in the rigs' forces has changed."""

from __future__ import annotations

import math

import bpy

from ..saved.rigs import are_in_force
from ..saved.samples import recorded_samples, slider_values
from ..scene.reading import armature_of
from ..scene.rig_controls import are_animated, broken_drivers
from .anchors import find_bone, find_insertion, renamed_bones


def fingerprint(obj: bpy.types.Object) -> tuple:
    """Returns everything that the rigs' forces depend on, as far as it is cheap to read; () for an object without rigs.

    Each rig has an attachment, then its numbers.
    """
    rigs = obj.thew.rigs
    if not len(rigs):
        return ()
    armature, moved, broken = armature_of(obj), are_animated(obj), broken_drivers(obj)
    prints = []
    for i, (rig, on) in enumerate(zip(rigs, are_in_force(obj), strict=True)):
        if rig.kind == "SCULPTED":
            hangs = (rig.sculpt, *(() if armature is None else renamed_bones(armature, rig).values()))
        elif rig.kind == "MUSCLE":
            hangs = () if armature is None else (find_bone(armature, rig), find_insertion(armature, rig))
        elif rig.guide == "BONE":
            hangs = (find_bone(armature, rig) if armature is not None else "",)
        elif rig.guide == "SKIN":
            hangs = (rig.face, rig.face_token, tuple(rig.barycentric))
        else:
            hangs = tuple(rig.matrix)
        samples = recorded_samples(rig)
        values = () if samples else slider_values(rig)
        numbers = (samples, values, None if moved[i] else rig.control) if on else ()
        kind = (rig.kind, rig.template, rig.guide, rig.strength_by, rig.layout, str(rig.firmness))
        prints.append(((on, *kind, self_equal(hangs), broken.get(i, "")), self_equal(numbers)))
    return tuple(prints)


def self_equal(numbers: tuple) -> tuple | str:
    """Returns a tuple that is equal to itself: as text if it contains a NaN."""
    return numbers if are_finite(numbers) else repr(numbers)


def attachments(prints: tuple) -> tuple:
    """Returns the attachments in a fingerprint."""
    return tuple(attachment for attachment, _ in prints)


def rig_inputs(prints: tuple) -> tuple:
    """Returns the inputs of the native rigs in a fingerprint: all but the values of controls."""
    return tuple((attachment, numbers[:2] if isinstance(numbers, tuple) else numbers) for attachment, numbers in prints)


def are_finite(numbers: tuple) -> bool:
    """Returns whether all numbers in nested tuples are finite. Strings and `None` count as finite."""
    return all(
        are_finite(each) if isinstance(each, tuple) else not isinstance(each, float) or math.isfinite(each)
        for each in numbers
    )

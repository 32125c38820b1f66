# SPDX-License-Identifier: GPL-3.0-or-later
"""What rigs push by, as numbers to compare: whether anything of it has changed."""

from __future__ import annotations

import math

import bpy

from ..saved.rigs import in_force
from ..saved.samples import recorded, slider_values
from ..scene.reading import armature_of
from ..scene.rig_controls import animated, broken_drivers
from .anchors import found_bone


def fingerprint(obj: bpy.types.Object) -> tuple:
    """Everything that the rigs' pushes depend on, as far as it can be told cheaply; () for an object without rigs.

    For each rig what it hangs on, then its numbers.
    """
    rigs = obj.thew.rigs
    if not len(rigs):
        return ()
    armature, moved, broken = armature_of(obj), animated(obj), broken_drivers(obj)
    prints = []
    for i, (rig, on) in enumerate(zip(rigs, in_force(obj), strict=True)):
        if rig.guide == "BONE":
            hangs = (found_bone(armature, rig) if armature is not None else "",)
        elif rig.guide == "SKIN":
            hangs = (rig.face, rig.face_token, tuple(rig.barycentric))
        else:
            hangs = tuple(rig.matrix)
        samples = recorded(rig)
        values = () if samples else slider_values(rig)
        numbers = (samples, values, None if moved[i] else rig.control) if on else ()
        kind = (rig.template, rig.guide, rig.strength_by, rig.layout)
        prints.append(((on, *kind, steady(hangs), broken.get(i, "")), steady(numbers)))
    return tuple(prints)


def steady(numbers: tuple) -> tuple | str:
    """The same, but equal to itself: as text where something is not a number."""
    return numbers if finite(numbers) else repr(numbers)


def attachments(prints: tuple) -> tuple:
    """Of a fingerprint, what the rigs hang on."""
    return tuple(attachment for attachment, _ in prints)


def essences(prints: tuple) -> tuple:
    """Of a fingerprint, what the native rigs are made from: all but where controls stand."""
    return tuple((attachment, numbers[:2] if isinstance(numbers, tuple) else numbers) for attachment, numbers in prints)


def finite(numbers: tuple) -> bool:
    """Whether all numbers in nested tuples are finite; names and nothings are."""
    return all(
        finite(each) if isinstance(each, tuple) else not isinstance(each, float) or math.isfinite(each)
        for each in numbers
    )

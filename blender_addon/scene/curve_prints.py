# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprints of F-curves and their drivers, for comparison."""

from __future__ import annotations

import bpy
import numpy as np

from .mesh import numbers

#: Properties of modifiers that change nothing but the interface.
SHOWN = {"show_expanded", "active"}


def curve_print(curve: bpy.types.FCurve) -> tuple:
    """Returns a fingerprint of a curve and its driver."""
    points = curve.keyframe_points
    read = [numbers(points, name, 2) for name in ("co", "handle_left", "handle_right")]
    read.append(numbers(points, "interpolation", dtype=np.int32))
    given = (curve.data_path, curve.mute, curve.extrapolation, tuple(modifier_print(m) for m in curve.modifiers))
    driver, sources = curve.driver, ()
    if driver is not None:
        sources = (driver.type, driver.expression, *(source_print(v) for v in driver.variables))
    return (*given, *(each.tobytes() for each in read), sources)


def modifier_print(modifier: bpy.types.FModifier) -> tuple:
    """Returns a fingerprint of a curve's modifier: its kind and its settings, those of the interface left out."""
    values: list = []
    for prop in modifier.bl_rna.properties:
        if prop.identifier in SHOWN or prop.type in {"POINTER", "COLLECTION", "STRING"}:
            continue
        value = getattr(modifier, prop.identifier)
        values.append(tuple(value) if getattr(prop, "is_array", False) else value)
    points = getattr(modifier, "control_points", ())  # of an envelope
    return (*values, *((point.frame, point.min, point.max) for point in points))


def source_print(variable: bpy.types.DriverVariable) -> tuple:
    """Returns a fingerprint of the targets that a driver's variable reads."""
    return variable.type, *(
        (target.id.session_uid if target.id else 0, target.bone_target, target.data_path, target.transform_type)
        + (target.transform_space, target.rotation_mode)
        for target in variable.targets
    )

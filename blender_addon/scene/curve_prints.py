# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprints of F-curves and their drivers, for comparison."""

from __future__ import annotations

import bpy
import numpy as np

from .mesh import numbers


def curve_print(curve: bpy.types.FCurve) -> tuple:
    """Returns a fingerprint of a curve and its driver."""
    points = curve.keyframe_points
    read = [numbers(points, name, 2) for name in ("co", "handle_left", "handle_right")]
    read.append(numbers(points, "interpolation", dtype=np.int32))
    given = (curve.data_path, curve.mute, curve.extrapolation, tuple(m.type for m in curve.modifiers))
    driver, sources = curve.driver, ()
    if driver is not None:
        sources = (driver.type, driver.expression, *(source_print(v) for v in driver.variables))
    return (*given, *(each.tobytes() for each in read), sources)


def source_print(variable: bpy.types.DriverVariable) -> tuple:
    """Returns a fingerprint of the targets that a driver's variable reads."""
    return variable.type, *(
        (target.id.session_uid if target.id else 0, target.bone_target, target.data_path, target.transform_type)
        + (target.transform_space, target.rotation_mode)
        for target in variable.targets
    )

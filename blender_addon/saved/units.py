# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's units in metres, lengths as the scene displays them, and lengths on a character's real height in the scene.

The scale of one character's body, whose real height need not be the scene's, is in `logic.spaces.MetricSpace`.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.spaces import relative_sizes


def metres_per_unit(scene: bpy.types.Scene) -> float:
    """Returns the length of a unit of the scene, metres."""
    return scene.unit_settings.scale_length


def length(value: float, precision: int = 3) -> str:
    """Returns a length in scene units as Blender's own fields show it: `3.2 m`, `25 cm`, `1 ft`, or a bare number without units."""
    scene = bpy.context.scene
    system = scene.unit_settings.system
    if system == "NONE":
        return f"{value:.{precision}g}"
    return bpy.utils.units.to_string(system, "LENGTH", value * metres_per_unit(scene), precision=precision)


def scene_scale(obj: bpy.types.Object) -> float:
    """Returns the length in the scene of a length on a character's real height, over that; 1 where its size is unknown."""
    body = obj.thew.body if obj.thew.made.rides and obj.thew.body is not None else obj
    made, height = body.thew.made, body.thew.height()
    if not made.flesh or made.longest_side <= 0.0 or height <= 0.0:
        return 1.0
    now = np.array(body.matrix_world, dtype=np.float64)
    grown = abs(float(relative_sizes(np.array(made.mesh_rest).reshape(4, 4), now)[0]))
    grown = grown if 0.0 < grown < np.inf else 1.0
    return grown * made.longest_side * metres_per_unit(bpy.context.scene) / height


#: Smallest part by which the height in the scene differs from the real one, from where both are told.
MIN_SCALE_DIFFERENCE = 0.01


def is_scaled(obj: bpy.types.Object) -> bool:
    """Returns whether a character is visibly larger or smaller in the scene than on its real height."""
    return abs(scene_scale(obj) - 1.0) > MIN_SCALE_DIFFERENCE

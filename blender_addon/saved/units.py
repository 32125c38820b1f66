# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's units in metres, and lengths as the scene displays them.

The scale of one character's body, whose real height need not be the scene's, is in `logic.spaces.MetricSpace`.
"""

from __future__ import annotations

import bpy


def metres_per_unit(scene: bpy.types.Scene) -> float:
    """Returns the length of a unit of the scene, metres."""
    return scene.unit_settings.scale_length


def length(value: float) -> str:
    """Returns a length in scene units as Blender's own fields show it: `3.2 m`, `25 cm`, `1 ft`, or a bare number without units."""
    scene = bpy.context.scene
    system = scene.unit_settings.system
    if system == "NONE":
        return f"{value:.3g}"
    return bpy.utils.units.to_string(system, "LENGTH", value * metres_per_unit(scene), precision=3)

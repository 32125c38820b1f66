# SPDX-License-Identifier: GPL-3.0-or-later
"""Lengths in sentences, in the units that the scene shows them in."""

from __future__ import annotations

import bpy


def length(value: float) -> str:
    """A length in scene units, as Blender's own fields would show it: `3.2 m`, `25 cm`, `1 ft`, or a bare number without units."""
    settings = bpy.context.scene.unit_settings
    if settings.system == "NONE":
        return f"{value:.3g}"
    return bpy.utils.units.to_string(settings.system, "LENGTH", value * settings.scale_length, precision=3)

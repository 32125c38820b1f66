# SPDX-License-Identifier: GPL-3.0-or-later
"""Damping settings of an object."""

from __future__ import annotations

from bpy.props import FloatProperty

from .edit_callbacks import setting


class DampingProperties:
    """Mix-in of the class that saves the damping properties.

    The body's own damping follows from how quickly it swings; the artist's factors scale it.
    """

    settling: setting(
        FloatProperty,
        "Settling",
        "Damping of swings: at 1 they die away within about a second and a quarter, or five swings if that is "
        "quicker; at 2, twice as fast",
        default=1.0,
        min=0.0,
        max=20.0,
        soft_max=4.0,
    )
    tremble: setting(
        FloatProperty,
        "Tremble",
        "Amount of quick tremble that is left: at 2 half as much of it is damped, at 0.5 twice as much",
        default=1.0,
        min=0.01,
        max=20.0,
        soft_min=0.25,
        soft_max=4.0,
    )
    # Values of files and scripts that set damping in numbers: they apply once they are set.
    mass_damping: setting(
        FloatProperty,
        "Slow Damping",
        "Damping of slow swings, per second, relative to the skinned motion, in place of Settling",
        default=2.0,
        min=0.0,
        max=200.0,
        soft_max=20.0,
    )
    stiffness_damping: setting(
        FloatProperty,
        "Fast Damping",
        "Damping of quick tremble, in seconds, in place of Tremble",
        default=0.004,
        min=0.0,
        max=1.0,
        soft_max=0.05,
        step=0.1,
        precision=4,
        subtype="TIME_ABSOLUTE",
    )

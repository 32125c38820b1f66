# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches of drawings in the view that belong to no setting."""

from __future__ import annotations

from bpy.props import BoolProperty


class OverlayProperties:
    """Mix-in for the settings of an object."""

    show_limits: BoolProperty(
        name="Show What Stiffens",
        description="Colour the character by what takes the most of its motion: Rigid, paint, the automatic map, thin flesh, limits, bones "
        "and too little Detail",
        default=False,
        options=set(),
    )

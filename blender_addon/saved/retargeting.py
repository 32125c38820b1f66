# SPDX-License-Identifier: GPL-3.0-or-later
"""A row of the table of bones that correspond, in the dialog that copies rigs to another character."""

import bpy
from bpy.props import StringProperty


class ThewBonePair(bpy.types.PropertyGroup):
    """Two bones that correspond. A row with an empty side is found anew by shape and names."""

    source: StringProperty(name="From", description="Bone of the character that has the rigs; empty: found anew")
    target: StringProperty(name="To", description="Bone of the character that gets them; empty: found anew")


CLASSES = (ThewBonePair,)

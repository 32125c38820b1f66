# SPDX-License-Identifier: GPL-3.0-or-later
"""Dynamic bones: selected bones follow their flesh, as keys on the armature."""

from __future__ import annotations

import math

import bpy
from bpy.props import FloatProperty, StringProperty

from ..edit import following
from ..live.session import register as fleshes
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import plural
from ..scene.reading import armature_of
from .operator_bases import QuickJob, fresh_property, option


class THEW_OT_follow_bones(QuickJob, bpy.types.Operator):
    bl_label = "Let Bones Follow"
    bl_description = (
        "Let the selected bones of the armature, and all below them, swing with their flesh: a tail, an ear, a pigtail. Their rotations are "
        "keyed over the simulated frames; their animation is the pose to which they spring back. Undo takes the keys away"
    )

    bones: fresh_property(
        StringProperty, "Bones", "Names of the bones, separated by commas; empty: those selected in pose mode"
    )
    firmness: option(
        FloatProperty,
        "Firmness",
        "Factor on the stiffness of the flesh around the bones: more swings quicker and less far",
        default=8.0,
        min=0.1,
        max=100.0,
        soft_min=1.0,
    )
    limit: option(
        FloatProperty,
        "Limit",
        "Largest turn of a bone against the one above, beyond its animation",
        default=math.pi,
        min=0.0,
        max=math.pi,
        subtype="ANGLE",
        unit="ROTATION",
    )

    def edit(self, context, obj):
        armature = armature_of(obj)
        if armature is None:
            raise Refusal(f"{describe(obj)} has no armature whose bones could follow: give it an Armature modifier")
        flesh = fleshes.known_state(obj)
        if flesh is None or flesh.body is None or flesh.clip is None:
            raise Refusal(f"{describe(obj)} has no simulated flesh to follow: press Simulate first")
        names = [name.strip() for name in self.bones.split(",") if name.strip()] or following.selected_bones(armature)
        if not names:
            raise Refusal(f"No bone is to follow the flesh: select bones of {describe(armature)} in pose mode")
        moved, frames = following.follow(context.scene, armature, flesh, names, self.firmness, self.limit)
        return (
            f"{plural(len(moved), 'bone')} of {describe(armature)} {'follows' if len(moved) == 1 else 'follow'} the flesh over "
            f"{plural(frames, 'frame')}: press Simulate, so that flesh sways on the moved bones."
        )

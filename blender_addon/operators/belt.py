# SPDX-License-Identifier: GPL-3.0-or-later
"""A belt: a ring of skin around a bone, held at a girth by a pin that follows the bone."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.props import FloatProperty, StringProperty

from ..live import updates
from ..logic.errors import Refusal
from ..logic.names import describe, free_name
from ..logic.sentences import plural
from ..saved.edit_callbacks import call_on_change
from ..scene import belts
from ..scene.pins import points_at, target_matrix
from ..scene.reading import active_bone, armature_of
from .operator_bases import QuickJob, fresh_property, option
from .pin import add, check, leave_edit_mode, remove


class THEW_OT_pin_belt(QuickJob, bpy.types.Operator):
    bl_label = "Belt"
    bl_description = (
        "Hold a ring of the skin around the active bone of the armature, as tight as Girth says: a belt, a collar, a bracelet. The ring is "
        "where a plane across the bone cuts the skin as it is shown now; Height along Bone moves it"
    )

    bone: fresh_property(StringProperty, "Bone", "Bone that carries the belt; empty: the active, selected one")
    along: option(
        FloatProperty,
        "Height along Bone",
        "Where the belt lies: 0 at the head of the bone, 1 at its tail",
        default=0.5,
        soft_min=0.0,
        soft_max=1.0,
        min=-2.0,
        max=3.0,
        step=1,
    )
    girth: option(
        FloatProperty,
        "Girth",
        "Share of the present girth at which the skin is held; less is tighter. Flesh gives way by no more than six tenths of its "
        "thickness. It can be keyed in the list of pins",
        default=0.95,
        min=0.5,
        max=1.5,
        step=1,
        subtype="FACTOR",
    )
    width: option(
        FloatProperty,
        "Width",
        "Width of the belt; 0: one row of vertices",
        default=0.0,
        min=0.0,
        subtype="DISTANCE",
        unit="LENGTH",
    )

    def edit(self, context, obj):
        check(obj)
        updates.stop_update()
        armature = armature_of(obj)
        if armature is None:
            raise Refusal(
                f"{describe(obj)} has no armature, so a belt has no bone to follow: give it an Armature modifier"
            )
        bone = self.bone or active_bone(armature)
        if not bone:
            raise Refusal(
                f"No bone carries the belt: select a bone of {describe(armature)} in pose mode, then press Belt"
            )
        leave_edit_mode(context, obj)
        depsgraph = context.evaluated_depsgraph_get()
        held = belts.find(obj, armature, bone, (self.along, self.width), depsgraph)
        pin = add(obj, free_name("Belt", [each.name for each in obj.thew.pins]), None, armature, bone)
        try:
            pin.girth = self.girth
            matrix = target_matrix(pin, depsgraph)
            pin.points = points_at(obj, held.vertices, held.places, matrix).text()
            pin.belt_axis = np.linalg.solve(matrix[:3, :3], held.axis)
        except Exception:
            remove(obj, len(obj.thew.pins) - 1)
            raise
        call_on_change(pin, context)
        return f"A ring of {plural(len(held.vertices), 'vertex', 'vertices')} of {describe(obj)} is held by the bone “{bone}”."

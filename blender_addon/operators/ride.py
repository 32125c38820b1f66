# SPDX-License-Identifier: GPL-3.0-or-later
"""Ride on Body: clothes, eyes and hair move with the flesh below them."""

import bpy

from ..live import handlers, riding, target, updates
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import listed
from ..scene import windows
from .shell import Job


class THEW_OT_ride(Job, bpy.types.Operator):
    bl_idname = "thew.ride"
    bl_label = "Ride on Body"
    bl_description = (
        "Let the selected clothes, eyes or hair move with the flesh of the active mesh; of one mesh alone, with the flesh of "
        "the body chosen in its panel"
    )
    bl_options = {"REGISTER", "UNDO"}

    wanted = "Select clothes or eyes, then the body"

    def invoke(self, context, _event):
        return self.execute(context)

    def execute(self, context):
        active = context.view_layer.objects.active
        try:
            riders, body = pairs(context)
            updates.stop_update()
            for obj in riders:
                riding.check(obj, body)
            for obj in riders:
                riding.mount(obj, body, context.view_layer)
            handlers.look_up(context.scene)
        except Exception as error:
            return self.refuse(active, error)
        windows.redraw()
        names = listed([describe(obj) for obj in riders])
        self.report({"INFO"}, f"{names} {'rides' if len(riders) == 1 else 'ride'} on {describe(body)}.")
        for obj in riders:
            if obj.thew.made.notes:
                self.report({"WARNING"}, obj.thew.made.notes + ".")
        return {"FINISHED"}


def pairs(context) -> tuple[list[bpy.types.Object], bpy.types.Object]:
    """Who shall ride, and on what: the selection on the active body, or the active mesh on the body chosen for it."""
    active = target.of(context)
    if active.type == "MESH" and active.thew.made.flesh:
        riders = [obj for obj in context.selected_objects if obj.type == "MESH" and obj != active]
        if not riders:
            raise Refusal(f"Nothing but {describe(active)} is selected: select clothes or eyes too, and the body last")
        return riders, active
    return [active], active.thew.body if active.type == "MESH" else None


CLASSES = (THEW_OT_ride,)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Ride on Body: clothes, eyes and hair move with the flesh below them."""

import bpy
from bpy.props import StringProperty

from ..languages.translations import report
from ..live import playback, riding, target, updates, whole_character
from ..logic.errors import Refusal, sentence
from ..logic.names import describe
from ..logic.sentences import join_words
from .operator_bases import QuickJob, fresh_property


class THEW_OT_ride(QuickJob, bpy.types.Operator):
    bl_label = "Ride on Body"
    bl_description = (
        "Let the selected clothes, eyes or hair move with the flesh of the active mesh, or a single mesh with the "
        "body chosen in its panel"
    )

    poll_message = "Select clothes or eyes, then the body"

    rider: fresh_property(StringProperty, "Rider", "Mesh to ride on the active body; empty: the selected ones")

    body: fresh_property(
        StringProperty, "Body", "Mesh with flesh for the active one to ride on; empty: the one chosen in its panel"
    )

    def invoke(self, context, _event):
        active = target.target_mesh(context)
        if not self.body and active.type == "MESH" and active.thew.body is None and not active.thew.made.flesh:
            proposed = whole_character.body_for(active, context.scene)
            self.body = "" if proposed is None else proposed.name
        return self.execute(context)

    def edit(self, context, _obj):
        riders, body = riders_and_body(context, self.rider, self.body)
        updates.stop_update()
        for obj in riders:
            riding.check(obj, body)
        for obj in riders:
            riding.mount(obj, body, context.view_layer)
            obj.thew.made.along = False
        playback.look_up(context.scene)
        for obj in riders:
            if obj.thew.made.notes:
                report(self, {"WARNING"}, sentence(obj.thew.made.notes))
        names = join_words([describe(obj) for obj in riders])
        return f"{names} {'rides' if len(riders) == 1 else 'ride'} on {describe(body)}."


def riders_and_body(context, rider: str = "", body: str = "") -> tuple[list[bpy.types.Object], bpy.types.Object]:
    """Returns (riders, body).

    With a body active, these are the mesh called `rider`, or the selection, and the active mesh. Otherwise, the active
    mesh and the one called `body`, or the one chosen for it.
    """
    active = target.target_mesh(context)
    if active.type == "MESH" and active.thew.made.flesh:
        riders = [obj for obj in context.selected_objects if obj.type == "MESH" and obj != active]
        if rider:
            riders = [mesh_named(context.scene, rider)]
        if not riders:
            raise Refusal(f"Nothing but {describe(active)} is selected: select clothes or eyes too, and the body last")
        return riders, active
    if body:
        return [active], mesh_named(context.scene, body)
    return [active], active.thew.body if active.type == "MESH" else None


def mesh_named(scene, name: str) -> bpy.types.Object:
    """Returns the mesh of this name in the scene. Raises a `Refusal` if it is missing."""
    obj = scene.objects.get(name)
    if obj is None or obj.type != "MESH":
        raise Refusal(f"There is no mesh “{name}” in the scene: choose one of its meshes")
    return obj


class THEW_OT_ride_off(QuickJob, bpy.types.Operator):
    bl_label = "Get Off"
    bl_description = "Stop the mesh from riding: it moves as it did before, and can have flesh of its own"

    rider: fresh_property(StringProperty, "Rider", "Mesh that gets off; empty: the active one")

    def edit(self, context, obj):
        obj = mesh_named(context.scene, self.rider) if self.rider else obj
        if obj.type != "MESH" or not obj.thew.made.rides:
            raise Refusal(f"{describe(obj)} does not ride on a body")
        updates.stop_update()
        return riding.dismount(obj)

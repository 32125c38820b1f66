# SPDX-License-Identifier: GPL-3.0-or-later
"""Place Force Template: the template follows the mouse over the skin, and a click drops it."""

from __future__ import annotations

import math

import bpy
import numpy as np
from bpy.props import FloatProperty, FloatVectorProperty, IntProperty, StringProperty

from ..edit import placing, posed_character, sizing
from ..edit.placing import Placement
from ..edit.rig_list import drop_rig, new_rig
from ..languages.translations import show_status
from ..logic import sliders
from ..logic.errors import Refusal
from ..logic.guides import ridden_frame
from ..rigs import rigging
from ..saved.rigs import guide_property, template_property
from ..saved.units import length
from ..scene import windows
from ..ui import rig_overlay, viewing
from .modal_tool import ModalTool
from .operator_bases import NAVIGATION, chosen_index, fresh_property

#: Factor of the radius and change of the turn per notch of the wheel.
RADIUS_NOTCH, TURN_NOTCH = 1.1, math.radians(15.0)


class TemplateSizes:
    """The sizes of every template; 0 suits the flesh."""

    __annotations__ = {
        s.name: fresh_property(FloatProperty, s.label, f"{s.description}. 0 suits the flesh", min=0.0, unit="LENGTH")
        for s in sliders.TABLE
        if s.size
    }


class THEW_OT_rig_place(ModalTool, TemplateSizes, bpy.types.Operator):
    bl_label = "Place Force Template"
    bl_description = (
        "Drag a force template onto the character. Click drops it, the wheel sizes it, Ctrl and the wheel turn it"
    )

    template: template_property("BUMP")
    guide: guide_property("SKIN")
    index: fresh_property(
        IntProperty, "Index", "Index of the rig to place anew; -1 creates a new one", default=-1, min=-1
    )
    location: fresh_property(
        FloatVectorProperty, "Location", "Point of the world; the nearest point of the skin is used", size=3
    )
    bone: fresh_property(StringProperty, "Bone", "Bone to hang on; empty: the one that carries the skin most")
    along: fresh_property(FloatProperty, "Along", "Position along the bone: 0 is the head, 1 the tail", default=0.5)
    angle: fresh_property(FloatProperty, "Around", "Direction out from the bone", default=0.0, unit="ROTATION")
    distance: fresh_property(FloatProperty, "Out", "Distance from the bone, in scene units", default=0.0, unit="LENGTH")
    face: fresh_property(IntProperty, "Face", "Triangle of the mesh to hang under", default=-1, min=-1)
    barycentric: fresh_property(
        FloatVectorProperty, "Place", "Position in the triangle", size=3, default=(1 / 3, 1 / 3, 1 / 3)
    )
    matrix: fresh_property(
        FloatVectorProperty,
        "Matrix",
        "Frame in the world at rest, by rows",
        size=16,
        default=np.eye(4).ravel().tolist(),
    )
    turn: fresh_property(
        FloatProperty, "Turn", "Tilt at a bone, roll in the skin, turn about its own axis when free", unit="ROTATION"
    )
    yields: fresh_property(
        FloatProperty,
        "Yield",
        "Largest yield of the skin, in scene units; if unset, enough to make the effect visible",
        unit="LENGTH",
    )
    strength: fresh_property(FloatProperty, "Strength", "Force to push with in place of a distance, in N/m³")

    # calls by scripts, and redo-----------------------------------------------------------------------------------------

    def edit(self, context, obj):
        return self.place_template(context, posed_character.read(obj, context.scene, context.view_layer))

    def place_template(self, context, stand: posed_character.PosedCharacter) -> str:
        """Places the template as the properties say. Everything that can fail runs before anything is changed."""
        obj, kind = stand.obj, self.kind(stand.obj)
        placement = self.placement(stand, kind).with_turn(self.turn)
        sizes = self.sizes(stand, kind, placement)
        by = "YIELD"
        if self.properties.is_property_set("strength"):
            sizes["strength"], by = self.strength, "FORCE"
        elif self.properties.is_property_set("yields"):
            sizes["strength"] = self.yields * stand.flesh.place.metres_per_unit
        elif self.index >= 0:
            rig = obj.thew.rigs[self.index]
            sizes["strength"], by = rig.strength, rig.strength_by
            if by == "YIELD":
                sizes["strength"] *= stand.flesh.place.metres_per_unit
        else:
            sizes["strength"] = placing.visible_yield(stand.flesh, kind, sizes, placement)
        placing.native_rig(kind, sizes, placement).forces(
            stand.flesh.body
        )  # what lies outside the flesh is refused here
        new = self.index < 0
        rig = new_rig(obj, kind.capitalize()) if new else obj.thew.rigs[self.index]
        try:
            placing.write_template(stand, rig, new, kind, sizes, placement, by)
        except Exception:
            if new:
                drop_rig(obj, len(obj.thew.rigs) - 1)
            raise
        obj.thew.active_rig = len(obj.thew.rigs) - 1 if new else self.index
        rigging.show_edit(context, obj)
        return f"“{rig.name}” hangs {placing.placement_text(stand, placement)}."

    def kind(self, obj) -> str:
        """Returns the template: if it is not set, that of the rig to be placed anew."""
        if self.index >= 0:
            rig = obj.thew.rigs[chosen_index(obj, obj.thew.rigs, self.index, -1, "rig")]
            return self.template if self.properties.is_property_set("template") else rig.template
        return self.template

    def placement(self, stand: posed_character.PosedCharacter, kind: str) -> Placement:
        """Returns the placement that the properties describe."""
        given, unit = self.properties.is_property_set, stand.flesh.place.metres_per_unit
        if self.guide == "FREE" and given("matrix"):
            return placing.frame_placement(stand, np.array(self.matrix).reshape(4, 4))
        if given("face") and self.face >= 0:
            return placing.face_placement(stand, self.guide, kind, self.face, self.barycentric)
        if given("location"):
            return placing.dropped_placement(stand, self.guide, kind, stand.skin_at(self.location), self.bone)
        if self.guide == "BONE" and self.bone:
            return placing.bone_placement(stand, kind, self.bone, self.along, self.angle, self.distance * unit)
        raise Refusal(
            "Nothing says where the template goes: give a location on the skin, a face, a bone for a bone guide, "
            "or a matrix for a free one"
        )

    def sizes(
        self, stand: posed_character.PosedCharacter, kind: str, placement: Placement, radius: float | None = None
    ) -> dict[str, float]:
        """Returns the template's lengths in metres: those set, those of the rig placed anew, or sizes that suit the flesh."""
        unit = stand.flesh.place.metres_per_unit
        sizes = {name: unit * getattr(self, name) for name in sliders.size_names(kind)}
        if self.index >= 0 and stand.obj.thew.rigs[self.index].template == kind:
            rig = stand.obj.thew.rigs[self.index]
            sizes = {name: value or unit * getattr(rig, name) for name, value in sizes.items()}
        if all(value > 0.0 for value in sizes.values()):
            return sizes
        usual = sizing.default_sizes(kind, radius or unit * self.radius or placing.radius_at(stand, kind, placement))
        return {name: value or usual[name] for name, value in sizes.items()}

    # use by mouse -----------------------------------------------------------------------------------------------------

    def take(self, context) -> None:
        self._kind = self.kind(self._stand.obj)
        self._hit, self._lines, self._view = None, np.empty((0, 2, 3)), None
        self._scale, self._suits = 1.0, 0.0
        self.held.callback(viewing.TemporaryDrawing(self.ghost).end)

    def handle(self, context, event):
        if event.type in {"WHEELUPMOUSE", "WHEELDOWNMOUSE"}:
            up = 1.0 if event.type == "WHEELUPMOUSE" else -1.0
            if event.ctrl:
                self.turn += up * TURN_NOTCH
            else:
                self._scale *= RADIUS_NOTCH**up
            self.follow(context, event)
            return {"RUNNING_MODAL"}
        if event.type == "R" and event.value == "PRESS":
            self.turn += TURN_NOTCH * (-1.0 if event.shift else 1.0)
            self.follow(context, event)
            return {"RUNNING_MODAL"}
        if event.type == "MOUSEMOVE":
            self.follow(context, event)
            return {"RUNNING_MODAL"}
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            return self.drop(context, event)
        return {"PASS_THROUGH"} if event.type in NAVIGATION else {"RUNNING_MODAL"}

    def follow(self, context, event) -> None:
        """Moves the ghost to the mouse."""
        view = viewing.view_under_mouse(context, event)
        self._hit = None if view is None else self._stand.displayed.ray(*view.ray())
        self._lines = np.empty((0, 2, 3))
        if self._hit is not None:
            self._view = view.axes()
            placement = self.placement_at_mouse()
            self._suits = sizing.default_radius(self._stand.flesh, self._stand.rest, self._hit)
            sizes = self.ghost_sizes(placement)
            self._lines = posed_lines(self._stand, self._hit, self._kind, sizes, placement)
        reach = (
            ""
            if self._hit is None
            else f"  radius {length(max(sizes.values()) / self._stand.flesh.place.metres_per_unit)}"
        )
        message = f"Click drops the {self._kind.lower()}, wheel sizes it, Ctrl+wheel or R turns it, Esc cancels{reach}"
        show_status(context.workspace, f"Thew: {message}")
        windows.redraw()

    def placement_at_mouse(self) -> Placement:
        """Returns the placement under the mouse."""
        placement = placing.dropped_placement(self._stand, self.guide, self._kind, self._hit, self.bone, self._view)
        return placement.with_turn(self.turn)

    def ghost_sizes(self, placement: Placement) -> dict[str, float]:
        """Returns the sizes of the ghost, metres."""
        sizes = self.sizes(self._stand, self._kind, placement, self._suits)
        return {name: self._scale * value for name, value in sizes.items()}

    def drop(self, context, event):
        """Places the template and records the place in the properties, so that it can be adjusted afterwards."""
        self.follow(context, event)
        self.end(context)
        if self._hit is None:
            raise Refusal("There is no skin under the mouse: drop the template on the body")
        unit = self._stand.flesh.place.metres_per_unit
        placement = self.placement_at_mouse()
        for name, value in self.ghost_sizes(placement).items():
            setattr(self, name, value / unit)
        if self.guide == "FREE":
            self.matrix = rigging.world_matrix(self._stand.flesh, placement.matrix)
        else:
            self.location = self._hit.point.tolist()
        return self.report_success(self._stand.obj, self.place_template(context, self._stand))

    def ghost(self):
        """Returns the outline of the template at the mouse."""
        return [(self._lines, rig_overlay.GHOST_COLOUR, 2.0)]


def posed_lines(
    stand: posed_character.PosedCharacter, hit, kind: str, sizes: dict[str, float], placement: Placement
) -> np.ndarray:
    """Returns the outline of a template at the posed skin, Blender's world [m, 2, 3]."""
    native = placing.native_rig(kind, {**sizes, "strength": 1.0}, placement)
    frame = np.asarray(native.frame(stand.flesh.body))
    shown, rest = (each.vertices[each.triangles[hit.face]] for each in (stand.displayed, stand.rest))
    there = ridden_frame(frame, hit.barycentric, rest, stand.place.points(shown))
    return stand.world(native.template.outline() @ there[:3, :3].T + there[:3, 3])

# SPDX-License-Identifier: GPL-3.0-or-later
"""Model Keyframe: press on the mesh and drag. Shift and click holds further points; Enter makes a shape key and a key of it."""

from __future__ import annotations

import json

import bpy
import numpy as np
from bpy.props import BoolProperty, StringProperty

from ..edit import keyframing
from ..edit.keyframe_modelling import KeyframeModel
from ..languages.translations import show_status
from ..live import keyframed, keyframed_events, updates
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.spaces import inverse
from ..logic.tasks import finish
from ..saved import keyframed as saved
from ..saved.timing import curve_time
from ..scene import keyframe_shapes, windows
from ..scene.mesh import key_positions
from ..ui import viewing
from ..ui.keyframed_overlay import ARROW_TIME
from .modal_tool import DRAGGED_COLOUR, ModalTool, SkinTool
from .operator_bases import fresh_property, option
from .pull import parsed_points


class THEW_OT_keyframed_model(SkinTool, bpy.types.Operator):
    bl_label = "Model Keyframe"
    bl_description = (
        "Drag points of the mesh at the current frame; the rest follows. Shift-click holds points, Enter makes a key "
        "with a new shape, or changes the key's sculpt at its own time"
    )

    points: fresh_property(
        StringProperty,
        "Points",
        "Dragged points as JSON: [[vertex, [x, y, z]], …], places in object space before any armature",
    )

    # calls by scripts, and redo-----------------------------------------------------------------------------------------

    def edit(self, context, obj):
        updates.stop_update()
        keyframed.check_keyframed(obj)
        points = parsed_points(self.points)
        try:
            vertices = [int(vertex) for vertex, _ in points]
            places = [[float(x) for x in place] for _, place in points]
        except (ValueError, TypeError) as error:
            raise Refusal(f"The points are not vertices and places ({error}): give [[vertex, [x, y, z]], …]") from None
        if any(len(place) != 3 for place in places):
            raise Refusal(f"A place for a vertex of {describe(obj)} does not have three numbers: give [x, y, z]")
        name = finish(keyframing.model(obj, context.scene, vertices, np.array(places).reshape(-1, 3)))
        keyframed_events.present(obj, context.scene)
        return name

    def message(self, obj, result):
        return f"“{obj.name}” reaches “{result}” at this frame."

    # use by mouse -----------------------------------------------------------------------------------------------------

    def stand(self, context, obj):
        keyframed.check_keyframed(obj)
        return KeyframeModel(obj, context.scene)

    def take(self, context) -> None:
        self._pins, self._drag, self._target, self._due, self._changed = {}, -1, None, False, False
        self._before = []  # states before each point was held or dragged, for undo
        self.begin(
            context,
            "Thew: press on the mesh and drag, Shift+click holds a point, Ctrl+Z lets go of the last one, Enter makes a keyframe of it, "
            "Esc puts everything back",
        )

    def handle(self, context, event):
        if curve_time(context.scene) != self._stand.frame:
            raise Refusal(f"Another frame of {describe(self._stand.obj)} is shown now: what was dragged was put back")
        return SkinTool.handle(self, context, event)

    def first_hit(self, origin, direction):
        return self._stand.first_hit(origin, direction), self._stand.triangles

    def hold(self, vertex: int, dragged: bool) -> None:
        here = self._stand.world()[vertex]
        self._before.append((dict(self._pins), self._stand.shape, self._changed))
        if dragged:
            self._drag, self._depth, self._target = vertex, here, here
        else:
            self._pins[vertex] = here

    def drag_to(self, point) -> None:
        self._target, self._due = point, True

    def release(self, _context):
        self.follow()
        self._pins[self._drag], self._drag = self._target, -1
        return {"RUNNING_MODAL"}

    def tick(self, _context):
        if self._due:
            self.follow()
        return {"RUNNING_MODAL"}

    def all_points(self) -> list:
        """Returns all held and dragged points with their targets."""
        points = dict(self._pins)
        if self._drag >= 0:
            points[self._drag] = self._target
        return list(points.items())

    def follow(self) -> None:
        """Shows the mesh that follows the mouse."""
        self._due = False
        self._stand.drag(self.all_points())
        self._changed = True
        windows.redraw()

    def take_back(self) -> None:
        """Releases the point that was held or dragged last."""
        if self._before and self._drag < 0:
            self._pins, shape, self._changed = self._before.pop()
            self._stand.take(shape)
            windows.redraw()

    def keep(self, context):
        """Makes a keyframe of the modelled shape."""
        if not self._changed:
            return self.drop_it(context)
        self.follow()
        stand = self._stand
        vertices, places = stand.local_targets(self.all_points())
        self.points = json.dumps([[int(v), [float(x) for x in p]] for v, p in zip(vertices, places, strict=True)])
        self.end(context)
        name = keyframing.keep_shape(stand.obj, context.scene, stand.shape)
        keyframed_events.present(stand.obj, context.scene)
        return self.report_success(stand.obj, name)

    def restore(self) -> None:
        self._stand.restore()

    def pins(self):
        return self._stand.world()[list(self._pins)]

    def line(self):
        return np.array([self._stand.world()[self._drag], self._target])


class Arrow:
    """The velocity at the chosen key while it is dragged."""

    def __init__(self, obj, leaving: bool):
        keyframed.check_keyframed(obj)
        self.obj, self.key, self.leaving = obj, saved.active_key(obj), leaving
        block = keyframe_shapes.block_of(obj, self.key) if self.key is not None else None
        if block is None:
            raise Refusal(f"No key of {describe(obj)} is chosen: choose one in the list of Keyframed Flesh first")
        if leaving and not self.key.cut:
            raise Refusal(
                f"“{self.key.shape}” of {describe(obj)} is not a cut: switch Cut on first, or set its one velocity"
            )
        self.before = keyframing.arrow_at(self.key, leaving)
        matrix = np.array(obj.matrix_world, dtype=np.float64)
        self.turn = matrix[:3, :3]
        self.start = self.turn @ key_positions(block).mean(axis=0) + matrix[:3, 3]

    def drag_to(self, tip: np.ndarray) -> None:
        """Moves the arrow's tip to a point of the world. The arrow shows a quarter of a second of motion."""
        arrow = inverse(self.turn, describe(self.key.id_data)) @ (tip - self.start) / ARROW_TIME
        keyframing.set_arrow(self.key, arrow, self.leaving)

    def restore(self) -> None:
        """Restores the velocity."""
        keyframing.put_arrow(self.key, self.before, self.leaving)


class THEW_OT_keyframed_arrow(ModalTool, bpy.types.Operator):
    bl_label = "Draw Velocity"
    bl_description = (
        "Draw the velocity at the chosen key with the mouse: press, drag from the middle of the mesh, let go"
    )

    leaving: option(BoolProperty, "Leaving", "The velocity after a cut", default=False)

    by_hand = "A velocity is drawn with the mouse: press in a 3D view, or call keyframed_velocity"

    def stand(self, context, obj):
        return Arrow(obj, self.leaving)

    def take(self, context) -> None:
        self._held = False
        self.held.callback(viewing.TemporaryDrawing(lambda: [(self._stand.start[None], DRAGGED_COLOUR, 9.0)]).end)
        windows.redraw()
        show_status(
            context.workspace,
            "Thew: press and drag from the dot, which is the middle of the key, to draw the velocity: release keeps, "
            "Esc puts it back",
        )

    def handle(self, context, event):
        if event.type == "LEFTMOUSE":
            if event.value == "RELEASE" and self._held:
                self.end(context)
                return {"FINISHED"}
            self._held = event.value == "PRESS" and viewing.view_under_mouse(context, event) is not None
        if event.type in {"MOUSEMOVE", "LEFTMOUSE"} and self._held:
            view = viewing.view_under_mouse(context, event)
            if view is not None:
                self._stand.drag_to(view.point_at_depth(self._stand.start))
                windows.redraw()
        return {"RUNNING_MODAL"}

    def restore(self) -> None:
        self._stand.restore()

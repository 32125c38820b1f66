# SPDX-License-Identifier: GPL-3.0-or-later
"""Model Keyframe: press on the mesh and drag. Shift and click holds further points; Enter makes a shape key and a key of it."""

from __future__ import annotations

import json

import bpy
import numpy as np
from bpy.props import BoolProperty, StringProperty

from ..edit import keyframing
from ..edit.keyframe_modelling import Modelling
from ..live import keyframed, keyframed_events
from ..logic.errors import Refusal
from ..logic.json_text import parsed
from ..logic.names import describe
from ..logic.spaces import inverse
from ..saved import keyframed as saved
from ..saved.timing import curve_time
from ..scene import keyframe_shapes, poses, windows
from ..scene.mesh import key_positions
from ..ui import viewing
from ..ui.keyframed_overlay import SHOWN
from .keyframed import KeyframedJob
from .modal_tool import ModalTool

#: Updates per second while the mouse moves. Motion looks smooth from about 24 pictures a second on.
RATE = 30.0
PINNED, DRAGGED = (1.0, 0.85, 0.2, 1.0), (0.3, 1.0, 0.5, 1.0)


class THEW_OT_keyframed_model(ModalTool, KeyframedJob, bpy.types.Operator):
    bl_idname = "thew.keyframed_model"
    bl_label = "Model Keyframe"
    bl_description = (
        "Drag points of the mesh at the current frame: the rest of it follows as the motion could. Shift-click holds points, "
        "Enter makes a new shape key and a key of it. At the time of a key that key's own sculpt is changed"
    )
    bl_options = {"REGISTER", "UNDO"}

    points: StringProperty(
        name="Points",
        description="What is dragged, as JSON: [[vertex, [x, y, z]], …], places in object space before any armature",
        options={"SKIP_SAVE"},
    )

    # from a script, or again ------------------------------------------------------------------------------------------

    def task(self, context, obj):
        keyframed.checked(obj)
        try:
            points = parsed(self.points or "[]")
            vertices = [int(vertex) for vertex, _ in points]
            places = [[float(x) for x in place] for _, place in points]
        except (ValueError, TypeError) as error:
            raise Refusal(f"The points are not JSON ({error}): give [[vertex, [x, y, z]], …]") from None
        if any(len(place) != 3 for place in places):
            raise Refusal(f"A place for a vertex of {describe(obj)} has other than three numbers: give [x, y, z]")
        return self.whole(context, obj, vertices, np.array(places).reshape(-1, 3))

    def whole(self, context, obj, vertices, places):
        """Models the shape and shows the result."""
        name = yield from keyframing.model(obj, context.scene, vertices, places)
        keyframed_events.present(obj, context.scene)
        return name

    def said(self, obj, result):
        return f"“{obj.name}” reaches “{result}” at this frame."

    # in the hand ------------------------------------------------------------------------------------------------------

    def stand(self, context, obj):
        keyframed_events.stop()
        keyframed.checked(obj)
        return Modelling(obj, context.scene)

    def take(self, context) -> None:
        self._pins, self._drag, self._target, self._due, self._changed = {}, -1, None, False, False
        self._before = []  # states before each point was held or dragged, for undo
        self.held.enter_context(poses.playing())  # frames are not looked up meanwhile
        self.held.callback(viewing.Drawn(self.marks).end)
        timer = context.window_manager.event_timer_add(1.0 / RATE, window=context.window)
        self.held.callback(context.window_manager.event_timer_remove, timer)
        context.workspace.status_text_set(
            "Thew: press on the mesh and drag, Shift+click holds a point, Ctrl+Z lets go of the last one, Enter makes a keyframe of it, "
            "Esc puts everything back"
        )

    def handle(self, context, event):
        if curve_time(context.scene) != self._stand.frame:
            raise Refusal(f"Another frame of {describe(self._stand.obj)} is shown now: what was dragged was put back")
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            return self.press(context, event)
        if event.type == "LEFTMOUSE" and event.value == "RELEASE" and self._drag >= 0:
            self.follow()
            self._pins[self._drag], self._drag = self._target, -1
            return {"RUNNING_MODAL"}
        if event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            return self.keep(context)
        if event.type == "MOUSEMOVE" and self._drag >= 0:
            view = viewing.under(context, event)
            if view is not None:
                self._target, self._due = view.beside(self._depth), True
            return {"RUNNING_MODAL"}
        if event.type == "TIMER":
            if self._due:
                self.follow()
            return {"RUNNING_MODAL"}
        return {"RUNNING_MODAL"} if self._drag >= 0 else {"PASS_THROUGH"}

    def press(self, context, event):
        """Holds a point, or begins to drag one."""
        view = viewing.under(context, event)
        if view is None:
            return {"PASS_THROUGH"}
        hit = self._stand.under(*view.ray())
        if hit is None:
            self.report({"WARNING"}, f"Nothing of {describe(self._stand.obj)} is under the mouse: press on the mesh.")
            return {"RUNNING_MODAL"}
        vertex = hit.vertex(self._stand.triangles)
        here = self._stand.world()[vertex]
        self._before.append((dict(self._pins), self._stand.shape, self._changed))
        if event.shift:
            self._pins[vertex] = here
        else:
            self._drag, self._depth, self._target = vertex, here, here
        windows.redraw()
        return {"RUNNING_MODAL"}

    def wanted(self) -> list:
        """Returns all held and dragged points with their targets."""
        points = dict(self._pins)
        if self._drag >= 0:
            points[self._drag] = self._target
        return list(points.items())

    def follow(self) -> None:
        """Shows the mesh that follows the mouse."""
        self._due = False
        self._stand.drag(self.wanted())
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
        vertices, places = stand.local(self.wanted())
        self.points = json.dumps([[int(v), [float(x) for x in p]] for v, p in zip(vertices, places, strict=True)])
        self.end(context)
        name = keyframing.keep_shape(stand.obj, context.scene, stand.shape)
        keyframed_events.present(stand.obj, context.scene)
        self.report({"INFO"}, self.said(stand.obj, name))
        return {"FINISHED"}

    def put_back(self) -> None:
        self._stand.put_back()

    def marks(self):
        """Returns the held points and the dragged one."""
        world = self._stand.world()
        drawn = [(world[list(self._pins)].reshape(-1, 3), PINNED, 9.0)]
        if self._drag >= 0:
            line = np.array([world[self._drag], self._target])
            drawn += [(line[:1], DRAGGED, 9.0), (line[None], DRAGGED, 2.0)]
        return drawn


class Arrow:
    """The velocity at the chosen key while it is dragged."""

    def __init__(self, obj, leaving: bool):
        keyframed.checked(obj)
        self.obj, self.key, self.leaving = obj, saved.active(obj), leaving
        block = keyframe_shapes.block_of(obj, self.key) if self.key is not None else None
        if block is None:
            raise Refusal(f"No key of {describe(obj)} is chosen: choose one in the list of Keyframed Flesh first")
        if leaving and not self.key.cut:
            raise Refusal(
                f"“{self.key.shape}” of {describe(obj)} is no cut: switch Cut on first, or set its one velocity"
            )
        self.before = keyframing.arrow_at(self.key, leaving)
        matrix = np.array(obj.matrix_world, dtype=np.float64)
        self.turn = matrix[:3, :3]
        self.start = self.turn @ key_positions(block).mean(axis=0) + matrix[:3, 3]

    def drag_to(self, tip: np.ndarray) -> None:
        """Moves the arrow's tip to a point of the world. The arrow shows a quarter of a second of motion."""
        arrow = inverse(self.turn, describe(self.key.id_data)) @ (tip - self.start) / SHOWN
        keyframing.set_arrow(self.key, arrow, self.leaving)

    def put_back(self) -> None:
        """Restores the velocity."""
        keyframing.put_arrow(self.key, self.before, self.leaving)


class THEW_OT_keyframed_arrow(ModalTool, bpy.types.Operator):
    bl_idname = "thew.keyframed_arrow"
    bl_label = "Draw Velocity"
    bl_description = (
        "Draw the velocity at the chosen key with the mouse: press, drag from the middle of the mesh, let go"
    )
    bl_options = {"REGISTER", "UNDO"}

    leaving: BoolProperty(name="Leaving", description="The velocity after a cut", default=False)

    def execute(self, context):
        return self.refuse(
            None, Refusal("A velocity is drawn with the mouse: press in a 3D view, or call keyframed_velocity")
        )

    def stand(self, context, obj):
        return Arrow(obj, self.leaving)

    def take(self, context) -> None:
        self._held = False
        self.held.callback(viewing.Drawn(lambda: [(self._stand.start[None], DRAGGED, 9.0)]).end)
        windows.redraw()
        context.workspace.status_text_set(
            "Thew: press and drag from the dot, which is the middle of the key, to draw the velocity: release keeps, "
            "Esc puts it back"
        )

    def handle(self, context, event):
        if event.type == "LEFTMOUSE":
            if event.value == "RELEASE" and self._held:
                self.end(context)
                return {"FINISHED"}
            self._held = event.value == "PRESS" and viewing.under(context, event) is not None
        if event.type in {"MOUSEMOVE", "LEFTMOUSE"} and self._held:
            view = viewing.under(context, event)
            if view is not None:
                self._stand.drag_to(view.beside(self._stand.start))
                windows.redraw()
        return {"RUNNING_MODAL"}

    def put_back(self) -> None:
        self._stand.put_back()


CLASSES = (THEW_OT_keyframed_model, THEW_OT_keyframed_arrow)

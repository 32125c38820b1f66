# SPDX-License-Identifier: GPL-3.0-or-later
"""Pull Skin: press on a point and drag it, and the active rig's sliders follow. Shift and click holds further points."""

from __future__ import annotations

import json

import bpy
import numpy as np
from bpy.props import StringProperty

from ..edit import posed, pulling
from ..live import session, target, updates
from ..live.events import happened
from ..logic.errors import Refusal
from ..logic.json_text import parsed
from ..logic.names import describe
from ..logic.picking import Picker
from ..logic.states import Event
from ..rigs import rigging
from ..saved.samples import quietly, slider_values
from ..saved.slider_groups import set_values, values_of
from ..scene import poses, windows
from ..ui import viewing
from .modal_tool import ModalTool

#: Updates per second while the mouse moves. Motion looks smooth from about 24 pictures a second on.
RATE = 30.0
#: Evaluations per update: few, so that an update does not take longer than the time between two.
EVALUATIONS = 8
PINNED, DRAGGED = (1.0, 0.85, 0.2, 1.0), (0.3, 1.0, 0.5, 1.0)


class THEW_OT_rig_pull(ModalTool, bpy.types.Operator):
    bl_idname = "thew.rig_pull"
    bl_label = "Pull Skin"
    bl_description = (
        "Drag a point of the skin: the active rig takes the sliders that bring it there, and a sample of them is "
        "recorded. Shift-click first holds further points"
    )
    bl_options = {"REGISTER", "UNDO"}

    points: StringProperty(
        name="Points",
        description="What is pulled, as JSON: [[vertex, [x, y, z]], …], targets in the world",
        options={"SKIP_SAVE"},
    )

    # from a script, or again ------------------------------------------------------------------------------------------

    def execute(self, context):
        obj = target.of(context)
        try:
            updates.stop_update()
            stand = posed.read(obj, context.scene, context.view_layer)
            try:
                points = parsed(self.points or "[]")
            except ValueError as error:
                raise Refusal(f"The points are not JSON ({error}): give [[vertex, [x, y, z]], …]") from None
            points = pulling.checked(stand, points)
            pull = pulling.Pull(stand, context.view_layer)
            before = saved(pull.rig)
            try:
                pull.pull(points)
            except Exception:
                put_back(pull.rig, before)
                raise
            self.keep(context, pull, points)
        except Exception as error:
            return self.refuse(obj, error)
        return {"FINISHED"}

    def keep(self, context, pull: pulling.Pull, points) -> None:
        """Records the fitted sliders, switches to the flesh at rest, and reports how near the points came."""
        stand = pull.stand
        pull.keep()
        stand.obj.thew.settled = True
        rigging.shown(context, stand.obj)
        stand.show(pull.offsets)
        happened(stand.obj, stand.flesh, Event.POSE_SHOWN)
        self.report({"INFO"}, f"“{pull.rig.name}” was fitted; {pull.came(points)}.")

    # in the hand ------------------------------------------------------------------------------------------------------

    def take(self, context) -> None:
        stand, self._pull = self._stand, None
        pull = pulling.Pull(stand, context.view_layer)
        self._before, self._shown = saved(pull.rig), session.shown(stand.obj, context.scene)
        self._pins, self._drag, self._target, self._due, self._changed = [], -1, None, False, False
        self._pull = pull
        self.held.enter_context(poses.playing())  # frames are neither simulated nor looked up meanwhile
        stand.show(pull.offsets)
        self.held.callback(viewing.Drawn(self.marks).end)
        timer = context.window_manager.event_timer_add(1.0 / RATE, window=context.window)
        self.held.callback(context.window_manager.event_timer_remove, timer)
        context.workspace.status_text_set(
            "Thew: press on the skin and drag, Shift+click holds a point, release keeps, Esc puts everything back"
        )

    def handle(self, context, event):
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            return self.press(context, event)
        if event.type == "LEFTMOUSE" and event.value == "RELEASE" and self._drag >= 0:
            if self._due:
                self.follow(context)
                self._pull.settle(self.wanted())
            return self.release(context)
        if event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            return self.release(context)
        if event.type == "MOUSEMOVE" and self._drag >= 0:
            view = viewing.under(context, event)
            if view is not None:
                self._target, self._due = view.beside(self._depth), True
            return {"RUNNING_MODAL"}
        if event.type == "TIMER":
            if self._due:
                self.follow(context)
            return {"RUNNING_MODAL"}
        return {"RUNNING_MODAL"} if self._drag >= 0 else {"PASS_THROUGH"}

    def press(self, context, event):
        """Holds a point, or begins to drag one."""
        view = viewing.under(context, event)
        if view is None:
            return {"PASS_THROUGH"}
        stand = self._stand
        skin = Picker(stand.world(self._pull.shown), stand.rest.triangles)
        hit = skin.ray(*view.ray())
        if hit is None:
            self.report({"WARNING"}, f"There is no skin of {describe(stand.obj)} under the mouse: press on the body.")
            return {"RUNNING_MODAL"} if self._pins else self.drop_it(context)
        vertex = hit.vertex(stand.rest.triangles)
        self._pins = [pin for pin in self._pins if pin[0] != vertex]
        if event.shift:
            self._pins.append((vertex, self._pull.world(vertex)))
        else:
            self._drag, self._depth = vertex, self._pull.world(vertex)
            self._target = self._depth
        windows.redraw()
        return {"RUNNING_MODAL"}

    def follow(self, context) -> None:
        """Fits the rig to the position of the mouse."""
        self._due = False
        if self._target is None:
            return
        self._stand.show(self._pull.pull(self.wanted(), evaluations=EVALUATIONS))
        context.workspace.status_text_set(
            f"Thew: {self._pull.came(self.wanted())}; release keeps, Esc puts everything back"
        )
        self._due = not self._pull.arrived  # continues at the next tick, even if the mouse stands still
        self._changed = True
        windows.redraw()

    def wanted(self) -> list[pulling.Point]:
        """Returns all points and their targets."""
        return [*self._pins, (self._drag, self._target)]

    def release(self, context):
        """Keeps the result."""
        if not self._changed:
            return self.drop_it(context)
        self.end(context)
        points = self.wanted()
        self.points = json.dumps([[vertex, [float(x) for x in target]] for vertex, target in points])
        self.keep(context, self._pull, points)
        return {"FINISHED"}

    def put_back(self) -> None:
        if self._pull is None:
            return
        put_back(self._pull.rig, self._before)
        obj, flesh = self._stand.obj, self._stand.flesh
        if self._shown is None:
            session.hide(obj, flesh)
        else:
            session.write(obj, flesh, self._shown, bpy.context.scene)
        obj.update_tag()

    def marks(self):
        """Returns the held points and a line from the dragged one to the mouse."""
        here = [self._pull.world(vertex) for vertex, _ in self._pins]
        drawn = [(np.array(here).reshape(-1, 3), PINNED, 9.0)]
        if self._drag >= 0:
            line = np.array([self._pull.world(self._drag), self._target])
            drawn += [(line[:1], DRAGGED, 9.0), (line[None], DRAGGED, 2.0)]
        return drawn


def saved(rig) -> tuple:
    """Returns the state of a rig that pulling changes."""
    samples = [(sample.control, values_of(sample.sliders)) for sample in rig.samples]
    return slider_values(rig), samples, rig.control, rig.at, rig.draft, rig.active_sample


def put_back(rig, before: tuple) -> None:
    """Restores the state of a rig returned by `saved`."""
    values, samples, control, at, draft, active = before
    with quietly():
        set_values(rig, values)
        rig.samples.clear()
        for where, row in samples:
            sample = rig.samples.add()
            sample.control = where
            set_values(sample.sliders, row)
        rig.control, rig.at, rig.draft, rig.active_sample = control, at, draft, active


class THEW_TOOL_pull(bpy.types.WorkSpaceTool):
    """Toolbar tool that starts `THEW_OT_rig_pull`, in object mode."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "OBJECT"
    bl_idname = "thew.pull_tool"
    bl_label = "Pull Skin"
    bl_description = "Drag the skin of a character with flesh; the active rig follows"
    bl_icon = "ops.transform.push_pull"
    bl_widget = None
    bl_keymap = (
        ("thew.rig_pull", {"type": "LEFTMOUSE", "value": "PRESS"}, None),
        ("thew.rig_pull", {"type": "LEFTMOUSE", "value": "PRESS", "shift": True}, None),
    )


class THEW_TOOL_pull_posed(THEW_TOOL_pull):
    """The tool in pose mode."""

    bl_context_mode = "POSE"
    bl_idname = "thew.pull_tool_pose"


TOOLS = (THEW_TOOL_pull, THEW_TOOL_pull_posed)


def is_shown(context) -> bool:
    """Returns whether the target has a rig to pull with: only then is the tool in the toolbar."""
    obj = target.of(context)
    return obj is not None and obj.type == "MESH" and obj.thew.made.flesh and len(obj.thew.rigs) > 0


CLASSES = (THEW_OT_rig_pull,)

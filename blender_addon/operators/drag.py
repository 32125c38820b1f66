# SPDX-License-Identifier: GPL-3.0-or-later
"""Drag Flesh: press on modal flesh, drag it about and let it ring. Shift and click holds further points first."""

from __future__ import annotations

import time

import bpy
import numpy as np

from ..edit import dragging
from ..live import handlers, target
from ..live.session import register as fleshes
from ..logic import modal
from ..logic.drag import KEYS
from ..logic.errors import Refusal
from ..logic.names import describe
from ..scene import poses, windows
from ..scene.reading import armature_of
from ..ui import viewing
from .modal_tool import ModalTool

#: Updates per second: the refresh rate of most screens.
RATE = 60.0
PINNED, DRAGGED = (1.0, 0.85, 0.2, 1.0), (0.3, 1.0, 0.5, 1.0)


class THEW_OT_modal_drag(ModalTool, bpy.types.Operator):
    bl_idname = "thew.modal_drag"
    bl_label = "Drag Flesh"
    bl_description = (
        "Take the skin of modal flesh with the mouse and see the whole body follow; it rings when you let go. Shift-click "
        "first holds further points. Nothing is kept: it is for looking at how the flesh moves"
    )
    bl_options = {"REGISTER"}

    now = staticmethod(time.monotonic)

    def execute(self, context):
        return self.refuse(
            None, Refusal("Flesh is dragged with the mouse: press Drag, and then on the skin in a 3D view")
        )

    def take(self, context) -> None:
        self._motion, self._depth, self._said = None, None, ""
        self._name, self._why, self._count = self._stand.obj.name, "", len(self._stand.obj.data.vertices)
        self._motion = dragging.Dragging(self._stand, context.scene, context.view_layer)
        self.held.enter_context(poses.playing())  # frames are neither simulated nor looked up meanwhile
        self.notice(context)
        self.held.callback(viewing.Drawn(self.marks).end)
        timer = context.window_manager.event_timer_add(1.0 / RATE, window=context.window)
        self.held.callback(context.window_manager.event_timer_remove, timer)
        self._last = self.now()
        self.tell(context, f"Thew: {KEYS}")

    def notice(self, context) -> None:
        """Watches for an undo, another file and another pose: each makes the drag invalid."""
        uid, self._frame = armature_of(self._stand.obj).session_uid, context.scene.frame_float

        def undone(*_):
            self._why = "something was undone"

        def moved(_scene, depsgraph):
            if any(update.id.original.session_uid == uid for update in depsgraph.updates):
                self._why = self._why or "the pose has changed"

        for name, call in (
            ("undo_pre", undone),
            ("redo_pre", undone),
            ("load_pre", undone),
            ("depsgraph_update_post", moved),
        ):
            calls = getattr(bpy.app.handlers, name)
            calls.append(call)
            self.held.callback(lambda calls=calls, call=call: calls.remove(call) if call in calls else None)

    def tell(self, context, text: str) -> None:
        if text != self._said:
            self._said = text
            context.workspace.status_text_set(text)

    # events -----------------------------------------------------------------------------------------------------------

    def modal(self, context, event):
        """Handles one event. A drag that has become impossible ends with a sentence."""
        lost = self.lost(context)
        if not lost:
            return ModalTool.modal(self, context, event)
        self.end(context)
        handlers.look_up(bpy.context.scene)
        self.report({"WARNING"}, f"The drag of “{self._name}” ended, because {lost}.")
        return {"CANCELLED"}

    def lost(self, context) -> str:
        """Returns why the drag cannot go on; "" while it can."""
        if self._why:
            return self._why
        try:
            obj = self._stand.obj
            if obj.name not in context.scene.objects:
                return "it is not in the scene any more"
            if obj.mode in {"EDIT", "SCULPT"}:
                return "its mesh is being edited"
            if fleshes.known(obj) is not self._stand.flesh or not obj.thew.made.flesh:
                return "its flesh was made anew"
            if len(obj.data.vertices) != self._count:
                return "its mesh has changed"
        except ReferenceError:
            return "it was deleted"
        return "" if context.scene.frame_float == self._frame else "another frame is shown"

    def handle(self, context, event):
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            return self.press(context, event)
        if event.type == "LEFTMOUSE" and event.value == "RELEASE" and self._motion.held >= 0:
            self._motion.let_go()
            return {"RUNNING_MODAL"}
        if event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            return self.finish(context)
        if event.type == "MOUSEMOVE" and self._motion.held >= 0:
            view = viewing.under(context, event)
            if view is not None:
                self._motion.drag_to(view.beside(self._depth))
            return {"RUNNING_MODAL"}
        if event.type == "TIMER":
            return self.tick(context)
        return {"RUNNING_MODAL"} if self._motion.held >= 0 else {"PASS_THROUGH"}

    def press(self, context, event):
        """Holds a point, or begins to drag one."""
        view = viewing.under(context, event)
        if view is None:
            return {"PASS_THROUGH"}
        hit = self._motion.under(*view.ray())
        if hit is None:
            self.report(
                {"WARNING"}, f"There is no skin of {describe(self._stand.obj)} under the mouse: press on the body."
            )
            return {"RUNNING_MODAL"} if self._motion.pins or self._began else self.drop_it(context)
        vertex = hit.vertex(self._stand.rest.triangles)
        try:
            self._motion.take(vertex, dragged=not event.shift)
        except Refusal as error:
            self.report({"WARNING"}, str(error))
            return {"RUNNING_MODAL"}
        if not event.shift:
            self._depth = self._motion.world(vertex)
        self._began = True
        windows.redraw()
        return {"RUNNING_MODAL"}

    #: True once a point was taken. Before that, time stands still and nothing is shown.
    _began = False

    def tick(self, context):
        """Shows the flesh at this moment. The drag ends once the flesh is at rest again."""
        now = self.now()
        elapsed, self._last = now - self._last, now
        if not self._began:
            return {"RUNNING_MODAL"}
        if self._motion.advance(elapsed):
            self._motion.show()
            self.tell(context, self._motion.status_line())
            windows.redraw()
        return self.finish(context) if self._motion.over else {"RUNNING_MODAL"}

    def finish(self, context):
        """Ends the drag and shows what was shown before."""
        self.put_back()
        self.end(context)
        return {"FINISHED"}

    def put_back(self) -> None:
        if self._motion is not None:
            self._motion.put_back(bpy.context.scene)

    def cancel(self, context):
        """Ends the drag when Blender closes or loads another file."""
        self.end(context)

    def marks(self):
        """Returns the held points and a line from the dragged one to the mouse."""
        motion = self._motion
        drawn = [(np.array([motion.world(vertex) for vertex in motion.pins]).reshape(-1, 3), PINNED, 9.0)]
        if motion.held >= 0:
            line = np.array([motion.world(motion.held), motion.target()])
            drawn += [(line[:1], DRAGGED, 9.0), (line[None], DRAGGED, 2.0)]
        return drawn


class THEW_TOOL_drag(bpy.types.WorkSpaceTool):
    """Toolbar tool that starts `THEW_OT_modal_drag`, in object mode."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "OBJECT"
    bl_idname = "thew.drag_tool"
    bl_label = "Drag Flesh"
    bl_description = "Drag the skin of a character with modal flesh; the whole body follows, and rings when you let go"
    bl_icon = "ops.transform.push_pull"
    bl_widget = None
    bl_keymap = (
        ("thew.modal_drag", {"type": "LEFTMOUSE", "value": "PRESS"}, None),
        ("thew.modal_drag", {"type": "LEFTMOUSE", "value": "PRESS", "shift": True}, None),
    )


class THEW_TOOL_drag_posed(THEW_TOOL_drag):
    """The tool in pose mode."""

    bl_context_mode = "POSE"
    bl_idname = "thew.drag_tool_pose"


TOOLS = (THEW_TOOL_drag, THEW_TOOL_drag_posed)


def is_shown(context) -> bool:
    """Returns whether the target has modal flesh to drag: only then is the tool in the toolbar."""
    obj = target.of(context)
    return obj is not None and obj.type == "MESH" and obj.thew.made.flesh and obj.thew.method == modal.METHOD


CLASSES = (THEW_OT_modal_drag,)

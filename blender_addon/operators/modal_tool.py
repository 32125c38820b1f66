# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the tools that follow the mouse."""

from __future__ import annotations

from contextlib import ExitStack

import bpy
import numpy as np

from ..edit import posed_character
from ..languages.translations import report, show_status
from ..live import target, updates
from ..logic.errors import Refusal
from ..logic.names import describe
from ..scene import poses, windows
from ..ui import viewing
from .operator_bases import QuickJob, clear_status

PINNED_COLOUR, DRAGGED_COLOUR = (1.0, 0.85, 0.2, 1.0), (0.3, 1.0, 0.5, 1.0)


class ModalTool(QuickJob):
    """Mix-in for modal tools. A script calls `execute`, which runs `edit`; events of the mouse go through `handle`, which may raise.

    A tool pushes what it acquires (drawings, timers, the handlers' silence) onto `held`, which is released whatever happens.
    """

    #: Remedy named to a script that calls a tool of the mouse.
    by_hand = ""

    def edit(self, context, obj):
        raise Refusal(self.by_hand)

    def invoke(self, context, event):
        """Starts the tool. Without a 3D view, runs `execute`."""
        if windows.is_headless() or context.window is None or context.area is None:
            return self.execute(context)
        obj = target.target_mesh(context)
        try:
            if context.screen.is_animation_playing:
                bpy.ops.screen.animation_cancel(restore_frame=False)
            updates.stop_update()
            self._stand = self.stand(context, obj)
        except Exception as error:
            return self.refuse(obj, error)
        self.held = ExitStack()
        self.held.callback(windows.redraw)
        self.held.callback(clear_status, context)
        try:
            self.take(context)
        except Exception as error:
            return self.drop_it(context, error)
        answer = self.modal(context, event)  # a tool of the toolbar starts with the press itself
        if answer & {"CANCELLED", "FINISHED"}:
            return answer
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """Handles one event. Esc and the right button undo everything."""
        try:
            if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
                return self.drop_it(context)
            if event.type == "Z" and (event.ctrl or event.oskey):
                # Blender's own undo would remove the data that the tool holds, and undo an earlier edit.
                if event.value == "PRESS" and not event.shift:
                    self.take_back()
                return {"RUNNING_MODAL"}
            return self.handle(context, event)
        except Exception as error:
            return self.drop_it(context, error)

    def drop_it(self, context, error: Exception | None = None) -> set[str]:
        """Ends the tool and undoes its changes. `error` is reported as the reason."""
        for step in (self.restore, lambda: self.end(context)):
            try:
                step()
            except Exception as failure:
                error = error or failure
        return {"CANCELLED"} if error is None else self.refuse(self._stand.obj, error)

    def cancel(self, context):
        """Ends the tool when Blender closes or loads another file."""
        self.end(context)

    def stand(self, context, obj):
        """Returns what the tool works on, with the object as `obj`."""
        return posed_character.read(obj, context.scene, context.view_layer)

    def take(self, context) -> None:
        """Prepares the tool; may refuse."""
        raise NotImplementedError

    def handle(self, context, event) -> set[str]:
        """Handles one event."""
        raise NotImplementedError

    def take_back(self) -> None:
        """Undoes the last step made with the tool (Ctrl+Z), if the tool supports it."""

    def restore(self) -> None:
        """Undoes all changes since `take`."""

    def end(self, context) -> None:
        """Ends the tool: nothing stays drawn or running. May be called again."""
        self.held.close()


class SkinTool(ModalTool):
    """Mix-in for tools that drag a point of the skin: a press takes it, Shift and a press holds further points, Enter ends.

    A subclass defines `first_hit(origin, direction)`, `hold(vertex, dragged)`, `drag_to(point)`, `release(context)`, `keep(context)`,
    `tick(context)`, `pins()` and `line()`.
    """

    #: Updates per second while the mouse moves. Motion looks smooth from about 24 pictures a second on.
    rate = 30.0

    def begin(self, context, status: str) -> None:
        """Draws the points, starts the timer and shows `status` in the status bar, all until the tool ends."""
        self._depth = None  # position of the dragged point when it was taken, Blender's world
        self.held.enter_context(poses.silence_handlers())  # frames are neither simulated nor looked up meanwhile
        self.held.callback(viewing.TemporaryDrawing(self.marks).end)
        timer = context.window_manager.event_timer_add(1.0 / self.rate, window=context.window)
        self.held.callback(context.window_manager.event_timer_remove, timer)
        show_status(context.workspace, status)

    @property
    def dragging(self) -> bool:
        """Returns whether the mouse drags a point."""
        return self._drag >= 0

    def handle(self, context, event):
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            return self.press(context, event)
        if event.type == "LEFTMOUSE" and event.value == "RELEASE" and self.dragging:
            return self.release(context)
        if event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            return self.keep(context)
        if event.type == "MOUSEMOVE" and self.dragging:
            view = viewing.view_under_mouse(context, event)
            if view is not None:
                self.drag_to(view.point_at_depth(self._depth))
            return {"RUNNING_MODAL"}
        if event.type == "TIMER":
            return self.tick(context)
        return {"RUNNING_MODAL"} if self.dragging else {"PASS_THROUGH"}

    def press(self, context, event):
        """Holds a point, or begins to drag one."""
        view = viewing.view_under_mouse(context, event)
        if view is None:
            return {"PASS_THROUGH"}
        hit, triangles = self.first_hit(*view.ray())
        if hit is None:
            report(
                self,
                {"WARNING"},
                f"There is no skin of {describe(self._stand.obj)} under the mouse: press on the body.",
            )
            return self.handle_miss(context)
        self.hold(hit.vertex(triangles), not event.shift)
        windows.redraw()
        return {"RUNNING_MODAL"}

    def handle_miss(self, context) -> set[str]:
        """Handles a press beside the skin."""
        return {"RUNNING_MODAL"}

    def marks(self):
        """Returns the held points and a line from the dragged one to its target."""
        drawn = [(np.array(self.pins()).reshape(-1, 3), PINNED_COLOUR, 9.0)]
        if self.dragging:
            line = self.line()
            drawn += [(line[:1], DRAGGED_COLOUR, 9.0), (line[None], DRAGGED_COLOUR, 2.0)]
        return drawn

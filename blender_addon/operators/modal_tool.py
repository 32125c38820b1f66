# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the tools that follow the mouse."""

from __future__ import annotations

from contextlib import ExitStack

import bpy

from ..edit import posed
from ..live import target, updates
from ..scene import windows
from .shell import Job, quiet


class ModalTool(Job):
    """Mix-in for modal tools. A script calls `execute`; events of the mouse go through `handle`, which may raise.

    A tool pushes what it acquires (drawings, timers, the handlers' silence) onto `held`, which is released whatever happens.
    """

    def invoke(self, context, event):
        """Starts the tool. Without a 3D view, runs `execute`."""
        if windows.headless() or context.window is None or context.area is None:
            return self.execute(context)
        obj = target.of(context)
        try:
            if context.screen.is_animation_playing:
                bpy.ops.screen.animation_cancel(restore_frame=False)
            updates.stop_update()
            self._stand = self.stand(context, obj)
        except Exception as error:
            return self.refuse(obj, error)
        self.held = ExitStack()
        self.held.callback(windows.redraw)
        self.held.callback(quiet, context)
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
        for step in (self.put_back, lambda: self.end(context)):
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
        return posed.read(obj, context.scene, context.view_layer)

    def take(self, context) -> None:
        """Prepares the tool; may refuse."""
        raise NotImplementedError

    def handle(self, context, event) -> set[str]:
        """Handles one event."""
        raise NotImplementedError

    def take_back(self) -> None:
        """Undoes the last step made with the tool (Ctrl+Z), if the tool supports it."""

    def put_back(self) -> None:
        """Undoes all changes since `take`."""

    def end(self, context) -> None:
        """Ends the tool: nothing stays drawn or running. May be called again."""
        self.held.close()

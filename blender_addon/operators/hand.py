# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools that are held in the hand have in common."""

from __future__ import annotations

import bpy

from .. import handlers, posed
from .shell import Job


class InHand(Job):
    """Mix-in for modal tools: a script calls `execute`, the mouse goes through `handle`, which may raise."""

    def invoke(self, context, event):
        """Take the tool into the hand; without a 3D view like `execute`."""
        if handlers.headless() or context.window is None or context.area is None:
            return self.execute(context)
        obj = posed.of(context)
        try:
            if context.screen.is_animation_playing:
                bpy.ops.screen.animation_cancel(restore_frame=False)
            handlers.stop_update()
            self._stand = posed.read(obj, context.scene, context.view_layer)
            self.take(context)
        except Exception as error:
            return self.refuse(obj, error)
        answer = self.modal(context, event)  # a tool of the toolbar comes with the press itself
        if answer & {"CANCELLED", "FINISHED"}:
            return answer
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """One event; Esc and the right button put everything back."""
        try:
            if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
                self.put_back()
                self.end(context)
                return {"CANCELLED"}
            return self.handle(context, event)
        except Exception as error:
            self.put_back()
            self.end(context)
            return self.refuse(self._stand.obj, error)

    def cancel(self, context):
        """Blender is closing or loading another file."""
        self.end(context)

    def take(self, context) -> None:
        """Get ready; may refuse."""
        raise NotImplementedError

    def handle(self, context, event) -> set[str]:
        """One event."""
        raise NotImplementedError

    def put_back(self) -> None:
        """Undo what was changed since `take`."""

    def end(self, context) -> None:
        """Put the tool down: nothing of it stays drawn or running. May be called again."""
        raise NotImplementedError

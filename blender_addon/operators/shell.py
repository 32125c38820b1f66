# SPDX-License-Identifier: GPL-3.0-or-later
"""One job as an operator: `execute` does it here and now, `invoke` a little at a time with a bar and Esc."""

from __future__ import annotations

import traceback

import bpy

from .. import handlers, poses
from ..logic.errors import Cancelled, sentence
from ..logic.tasks import Stepper, Task, finish


class Job:
    """Mix-in for operators; a subclass gives `job(context, obj)` and tells in `said` what was done."""

    @classmethod
    def poll(cls, context):
        if context.view_layer.objects.active is None:
            cls.poll_message_set("Select a skinned mesh")
            return False
        return True

    def job(self, context: bpy.types.Context, obj: bpy.types.Object) -> Task:
        """The task of this operator."""
        raise NotImplementedError

    def said(self, obj: bpy.types.Object, result) -> str:
        """What to tell when it is done."""
        return ""

    def execute(self, context):
        """Do it to the end, as a script wants it."""
        obj = context.view_layer.objects.active
        try:
            handlers.stop_update()
            result = finish(self.job(context, obj))
        except Exception as error:
            return self.refuse(obj, error)
        return self.done(obj, result)

    def invoke(self, context, _event):
        """Do it with the window alive; without one like `execute`."""
        if handlers.headless() or context.window is None:
            return self.execute(context)
        obj = context.view_layer.objects.active
        if context.screen is not None and context.screen.is_animation_playing:
            bpy.ops.screen.animation_cancel(restore_frame=False)
        handlers.stop_update()
        self._obj = obj
        self._stepper = Stepper(self.job(context, obj))
        self._timer = context.window_manager.event_timer_add(0.02, window=context.window)
        context.window_manager.progress_begin(0, 100)
        context.window_manager.modal_handler_add(self)
        poses.busy += 1
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        stepper = self._stepper
        if event.type == "ESC" and event.value == "PRESS":
            stepper.cancel()
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        over = stepper.advance()
        context.window_manager.progress_update(int(100 * stepper.fraction))
        if context.workspace is not None:
            text = f"Thew: {stepper.text} {100 * stepper.fraction:.0f} % (Esc cancels)"
            context.workspace.status_text_set(None if over else text)
        handlers.redraw()
        if not over:
            return {"RUNNING_MODAL"}
        self._end(context)
        if stepper.error is not None:
            return self.refuse(self._obj, stepper.error)
        return self.done(self._obj, stepper.result)

    def cancel(self, context):
        """Blender is closing or loading another file."""
        self._stepper.close()
        self._end(context)

    def _end(self, context):
        poses.busy -= 1
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        if context.workspace is not None:
            context.workspace.status_text_set(None)

    def done(self, obj, result):
        """Report success."""
        said = self.said(obj, result)
        if said:
            self.report({"INFO"}, said)
        return {"FINISHED"}

    def refuse(self, obj, error: BaseException):
        """Report why nothing was done."""
        if isinstance(error, Cancelled):
            self.report({"WARNING"}, "Cancelled: nothing was changed.")
            return {"CANCELLED"}
        text = sentence(str(error))
        if not isinstance(error, handlers.EXPECTED):
            traceback.print_exception(error)
            text = f"Something unforeseen happened ({type(error).__name__}: {error}); nothing was changed."
        if obj is not None and obj.name not in text:
            text = f"“{obj.name}”: {text}"
        self.report({"ERROR"}, text)
        return {"CANCELLED"}

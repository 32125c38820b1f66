# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates the motion in the live range, or in a range of its own.

In a window the simulation takes its turn among the automatic updates, and the operator watches it: every event but Esc is passed on,
so that settings, the view and undo stay at hand.
"""

from contextlib import ExitStack

import bpy
from bpy.props import IntProperty

from ..languages.translations import report, show_status, translate
from ..live import jobs, motion_edits, requested, target, turns
from ..live.session import register
from ..logic.errors import Cancelled
from ..logic.still_poses import nothing_moves, unmoved_text
from ..scene import windows
from .operator_bases import Job, clear_status, fill, fresh_property


class THEW_OT_simulate(Job, bpy.types.Operator):
    bl_label = "Simulate"
    bl_description = "Read the animation again and compute the motion of the flesh; shows it live instead of a bake"

    frame_start: fresh_property(IntProperty, "Start", "First frame; if unset, that of the current range", default=1)
    frame_end: fresh_property(IntProperty, "End", "Last frame; if unset, that of the current range", default=250)

    @classmethod
    def poll(cls, context):
        if turns.state.requests:
            cls.poll_message_set(translate("Thew is at work: wait, or press Esc"))
            return False
        return super().poll(context)

    def job(self, context, obj):
        if obj is not None and obj.type == "MESH":
            start, end = obj.thew.frames(context.scene)
            fill(self, frame_start=start, frame_end=end)
        return jobs.simulate(obj, context.scene, context.view_layer, self.frame_start, self.frame_end)

    def invoke(self, context, _event):
        """Asks for the simulation, and watches it. Without a window, runs `execute`."""
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        obj, manager = target.target_mesh(context), context.window_manager
        names = ("frame_start", "frame_end")
        frames = [getattr(self, name) if self.properties.is_property_set(name) else None for name in names]
        if context.screen is not None and context.screen.is_animation_playing:
            bpy.ops.screen.animation_cancel(restore_frame=False)
        try:
            with ExitStack() as held:  # a failure in here releases everything
                self._request = requested.begin(obj, context.scene, *frames)
                held.callback(requested.cancel, self._request)
                held.callback(clear_status, context)
                timer = manager.event_timer_add(0.05, window=context.window)
                held.callback(manager.event_timer_remove, timer)
                manager.modal_handler_add(self)
                self._held = held.pop_all()
        except Exception as error:
            return self.refuse(obj, error)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            requested.cancel(self._request)
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        if self._request.is_pending:
            stepper = turns.state.stepper
            if context.workspace is not None and stepper is not None:
                show_status(context.workspace, f"Thew: {stepper.status_text} (Esc cancels)")
            return {"PASS_THROUGH"}
        self._held.close()
        windows.redraw()
        return self.finish(requested.object_of(self._request), self._request)

    def finish(self, obj, request):
        """Reports how the simulation ended; `obj`: None if it is gone."""
        if request.done and obj is not None:
            start, end = obj.thew.frames(bpy.context.scene)
            fill(self, frame_start=start, frame_end=end)
            return self.report_success(obj, register.state_of(obj))
        if request.error is None or obj is None or isinstance(request.error, ReferenceError):
            report(self, {"WARNING"}, "The simulation was dropped: something else began, or its object is gone.")
            return {"CANCELLED"}
        if isinstance(request.error, Cancelled) and motion_edits.is_stale(
            obj, bpy.context.scene, register.known_state(obj)
        ):
            report(
                self, {"WARNING"}, "Cancelled: the motion in view is of the former settings. Play, or press Simulate."
            )
            return {"CANCELLED"}
        return self.refuse(obj, request.error)

    def message(self, obj, _result):
        flesh = register.state_of(obj)
        if nothing_moves(flesh):
            return [
                f"“{obj.name}” was simulated, but nothing moves it.",
                unmoved_text(flesh.clip_start, flesh.clip_end),
            ]
        return f"“{obj.name}” moves from frame {flesh.clip_start} to {flesh.clip_end}."


class THEW_OT_simulate_stop(bpy.types.Operator):
    bl_idname = "thew.simulate_stop"
    bl_label = "Stop"
    bl_description = "Cancel what is being computed; the flesh stays as it was until something is edited, or plays"
    bl_options = {"INTERNAL"}

    def execute(self, context):
        if not turns.state.requests and context.screen is not None and context.screen.is_animation_playing:
            bpy.ops.screen.animation_cancel(restore_frame=False)  # its next frame would begin the update again
        requested.stop()
        windows.redraw()
        return {"FINISHED"}

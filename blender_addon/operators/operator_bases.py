# SPDX-License-Identifier: GPL-3.0-or-later
"""Bases of the operators.

A `Job` is long: `execute` runs it to the end, `invoke` runs it in steps with a progress bar and Esc. A `QuickJob` runs at once.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import ExitStack

import bpy
from bpy.props import EnumProperty, FloatProperty

from ..languages.contexts import own_context
from ..languages.translations import report, show_status, translate
from ..live import requested, target, updates
from ..live.registers import is_alive
from ..live.work import running_steppers
from ..logic import session_log
from ..logic.errors import Cancelled, Refusal, sentence
from ..logic.names import describe
from ..logic.native import EXPECTED_ERRORS
from ..logic.sentences import plural
from ..logic.tasks import Stepper, Task, finish
from ..scene import poses, windows

#: Events that turn and move the view.
NAVIGATION = {
    "MIDDLEMOUSE", "TRACKPADPAN", "TRACKPADZOOM", "NDOF_MOTION", "NUMPAD_1", "NUMPAD_2", "NUMPAD_3", "NUMPAD_4", "NUMPAD_5",
    "NUMPAD_6", "NUMPAD_7", "NUMPAD_8", "NUMPAD_9", "NUMPAD_0", "NUMPAD_PERIOD",
}  # fmt: skip
#: Events that a job lets through, so that the artist can look around meanwhile.
VIEW_EVENTS = NAVIGATION | {"WHEELUPMOUSE", "WHEELDOWNMOUSE", "MOUSEMOVE", "INBETWEEN_MOUSEMOVE"}


def clear_status(context) -> None:
    """Clears our text from the status bar."""
    if context.workspace is not None:
        context.workspace.status_text_set(None)


def option(kind: Callable, name: str, description: str, **options):
    """Returns a property of an operator, one of `bpy.props`."""
    return kind(name=name, description=description, **own_context(name), **options)


def fresh_property(kind: Callable, name: str, description: str, **options):
    """Returns a property whose value an earlier call must not pass on to the next."""
    return option(kind, name, description, options={"SKIP_SAVE"}, **options)


def factor(name: str, description: str, default: float):
    """Returns a property from 0 to 1."""
    return option(FloatProperty, name, description, default=default, min=0.0, max=1.0, subtype="FACTOR")


def mirror_direction():
    """Returns a property with the side that a mirror copies to the other."""
    sides = (
        ("POSITIVE_X", "+X to -X", "Keep the side of positive X"),
        ("NEGATIVE_X", "-X to +X", "Keep the other side"),
    )
    return option(EnumProperty, "Direction", "Side that is copied to the other", items=sides, default="POSITIVE_X")


def fill(operator: bpy.types.Operator, **values) -> None:
    """Sets the properties that were left alone to the values in force, so that the redo panel shows what was done.

    They are not to be saved (`SKIP_SAVE`): the next press begins anew.
    """
    for name, value in values.items():
        if not operator.properties.is_property_set(name):
            setattr(operator, name, value)


class Job:
    """Mix-in for operators. A subclass defines `job(context, obj)`, and `message` for the message when it is done.

    The operator of the class `THEW_OT_name` is `thew.name`.
    """

    bl_options = {"REGISTER", "UNDO"}
    poll_message = "Select a skinned mesh or its armature"

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.__name__.startswith("THEW_OT_"):
            cls.bl_idname = f"thew.{cls.__name__.removeprefix('THEW_OT_')}"

    @classmethod
    def poll(cls, context):
        if running_steppers:
            cls.poll_message_set(translate("Thew is at work: wait, or press Esc"))
            return False
        if context.view_layer.objects.active is None:
            cls.poll_message_set(translate(cls.poll_message))
            return False
        return True

    def job(self, context: bpy.types.Context, obj: bpy.types.Object) -> Task:
        """Returns the task of this operator."""
        raise NotImplementedError

    def message(self, obj: bpy.types.Object, result) -> str | list[str]:
        """Returns the message for the artist when the job is done, or several."""
        return ""

    def execute(self, context):
        """Runs the job to its end, for scripts."""
        obj = target.target_mesh(context)
        try:
            updates.stop_update()
            result = finish(self.job(context, obj))
        except Exception as error:
            return self.refuse(obj, error)
        return self.report_success(obj, result)

    def invoke(self, context, _event):
        """Runs the job while the window stays responsive. Without a window, runs `execute`."""
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        obj = target.target_mesh(context)
        if context.screen is not None and context.screen.is_animation_playing:
            bpy.ops.screen.animation_cancel(restore_frame=False)
        updates.stop_update()
        self._obj = obj
        manager = context.window_manager
        try:
            with ExitStack() as held:  # a failure in here releases everything
                self._stepper = Stepper(self.job(context, obj))
                held.callback(self._stepper.close)
                held.callback(clear_status, context)
                timer = manager.event_timer_add(0.02, window=context.window)
                held.callback(manager.event_timer_remove, timer)
                manager.progress_begin(0, 100)
                held.callback(manager.progress_end)
                held.enter_context(poses.silence_handlers())
                manager.modal_handler_add(self)
                running_steppers.append(self._stepper)
                held.callback(running_steppers.remove, self._stepper)
                self._held = held.pop_all()
        except Exception as error:
            return self.refuse(obj, error)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        stepper = self._stepper
        if event.type == "ESC" and event.value == "PRESS":
            stepper.cancel()
        if event.type != "TIMER":
            return {"PASS_THROUGH"} if event.type in VIEW_EVENTS else {"RUNNING_MODAL"}
        try:
            over = stepper.advance()
            context.window_manager.progress_update(int(100 * stepper.bar.shown))
            if context.workspace is not None:
                show_status(context.workspace, f"Thew: {stepper.status_text} (Esc cancels)")
            windows.redraw()
        except Exception as error:
            self._held.close()
            return self.refuse(self._obj, error)
        if not over:
            updates.show_arriving()
            return {"RUNNING_MODAL"}
        self._held.close()
        updates.evaluate_own_curves(context.view_layer)
        windows.redraw()  # buttons are grey as long as a job runs
        if stepper.error is not None:
            updates.show_last_finished()
            return self.refuse(self._obj, stepper.error)
        updates.state.displayed_parts.clear()
        return self.report_success(self._obj, stepper.result)

    def cancel(self, context):
        """Ends the job when Blender closes or loads another file. Does nothing if a dialog was cancelled before the job began."""
        if hasattr(self, "_held"):
            self._held.close()

    def report_success(self, obj, result):
        """Reports success."""
        said = self.message(obj, result)
        for text in [said] if isinstance(said, str) else said:
            if text:
                report(self, {"INFO"}, sentence(text))
        return {"FINISHED"}

    def refuse(self, obj, error: BaseException):
        """Reports why nothing was done."""
        if isinstance(error, Cancelled):
            report(self, {"WARNING"}, "Cancelled: nothing was changed.")
            return {"CANCELLED"}
        text = sentence(str(error))
        if not isinstance(error, EXPECTED_ERRORS):
            traceback.print_exception(error)
            text = f"Something unforeseen happened ({type(error).__name__}: {error}); nothing was changed."
        if obj is not None and is_alive(obj) and obj.name not in text:  # it may have been deleted while the job worked
            text = f"“{obj.name}”: {text}"
        where = "" if isinstance(error, EXPECTED_ERRORS) else f" At {session_log.place_of(error)}."
        session_log.note_refusal("", text + where)
        report(self, {"ERROR"}, text)
        return {"CANCELLED"}


class QuickJob(Job):
    """Mix-in for operators that run at once. A subclass defines `edit(context, obj)`, which returns what `message` reports."""

    def invoke(self, context, _event):
        return self.execute(context)

    def execute(self, context):
        """Does the edit and reports it."""
        obj = target.target_mesh(context)
        try:
            with requested.kept():
                result = self.edit(context, obj)
        except Exception as error:
            return self.refuse(obj, error)
        finally:
            windows.redraw()  # a refusal may draw what is wrong
        return self.report_success(obj, result)

    def edit(self, context: bpy.types.Context, obj: bpy.types.Object):
        """Does the edit and returns the message for the artist, or several, or None."""
        raise NotImplementedError

    def message(self, _obj, result):
        return result or ""


def chosen_index(owner, entries, index: int, active: int, noun: str) -> int:
    """Returns the index of the owner's entry to work on: `index`, or `active` if that is negative; refuses one that is not there."""
    index = active if index < 0 else index
    if not len(entries):
        raise Refusal(f"{describe(owner)} has no {noun}s: add one first")
    if not 0 <= index < len(entries):
        raise Refusal(f"{describe(owner)} has no {noun} {index}: it has {plural(len(entries), noun)}")
    return index

# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders and exports in a window, whose frames Blender evaluates in another thread while the interface stays responsive.

Blender calls handlers in that thread, where writing to a mesh would race with the window's drawing. So the main thread does their
work between two of its events, while the other thread waits: nothing reads a mesh during the write, and the interface need not be
locked.
"""

from __future__ import annotations

import textwrap
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager

import bpy

from ..languages.translations import translate
from ..scene import poses

#: Seconds that the other thread waits for a busy window before it gives up; and seconds after it has given up once.
WAIT_LIMIT, SHORT_WAIT_LIMIT = 10.0, 0.5
#: Seconds between two looks of the main thread for pending calls: at the quick rate, and otherwise.
BUSY_INTERVAL, IDLE_INTERVAL = 0.001, 0.1
#: Letters in a line of a dialog. Lines of 45 to 75 are read best.
DIALOG_WIDTH = 60
#: Seconds after the last call during which the main thread still looks at the quick rate.
BUSY_TIME = 5.0


class MainThreadCall:
    """One call that the main thread runs for another thread."""

    def __init__(self, call: Callable[[], None]):
        self.call = call
        self.over = threading.Event()
        self._taken = threading.Event()
        self._free = threading.Lock()  # taken by whichever comes first: the main thread, or the thread that gives up

    def run(self) -> None:
        """Runs the call, unless the other thread has given up."""
        if not self._free.acquire(blocking=False):
            return
        self._taken.set()
        try:
            self.call()
        except Exception:  # nobody else would learn of it
            traceback.print_exc()
        finally:
            self.over.set()

    def wait(self, patience: float) -> bool:
        """Waits until the call is done; returns False if it did not start in time, and never will."""
        if not self._taken.wait(patience) and self._free.acquire(blocking=False):
            return False
        self.over.wait()
        return True


_pending_calls: deque[MainThreadCall] = deque()
_last_call_time = 0.0
_frames_were_missed = False


def is_other_thread() -> bool:
    """Returns whether this is not the main thread."""
    return threading.current_thread() is not threading.main_thread()


def run_on_main(call: Callable[[], None]) -> bool:
    """Runs `call` on the main thread and waits for it; returns False when the window was too busy."""
    pending = MainThreadCall(call)
    _pending_calls.append(pending)
    return pending.wait(SHORT_WAIT_LIMIT if _frames_were_missed else WAIT_LIMIT)


def schedule_on_main(call: Callable[[], None]) -> None:
    """Schedules `call` on the main thread."""
    _pending_calls.append(MainThreadCall(call))


def run_pending_calls() -> float:
    """Runs the pending calls of other threads, as a timer of the main thread; returns the seconds to its next call."""
    global _last_call_time
    while _pending_calls and not poses.silence_depth:  # a job that reads poses, or a mouse tool at work, comes first
        _pending_calls.popleft().run()
        _last_call_time = time.monotonic()
    return BUSY_INTERVAL if _pending_calls or time.monotonic() - _last_call_time < BUSY_TIME else IDLE_INTERVAL


def render_begins() -> None:
    """Resets the flag of missed frames as a render begins."""
    global _frames_were_missed
    _frames_were_missed = False


def report_missed_frame(frame: int) -> None:
    """Reports, once a render, frames without flesh because the window was busy."""
    global _frames_were_missed
    if not _frames_were_missed:
        _frames_were_missed = True
        warning = (
            f"From frame {frame} on, frames may lack their flesh, because Blender's window was busy: render them again."
        )
        schedule_on_main(lambda: show_dialog("Thew", [warning]))


@contextmanager
def show_progress():
    """Shows a percentage at the mouse while the main thread is busy; gives the progress callback of a task."""
    if bpy.app.background:
        yield None
        return
    manager = bpy.context.window_manager
    manager.progress_begin(0, 100)
    try:
        yield lambda fraction, _text: manager.progress_update(int(100.0 * fraction))
    finally:
        manager.progress_end()


def show_dialog(title: str, lines: list[str]) -> None:
    """Shows a dialog in the largest window, which the artist looks at."""
    windows = bpy.context.window_manager.windows
    if not len(windows) or bpy.app.background:
        return

    def draw(popup, _context):
        for line in lines:
            for part in textwrap.wrap(translate(line), DIALOG_WIDTH):
                popup.layout.label(text=part)

    with bpy.context.temp_override(window=max(windows, key=lambda each: each.width * each.height)):
        bpy.context.window_manager.popup_menu(draw, title=title, icon="ERROR")


def register() -> None:
    """Starts the timer that serves other threads, where there is a window."""
    if not bpy.app.background:
        bpy.app.timers.register(run_pending_calls, first_interval=IDLE_INTERVAL, persistent=True)


def unregister() -> None:
    """Stops the timer; waiting threads go on without it."""
    if bpy.app.timers.is_registered(run_pending_calls):
        bpy.app.timers.unregister(run_pending_calls)
    _pending_calls.clear()

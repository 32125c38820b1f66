# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders and exports in a window, whose frames Blender evaluates in a thread of their own while the interface lives.

Handlers are called in that thread, where writing to a mesh would race with the window's drawing. So what they have to do
is done by the main thread, between two of its events, while the other thread waits: nobody reads what is being written,
and the interface need not be locked.
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

from ..scene import poses

#: How long the other thread waits for a window that is busy, before it goes on without, seconds; and after that happened.
PATIENCE, IMPATIENCE = 10.0, 0.5
#: How often the main thread looks for errands: while there are some, and otherwise, seconds.
QUICK, IDLE = 0.001, 0.1
#: How many letters a line of a dialog has. Lines of 45 to 75 are read best.
LETTERS = 60
#: Errands are looked for quickly for so long after the last one, seconds.
LINGER = 5.0


class Errand:
    """One call that the main thread does for another."""

    def __init__(self, call: Callable[[], None]):
        self.call = call
        self.over = threading.Event()
        self._taken = threading.Event()
        self._free = threading.Lock()  # whoever gets it first, the main thread or the one that gives up

    def do(self) -> None:
        """Do it, unless it was given up."""
        if not self._free.acquire(blocking=False):
            return
        self._taken.set()
        try:
            self.call()
        except Exception:  # nobody else would hear of it
            traceback.print_exc()
        finally:
            self.over.set()

    def wait(self, patience: float) -> bool:
        """Wait until it is done; False when it was not begun in time, and will not be."""
        if not self._taken.wait(patience) and self._free.acquire(blocking=False):
            return False
        self.over.wait()
        return True


_errands: deque[Errand] = deque()
_last = 0.0
_missed = False


def elsewhere() -> bool:
    """Whether this is not the main thread."""
    return threading.current_thread() is not threading.main_thread()


def on_main(call: Callable[[], None]) -> bool:
    """Have `call` done by the main thread and wait for it; False when the window was too busy."""
    errand = Errand(call)
    _errands.append(errand)
    return errand.wait(IMPATIENCE if _missed else PATIENCE)


def later(call: Callable[[], None]) -> None:
    """Have `call` done by the main thread some time soon."""
    _errands.append(Errand(call))


def attend() -> float:
    """Do what other threads ask for: a timer of the main thread; seconds until it looks again."""
    global _last
    while _errands and not poses.busy:  # a job that reads poses, or a tool in the hand, comes first
        _errands.popleft().do()
        _last = time.monotonic()
    return QUICK if _errands or time.monotonic() - _last < LINGER else IDLE


def begins() -> None:
    """A render begins."""
    global _missed
    _missed = False


def missed(frame: int) -> None:
    """A frame goes without flesh, because the window was busy: say so, once in a render."""
    global _missed
    if not _missed:
        _missed = True
        warning = (
            f"From frame {frame} on, frames may lack their flesh, because Blender's window was busy: render them again."
        )
        later(lambda: tell("Thew", [warning]))


@contextmanager
def shown_progress():
    """A percentage at the mouse while the main thread is busy; gives the callback of a task."""
    if bpy.app.background:
        yield None
        return
    manager = bpy.context.window_manager
    manager.progress_begin(0, 100)
    try:
        yield lambda fraction, _text: manager.progress_update(int(100.0 * fraction))
    finally:
        manager.progress_end()


def tell(title: str, lines: list[str]) -> None:
    """A dialog in the largest window, which the artist looks at."""
    windows = bpy.context.window_manager.windows
    if not len(windows) or bpy.app.background:
        return

    def draw(popup, _context):
        for line in lines:
            for part in textwrap.wrap(line, LETTERS):
                popup.layout.label(text=part)

    with bpy.context.temp_override(window=max(windows, key=lambda each: each.width * each.height)):
        bpy.context.window_manager.popup_menu(draw, title=title, icon="ERROR")


def register() -> None:
    """Attend to other threads, where there is a window."""
    if not bpy.app.background:
        bpy.app.timers.register(attend, first_interval=IDLE, persistent=True)


def unregister() -> None:
    """Attend no more: who waits goes on without."""
    if bpy.app.timers.is_registered(attend):
        bpy.app.timers.unregister(attend)
    _errands.clear()

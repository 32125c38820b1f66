# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C and SIGTERM on the command line.

Blender has a handler of its own for Ctrl-C, which sets a mark that scripts never see: no KeyboardInterrupt is raised. And one that is
raised while Blender calls a handler of events is printed and forgotten. So signals only set a flag here, at which tasks are cancelled as
by Esc in a window: they put the scene back and remove what is unfinished.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..logic import tasks
from ..logic.native import EXPECTED_ERRORS

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_stopped = False


@contextmanager
def caught() -> Iterator[None]:
    """Lets signals stop the command within the context. A signal that is ignored from outside stays ignored."""
    global _stopped
    _stopped = False
    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, _stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: Blender's own, which cannot be put back. The command is over, and Blender is about to end with its status.
            signal.signal(number, signal.SIG_IGN if handler is None else handler)


def _stop(_number: int, _frame: object) -> None:
    global _stopped
    _stopped = True


def check() -> None:
    """Raises KeyboardInterrupt if a signal came."""
    if _stopped:
        raise KeyboardInterrupt


def finish(task: tasks.Task) -> Any:
    """Runs a task to its end, or raises KeyboardInterrupt after a signal, once the task has cleaned up."""
    try:
        value = tasks.finish(task, lambda _fraction, _text: not _stopped)
    except EXPECTED_ERRORS:
        check()
        raise
    check()  # the task may have taken the end of one mesh for a refusal
    return value

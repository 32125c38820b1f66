# SPDX-License-Identifier: GPL-3.0-or-later
"""Long work as a generator, so that one piece of code serves a script and a window with a progress bar.

A *task* is a generator. It yields either

- `Progress(fraction, text)`: a report that also yields control, between chunks that need Blender's main thread, or
- `Work(text, call, start, end)`: a native call that needs no Blender data. `call(progress)` may run in another thread; its result
  is sent back into the generator.

Cancelling throws `Cancelled` into the generator, whose `finally` clauses put the scene back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from . import session_log
from .errors import Cancelled
from .stage_words import stage_text


@dataclass(frozen=True)
class Progress:
    """Progress report: `fraction` in 0..1, and a text on the present step."""

    fraction: float
    text: str


@dataclass(frozen=True)
class Work:
    """A call without Blender's data that covers `start`..`end` of the whole."""

    text: str
    call: Callable[[Callable[[float, str], bool]], Any]
    start: float = 0.0
    end: float = 1.0

    def whole(self, fraction: float) -> float:
        """Returns the fraction of the whole task at `fraction` of this call."""
        return self.start + (self.end - self.start) * min(max(float(fraction), 0.0), 1.0)


Task = Generator["Progress | Work", Any, Any]


def relay(task: Task, change: Callable[[Progress | Work], Progress | Work]) -> Task:
    """Runs `task` with each of its steps changed."""
    answer = None
    try:
        while True:
            try:
                step = task.send(answer)
            except StopIteration as stop:
                return stop.value
            answer = yield change(step)
    finally:
        task.close()


def span(task: Task, start: float, end: float) -> Task:
    """Runs `task` with its progress squeezed into `start`..`end`."""
    width = end - start

    def squeezed(step: Progress | Work) -> Progress | Work:
        if isinstance(step, Work):
            return replace(step, start=start + width * step.start, end=start + width * step.end)
        return replace(step, fraction=start + width * step.fraction)

    return relay(task, squeezed)


def titled(task: Task, title: str) -> Task:
    """Runs `task` with a title before its texts: `“Run”: into rest space, frame 10`."""

    def with_title(step: Progress | Work) -> Progress | Work:
        text = f"{title}: {step.text[:1].lower()}{step.text[1:]}"
        if isinstance(step, Work):
            return replace(step, text=text, call=titled_call(step, title))
        return replace(step, text=text)

    return relay(task, with_title)


def titled_call(step: Work, title: str) -> Callable[[Callable[[float, str], bool]], Any]:
    """Returns the call of a step, which puts a title before the stages that it reports."""

    def call(progress: Callable[[float, str], bool]) -> Any:
        return step.call(lambda fraction, stage: progress(fraction, f"{title}: {stage_text(stage, step.text)}"))

    return call


def within(task: Task, enter: Callable[[], AbstractContextManager]) -> Task:
    """Runs each step of `task` inside a context of its own: between two steps, Blender's data are as they were found."""
    answer: Any = None
    thrown: BaseException | None = None
    try:
        while True:
            with enter():
                try:
                    step = task.send(answer) if thrown is None else task.throw(thrown)
                except StopIteration as stop:
                    return stop.value
            answer, thrown = None, None
            try:
                answer = yield step
            except Exception as error:  # cancelled, or a native call failed: the task may clean up
                thrown = error
    finally:
        if task.gi_frame is not None:  # not over yet: its `finally` clauses find what they expect
            with enter():
                task.close()


def finish(task: Task, progress: Callable[[float, str], bool] | None = None) -> Any:
    """Runs `task` to its end at once. `progress` returns False to cancel: `Cancelled` is raised."""

    furthest = 0.0

    def report(fraction: float, text: str) -> bool:
        nonlocal furthest
        furthest = max(furthest, fraction)  # a bar that runs backwards is worse than one that stands
        return progress is None or progress(furthest, text) is not False

    answer = None
    thrown: BaseException | None = None
    while True:
        try:
            step = task.send(answer) if thrown is None else task.throw(thrown)
        except StopIteration as stop:
            return stop.value
        answer, thrown = None, None
        if isinstance(step, Work):
            cancelled = False

            def report_native(fraction: float, stage: str, step: Work = step) -> bool:
                nonlocal cancelled
                cancelled = cancelled or not report(step.whole(fraction), stage_text(stage, step.text))
                return not cancelled

            try:
                with session_log.timed(step.text):
                    answer = step.call(report_native)
            except Exception as error:
                thrown = Cancelled() if cancelled else error
        elif not report(step.fraction, step.text):
            thrown = Cancelled()


class Bar:
    """Fraction to show of a task of which only a part may be done: stretches between its steps that are left out count for nothing.

    It never goes back: what is done only grows, and so does what is left out.
    """

    def __init__(self) -> None:
        self.shown = 0.0
        self._at = 0.0  # end of all that is done or left out, as the task counts
        self._skipped = 0.0

    def begin(self, fraction: float) -> None:
        """Notes that a step begins there: what lies between it and the former one is left out."""
        self._skipped += max(fraction - self._at, 0.0)
        self.reach(fraction)

    def reach(self, fraction: float) -> None:
        """Notes that all is done as far as there."""
        self._at = max(self._at, min(fraction, 1.0))
        whole = 1.0 - self._skipped
        self.shown = max(self.shown, (self._at - self._skipped) / whole if whole > 0.0 else 1.0)


class Stepper:
    """Runs a task a little at a time: `advance` from a timer in the window, until `done`.

    Native calls run in a thread; `cancel` asks them to stop and throws `Cancelled` into the task. After `done`, `result`
    is the task's value, or `error` the exception that ended it.
    """

    def __init__(self, task: Task):
        self.task = task
        self.fraction = 0.0
        self.bar = Bar()
        self.text = ""
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._cancelled = False
        self._thread: threading.Thread | None = None
        self._end = 0.0  # of the native call in that thread
        self._outcome: tuple[Any, BaseException | None] | None = None

    @property
    def status_text(self) -> str:
        """Returns the present step and its progress, for a bar: `Simulating 40 %`, `Measuring frame 19, 80 %`."""
        text = self.text or "Working"
        comma = "," if text[-1].isdigit() else ""
        return f"{text[:1].upper()}{text[1:]}{comma} {100.0 * self.bar.shown:.0f} %"

    @property
    def waiting(self) -> bool:
        """Returns whether a native call is running in its thread."""
        return self._thread is not None

    def cancel(self) -> None:
        """Requests the task to stop; it ends at its next step."""
        self._cancelled = True

    def advance(self, patience: float = 0.0) -> bool:
        """Runs one step, or checks on a native call, waiting at most `patience` seconds for its end; returns True once the task has
        ended.
        """
        if self.done:
            return True
        if self._thread is not None:
            self._thread.join(patience)
            if self._thread.is_alive():
                return False
            self._thread = None
            self.bar.reach(self._end)
            value, error = self._outcome or (None, None)
            if self._cancelled:
                error = Cancelled()
            self._resume(value, error)
        else:
            self._resume(None, Cancelled() if self._cancelled else None)
        return self.done

    def close(self) -> None:
        """Stops at once, waiting for a native call to notice (when the extension is switched off)."""
        self.cancel()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.task.close()
        self.done = True

    def _resume(self, value: Any, error: BaseException | None) -> None:
        try:
            step = self.task.throw(error) if error is not None else self.task.send(value)
        except StopIteration as stop:
            self.done, self.result = True, stop.value
            return
        except BaseException as failure:  # handed to the owner of this stepper
            self.done, self.error = True, failure
            return
        if isinstance(step, Work):
            self.bar.begin(step.start)
            self._tell(step.start, step.text)
            self._outcome, self._end = None, step.end
            self._thread = threading.Thread(target=self._call, args=(step,), daemon=True)
            self._thread.start()
        else:
            self._tell(step.fraction, step.text)

    def _tell(self, fraction: float, text: str) -> None:
        self.bar.reach(fraction)
        self.fraction, self.text = max(self.fraction, fraction), text

    def _call(self, step: Work) -> None:
        def report_native(fraction: float, stage: str) -> bool:
            self._tell(step.whole(fraction), stage_text(stage, step.text))
            return not self._cancelled

        try:
            with session_log.timed(step.text):
                self._outcome = (step.call(report_native), None)
        except BaseException as error:  # carried over to the main thread
            self._outcome = (None, error)

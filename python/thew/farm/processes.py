# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs on this machine, by processes of Python alone.

Each worker is a process at the end of a pipe. One that ends without an answer (killed, or out of memory) takes only its own job with it,
which a fresh one tries again.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from . import blends
from .jobs import Call, Record
from .working import run_job

#: A fresh interpreter: a copy of this one could hold locks and threads of the simulation.
_CONTEXT = multiprocessing.get_context("spawn")

#: Environment of the workers, where the user's does not say otherwise. The C library of Linux keeps more freed memory the more has been freed,
#: unless this bound is set: here as by Dask for its workers. A simulation with contact takes 4 MB less with it.
ENVIRONMENT = {"MALLOC_TRIM_THRESHOLD_": "65536"}


#: Exit status of a worker whose script, which it reads first, would do the table itself.
UNGUARDED = 97


UNGUARDED_SENTENCE = 'each worker reads the script that runs the farm, and would run it again: put that call under if __name__ == "__main__":'


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Blocks Ctrl-C in this thread, and so in threads and processes that it starts: a terminal sends it to all of them, and one decides."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python starts a process of its own beside the first worker, and some versions (3.13.0) then unblock the signal in this thread: so
    # that one starts before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_worker() -> None:
    """Ends a process that is a worker and still reads the script of its command, which has come to the table again."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(UNGUARDED)


class Processes:
    """Workers on this machine. Used in a `with` block, which ends them."""

    name = "processes"

    def __init__(self, workers: int, retries: int) -> None:
        self.workers, self.retries = workers, retries
        self._stopped = False
        self._starting = threading.Lock()  # held while a worker starts: none starts after the end
        self._running: dict[int, _Worker] = {}  # by the number of the thread
        self._added: list[str] = []  # variables of this process's environment, which workers inherit

    def __enter__(self) -> Self:
        self._added = [name for name in ENVIRONMENT if name not in os.environ]
        os.environ.update({name: ENVIRONMENT[name] for name in self._added})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._starting:
            self._stopped = True
        for name in self._added:
            os.environ.pop(name, None)
        for worker in list(self._running.values()):
            worker.end(at_once=error is not None)

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[Call, Record]]:
        """Does the jobs and yields each with its record when it ends."""
        waiting: queue.SimpleQueue[Call] = queue.SimpleQueue()
        ended: queue.SimpleQueue[tuple[Call, Record]] = queue.SimpleQueue()
        for call in calls:
            waiting.put(call)
        for number in range(min(self.workers, len(calls))):
            threading.Thread(target=self._serve, args=(number, waiting, ended), daemon=True).start()
        for _ in calls:
            yield ended.get()

    def pids(self) -> list[int]:
        """Returns the numbers of the workers' processes."""
        return [worker.process.pid for worker in list(self._running.values()) if worker.process.pid]

    def _serve(
        self, number: int, waiting: queue.SimpleQueue[Call], ended: queue.SimpleQueue[tuple[Call, Record]]
    ) -> None:
        """Takes jobs until none is left, each to the worker with this number."""
        with deaf_to_interrupts(), suppress(queue.Empty):
            while not self._stopped:
                call = waiting.get_nowait()
                try:
                    ended.put((call, self._do(number, call)))
                except Exception as error:
                    ended.put((call, Record.from_job(call.job, "failed", f"no process can be started here: {error}")))
        if (worker := self._running.pop(number, None)) is not None:
            worker.end()

    def _do(self, number: int, call: Call) -> Record:
        code: int | None = None
        for _ in range(self.retries + 1):
            with self._starting:
                if self._stopped:
                    break
                worker = self._running.get(number) or self._running.setdefault(number, _Worker())
            try:
                return worker.do(call)
            except (EOFError, OSError):
                code = worker.end()
                self._running.pop(number, None)
                if code == UNGUARDED:
                    return Record.from_job(call.job, "failed", UNGUARDED_SENTENCE)
        return Record.from_job(call.job, "failed", lost_worker_sentence(self.retries + 1, code))


class _Worker:
    """One process with a pipe for jobs, and a leash: a pipe whose end ends the process, whatever it is doing."""

    def __init__(self) -> None:
        self._closing = threading.Lock()
        self.pipe, pipe = _CONTEXT.Pipe()
        leash, self.leash = _CONTEXT.Pipe(duplex=False)
        self.process = _CONTEXT.Process(target=_work, args=(pipe, leash), daemon=True)
        self.process.start()
        pipe.close()  # so that its end shows here
        leash.close()

    def do(self, call: Call) -> Record:
        """Does one job. Raises EOFError or OSError if the process ends before."""
        self.pipe.send(call)
        record: Record = self.pipe.recv()
        return record

    def end(self, at_once: bool = False) -> int | None:
        """Ends the process, also in the middle of a job if `at_once`. Returns its exit status. Several threads may call it at a time."""
        self._close(self.leash if at_once else self.pipe)
        self.process.join(10.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._close(self.pipe)
        self._close(self.leash)
        return self.process.exitcode

    def _close(self, pipe: Connection) -> None:
        """Closes a pipe, one thread at a time: two in `Connection.close` would close the handle twice, or the handle None."""
        with self._closing, suppress(OSError):
            pipe.close()


def lost_worker_sentence(tries: int, code: int | None = None) -> str:
    """Returns the sentence on a job whose workers ended before it did. `code`: exit status of the last one."""
    how = ""
    if code is not None:
        how = f" (signal {-code})" if code < 0 else f" (status {code})"
    times = {1: "once", 2: "twice"}.get(tries, f"{tries} times")
    return (
        f"its worker ended {times} before it did{how}: the memory may not suffice; take fewer workers or more --retries"
    )


def _work(pipe: Connection, leash: Connection) -> None:
    """Does jobs until the command closes the pipe. Ends with the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            pipe.send(run_job(pipe.recv()))


def _end_with(leash: Connection) -> None:
    """Ends this process once the command lets go of the leash or ends itself, and the Blender that it waits for."""
    with suppress(EOFError, OSError):
        leash.recv()
    blends.stop()
    os._exit(1)

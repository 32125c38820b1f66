# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs on many machines, or on this one, by Dask distributed: <https://distributed.dask.org>."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from .._errors import InputError, StorageError
from . import blends
from .extras import remedy
from .jobs import Call, Record
from .processes import deaf_to_interrupts, lost_worker_sentence
from .working import run_job

#: Seconds to wait for a scheduler before it counts as away. Dask's own 30 s look like a hang.
CONNECT_TIMEOUT = 10.0


def is_there() -> bool:
    """Returns whether Dask distributed can be imported."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        return False
    return True


def future_key(call: Call) -> str:
    """Returns the name of a job at its scheduler. Other commands' jobs with the same name are the same work: into the same folder."""
    place = hashlib.sha256(call.out.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{call.job.name}-{call.job.key[:12]}-{place[:12]}"


class Cluster:
    """Workers of a scheduler, or of a cluster of this machine that ends with the `with` block."""

    name = "dask"

    def __init__(self, address: str | None, workers: int, threads: int, retries: int) -> None:
        self.address, self.workers, self.threads, self.retries = address, workers, threads, retries
        self._cluster: Any = None
        self._client: Any = None

    def __enter__(self) -> Self:
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise InputError(
                f"Dask distributed cannot be imported ({error}): {remedy('distributed')}, or leave --scheduler out"
            ) from error
        for name in [
            "distributed",
            *(each for each in logging.root.manager.loggerDict if each.startswith("distributed.")),
        ]:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what it tells comes out as sentences
        dask.config.set({"distributed.comm.timeouts.connect": CONNECT_TIMEOUT})
        try:
            if self.address is None:
                dask.config.set({"distributed.scheduler.allowed-failures": self.retries})
                # No limit of memory: Dask would end a worker near it, and characters differ by a hundredfold.
                with deaf_to_interrupts():  # the thread that starts workers, also in place of killed ones, starts here
                    self._cluster = LocalCluster(
                        n_workers=self.workers, threads_per_worker=1, processes=True, memory_limit=None, dashboard_address=None,
                        silence_logs=logging.CRITICAL, env={"RAYON_NUM_THREADS": str(self.threads)} if self.threads else None,
                    )  # fmt: skip
            self._client = Client(self._cluster or self.address, timeout=CONNECT_TIMEOUT, set_as_default=False)
        except Exception as error:  # of many kinds: addresses, sockets, processes
            self._close()
            reason = str(error).splitlines()[0] if str(error) else "no answer"
            raise StorageError(
                f"no scheduler answers at {self.address} ({reason}): start one with dask scheduler, or leave --scheduler out "
                "to work on this machine"
                if self.address is not None
                else f"Dask starts no workers on this machine ({reason}): give --processes, and in a script put the call of the farm "
                'under if __name__ == "__main__":'
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._cluster is not None:
            with suppress(Exception):
                self._client.run(blends.stop)  # Blenders would outlive the workers that wait for them
        self._close()

    def _close(self) -> None:
        for each in (self._client, self._cluster):
            if each is not None:
                with suppress(Exception):  # a scheduler that is gone cannot be closed
                    each.close(timeout=5.0)

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[Call, Record]]:
        """Does the jobs and yields each with its record when it ends."""
        from distributed import as_completed

        futures = {self._client.submit(run_job, call, key=future_key(call), pure=False): call for call in calls}
        try:
            for future in as_completed(futures, loop=self._client.loop):
                record = self._record(future, futures[future])
                yield futures.pop(future), record
                future.release()
        except Exception as error:  # Dask itself has failed, not a job
            for call in list(futures.values()):
                yield (
                    call,
                    Record.from_job(call.job, "failed", f"its workers were lost ({error}): give the command again"),
                )

    def _record(self, future: Any, call: Call) -> Record:
        """Returns what became of a job."""
        from distributed import KilledWorker

        if future.cancelled():
            # Only a lost scheduler cancels: its jobs cannot be asked for any more.
            where = self.address or "on this machine"
            return Record.from_job(call.job, "failed", f"the scheduler {where} was lost: give the command again")
        error = future.exception()
        if error is None:
            record: Record = future.result()
            return record
        if isinstance(error, KilledWorker):
            return Record.from_job(
                call.job, "failed", lost_worker_sentence(getattr(error, "allowed_failures", self.retries) + 1)
            )
        return Record.from_job(call.job, "failed", f"its worker could not take it: {error}")

    def pids(self) -> list[int]:
        """Returns the numbers of the workers' processes of a cluster of this machine."""
        return [each.pid for each in self._cluster.workers.values()] if self._cluster is not None else []

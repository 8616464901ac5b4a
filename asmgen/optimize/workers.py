"""Who does tasks: processes of this machine, or a Dask cluster, behind one interface."""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from asmgen.errors import AsmgenError
from asmgen.optimize.tasks import Outcome, Task, begin, run

#: How often a task that lost its worker is given to another one.
_TRIES = 3


class Workers(Protocol):
    """Do tasks side by side, `count` at a time."""

    count: int

    def give(self, task: Task) -> None:
        """Let somebody do it."""

    def take(self, seconds: float) -> Outcome | None:
        """What is done next; None when nothing is within so many seconds. What a task raises is raised here."""

    def close(self) -> None:
        """Stop, whatever is on the way."""


class _Queue:
    """Outcomes as they come; tasks whose worker was lost are given again."""

    def __init__(self) -> None:
        self.done: queue.Queue[tuple[Task, Any]] = queue.Queue()
        self.lost: dict[Task, int] = {}

    def note(self, task: Task, future: Any) -> None:
        self.done.put((task, future))

    def next(self, seconds: float, again: Callable[[Task], None], gone: tuple[type[BaseException], ...]) -> Any:
        try:
            task, future = self.done.get(timeout=seconds)
        except queue.Empty:
            return None
        try:
            return future.result()
        except gone as error:
            self.lost[task] = self.lost.get(task, 0) + 1
            if self.lost[task] >= _TRIES:
                raise AsmgenError(f"a worker was lost {_TRIES} times with the same task: {error}") from None
            again(task)
            return None


class Local:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.queue = _Queue()
        self.pool = self._fresh()

    def _fresh(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.count, mp_context=context, initializer=begin)

    def give(self, task: Task) -> None:
        future: Future[Outcome]
        try:
            future = self.pool.submit(run, task)
        except BrokenProcessPool:  # one that is gone takes the others with it
            self.pool = self._fresh()
            future = self.pool.submit(run, task)
        future.add_done_callback(lambda done: self.queue.note(task, done))

    def take(self, seconds: float) -> Outcome | None:
        found: Outcome | None = self.queue.next(seconds, self.give, (BrokenProcessPool, CancelledError))
        return found

    def close(self) -> None:
        processes = list((self.pool._processes or {}).values())
        self.pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


class Cluster:
    """Workers of a Dask scheduler, which have asmgen and the same scripts."""

    def __init__(self, address: str, timeout: float = 10) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise AsmgenError("a cluster needs Dask's distributed", hint="pip install 'asmgen[cluster]'") from None
        try:
            self.client = Client(address, timeout=timeout)
        except (OSError, ValueError) as error:
            hint = "give its address as it prints it, such as tcp://10.0.0.1:8786"
            raise AsmgenError(f"no Dask scheduler answers at {address}: {error}", hint=hint) from error
        self.count = max(1, len(self.client.scheduler_info()["workers"]))
        self.queue = _Queue()

    def give(self, task: Task) -> None:
        future = self.client.submit(run, task, pure=False, retries=0)
        future.add_done_callback(lambda done: self.queue.note(task, done))

    def take(self, seconds: float) -> Outcome | None:
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        found: Outcome | None = self.queue.next(seconds, self.give, (KilledWorker, FutureCancelledError))
        return found

    def close(self) -> None:
        self.client.close(timeout=2)

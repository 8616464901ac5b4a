"""The same work for many kernels, over the machine's cores."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from asmgen.errors import AsmgenError

Job = TypeVar("Job")
Result = TypeVar("Result")

# What forked children work on: kernels are functions of a script, which cannot be sent to another process.
_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def cores() -> int:
    """How many processes can run side by side."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(function: Callable[[Job], Result], jobs: Sequence[Job], processes: int | None = None) -> Iterator[Result]:
    """function(job) for every job, in their order, by `processes` side by side, by default one a core.

    Results must be picklable. What a job raises is raised here. With one job or process, and where nothing can be
    forked, all is done in this one.
    """
    global _work
    workers = min(len(jobs), processes or cores())
    if workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(function, jobs)
        return
    _work = (function, jobs)
    context = multiprocessing.get_context("fork")
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)
    try:
        yield from executor.map(_one, range(len(jobs)))
    except BrokenProcessPool:
        hint = "run it for fewer kernels at a time, or on one core"
        raise AsmgenError("a process was killed, perhaps for want of memory", hint=hint) from None
    finally:
        executor.shutdown(cancel_futures=True)


def _begin() -> None:
    """Ctrl-C ends a child without a word, where it is not ignored; the parent says what there is to say.

    A child makes much that lives until it is done, and few cycles: garbage is looked for seldom.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _one(index: int) -> Any:
    assert _work is not None
    function, jobs = _work
    return function(jobs[index])

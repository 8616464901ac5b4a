"""The same work for many kernels, over the machine's cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

# What forked children work on: kernels are functions of a script, which cannot be sent to another process.
_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def each(function: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
    """function(job) for every job, in their order, by as many processes as there are cores; results must be
    picklable."""
    global _work
    processes = min(
        len(jobs), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if processes < 2:
        yield from map(function, jobs)
        return
    _work = (function, jobs)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.imap(_one, range(len(jobs)))


def _one(index: int) -> Any:
    assert _work is not None
    function, jobs = _work
    return function(jobs[index])

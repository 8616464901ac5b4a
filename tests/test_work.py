"""asmgen.work: the same results from any number of processes, and clear words when one of them dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from asmgen import work
from asmgen.errors import AsmgenError, Source
from asmgen.work import cores, each


@pytest.mark.parametrize("processes", [None, 1, 2, 3])
def test_results_come_in_the_order_of_the_jobs(processes: int | None) -> None:
    functions: list[Callable[[], int]] = [lambda at=at: at * at for at in range(20)]  # type: ignore[misc]
    assert list(each(lambda job: job(), functions, processes)) == [at * at for at in range(20)]
    assert list(each(lambda job: job, [], processes)) == []


def test_jobs_run_in_other_processes_as_many_as_asked_for() -> None:
    pids = set(each(lambda job: os.getpid(), range(40), 2))
    assert os.getpid() not in pids and 1 <= len(pids) <= 2
    assert set(each(lambda job: os.getpid(), range(3), 1)) == {os.getpid()}
    assert set(each(lambda job: os.getpid(), [0])) == {os.getpid()}  # one job alone


def test_where_nothing_forks_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert set(each(lambda job: os.getpid(), range(3), 2)) == {os.getpid()}


def test_an_error_keeps_its_line_and_hint_and_stops_the_rest() -> None:
    def fail(job: int) -> int:
        if job == 3:
            raise AsmgenError("wrong", source=Source("script.py", 7), hint="mend it")
        return job

    made = each(fail, range(1000), 2)
    assert [next(made) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(AsmgenError) as caught:
        next(made)
    assert (caught.value.what, caught.value.source, caught.value.hint) == ("wrong", Source("script.py", 7), "mend it")


def test_a_process_that_dies_is_an_error_with_a_way_out() -> None:
    def die(job: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return job

    with pytest.raises(AsmgenError, match="a process was killed") as caught:
        list(each(die, [1, 2], 2))
    assert caught.value.hint


def test_there_is_a_core() -> None:
    assert cores() >= 1

"""emulate.report: many jobs in order, and failures that say all."""

from __future__ import annotations

import os

import pytest
from emulated import ADD, ADD_N, COPY, EQUAL, FEATURES, LOOK_UP, Described
from hand_assembled import code
from rich.console import Console

from asmgen.errors import AsmgenError
from emulate.report import Job, failure_lines, run_job, run_tests, table

SEED = 20260401


def job(kernel: Described, name: str, target: str, command: str = "") -> Job:
    return Job(kernel, target, code(name, target), features=FEATURES[target], command=command)


JOBS = [
    job(ADD, "add", "amd64"), job(ADD_N, "add_n", "arm64"), job(ADD, "missing_store", "arm64"),
    job(COPY, "copy33", "amd64"), job(ADD, "writes_after", "amd64"), job(EQUAL, "equal", "arm64"),
]  # fmt: skip


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_order_and_are_the_same(processes: int) -> None:
    results = list(run_tests(JOBS, count=1500, seed=SEED, processes=processes))
    assert [each for each, _ in results] == JOBS
    assert [result.failure is None for _, result in results] == [True, True, False, True, False, True]
    alone = [run_job(each, 1500, SEED) for each in JOBS]
    assert [result.failure for _, result in results] == [result.failure for result in alone]
    assert [result.vectors for _, result in results] == [result.vectors for result in alone]


def test_one_vector_alone() -> None:
    failure = run_job(JOBS[2], 1500, SEED).failure
    assert failure is not None
    (_, again), (_, right) = run_tests([JOBS[2], JOBS[0]], count=9, seed=SEED, only=failure.index, processes=2)
    assert again.failure == failure and again.vectors == 1
    assert right.failure is None


def test_a_process_that_dies_is_an_error_with_a_way_out() -> None:
    def die(*inputs: int) -> tuple[int, ...]:
        os._exit(9)

    dying = Described(ADD.signature, die)
    with pytest.raises(AsmgenError, match="a process was killed"):
        list(run_tests([job(dying, "add", "amd64"), JOBS[0]], count=10, seed=SEED, processes=2))


def test_table() -> None:
    results = list(run_tests(JOBS[:3], count=300, seed=SEED, processes=1))
    console = Console(width=120, color_system=None, record=True, file=open(os.devnull, "w"))
    console.print(table(results))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[0] == ["kernel", "target", "vectors", "per", "second", "emulation", "result"]
    assert lines[1][:3] == ["toy.add", "amd64", "300"] and lines[1][-1] == "ok"
    assert lines[2][:3] == ["toy.add_n", "arm64", "300"] and lines[2][-1] == "ok"
    failure = results[2][1].failure
    assert failure is not None and lines[3][-4:] == ["FAILED", "at", "vector", str(failure.index)]


def test_a_failure_in_full() -> None:
    failure = run_job(JOBS[2], 1500, SEED).failure
    assert failure is not None
    a, b, index = failure.inputs[0][1], failure.inputs[1][1], failure.index
    assert isinstance(a, tuple) and isinstance(b, tuple)
    lines = failure_lines(failure)
    assert lines[0] == f"toy_add on arm64 fails at vector {index} of seed {SEED}:"
    assert lines[1].startswith("  out ") and lines[2].startswith("  aliasing: ")
    assert lines[3] == "  input a = [" + ", ".join(map(hex, a)) + "]"
    assert lines[4] == "  input b = [" + ", ".join(map(hex, b)) + "]"
    assert lines[5].startswith("  wanted out = 0x") and lines[6].startswith("  got out = 0x")
    assert lines[7].startswith("  got out in memory = [0x")
    assert lines[-1] == f"  again: asmgen test toy.add --target arm64 --seed {SEED} --only {index}"
    assert len(lines) == 9


def test_a_failure_without_outputs() -> None:
    failure = run_job(JOBS[4], 1500, SEED).failure
    assert failure is not None
    lines = failure_lines(failure)
    assert "wrote 8 bytes in the guard behind out" in lines[1]
    assert "  got nothing: the call did not come to a good end" in lines


def test_bytes_bits_and_tables_are_printed() -> None:
    copy = run_job(job(Described(COPY.signature, lambda a: (a ^ 1,)), "copy33", "amd64"), 10, SEED).failure
    assert copy is not None and isinstance(copy.inputs[0][1], bytes)
    assert f"  input a = {copy.inputs[0][1].hex()}" in failure_lines(copy)
    bit = run_job(job(Described(EQUAL.signature, lambda a, b: (2,)), "equal", "amd64"), 10, SEED).failure
    assert bit is not None and "  wanted returned bit = 0x2" in failure_lines(bit)
    wrong = Described(LOOK_UP.signature, lambda t, i: (t[i] + 1,))
    pick = run_job(job(wrong, "look_up", "amd64"), 10, SEED).failure
    assert pick is not None and failure_lines(pick)[3].count("0x") == 11

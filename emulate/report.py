"""Tests of many kernels side by side, and what the user reads about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.table import Table

from asmgen.work import each
from emulate.compare import Described, Failure, Result, check
from emulate.inputs import Input
from emulate.machine import Machine


@dataclass(frozen=True)
class Job:
    """A kernel's machine code for one target, to be tested.

    `entry` is in bytes from the start of `code`; `features` are the CPUID bits it may use; `stack` the bytes of stack
    it says it uses; `command` what repeats the test, without seed and index (by default `asmgen test SCRIPT.KERNEL
    --target TARGET`).
    """

    kernel: Described
    target: str
    code: bytes
    entry: int = 0
    features: frozenset[str] = frozenset()
    stack: int | None = None
    command: str = ""


def run_job(job: Job, count: int, seed: int, only: int | None = None) -> Result:
    """Test one job: vectors 0 to `count - 1`, or `only` that one."""
    machine = Machine(job.target, job.code, job.entry, job.kernel.signature, job.features, stack=job.stack)
    return check(job.kernel, machine, count, seed, only=only, command=job.command)


def run_tests(
    jobs: Iterable[Job], *, count: int, seed: int, only: int | None = None, processes: int | None = None
) -> Iterator[tuple[Job, Result]]:
    """Test all jobs and yield each with its result, in the order given whatever ends first.

    `processes` run side by side, by default one for each core.
    """
    every = tuple(jobs)
    yield from zip(every, each(lambda job: run_job(job, count, seed, only), every, processes), strict=True)


def table(results: Iterable[tuple[Job, Result]]) -> Table:
    """One line a kernel and target: vectors tested, vectors a second, emulation alone, and the result."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("kernel", "target"):
        made.add_column(title, no_wrap=True)
    for title in ("vectors", "per second", "emulation"):
        made.add_column(title, justify="right", no_wrap=True)
    made.add_column("result", no_wrap=True)
    for job, result in results:
        made.add_row(*row(job, result))
    return made


def row(job: Job, result: Result) -> tuple[str, ...]:
    """The cells of one line of the table."""
    signature = job.kernel.signature
    verdict = "[green]ok[/]" if result.failure is None else f"[red]FAILED at vector {result.failure.index}[/]"
    return (
        f"{signature.script}.{signature.kernel}",
        job.target,
        f"{result.vectors:,}",
        f"{result.rate:,.0f}",
        f"{result.emulation_rate:,.0f}",
        verdict,
    )


def failure_lines(failure: Failure) -> list[str]:
    """A failure for people and for grep: no color, nothing cut, the last line is the command that repeats it."""
    lines = [
        f"{failure.symbol} on {failure.target} fails at vector {failure.index} of seed {failure.seed}:",
        f"  {failure.reason}",
        f"  aliasing: {failure.aliasing}",
    ]
    lines += [f"  input {name} = {_text(value)}" for name, value in failure.inputs]
    lines += [f"  wanted {name} = {value:#x}" for name, value in failure.wanted]
    lines += [f"  got {name} = {value:#x}" for name, value in failure.meant]
    lines += [f"  got {name} in memory = {_text(value)}" for name, value in failure.got if not isinstance(value, int)]
    if not failure.got:
        lines.append("  got nothing: the call did not come to a good end")
    return [*lines, f"  again: {failure.command}"]


def _text(value: Input) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f"{limb:#x}" for limb in value) + "]"
    if isinstance(value, bytes):
        return value.hex()
    return f"{value:#x}"

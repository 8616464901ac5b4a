"""What one worker does: measure a seed of a kernel, or walk from it for a while. Tasks and outcomes can be sent."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial

from asmgen.bench.timer import can_run, cpu
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.optimize.anneal import Annealer, Judge, candidate
from asmgen.optimize.modelled import Modelled, cores
from asmgen.optimize.native import SEARCHED, Native, Race
from asmgen.optimize.pinned import pin
from asmgen.passes import Options, compile_stages, seeded
from asmgen.passes.arrange import Arrangement, Order, arranged, arrangement
from asmgen.passes.frame import frame
from asmgen.passes.plans import Seed
from asmgen.routine import Allocated, Code
from asmgen.scripts import find
from asmgen.targets.assemble import assemble
from emulate.compare import check
from emulate.machine import Machine

#: Inputs on which a candidate is run before it becomes the best.
VECTORS = 256


@dataclass(frozen=True)
class Goal:
    """A kernel, by what names it on the command line, for a target, and what is to become less: `latency`,
    `throughput` or `both`, on `core`."""

    kernel: str
    target: str
    core: str
    objective: str = "both"
    features: str = "default"

    @property
    def options(self) -> Options:
        """Without plans."""
        return Options(self.target, self.features, planned=False)


@dataclass(frozen=True)
class Task:
    """Start from a seed, from these orders of its lines if there are any, and walk for so many seconds; with 0 it is
    measured only. The same `number`, the same moves."""

    goal: Goal
    seed: Seed
    orders: tuple[tuple[int, ...], ...] = ()
    seconds: float = 0.0
    number: int = 1


@dataclass(frozen=True)
class Outcome:
    """The best orders found, their cost by that of the default schedule, and what was looked at; `where` names what it
    was measured by."""

    task: Task
    orders: tuple[tuple[int, ...], ...]
    cost: float
    proposed: int
    judged: int
    where: str


@cache
def kernel_of(selector: str) -> Kernel:
    """The kernel that is meant; AsmgenError for a program."""
    (found,) = find([selector])
    if not isinstance(found, Kernel):
        raise AsmgenError(f"{found.name} is a program, made of calls", hint="name a kernel that it calls")
    return found


@cache
def start_of(goal: Goal) -> Code:
    """The routine by the default schedule."""
    return compile_stages(kernel_of(goal.kernel), goal.options).frame


@lru_cache(maxsize=64)
def arrangement_of(goal: Goal, seed: Seed) -> Arrangement:
    """The routine that a seed gives, ready for other orders."""
    return arrangement(_allocated(goal, replace(seed, others=())), seed.others)


@lru_cache(maxsize=64)
def _allocated(goal: Goal, seed: Seed) -> Allocated:
    made = seeded(kernel_of(goal.kernel), goal.options, seed)
    assert made.allocate is not None
    return made.allocate


@lru_cache(maxsize=2)
def _race(goal: Goal) -> Race:
    code = start_of(goal)
    if lacking := can_run(goal.target, code.features):
        raise AsmgenError(lacking, hint="search on a machine that runs it")
    pin()
    return Race(kernel_of(goal.kernel), assemble(code.items).code, goal.objective, SEARCHED)


@lru_cache(maxsize=16)
def _native(goal: Goal, seed: Seed) -> Native:
    return Native(_race(goal), arrangement_of(goal, seed))


@lru_cache(maxsize=64)
def _modelled(goal: Goal, seed: Seed) -> Modelled:
    start = compile_stages(kernel_of(goal.kernel), goal.options).allocate
    assert start is not None
    return Modelled(arrangement_of(goal, seed), arrangement(start), cores(goal.core), goal.objective)


def judge_of(goal: Goal, seed: Seed) -> tuple[Judge, str]:
    """Who compares candidates of a seed, and its name."""
    if goal.target == "arm64":
        return _modelled(goal, seed), f"the model of {', '.join(cores(goal.core))}"
    return _native(goal, seed), cpu()


def run(task: Task) -> Outcome:
    """Do a task; what does not depend on it is kept for the next one in this process."""
    before = arrangement_of(task.goal, task.seed)
    judge, where = judge_of(task.goal, task.seed)
    orders: Sequence[Order] = task.orders or [range(len(line)) for line in before.lines]
    found = [made for number, order in enumerate(orders) if (made := candidate(before, number, order)) is not None]
    proposed = judged = 0
    if task.seconds:
        walk = Annealer(before, orders, judge, task.number)
        found = walk.run(task.seconds, partial(right, task.goal, before))
        proposed, judged = walk.steps.proposed, walk.steps.judged
    return Outcome(task, tuple(each.order for each in found), judge.cost(found), proposed, judged, where)


def right(goal: Goal, before: Arrangement, orders: Sequence[Order]) -> bool:
    """Whether the routine of these orders gives what its kernel says, on some inputs in every way to share buffers."""
    kernel = kernel_of(goal.kernel)
    code = frame(arranged(before, orders))
    made = assemble(code.items)
    machine = Machine(goal.target, made.code, 0, kernel.signature, code.features, stack=code.stack)
    return check(kernel, machine, VECTORS, 1).failure is None


def begin() -> None:
    """For a process of its own: Ctrl-C is for the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

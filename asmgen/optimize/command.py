"""`asmgen optimize`: what the command does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from asmgen.errors import AsmgenError, UsageError
from asmgen.files import write
from asmgen.kernel import Kernel
from asmgen.optimize import final
from asmgen.optimize.live import gain, view
from asmgen.optimize.modelled import cores
from asmgen.optimize.search import search, seeds
from asmgen.optimize.tasks import Goal, Task, arrangement_of
from asmgen.optimize.workers import Cluster, Local, Workers
from asmgen.passes import plans
from asmgen.passes.arrange import arranged
from asmgen.passes.plans import Seed
from asmgen.scripts import find, selector
from asmgen.targets.cores import at_hand

OBJECTIVES = ("latency", "throughput", "both")


@dataclass(frozen=True)
class How:
    """For so many minutes each, from this random seed, by so many processes of this machine or those of a cluster."""

    core: str = plans.GENERIC
    objective: str = "both"
    features: str = "default"
    minutes: float = 1.0
    seed: int = 1
    workers: int = 1
    cluster: str = ""


def run(selectors: Sequence[str], target: str, how: How) -> int:
    """Search for each kernel and write its plan; the exit code."""
    console = Console() if sys.stdout.isatty() else Console(width=120)
    kernels = [each for each in find(selectors) if isinstance(each, Kernel)]
    if not kernels:
        raise UsageError("a program is made of calls", hint="name a kernel that it calls")
    for kernel in kernels:
        one(kernel, Goal(selector(kernel), target, how.core, how.objective, how.features), how, console)
    return 0


def one(kernel: Kernel, goal: Goal, how: How, console: Console) -> bool:
    """Search for one kernel; whether a plan was written."""
    file = plans.path(kernel, goal.target, goal.features, goal.core)
    before = known(goal, file)
    console.print(f"[bold]{goal.kernel}[/], {goal.target}, {goal.core}: {where(goal)}", highlight=False)
    starts = [Task(goal, seed) for seed in seeds(goal)]
    if before is not None:
        starts.insert(0, before)
    with view(console) as tell:
        state = search(goal, starts, _workers(how), 60 * how.minutes, how.seed, tell)
    assert state.best is not None
    verdict = final.judged(goal, state.best, before)
    for line in verdict.lines:
        console.print(line, highlight=False, soft_wrap=True)
    if not verdict.better:
        return False
    arrangement = arrangement_of(goal, state.best.task.seed)
    plan = plans.plan_of(arrangement, state.best.orders, state.best.task.seed, verdict.found)
    write({file.name: plans.text(plan)}, file.parent)
    console.print(f"{file}", highlight=False, soft_wrap=True)
    return True


def where(goal: Goal) -> str:
    """By what candidates are judged."""
    if goal.target == "arm64":
        return f"modelled for {', '.join(cores(goal.core))}"
    here = at_hand()
    other = "" if goal.core in (here, plans.GENERIC) else f", though the plan is for {goal.core}"
    return f"timed on this machine's CPU, {here}{other}"


def known(goal: Goal, file: Path) -> Task | None:
    """The plan that is there, to go on from; None when there is none that fits."""
    if not file.is_file():
        return None
    plan = plans.read(file)
    try:
        before = arrangement_of(goal, plan.seed)
        orders = plans.orders_of(plan, before)
        arranged(before, orders)
    except AsmgenError:
        return _refitted(goal, plan)
    return Task(goal, plan.seed, tuple(map(tuple, orders)))


def _refitted(goal: Goal, plan: plans.Plan) -> Task | None:
    """The plan by its instructions' names, for a routine that is another one now; None when that is not legal."""
    seed = replace(plan.seed, others=())  # positions in a routine that is no more
    try:
        before = arrangement_of(goal, seed)
    except AsmgenError:  # a decision that is no more
        seed = Seed()
        before = arrangement_of(goal, seed)
    orders = plans.rebased(plan, before)
    try:
        arranged(before, orders)
    except AsmgenError:
        return None
    return Task(goal, seed, tuple(map(tuple, orders)))


def rebase(selectors: Sequence[str]) -> int:
    """Fit all plans of kernels, for whatever target and core, to the routines that are made now; 1 when one does not
    fit in any way."""
    status = 0
    for kernel in find(selectors):
        for target, features, core, file in plans.every(kernel):
            goal = Goal(selector(kernel), target, core, features=features)
            task = known(goal, file)
            if task is None:
                print(f"{file}: no order that is legal comes of it; remove it, or search anew")
                status = 1
                continue
            plan = plans.plan_of(arrangement_of(goal, task.seed), task.orders, task.seed, plans.read(file).found)
            new = write({file.name: plans.text(plan)}, file.parent)[0][1]
            print(f"{file}{'' if new else ' (fits as it is)'}")
    return status


def _workers(how: How) -> Workers:
    return Cluster(how.cluster) if how.cluster else Local(how.workers)


__all__ = ["OBJECTIVES", "How", "gain", "rebase", "run"]

"""The last word on what a search found: measured where it did not look, tested, proved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from asmgen.diff import mca
from asmgen.optimize.anneal import candidate
from asmgen.optimize.code import Coder
from asmgen.optimize.live import gain
from asmgen.optimize.model import set_anew, straight, taking_time, touched
from asmgen.optimize.modelled import PASSES, cores
from asmgen.optimize.native import HELD_OUT, Race
from asmgen.optimize.tasks import Goal, Outcome, Task, arrangement_of, judge_of, kernel_of, right, start_of
from asmgen.passes.arrange import Order, arranged
from asmgen.passes.frame import frame
from asmgen.passes.plans import Seed
from asmgen.prove.answers import Proved, Refuted
from asmgen.prove.command import Wish, answer, code_routine
from asmgen.routine import Code
from asmgen.targets.assemble import assemble

#: What must be gained for a plan to be worth it.
_WORTH = 0.002
#: Seconds for the proof.
_BUDGET = 30.0


@dataclass(frozen=True)
class Verdict:
    """Whether a plan is to be written, what it says of itself, and what to tell."""

    better: bool
    lines: tuple[str, ...]
    found: Mapping[str, Any] = field(default_factory=dict)


def judged(goal: Goal, best: Outcome, before: Task | None) -> Verdict:
    """What was found against the default schedule, and the plan that was there before, in contexts of its own."""
    arrangement = arrangement_of(goal, best.task.seed)
    if not right(goal, arrangement, best.orders):
        return Verdict(False, ("what was found is wrong on a test vector, and is thrown away: please report it",))
    by, measure = (
        ("llvm-mca", _by_mca) if goal.target == "arm64" and mca.found()[0] else
        ("the model", _by_model) if goal.target == "arm64" else ("contexts that the search did not use", _held_out)
    )  # fmt: skip
    costs = {wish: measure(goal, wish, best.task.seed, best.orders) for wish in ("latency", "throughput")}
    cost = _cost(goal, costs)
    if math.isinf(cost):
        return Verdict(False, ("no plan: other work left no window to time what was found in; search when it is done",))
    said = [
        f"by {by} {gain(cost)} than the default schedule (in the search {gain(best.cost)}): "
        f"latency {gain(costs['latency'])}, throughput {gain(costs['throughput'])}"
    ]
    if cost > 1 - _WORTH:
        return Verdict(False, (*said, "no plan: the default schedule is as good"))
    if before is not None:
        old = _cost(goal, {wish: measure(goal, wish, before.seed, before.orders) for wish in costs})
        if cost > old - _WORTH / 2:
            return Verdict(False, (*said, f"the plan stays as it was: {gain(old)}"))
    made = frame(arranged(arrangement, best.orders))
    answered = answer(code_routine(kernel_of(goal.kernel), made), Wish(_BUDGET))
    if isinstance(answered, Refuted):
        return Verdict(False, (*said, f"what was found is wrong, and is thrown away: {answered.reason}"))
    said.append("proved" if isinstance(answered, Proved) else f"tested; not proved: {answered.reason}")
    found = {
        "objective": goal.objective,
        "by": best.where,
        "cost": {name: round(value, 4) for name, value in sorted(costs.items())},
    }
    return Verdict(True, tuple(said), found)


def _cost(goal: Goal, costs: Mapping[str, float]) -> float:
    return costs.get(goal.objective, sum(costs.values()) / len(costs))


Orders = Sequence[Order]


def _held_out(goal: Goal, objective: str, seed: Seed, orders: Orders) -> float:
    """Timed by this machine's CPU."""
    before = arrangement_of(goal, seed)
    made = [candidate(before, number, order) for number, order in enumerate(orders)]
    code = Coder(before).code([each for each in made if each is not None])
    first = assemble(start_of(goal).items).code
    return Race(kernel_of(goal.kernel), first, objective, HELD_OUT).surely(first, code)


def _by_model(goal: Goal, objective: str, seed: Seed, orders: Orders) -> float:
    judge, _ = judge_of(replace(goal, objective=objective), seed)
    before = arrangement_of(goal, seed)
    made = [candidate(before, number, order) for number, order in enumerate(orders)]
    return judge.cost([each for each in made if each is not None])


def _by_mca(goal: Goal, objective: str, seed: Seed, orders: Orders) -> float:
    """The mean over cores; a core that llvm-mca has no model of is left to ours."""
    known = [name for name in cores(goal.core) if name in mca.MODELLED[goal.target]]
    if not known:
        return _by_model(goal, objective, seed, orders)
    texts = [_text(code) for code in (start_of(goal), frame(arranged(arrangement_of(goal, seed), orders)))]
    ratios = []
    for name in known:
        first, other = mca.cycles(goal.target, name, texts, 1 if objective == "latency" else 0)
        ratios.append(other / first if first and other else 1.0)
    return sum(ratios) / len(ratios)


def _text(code: Code) -> str:
    """What a call runs, as llvm-mca reads it."""
    lines = list(taking_time(straight(code, PASSES)))
    anew = set_anew(code.target, touched(lines))
    return "\n".join([*(f"mov {name}, #64" for name in anew), *(line.row.text(line.operands) for line in lines)])

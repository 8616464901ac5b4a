"""The last word on what a search found: measured where it did not look, tested, proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asmgen.bench.timer import cpu
from asmgen.optimize.anneal import candidate
from asmgen.optimize.code import Coder
from asmgen.optimize.live import gain
from asmgen.optimize.native import HELD_OUT, Race
from asmgen.optimize.tasks import Goal, Outcome, Task, arrangement_of, kernel_of, right, start_of
from asmgen.passes.arrange import arranged
from asmgen.passes.frame import frame
from asmgen.prove.answers import Proved, Refuted
from asmgen.prove.command import Wish, answer, code_routine
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
    code = _code(goal, best.task.seed, best.orders)
    costs = {objective: _held_out(goal, objective, code) for objective in ("latency", "throughput", goal.objective)}
    cost = costs[goal.objective]
    said = [
        f"{gain(cost)} than the default schedule where the search did not look ({gain(best.cost)} where it did); "
        f"latency {gain(costs['latency'])}, throughput {gain(costs['throughput'])}"
    ]
    if cost > 1 - _WORTH:
        return Verdict(False, (*said, "no plan: the default schedule is as good"))
    if before is not None:
        old = _held_out(goal, goal.objective, _code(goal, before.seed, before.orders))
        if cost > old - _WORTH / 2:
            return Verdict(False, (*said, f"the plan stays as it was: {gain(old)}"))
    made = frame(arranged(arrangement, best.orders))
    answered = answer(code_routine(kernel_of(goal.kernel), made), Wish(_BUDGET))
    if isinstance(answered, Refuted):
        return Verdict(False, (*said, f"what was found is wrong, and is thrown away: {answered.reason}"))
    said.append("proved" if isinstance(answered, Proved) else f"tested; not proved: {answered.reason}")
    found = {
        "objective": goal.objective,
        "by": cpu(),
        "cost": {name: round(value, 4) for name, value in sorted(costs.items()) if name != "both"},
    }
    return Verdict(True, tuple(said), found)


def _code(goal: Goal, seed: Any, orders: Any) -> bytes:
    before = arrangement_of(goal, seed)
    made = [candidate(before, number, order) for number, order in enumerate(orders)]
    return Coder(before).code([each for each in made if each is not None])


def _held_out(goal: Goal, objective: str, code: bytes) -> float:
    first = assemble(start_of(goal).items).code
    return Race(kernel_of(goal.kernel), first, objective, HELD_OUT).surely(first, code)

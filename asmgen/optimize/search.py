"""What is tried when: seeds first, then walks from the best of them, then from the best of all."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from asmgen.errors import AsmgenError
from asmgen.optimize.anneal import candidate
from asmgen.optimize.orders import chains
from asmgen.optimize.tasks import Goal, Outcome, Task, arrangement_of, kernel_of, start_of
from asmgen.optimize.workers import Workers
from asmgen.passes import count
from asmgen.passes.arrange import features_of
from asmgen.passes.forms import FORMS
from asmgen.passes.frame import frame
from asmgen.passes.plans import GENERIC, Seed, hash_of
from asmgen.passes.schedule import Freedom
from asmgen.passes.twins import possible
from asmgen.targets.cores import names

#: How far the scheduler goes for seeds, and the registers that it counts on.
FREEDOMS = {
    "amd64": (Freedom(0, 11), Freedom(6, 11), Freedom(6, 14), Freedom(16, 13), Freedom(40, 14)),
    "arm64": (Freedom(0, 15), Freedom(6, 15), Freedom(6, 20), Freedom(10, 20), Freedom(24, 20), Freedom(60, 24)),
}
#: How many instructions a seed may have, by those of the default schedule.
_LONGER = 1.2
#: Seeds that walks begin from, and the part of the time that is theirs.
_SEEDS, _SPRINT = 4, 0.5
#: How often a walk is one with other forms of some instructions, and how often these are drawn until some are legal.
_FORMS, _DRAWN = 0.25, 20
#: Seconds of a walk, and how often the best of all is where it begins rather than the second one.
_LEAST, _MOST, _OFTEN = 2.0, 12.0, 0.75


def seeds(goal: Goal) -> list[Seed]:
    """Every alternative of the script's decisions, one at a time, in the usual form and in others, in several
    schedules; those that give the same routine once, and none that is much longer than the default."""
    most = _LONGER * count(start_of(goal))
    kernel = kernel_of(goal.kernel)
    tables = [GENERIC, *([goal.core] if goal.core in names(goal.target) and goal.core != GENERIC else [])]
    found: dict[str, Seed] = {}
    for choices, _ in kernel.alternatives():
        for table in tables:
            for freedom in FREEDOMS[goal.target]:
                for forms in ((), *((name,) for name in FORMS)):
                    seed = Seed(tuple(sorted(choices.items())), table, freedom, forms=forms)
                    made = arrangement_of(goal, seed).allocated
                    if count(frame(made)) <= most:
                        found.setdefault(hash_of(made), seed)
    return list(found.values())


@dataclass
class State:
    """What is known so far. `seeds` has the best outcome by seed, `walks` how many began there, the first one at
    `walking`; `gone` counts results of other CPUs than the first."""

    goal: Goal
    seconds: float
    began: float = field(default_factory=time.monotonic)
    seeds: dict[Seed, Outcome] = field(default_factory=dict)
    walks: dict[Seed, int] = field(default_factory=dict)
    walking: float = math.inf
    noted: float = -math.inf
    waiting: int = 0
    proposed: int = 0
    judged: int = 0
    gone: int = 0
    where: str = ""
    history: list[tuple[float, float]] = field(default_factory=list)

    @property
    def best(self) -> Outcome | None:
        return min(self.seeds.values(), key=lambda each: each.cost, default=None)

    @property
    def part(self) -> float:
        """Of the time that there is."""
        return (time.monotonic() - self.began) / self.seconds

    @property
    def rate(self) -> float:
        """Candidates judged a second, of those in walks that have ended, since the first walk began."""
        return self.judged / max(self.noted - self.walking, 1e-9) if self.judged else 0.0

    def note(self, outcome: Outcome) -> bool:
        """Take what somebody found; whether it is the best of all."""
        self.noted = time.monotonic()
        self.proposed += outcome.proposed
        self.judged += outcome.judged
        self.where = self.where or outcome.where
        if outcome.where != self.where:
            self.gone += 1  # costs on another CPU are no costs here
            return False
        before, known = self.best, self.seeds.get(outcome.task.seed)
        if known is None or outcome.cost < known.cost:
            self.seeds[outcome.task.seed] = outcome
        better = before is None or outcome.cost < before.cost
        if better:
            self.history.append((time.monotonic() - self.began, outcome.cost))
        return better


def search(
    goal: Goal, starts: Sequence[Task], workers: Workers, seconds: float, seed: int,
    tell: Callable[[State], None] = lambda state: None,
) -> State:  # fmt: skip
    """Search for so long; what was found until then when it is interrupted.

    `starts` are measured first. `tell` is called whenever there is something to see.
    """
    state = State(goal, seconds)
    rng = random.Random(seed)
    pending = list(starts)
    try:
        while pending or state.waiting or state.part < 1:
            while state.waiting < workers.count and (task := _next(state, pending, rng)) is not None:
                workers.give(task)
                state.waiting += 1
            if not state.waiting:
                break
            outcome = workers.take(0.25)
            if outcome is not None:
                state.waiting -= 1
                state.note(outcome)
            tell(state)
    except KeyboardInterrupt:
        pass
    finally:
        workers.close()
    if state.best is None:
        raise AsmgenError("nothing was measured before the search ended", hint="let it run for longer")
    return state


def _next(state: State, pending: list[Task], rng: random.Random) -> Task | None:
    """What to do now."""
    if pending:
        return pending.pop(0)
    left = state.seconds * (1 - state.part)
    if left < min(_LEAST, state.seconds / 8) / 2 or not state.seeds:
        return None
    ranked = sorted(state.seeds.values(), key=lambda each: each.cost)
    if state.part < _SPRINT:
        chosen = min(ranked[:_SEEDS], key=lambda each: (state.walks.get(each.task.seed, 0), each.cost))
    else:
        chosen = ranked[0] if len(ranked) == 1 or rng.random() < _OFTEN else ranked[1]
    state.walking = min(state.walking, time.monotonic())
    state.walks[chosen.task.seed] = state.walks.get(chosen.task.seed, 0) + 1
    length = min(max(state.seconds / 16, _LEAST), _MOST, left)
    task = Task(state.goal, chosen.task.seed, chosen.orders, length, rng.getrandbits(31))
    if state.part >= _SPRINT and rng.random() < _FORMS:
        return otherwise(task, rng) or task
    return task


def otherwise(task: Task, rng: random.Random) -> Task | None:
    """The task with an instruction, or all of its carry chain that can be, in other forms or back in their own; None
    where no such routine is legal in the task's orders."""
    before = arrangement_of(task.goal, task.seed)
    features = features_of(before.allocated)
    able = [
        (number, at)
        for number, line in enumerate(before.lines)
        for at in range(len(line))
        if possible(line, at, features)
    ]
    for _ in range(_DRAWN if able else 0):
        number, at = able[rng.randrange(len(able))]
        line = before.lines[number]
        tied = chains(line)[at] if rng.randrange(2) else (at,)
        turned = {line.first + each for each in tied if (number, each) in able}
        seed = replace(task.seed, others=tuple(sorted(turned.symmetric_difference(task.seed.others))))
        made = arrangement_of(task.goal, seed)
        if all(candidate(made, number, order) is not None for number, order in enumerate(task.orders)):
            return replace(task, seed=seed)
    return None

"""The search: candidates' bytes, races on this CPU, what is tried when, lost workers, and the command."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from shipped import kernel

from asmgen.bench.harness import CONTEXTS
from asmgen.bench.timer import can_run
from asmgen.cli import main
from asmgen.errors import AsmgenError
from asmgen.optimize import command, final, tasks
from asmgen.optimize.anneal import Annealer, candidate
from asmgen.optimize.code import Coder
from asmgen.optimize.library import library
from asmgen.optimize.live import gain, table, view
from asmgen.optimize.native import Native, Race
from asmgen.optimize.orders import Candidate, Stream, neighbors
from asmgen.optimize.search import State, search, seeds
from asmgen.optimize.tasks import Goal, Outcome, Task
from asmgen.optimize.walk import Walk
from asmgen.optimize.workers import Cluster, Local
from asmgen.passes import Options, compile_stages, plans
from asmgen.passes.arrange import Arrangement, Order, arranged, arrangement
from asmgen.passes.frame import frame
from asmgen.scripts import load
from asmgen.targets.assemble import assemble

GOAL = Goal("curve25519_4x64.add", "amd64", "generic")

needs_cpu = pytest.mark.skipif(
    bool(can_run("amd64", {"bmi2", "adx"})) or library() is None, reason="it takes an amd64 CPU and a C compiler"
)


def optimize(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["optimize", *arguments])


@cache
def before(script: str, name: str, target: str = "amd64") -> Arrangement:
    made = compile_stages(kernel(script, name), Options(target, planned=False)).allocate
    assert made is not None
    return arrangement(made)


def first(made: Arrangement) -> list[Candidate]:
    found = [candidate(made, number, range(len(line))) for number, line in enumerate(made.lines)]
    return [each for each in found if each is not None]


# Candidates.


@pytest.mark.parametrize(
    ("script", "name", "target"),
    [("p256", "mul", "amd64"), ("curve25519_4x64", "square_n", "amd64"), ("curve25519_5x51", "square_n", "arm64")],
)
def test_a_candidates_bytes_are_those_that_a_build_makes(script: str, name: str, target: str) -> None:
    made = before(script, name, target)
    coder = Coder(made)
    now = first(made)
    assert coder.code(now) == assemble(frame(made.allocated).items).code
    movers = [neighbors(line, made.pool, Stream(7)) for line in made.lines]
    for _ in range(300):
        for number, mover in enumerate(movers):
            now[number] = mover.neighbor(now[number].order) or now[number]
    code = frame(arranged(made, [each.order for each in now]))
    if code.saved == frame(made.allocated).saved:  # else the build saves one less
        assert coder.code(now) == assemble(code.items).code
    assert coder.code(now) != coder.code(first(made))


# Races.


def _raced(made: Arrangement, other: bytes) -> float:
    code = Coder(made).code(first(made))
    return Race(kernel("curve25519_4x64", "add"), code, "both", CONTEXTS[:2]).surely(code, other)


@needs_cpu
def test_the_same_code_ties_and_slower_code_loses() -> None:
    made = before("curve25519_4x64", "add")
    code = Coder(made).code(first(made))
    slow = b"\x48\x01\xc8" * 30 + code  # additions that wait for each other; endbr64 may stand anywhere
    ties = sorted(_raced(made, code) for _ in range(3))
    assert ties[1] == pytest.approx(1, abs=0.02)
    assert _raced(made, slow) > 1.3


@needs_cpu
@pytest.mark.parametrize(("script", "name"), [("p256", "mul"), ("curve25519_4x64", "square_n")])
def test_c_puts_the_same_code_together(script: str, name: str) -> None:
    """A straight line, and a loop whose jumps grow with what is between."""
    made = before(script, name)
    judge = Native(Race(kernel(script, name), Coder(made).code(first(made)), "throughput", CONTEXTS[:1]), made)
    assert judge.fast is not None
    now = first(made)
    movers = [neighbors(line, made.pool, Stream(7)) for line in made.lines]
    for _ in range(40):
        for _ in range(5):
            for number, mover in enumerate(movers):
                now[number] = mover.neighbor(now[number].order) or now[number]
        (order, colors), arrays = judge.fast.flat.flat(now), judge.fast.flat.room()
        for to, numbers in zip(arrays, (order, colors), strict=True):
            to[: len(numbers)] = numbers  # type: ignore[assignment]
        assert judge.fast.code(*arrays) == judge.coder.code(now)


@needs_cpu
def test_a_walk_on_this_cpu_goes_on_where_pieces_of_code_were_missing() -> None:
    made = before("curve25519_4x64", "add")
    judge = Native(Race(kernel("curve25519_4x64", "add"), Coder(made).code(first(made)), "latency", CONTEXTS[:1]), made)
    walk = Annealer(made, [each.order for each in first(made)], judge, 1)
    found = walk.run(0.5, lambda orders: True)
    assert isinstance(walk.steps, Walk) and walk.steps.judged > 0
    assert judge.fast is not None and judge.fast.state.filled >= len(made.lines[0])
    assert arranged(made, [each.order for each in found])


class Counting:
    """Judges by how far instruction 0 is from the end."""

    def __init__(self) -> None:
        self.mine = self.last = 0

    def cost(self, found: Sequence[Candidate]) -> float:
        return 1 + 0.01 * (len(found[0].order) - found[0].order.index(0))

    def begin(self, best: Sequence[Candidate]) -> None:
        self.now = self.cost(best)

    def ratio(self, other: Sequence[Candidate], limit: float) -> float:
        self.seen = self.cost(other)
        return self.seen / self.now

    def surely(self, best: Sequence[Candidate], other: Sequence[Candidate]) -> float:
        return self.cost(other) / self.cost(best)

    def take(self) -> None:
        self.now = self.seen

    def compiled(self) -> None:
        return None


def test_a_walk_finds_what_its_judge_wants_and_keeps_nothing_that_is_wrong() -> None:
    made = before("curve25519_4x64", "add")
    start = [range(len(line)) for line in made.lines]
    checked: list[Sequence[Order]] = []

    def right(orders: Sequence[Order]) -> bool:
        checked.append(orders)
        return True

    judge = Counting()
    found = Annealer(made, start, judge, 1).run(0.3, right)
    assert judge.cost(found) < judge.cost(first(made))
    assert [each.order for each in found] == list(checked[-1])
    assert Annealer(made, start, Counting(), 1).run(0.2, lambda orders: False) == first(made)


# What is tried when.


class Pretended:
    """Workers who answer at once; `answer` makes the cost of a task, or raises."""

    count = 2

    def __init__(self, answer: Callable[[Task], float], where: Callable[[Task], str] = lambda task: "a CPU") -> None:
        self.answer, self.where = answer, where
        self.given: list[Task] = []
        self.waiting: list[Task] = []
        self.closed = False

    def give(self, task: Task) -> None:
        self.given.append(task)
        self.waiting.append(task)

    def take(self, seconds: float) -> Outcome | None:
        task = self.waiting.pop(0)
        return Outcome(task, task.orders or ((0,),), self.answer(task), 10, 5, self.where(task))

    def close(self) -> None:
        self.closed = True


def _starts() -> list[Task]:
    return [Task(GOAL, seed) for seed in seeds(GOAL)]


def test_seeds_are_of_different_routines_and_measured_before_any_walk() -> None:
    starts = _starts()
    assert len(starts) > 1 and len({each.seed for each in starts}) == len(starts)
    workers = Pretended(lambda task: 0.9 if task.seconds else 1.0)
    state = search(GOAL, starts, workers, 0.2, 1)
    assert workers.given[: len(starts)] == starts and workers.closed
    assert state.best is not None and state.best.cost == 0.9 and len(workers.given) > len(starts)
    assert state.judged == 5 * len(workers.given)


def test_the_same_seed_gives_the_same_walks() -> None:
    def numbers(seed: int) -> list[int]:
        workers = Pretended(lambda task: 1.0)
        search(GOAL, _starts(), workers, 0.1, seed)
        return [task.number for task in workers.given if task.seconds][:5]

    assert numbers(1) == numbers(1) != numbers(2)


def test_an_interrupted_search_keeps_the_best_so_far() -> None:
    workers = Pretended(lambda task: 0.8)

    def tell(state: State) -> None:
        raise KeyboardInterrupt

    state = search(GOAL, _starts(), workers, 60, 1, tell)
    assert state.best is not None and state.best.cost == 0.8 and workers.closed


def test_nothing_measured_is_an_error() -> None:
    workers = Pretended(lambda task: 1.0)
    workers.take = lambda seconds: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]
    with pytest.raises(AsmgenError, match="nothing was measured"):
        search(GOAL, _starts(), workers, 60, 1)


def test_results_of_another_cpu_are_not_mixed_in() -> None:
    workers = Pretended(lambda task: 0.5 if task.seconds else 1.0, lambda task: "other" if task.seconds else "first")
    state = search(GOAL, _starts(), workers, 0.1, 1)
    assert state.best is not None and state.best.cost == 1.0 and state.gone > 0


# Workers.


@needs_cpu
def test_a_killed_process_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Local(1)
    try:
        task = Task(GOAL, seeds(GOAL)[0])
        workers.give(task)
        while (outcome := workers.take(1)) is None:
            pass
        assert outcome.cost == pytest.approx(1, abs=0.05) and outcome.task == task
        again = Task(GOAL, task.seed, outcome.orders, 30)
        workers.give(again)
        assert workers.take(0.3) is None
        os.kill(next(iter(workers.pool._processes)), signal.SIGKILL)
        assert workers.take(10) is None, "it is given again"
        assert workers.queue.lost == {again: 1}
    finally:
        workers.close()


def test_a_cluster_does_tasks_and_loses_none_with_a_worker() -> None:
    """Two Dask workers on this machine, one of which is killed at work; walks go on."""
    from distributed import LocalCluster

    goal = Goal("curve25519_4x64.add", "arm64", "cortex-a55")
    starts = [Task(goal, seed) for seed in seeds(goal)]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        workers = Cluster(cluster.scheduler_address)
        killed: list[int] = []
        judged: list[int] = []

        def tell(state: State) -> None:
            if not killed and state.judged:
                processes = workers.client.run(os.getpid)
                killed.append(next(iter(processes.values())))
                os.kill(killed[0], signal.SIGKILL)
                judged.append(state.judged)

        state = search(goal, starts, workers, 5, 1, tell)
    assert killed and state.best is not None and state.gone == 0
    assert len(state.seeds) == len(starts), "every start was measured"
    assert state.judged > judged[0], "and walks went on"


def test_a_scheduler_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(AsmgenError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        Cluster("tcp://127.0.0.1:9", timeout=1)


# The command.

TINY = '''"""A small field."""
from asmgen import Field, kernel, program

fe = Field("tiny", 2**61 - 1, limbs=[61])


@kernel
def mul(a: fe.limbs_below(2**61), b: fe.limbs_below(2**61)) -> fe.limbs_below(2**63):
    low, high = (a[0] * b[0]).split(61)
    return [low + high]


@program(computes=lambda a: a * a)
def twice(a: fe.limbs_below(2**61)) -> fe.limbs_below(2**63):
    return mul(a, a)
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.py").write_text(TINY)
    for each in (tasks.kernel_of, tasks.start_of, tasks.arrangement_of, tasks._allocated, tasks._race, tasks._native):
        each.cache_clear()
    return tmp_path


@needs_cpu
def test_the_command_writes_a_plan_that_is_better_or_says_that_there_is_none(here: Path) -> None:
    made = optimize("tiny.py:mul", "--target", "amd64", "--minutes", "0.05")
    assert made.exit_code == 0, made.output
    file = here / "plans/amd64/generic/tiny.mul.json"
    assert "by contexts that the search did not use" in made.output
    if not file.exists():
        assert "no plan: the default schedule is as good" in made.output
        return
    assert "proved" in made.output and json.loads(file.read_text())["found"]["objective"] == "both"
    again = optimize("tiny.py:mul", "--minutes", "0.05")
    assert again.exit_code == 0 and file.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tiny.py:twice",), "a program is made of calls"),
        (("tiny.py:mul", "--target", "all"), "optimize takes one target"),
        (("tiny.py:mul", "--core", "zen44"), "did you mean zen4?"),
        (("tiny.py:mul", "--objective", "size"), "'size' is not one of"),
        (("tiny.py:mul", "--minutes", "0"), "Invalid value for '--minutes'"),
    ],
)
def test_what_cannot_be_searched_for_is_one_clear_error(here: Path, arguments: Sequence[str], said: str) -> None:
    made = optimize(*arguments)
    assert made.exit_code == 2 and said in made.output and "Traceback" not in made.output


def test_rebase_writes_plans_for_what_is_made_now(here: Path) -> None:
    made = before_tiny(here)
    rng = Random(1)
    orders = [sorted(range(len(line)), key=lambda at: (_depth(line.before, at), rng.random())) for line in made.lines]
    arranged(made, orders)
    function = load(here / "tiny.py").kernels["mul"]
    file = plans.path(function, "amd64", "default", "generic")
    file.parent.mkdir(parents=True)
    plan = plans.plan_of(made, orders, plans.Seed(), {})
    file.write_text(plans.text(plan))
    assert "(fits as it is)" in optimize("tiny.py:mul", "--rebase").output
    (here / "tiny.py").write_text(TINY.replace("low + high", "high + low"))
    tasks.kernel_of.cache_clear()
    tasks.arrangement_of.cache_clear()
    tasks._allocated.cache_clear()
    made_now = optimize("tiny.py:mul", "--rebase")
    assert made_now.exit_code == 0 and "fits as it is" not in made_now.output, made_now.output
    assert plans.read(file).routine != plan.routine
    with_plan = compile_stages(load(here / "tiny.py").kernels["mul"], Options("amd64"))
    assert with_plan.arrange != with_plan.allocate


def before_tiny(here: Path) -> Arrangement:
    return tasks.arrangement_of(Goal("tiny.py:mul", "amd64", "generic"), plans.Seed())


def _depth(before: Sequence[int], at: int) -> int:
    return 1 + max((_depth(before, other) for other in range(at) if before[at] >> other & 1), default=0)


def test_gains_are_told_in_words() -> None:
    assert (gain(0.9), gain(1.02), gain(1.0)) == ("10.0 % faster", "2.0 % slower", "0.0 % faster")


def test_objectives_of_the_command_are_those_of_the_search() -> None:
    assert all(objective in optimize("--help").output for objective in command.OBJECTIVES)


def test_what_is_seen_of_a_search() -> None:
    """On a terminal a table of the best, the rate and the starts; elsewhere a line for each better one."""
    state = State(GOAL, 60, walking=0.0)
    starts = _starts()
    for number, task in enumerate(starts):
        state.note(Outcome(task, ((0,),), 1.0 - 0.01 * number, 100, 40, "a CPU"))
    text = Console(width=120, force_terminal=True, color_system=None)
    with text.capture() as captured:
        text.print(table(state))
    shown = captured.get()
    assert f"{gain(1.0 - 0.01 * (len(starts) - 1))}" in shown and f"{40 * len(starts)} so far" in shown
    assert "curve25519_4x64.add amd64 generic, both" in shown and "Ctrl-C keeps the best" in shown and "█" in shown
    plain = Console(width=120, force_terminal=False)
    with plain.capture() as captured, view(plain) as tell:
        tell(state)
        tell(state)
    assert captured.get().count("candidates/s") == len(starts)


def test_what_could_not_be_timed_is_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = plans.Seed()
    made = tasks.arrangement_of(GOAL, seed)
    orders = tuple(tuple(range(len(line))) for line in made.lines)
    monkeypatch.setattr(final, "_held_out", lambda *_: math.inf)
    found = final.judged(GOAL, Outcome(Task(GOAL, seed), orders, 0.9, 1, 1, "this CPU"), None)
    assert not found.better and "no window to time" in found.lines[0]

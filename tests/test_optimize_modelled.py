"""Candidates of arm64: what the model says of an order is what it says of the routine that a build makes of it."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from shipped import kernel

from asmgen.cli import main
from asmgen.diff import mca
from asmgen.optimize.anneal import Annealer, Slow, candidate
from asmgen.optimize.model import prepare_calls
from asmgen.optimize.modelled import CALLS, PASSES, Modelled, cores, executed
from asmgen.optimize.orders import Candidate, Stream, neighbors
from asmgen.optimize.walk import Walk
from asmgen.passes import Options, compile_kernel, compile_stages, plans
from asmgen.passes.arrange import Arrangement, arranged, arrangement
from asmgen.passes.frame import frame
from asmgen.scripts import directory, load
from asmgen.targets.cores import core

KERNELS = [("p256", "mul"), ("curve25519_5x51", "square_n"), ("p256", "from_bytes")]


@cache
def before(script: str, name: str) -> Arrangement:
    made = compile_stages(kernel(script, name), Options("arm64", planned=False)).allocate
    assert made is not None
    return arrangement(made)


def first(made: Arrangement) -> list[Candidate]:
    found = [candidate(made, number, range(len(line))) for number, line in enumerate(made.lines)]
    return [each for each in found if each is not None]


def wandered(made: Arrangement, seed: int) -> list[Candidate]:
    now = first(made)
    for number, line in enumerate(made.lines):
        mover = neighbors(line, made.pool, Stream(seed))
        for _ in range(200):
            now[number] = mover.neighbor(now[number].order) or now[number]
    return now


@pytest.mark.parametrize(("script", "name"), KERNELS)
@pytest.mark.parametrize("name_of_core", ["neoverse-n1", "neoverse-v1", "cortex-a55"])
def test_orders_cost_what_the_routines_made_of_them_do(script: str, name: str, name_of_core: str) -> None:
    made, table = before(script, name), core(name_of_core, "arm64")
    judge = Modelled(made, made, [name_of_core], "latency")
    (part,) = judge.parts
    assert judge.cost(first(made)) == pytest.approx(1)
    for seed in range(3):
        now = wandered(made, seed)
        code = frame(arranged(made, [each.order for each in now]))
        wanted = prepare_calls(code, table, PASSES).cycles(1)
        assert judge.cost(now) / part.weight == pytest.approx(wanted)


def test_a_loop_runs_many_times_in_a_call_and_is_judged_by_that() -> None:
    made = before("curve25519_5x51", "square_n")
    run = executed(made)
    assert run.loops and len(run.order(first(made))) > PASSES * max(len(line) for line in made.lines)
    assert Modelled(made, made, ["neoverse-n1"], "both").calls == [1]
    straight = before("p256", "mul")
    assert not executed(straight).loops
    assert Modelled(straight, straight, ["neoverse-n1"], "both").calls == [1, CALLS]


def test_a_walk_on_a_small_core_pays() -> None:
    """The default schedule is for no core in order."""
    made = before("p256", "mul")
    judge = Modelled(made, made, ["cortex-a55"], "throughput")
    orders = [each.order for each in first(made)]
    found = Annealer(made, orders, judge, 1).run(1.0, lambda orders: True)
    assert judge.cost(found) < 0.97


@pytest.mark.parametrize(("script", "name", "name_of_core", "moves"), [
    ("p256", "add", "generic", 40), ("p256", "mul", "cortex-a55", 200),
    ("curve25519_5x51", "square_n", "cortex-a53", 100), ("curve25519_4x64", "sub", "neoverse-n1", 150),
])  # fmt: skip
def test_a_walk_in_c_takes_the_steps_of_one_in_python(script: str, name: str, name_of_core: str, moves: int) -> None:
    made = before(script, name)
    judge = Modelled(made, made, cores(name_of_core), "both")
    compiled = judge.compiled()
    if compiled is None:
        pytest.skip("no C compiler on this machine")
    fast, slow = Walk(compiled, Stream(3), 0.002, 0.02), Slow(made, judge, Stream(3))
    for steps in (fast, slow):
        steps.put(first(made), 1.0)
    taken = set()
    while fast.proposed < moves:
        whys = fast.go(moves - fast.proposed, 0.01), slow.go(moves - slow.proposed, 0.01)
        assert whys[0] == whys[1] and (fast.proposed, fast.judged) == (slow.proposed, slow.judged)
        assert fast.now() == slow.now()
        taken.add(str(fast.now()))
        for steps in (fast, slow):
            steps.put(steps.now(), 1.0)
    assert len(taken) > 1 and fast.judged > moves / 4


def test_a_poor_first_look_is_enough() -> None:
    made = before("p256", "mul")
    judge = Modelled(made, made, cores("generic"), "both")
    judge.begin(first(made))
    now = wandered(made, 1)
    exact = judge.cost(now)
    assert exact > 1 and judge.ratio(now, 0.5) == 0.5
    assert judge.ratio(now, 2.0) == pytest.approx(exact)


def test_a_core_of_another_target_is_one_clear_error() -> None:
    made = CliRunner().invoke(main, ["optimize", "p256.neg", "--target", "arm64", "--core", "zen4"])
    assert made.exit_code == 2 and "arm64 have no core zen4" in made.output


def test_the_command_models_arm64_and_asks_llvm_mca_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(directory() / "p256.py", tmp_path / "mine.py")
    made = CliRunner().invoke(
        main, ["optimize", "mine.py:mul", "--target", "arm64", "--core", "cortex-a55", "--minutes", "0.05"]
    )
    assert made.exit_code == 0, made.output
    assert "modelled for cortex-a55" in made.output and "% faster than the default schedule" in made.output
    assert f"by {'llvm-mca' if mca.found()[0] else 'the model'} " in made.output
    function = load(tmp_path / "mine.py").kernels["mul"]
    assert plans.path(function, "arm64", "default", "cortex-a55").is_file()
    own, generic = (compile_kernel(function, Options("arm64", core=each)) for each in ("cortex-a55", "generic"))
    assert own.items != generic.items

"""Other forms of finished instructions: they do the same to registers and to the flags that are read, and plans keep
them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from shipped import kernel

from asmgen.errors import AsmgenError
from asmgen.optimize import tasks
from asmgen.optimize.anneal import candidate
from asmgen.optimize.code import Coder
from asmgen.optimize.orders import Stream, neighbors
from asmgen.optimize.search import otherwise
from asmgen.optimize.tasks import Goal, Task
from asmgen.passes import Options, compile_stages, plans
from asmgen.passes.arrange import arranged, features_of
from asmgen.passes.frame import frame
from asmgen.passes.twins import other, possible
from asmgen.scripts import directory, load
from asmgen.targets import amd64
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction, Memory
from emulate.compare import check
from emulate.machine import Machine

R = amd64.REGISTERS


def ins(name: str, *operands: object) -> Instruction:
    return amd64.ins(name, *operands)  # type: ignore[arg-type]


def test_forms_go_there_and_back_or_to_lea() -> None:
    chained = ins("adcx_rm", R["rax"], Memory(R["rsi"], 8))
    there = other(chained)
    assert there is not None and there.row.name == "adc_rm" and other(there) == chained
    assert other(ins("add_rr", R["rax"], R["rcx"])) == ins("lea_rm", R["rax"], Memory(R["rax"], 0, R["rcx"], 1))
    assert other(ins("sub_ri", R["rax"], 8)) == ins("lea_rm", R["rax"], Memory(R["rax"], -8))
    assert other(ins("adox_rr", R["rax"], R["rcx"])) is None and other(ins("sub_ri", R["rax"], -(1 << 31))) is None


def _searched(goal: Goal, seed: int) -> Task:
    """A task after some moves and, many times, other forms."""
    rng, task = Random(seed), Task(goal, plans.Seed())
    before = tasks.arrangement_of(goal, task.seed)
    task = replace(task, orders=tuple(tuple(range(len(line))) for line in before.lines))
    for step in range(12):
        before = tasks.arrangement_of(goal, task.seed)
        orders = []
        for number, line in enumerate(before.lines):
            mover, now = neighbors(line, before.pool, Stream(seed + step)), task.orders[number]
            for _ in range(100):
                found = mover.neighbor(now)
                now = now if found is None else found.order
            orders.append(now)
        task = replace(task, orders=tuple(orders))
        task = otherwise(task, rng) or task
    return task


@pytest.mark.parametrize("name", ["curve25519_4x64.mul", "p256.mul", "curve25519_5x51.square_n"])
def test_routines_with_other_forms_compute_the_same_and_are_in_plans(name: str, tmp_path: Path) -> None:
    goal = Goal(name, "amd64", "generic")
    task = _searched(goal, 3)
    assert task.seed.others, "some instruction takes its other form"
    before = tasks.arrangement_of(goal, task.seed)
    made = arranged(before, task.orders)
    plain = arranged(tasks.arrangement_of(goal, plans.Seed()), [range(len(line)) for line in before.lines])
    rows = [sorted(each.row.name for each in one.items if isinstance(each, Instruction)) for one in (plain, made)]
    assert rows[0] != rows[1] and len(rows[0]) == len(rows[1])
    assert tasks.right(goal, before, task.orders)
    function, code = tasks.kernel_of(name), frame(made)
    machine = Machine("amd64", assemble(code.items).code, 0, function.signature, code.features, stack=code.stack)
    assert check(function, machine, 400, 5).failure is None
    now = [candidate(before, number, order) for number, order in enumerate(task.orders)]
    if code.saved == frame(before.allocated).saved:
        assert Coder(before).code([each for each in now if each is not None]) == assemble(code.items).code
    plan = plans.plan_of(before, task.orders, task.seed, {})
    script, _, own = name.partition(".")
    shutil.copy(directory() / f"{script}.py", tmp_path)
    copied = load(tmp_path / f"{script}.py").kernels[own]
    file = plans.path(copied, "amd64", "default", "generic")
    file.parent.mkdir(parents=True)
    file.write_text(plans.text(plan))
    again = plans.read(file)
    assert again == plan
    known = tasks.arrangement_of(goal, again.seed)
    assert arranged(known, plans.orders_of(again, known)).items == made.items
    built = compile_stages(copied, Options("amd64")).frame
    assert assemble(built.items).code == assemble(code.items).code, "a build replays it, byte for byte"


def test_what_is_read_of_flags_stays() -> None:
    goal = Goal("p256.mul", "amd64", "generic")
    before = tasks.arrangement_of(goal, plans.Seed())
    features = features_of(before.allocated)
    (line,) = before.lines
    for at, instruction in enumerate(line.instructions):
        changed = other(instruction)
        if changed is not None and changed.row.name == "lea_rm":
            read = {flag for pairs in (*line.reads, line.wanted) for flag, writer in pairs if writer == at}
            assert possible(line, at, features) == (not read)
        if instruction.row.name == "adc_rr":
            assert not possible(line, at, features - {"adx"}), "no ADCX where a routine does without"


def test_a_plan_whose_forms_are_of_another_routine_is_refused() -> None:
    made = compile_stages(kernel("p256", "mul"), Options("amd64", planned=False)).allocate
    assert made is not None
    at = next(at for at, each in enumerate(made.items) if isinstance(each, Instruction) and each.row.name[:4] == "mulx")
    for others, said in (((at,), "has none"), ((len(made.items),), "in no straight line")):
        with pytest.raises(AsmgenError, match=said):
            tasks.arrangement_of(Goal("p256.mul", "amd64", "generic"), plans.Seed(others=others))

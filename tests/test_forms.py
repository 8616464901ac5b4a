"""Other forms of operations: the same meaning at the level of words, and right as machine code."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from asmgen import words
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.passes import Options, lower_kernel, seeded
from asmgen.passes.forms import FORMS
from asmgen.passes.plans import Plan, Seed, read, text
from asmgen.passes.schedule import Freedom
from asmgen.scripts import find
from asmgen.targets.assemble import assemble
from emulate.compare import check
from emulate.machine import Machine

SEED = 20261130
KERNELS = ["curve25519_5x51.mul", "curve25519_5x51.square_n", "secp256k1_5x52.sqr", "p521_9x58.sqr"]


def _kernel(name: str) -> Kernel:
    (found,) = find([name])
    assert isinstance(found, Kernel)
    return found


def _kinds(program: words.Program) -> set[str]:
    found: set[str] = set()
    for op in program.ops:
        found |= {op.kind} if isinstance(op, words.Op) else {each.kind for each in (*op.body, *op.empty)}
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_shifts_mean_what_double_shifts_do(name: str) -> None:
    before = lower_kernel(_kernel(name))
    after = FORMS["shifts"](before)
    assert "funnel" in _kinds(before) and "funnel" not in _kinds(after)
    rng = Random(SEED)
    for _ in range(50):
        inputs: dict[str, Any] = {
            each.name: [rng.choice((0, 1, 2**52 - 1, rng.getrandbits(51))) for _ in range(each.contract.words)]
            for each in before.signature.inputs
            if each.name != "n"
        }
        if name.endswith("square_n"):
            inputs["n"] = [rng.randrange(4)]
        assert words.run(after, inputs) == words.run(before, inputs), (SEED, inputs)


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("name", KERNELS)
def test_shifts_in_machine_code(name: str, target: str) -> None:
    kernel = _kernel(name)
    made = seeded(kernel, Options(target), Seed(freedom=Freedom(6, 14), forms=("shifts",)))
    assert not {item.row.name for item in made.frame.items if hasattr(item, "row")} & {"shld_rri", "shrd_rri", "extr"}
    code = made.frame
    machine = Machine(target, assemble(code.items).code, 0, kernel.signature, code.features, stack=code.stack)
    assert check(kernel, machine, 300, SEED).failure is None


def test_forms_in_plans(tmp_path: Any) -> None:
    plan = Plan(Seed(forms=("shifts",)), "0" * 32, ())
    file = tmp_path / "plan.json"
    file.write_text(text(plan))
    assert read(file) == plan
    with pytest.raises(AsmgenError, match="no form swaps"):
        seeded(_kernel("curve25519_5x51.mul"), Options("amd64"), Seed(forms=("swaps",)))

"""R25: a routine came back with another value in a register of its caller, or with the direction flag set."""

from __future__ import annotations

import pytest
from shipped import KERNELS, SCRIPTS, VARIANTS, code, instructions, kernel

from asmgen.passes import Options, allocate, lower_kernel, select
from asmgen.passes.frame import frame
from asmgen.targets.conventions import CONVENTIONS
from asmgen.targets.row import Register
from emulate.campaign import job
from emulate.report import run_job

SEED = 20260401


@pytest.mark.parametrize("target, features", VARIANTS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_caller_finds_its_registers(script: str, target: str, features: str) -> None:
    """Random values in every register at entry, compared after each call; the direction flag, too."""
    for name in KERNELS:
        result = run_job(job(kernel(script, name), Options(target, features)), 64, SEED)
        assert result.failure is None, result.failure


@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
@pytest.mark.parametrize("name", ["mul", "sqr", "square_n"])
def test_what_is_written_is_saved_and_restored(name: str, convention: str) -> None:
    """Of every convention that there is, by the finished routine."""
    rules = CONVENTIONS[convention]
    routine = select(lower_kernel(kernel("p256", name)), Options(rules.target))  # type: ignore[arg-type]
    made = frame(allocate(routine, convention=convention), convention=convention)
    body = instructions(made)
    written = {each.name for instruction in body for each in instruction.written if isinstance(each, Register)}
    kept = written & set(rules.preserved)
    assert kept == set(made.saved)
    assert written <= {*rules.changed, *rules.preserved, rules.result, "rsp", "sp", "rip", "xzr"}
    saves = [each for each in body if each.note == "save"]
    restores = [each for each in body if each.note == "restore"]
    assert {x.name for each in saves for x in each.operands if isinstance(x, Register)} >= kept
    assert {x.name for each in restores for x in each.operands if isinstance(x, Register)} >= kept


def test_no_routine_sets_the_direction_flag() -> None:
    made = [code(script, name, "amd64") for script in SCRIPTS for name in KERNELS]
    names = {each.row.mnemonic for routine in made for each in instructions(routine)}
    assert not {"std", "cld", "ldmxcsr", "popf", "popfq"} & names

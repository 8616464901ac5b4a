"""R27: a leaf routine put values below the stack pointer, where its caller or an interrupt has its own."""

from __future__ import annotations

import pytest
from shipped import VARIANTS, accesses, codes, instructions, kernel, on_stack

from asmgen.passes import Options, compile_kernel
from asmgen.routine import Code
from emulate.campaign import job
from emulate.report import run_job

SEED = 20260401


def lowest(made: Code) -> int:
    """How far below the stack pointer anything is touched; what pushes and the saving forms of stp step over is not."""
    found = 0
    for instruction in instructions(made):
        if instruction.row.mnemonic == "push" or instruction.row.name.endswith(("_pre", "_post")):
            continue
        for memory, _ in accesses(instruction):
            if on_stack(memory):
                found = min(found, memory.offset)
    return found


@pytest.mark.parametrize("target, features", VARIANTS)
def test_nothing_lies_below_the_stack_pointer(target: str, features: str) -> None:
    assert all(lowest(made) == 0 for made in codes(target, features))


@pytest.mark.parametrize(
    "target, features, registers", [("amd64", "default", 6), ("amd64", "base", 6), ("arm64", "default", 8)]
)
def test_twenty_words_are_spilled_above_it(target: str, features: str, registers: int) -> None:
    """The emulator fills 256 bytes below the frame and looks at them after each block of calls."""
    options = Options(target, features, registers=registers)
    made = compile_kernel(kernel("p256_order", "mul"), options)
    assert lowest(made) == 0
    assert made.stack - 8 * len(made.saved) >= 8 * 8
    result = run_job(job(kernel("p256_order", "mul"), options), 200, SEED)
    assert result.failure is None, result.failure

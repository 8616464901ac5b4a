"""R07: a product that comes in rax and rdx overwrote a value that had been placed there."""

from __future__ import annotations

import pytest
from shipped import instructions, kernel

from asmgen.errors import AsmgenError
from asmgen.passes import Options, compile_kernel
from emulate.campaign import job
from emulate.report import run_job

SEED = 20260401


@pytest.mark.parametrize("name", ["mul", "sqr"])
@pytest.mark.parametrize("script", ["curve25519_4x64", "p256"])
@pytest.mark.parametrize("registers", [6, 8, 10, 12, 15])
def test_many_values_live_across_products(script: str, name: str, registers: int) -> None:
    """The plain product, more than ten values alive, and fewer and fewer registers for them."""
    options = Options("amd64", "base", registers=registers)
    made = compile_kernel(kernel(script, name), options)
    assert sum(each.row.name.startswith("mul_") for each in instructions(made)) >= 10
    assert made.stack > 8 * len(made.saved) or registers == 15, "what has no register is on the stack"
    result = run_job(job(kernel(script, name), options), 300, SEED)
    assert result.failure is None, result.failure


def test_too_few_registers_are_an_error_that_names_them() -> None:
    with pytest.raises(AsmgenError, match="too few"):
        compile_kernel(kernel("p256", "mul"), Options("amd64", "base", registers=1))

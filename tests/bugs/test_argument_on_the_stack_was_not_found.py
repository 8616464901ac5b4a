"""R29: the fifth argument on Windows lies above saved registers, locals and the 32 bytes that belong to the callee."""

from __future__ import annotations

import pytest

from asmgen import Count, Field, kernel
from asmgen.interpret import run
from asmgen.passes import Options, allocate, lower_kernel, select
from asmgen.passes.frame import frame
from asmgen.targets.conventions import CONVENTIONS

MASK = 2**64 - 1
four = Field("any", 3, limbs=[64] * 4).below(2**256)
nine = Field("any", 3, limbs=[64] * 9).below(2**576)


@kernel(computes=lambda a, b, p, q, r, n: a * b + p + q + r)
def mac(a: four, b: four, p: four, q: four, r: four, n: Count) -> nine:
    """Seven arguments: more than any convention has registers for on amd64."""
    return a.value * b.value + p.value + q.value + r.value + n


@pytest.mark.parametrize("registers", [None, 7, 9])
@pytest.mark.parametrize("convention", sorted(CONVENTIONS))
def test_every_argument_is_found(convention: str, registers: int | None) -> None:
    """A value of its own in each place: a neighbor's would show."""
    rules = CONVENTIONS[convention]
    routine = select(lower_kernel(mac), Options(rules.target))
    made = frame(allocate(routine, convention=convention, registers=registers), convention=convention)
    arguments = [0x10000 * (number + 1) for number in range(6)] + [987654321]
    values = [0, (1 << 256) - 5, 3 << 200, 7 << 130, 11 << 64, 13]
    memory = {arguments[i] + 8 * j: values[i] >> 64 * j & MASK for i in range(1, 6) for j in range(4)}
    result = run(made, arguments, memory, convention=convention)
    found = sum(result.memory[arguments[0] + 8 * j] << 64 * j for j in range(9))
    assert found == values[1] * values[2] + values[3] + values[4] + values[5] + 987654321


def test_places_above_the_shadow_area() -> None:
    win64, sysv = CONVENTIONS["win64"], CONVENTIONS["sysv"]
    assert [win64.stack_argument(index) for index in (4, 5, 6)] == [40, 48, 56]
    assert [sysv.stack_argument(index) for index in (6, 7)] == [8, 16]

"""R03: a shift between two additions with carry destroyed the carry. Every reader of a flag must find the value that
was made for it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from shipped import VARIANTS, codes, kernel

from asmgen.errors import AsmgenError
from asmgen.passes import Options, compile_stages
from asmgen.passes.dependence import graph
from asmgen.routine import Branch, Loop, Part, Straight
from asmgen.targets.row import Instruction, Label


def lines(parts: Iterable[Part]) -> Iterable[Straight]:
    for part in parts:
        if isinstance(part, Straight):
            yield part
        elif isinstance(part, Loop):
            yield part.body
        else:
            assert isinstance(part, Branch)
            yield from lines((*part.then, *part.otherwise))


@pytest.mark.parametrize("target, features", VARIANTS)
def test_what_is_read_was_written_and_not_destroyed(target: str, features: str) -> None:
    for made in codes(target, features):
        last: dict[str, Instruction] = {}
        for item in made.items:
            if isinstance(item, Label):
                last = {}  # nothing is carried over a place that is jumped to
            if not isinstance(item, Instruction):
                continue
            for flag in item.row.reads:
                assert flag in last, (made.signature.symbol, item)
                assert flag in last[flag].row.writes, (made.signature.symbol, last[flag], item)
            last.update(dict.fromkeys(item.row.flags_touched, item))


@pytest.mark.parametrize("target, features", VARIANTS)
@pytest.mark.parametrize("name", ["mul", "sqr", "square_n", "canon"])
def test_scheduling_keeps_every_reader_with_its_writer(name: str, target: str, features: str) -> None:
    made = compile_stages(kernel("curve25519_4x64", name), Options(target, features))
    for before, after in zip(lines(made.select.parts), lines(made.schedule.parts), strict=True):
        assert pairs(before, made.select.homes) == pairs(after, made.schedule.homes)


def pairs(line: Straight, homes: Iterable[object]) -> set[tuple[object, object, str]]:
    found = graph(line.instructions, homes, preferences=False)  # type: ignore[arg-type]
    return {
        (line.instructions[value.writer], line.instructions[reader], value.flag)
        for value in found.values.values()
        for reader in value.readers
    }


BODY = """
from asmgen import Field, amd64, kernel
from asmgen.targets.explicit import fresh, word

fe = Field("any", 2**255 - 19, limbs=[64] * 4)
four = fe.below(2**255)


@kernel
def add(a: four, b: four) -> fe.below(2**256):
    return a.value + b.value


@add.on("amd64")
def add_amd64(out, a, b):
    x, y = fresh("x"), fresh("y")
    amd64.mov(y, word(a, 0))
    for i in range(4):
        amd64.mov(x, word(a, i))
        if i == 2:
            amd64.BETWEEN
        (amd64.adc if i else amd64.add)(x, word(b, i))
        amd64.mov(word(out, i), x)
"""


@pytest.mark.parametrize("between", ["shl(y, 3)", "and_(y, y)", "xor(y, y)", "bt(y, 3)"])
def test_a_carry_lost_by_hand_is_refused(between: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Either it is said which flag is gone, or the sum is wrong and the test of the kernel says so."""
    from asmgen.scripts import load
    from emulate.campaign import job
    from emulate.report import run_job

    script = tmp_path / "lost.py"
    script.write_text(BODY.replace("BETWEEN", between))
    lost = load(script).kernels["add"]
    try:
        made = job(lost, Options("amd64"))
    except AsmgenError as error:
        assert "CF" in str(error) or "carry" in str(error)
        return
    assert run_job(made, 500, 1).failure is not None

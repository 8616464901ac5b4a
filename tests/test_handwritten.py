"""asmgen.passes.handwritten: registers that a person changes in place become values written once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from routines import call

from asmgen import amd64, arm64
from asmgen.contracts import Count, Parameter, Signature
from asmgen.errors import AsmgenError
from asmgen.field import Field
from asmgen.passes.handwritten import handwritten, once
from asmgen.targets.explicit import fresh, word
from asmgen.targets.row import Instruction, Memory, Tied, Virtual

TWO = Field("two", 2**127 - 1, limbs=[64, 63]).limbs_below(2**64)
SIGNATURE = Signature("s", "f", (Parameter("out", TWO),), (Parameter("a", TWO), Parameter("n", Count)))
V = Virtual


def on_amd64(out: Virtual, a: Virtual, n: Virtual) -> None:
    """out = (a0 + a1 + n, 2 * that + a0), with one register for all sums."""
    x = fresh("x")
    amd64.mov(x, word(a, 0))
    amd64.add(x, word(a, 1))
    amd64.add(x, n)
    amd64.mov(word(out, 0), x)
    amd64.add(x, x)
    amd64.add(x, word(a, 0))
    amd64.mov(word(out, 1), x)


def on_arm64(out: Virtual, a: Virtual, n: Virtual) -> None:
    x, y = fresh("x"), fresh("y")
    arm64.ldp(x, y, word(a, 0))
    arm64.add(y, x, y)
    arm64.add(y, y, n)
    arm64.str(y, word(out, 0))
    arm64.add(y, y, y)
    arm64.add(y, y, x)
    arm64.str(y, word(out, 1))


@pytest.mark.parametrize(("target", "body"), [("amd64", on_amd64), ("arm64", on_arm64)])
def test_what_is_written_is_what_runs(target: str, body: Callable[..., None]) -> None:
    routine = handwritten(SIGNATURE, target, body)
    assert [register.name for register in routine.arguments] == ["out", "a", "n"]
    for a, n in (((1, 2), 3), ((2**64 - 1, 2**64 - 1), 2**63), ((0, 0), 0)):
        total = (sum(a) + n) % 2**64
        assert call(routine, SIGNATURE, {"a": a, "n": [n]}) == [total, (2 * total + a[0]) % 2**64]


@pytest.mark.parametrize(("target", "body"), [("amd64", on_amd64), ("arm64", on_arm64)])
def test_every_value_is_written_once(target: str, body: Callable[..., None]) -> None:
    (part,) = handwritten(SIGNATURE, target, body).parts
    written = [register for each in part.instructions for register in each.written]  # type: ignore[union-attr]
    assert len(set(written)) == len(written)
    names = {register.name for register in written if isinstance(register, Virtual)}
    assert names <= {"x", "y"}  # listings keep the author's


def test_a_changed_register_is_tied_to_its_old_value() -> None:
    a, x = V(-1, "a"), V(1, "x")
    made = once([amd64.ins("mov_rm", x, Memory(a, 8)), amd64.ins("add_rr", x, a), amd64.ins("add_rr", x, x)], [a])
    (first, memory), (second, plus), (third, twice) = (each.operands for each in made)
    assert memory == Memory(a, 8) and plus == a
    assert isinstance(second, Tied) and isinstance(third, Tied)
    assert (second.source, third.source, twice) == (first, second.target, second.target)
    assert len({first, second.target, third.target}) == 3


def test_a_load_may_overwrite_its_own_address() -> None:
    a, x = V(-1, "a"), V(1, "x")
    made = once([amd64.ins("mov_rr", x, a), amd64.ins("mov_rm", x, Memory(x, 0)), amd64.ins("mov_rr", a, x)], [a])
    pointer, (loaded, memory), (_, copied) = made[0].operands[0], made[1].operands, made[2].operands
    assert memory == Memory(pointer, 0) and loaded != pointer and copied == loaded  # type: ignore[arg-type]


def test_a_register_that_has_no_value_yet() -> None:
    def body(out: Virtual, a: Virtual, n: Virtual) -> None:
        amd64.add(fresh("sum"), n)

    with pytest.raises(AsmgenError, match="%sum1 is read by add before it has a value") as caught:
        handwritten(SIGNATURE, "amd64", body)
    assert caught.value.hint and caught.value.source is not None
    assert caught.value.source.text == 'amd64.add(fresh("sum"), n)'


def test_a_body_that_writes_nothing() -> None:
    with pytest.raises(AsmgenError, match="s_f writes no instruction for arm64"):
        handwritten(SIGNATURE, "arm64", lambda *arguments: None)


def test_instructions_keep_their_lines() -> None:
    (part,) = handwritten(SIGNATURE, "amd64", on_amd64).parts
    lines: list[Instruction] = list(part.instructions)  # type: ignore[union-attr]
    assert [each.source.text for each in lines if each.source][:2] == [
        "amd64.mov(x, word(a, 0))", "amd64.add(x, word(a, 1))",
    ]  # fmt: skip

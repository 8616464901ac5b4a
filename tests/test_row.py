"""asmgen.targets.row: what an instruction reads and writes, and the integers that meanings are computed on."""

from __future__ import annotations

from itertools import product

import pytest

from asmgen.targets import amd64, arm64
from asmgen.targets.row import Integers, Memory, Register, Role, Tied, Virtual

X, Y, Z = Virtual(1, "x"), Virtual(2), Virtual(3, "z")


def test_operands_by_role() -> None:
    add = amd64.ins("add_rr", Tied(X, Z), Y)
    assert add.read == (X, Y) and add.written == (Z,)
    load = amd64.ins("mov_rm", X, Memory(Y, 8, Z, 4))
    assert load.read == (Y, Z) and load.written == (X,)
    store = arm64.ins("str", X, Memory(Y, 8))
    assert store.read == (X, Y) and store.written == ()
    product_ = amd64.ins("mulx_rrr", X, Y, Z)
    assert product_.read == (Z, amd64.REGISTERS["rdx"]) and product_.written == (X, Y)
    push = amd64.ins("push_r", amd64.REGISTERS["rbx"])
    assert {register.name for register in push.read} == {"rbx", "rsp"}
    assert [register.name for register in push.written] == ["rsp"]  # type: ignore[union-attr]


def test_names() -> None:
    assert str(X).startswith("%x") and str(Y).startswith("%v") and str(Tied(X, Z)) == f"{X}->{Z}"


def test_integers_split_with_floors() -> None:
    domain = Integers()
    for value, k in product((0, 1, 2**64 - 1, -1, -(2**70), 2**130 + 7), (1, 51, 64)):
        low, high = domain.split(value, k)
        assert 0 <= low < 2**k and low + (high << k) == value


def test_integers_know_the_rest() -> None:
    domain = Integers()
    assert [domain.bitwise(op, 0b1100, 0b1010, 4) for op in ("and", "or", "xor")] == [0b1000, 0b1110, 0b0110]
    assert (domain.is_zero(0), domain.is_zero(5)) == (1, 0)
    assert (domain.select(1, 7, 9), domain.select(0, 7, 9)) == (7, 9)


@pytest.mark.parametrize("target", [amd64, arm64])
def test_every_row_is_whole(target: object) -> None:
    """Names are unique, memory forms and commuting operands exist, and what is read is no output."""
    rows = target.ROWS  # type: ignore[attr-defined]
    for name, row in rows.items():
        assert row.name == name
        assert not row.writes & row.destroys and row.flags_touched == row.writes | row.destroys
        for at, other in row.memory_form:
            form = rows[other]
            assert len(form.slots) == len(row.slots) and form.slots[at].kind[0] in "ma"
            assert form.slots[at].role is row.slots[at].role
        if row.commutes is not None:
            one, two = (row.slots[at] for at in row.commutes)
            assert one.role is not Role.OUT and two.role is not Role.OUT
        for slot in row.slots:
            assert slot.kind != "imm" or slot.legal is not None
            assert not slot.implicit or slot.fixed is not None or slot.kind == "imm"


def test_registers_are_values() -> None:
    assert Register("rax", 0) == amd64.REGISTERS["rax"] and hash(X) == hash(Virtual(1, "x"))

"""The explicit layer: recording, and the checks of operands that both targets share."""

from __future__ import annotations

import pytest

from asmgen.errors import AsmgenError
from asmgen.targets import arm64
from asmgen.targets.explicit import choose_row, describe, emit, misfit, record
from asmgen.targets.row import Label, Memory, Register, Role, Slot, Tied, Virtual

NOP, RET = arm64.ins("nop"), arm64.ins("ret")
X1, SP, XZR = arm64.REGISTERS["x1"], arm64.SP, arm64.XZR
V = Virtual(3, "sum")


def test_records_nest_and_end() -> None:
    with record() as outer:
        emit(NOP)
        with record() as inner:
            emit(RET)
        emit(NOP)
    assert outer == [NOP, NOP] and inner == [RET]
    with pytest.raises(AsmgenError, match=r"test_explicit.py:\d+: nop was written where no kernel is being traced"):
        emit(NOP)
    with pytest.raises(ZeroDivisionError), record():
        raise ZeroDivisionError
    with pytest.raises(AsmgenError, match="no kernel"):
        emit(NOP)


@pytest.mark.parametrize(
    ("slot", "operand", "reason"),
    [
        (Slot("r64"), X1, ""),
        (Slot("r64"), V, ""),
        (Slot("r64"), SP, "sp cannot stand here"),
        (Slot("r64s"), SP, ""),
        (Slot("r64s"), XZR, "xzr cannot stand here"),
        (Slot("r32z"), XZR, ""),
        (Slot("r64"), 7, "7 is not a register"),
        (Slot("r64", fixed="x2"), X1, "x1 stands where only x2 may"),
        (Slot("r64", fixed="sp"), SP, ""),
        (Slot("r64", Role.INOUT), Tied(V, Virtual(4)), ""),
        (Slot("r64"), Tied(V, Virtual(4)), "changed by no instruction"),
        (Slot("label"), Label("a"), ""),
        (Slot("label"), 5, "5 is not a label"),
        (Slot("imm"), True, "True is not a number"),
        (Slot("imm"), X1, "x1 is not a number"),
        (Slot("imm", legal=lambda value: value < 5), 5000, "0x1388 is not one that this form can hold"),
        (Slot("imm", legal=lambda value: value < 5), 4, ""),
        (Slot("m64"), X1, "x1 is not memory"),
        (Slot("m64"), Memory(V, 8, X1, 4), ""),
        (Slot("m64", legal=lambda offset: offset == 8), Memory(V, 8, X1, 4), "memory [%sum3 + x1*4 + 8] has an index"),
        (Slot("m64", legal=lambda offset: offset == 8), Memory(V, -16), "memory [%sum3 - 16] has an offset"),
        (Slot("m64", legal=lambda offset: offset == 8), Memory(V, 8), ""),
    ],
)
def test_operands_fit_or_the_reason_is_told(slot: Slot, operand: object, reason: str) -> None:
    found = misfit(slot, operand)  # type: ignore[arg-type]
    assert reason in found and bool(found) == bool(reason)


def test_rows_are_tried_in_order() -> None:
    rows = arm64.FAMILIES["add"]
    assert choose_row(rows, (V, X1, V)).name == "add"
    assert choose_row(rows, (V, X1, 5)).name == "add_imm"
    with pytest.raises(AsmgenError) as raised:
        choose_row(rows, (V, X1, 4097))
    text = str(raised.value)
    assert "test_explicit.py" in text and "no form of add takes %sum3, x1, 0x1001" in text
    assert "add(r64, r64z, r64z): operand 3: 0x1001 is not a register" in text
    assert "add_imm(r64s, r64s, imm): operand 3: 0x1001 is not" in text


def test_describe_says_what_is_wrong_even_of_strangers() -> None:
    assert describe(Register("x7", 7)) == "x7"
    assert describe("x7") == "'x7' (a str)"  # type: ignore[arg-type]

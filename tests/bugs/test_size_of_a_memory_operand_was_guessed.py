"""R21: an instruction on memory and a number, without a size: one assembler guessed, another refused."""

from __future__ import annotations

import re

import pytest

from asmgen.targets.amd64 import REGISTERS, ROWS, ins
from asmgen.targets.row import Memory

PLACE = Memory(REGISTERS["rsi"], 8)
SIZED = [row for row in ROWS.values() if any(slot.kind.startswith("m") and not slot.implicit for slot in row.slots)]


@pytest.mark.parametrize("row", SIZED, ids=[row.name for row in SIZED])
def test_the_size_is_always_written(row) -> None:  # type: ignore[no-untyped-def]
    places = iter((REGISTERS["rax"], REGISTERS["rdx"], REGISTERS["rcx"], REGISTERS["r9"]))
    operands = [
        PLACE if slot.kind.startswith("m")
        else 3 if slot.kind == "imm"
        else REGISTERS[slot.fixed] if slot.fixed else next(places)
        for slot in row.slots
    ]  # fmt: skip
    text = row.text(ins(row.name, *operands).operands)
    mnemonic = text.split()[0]
    assert re.search(r"[qlwb]$|^set", mnemonic), text  # setcc writes a byte and nothing else
    assert "8(%rsi)" in text and not re.search(r"\[|ptr", text), "AT&T syntax"


def test_there_are_forms_of_memory_and_a_number() -> None:
    pairs = [row for row in SIZED if row.slots[-1].kind == "imm"]
    assert {"add_mi", "adc_mi", "mov_mi", "cmp_mi", "imul_rmi"} <= {row.name for row in pairs}

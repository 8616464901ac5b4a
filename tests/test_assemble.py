"""Assembling: places, labels, jumps that grow, calls for the linker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from asmgen.errors import AsmgenError, Source
from asmgen.routine import Cfi, Item
from asmgen.targets import amd64, arm64
from asmgen.targets.assemble import assemble
from asmgen.targets.row import Instruction, Label

X0, X1 = arm64.REGISTERS["x0"], arm64.REGISTERS["x1"]
NOP = arm64.ins("nop")


def jump(target: str) -> Instruction:
    return amd64.ins("jmp", Label(target))


def branch(target: str) -> Instruction:
    return amd64.ins("jz", Label(target))


def filler(size: int) -> list[Item]:
    """amd64 instructions of four bytes each: size must be a multiple of 4."""
    rax = amd64.REGISTERS["rax"]
    step = amd64.ins("add", rax, 7)
    assert len(assemble([step]).code) == 4
    return [step] * (size // 4)


def test_places_of_items() -> None:
    code = assemble([Label("start"), NOP, Cfi(".cfi_startproc"), arm64.ins("cbz", X0, Label("start")), Label("end")])
    assert code.offsets == (0, 0, 4, 4, 8)
    assert code.labels == {"start": 0, "end": 8}
    assert code.code == bytes.fromhex("1f2003d5 e0ffffb4")
    assert code.relocations == ()
    assert assemble([]).code == b""
    assert assemble([Label("only")]).labels == {"only": 0}


@pytest.mark.parametrize(
    ("between", "length"),
    [(0, 2), (124, 2), (128, 5), (4096, 5)],
)
def test_jumps_forward_grow_when_they_must(between: int, length: int) -> None:
    code = assemble([jump("end"), *filler(between), Label("end"), *filler(4)])
    assert code.labels["end"] == between + length
    distance = int.from_bytes(code.code[1:length], "little", signed=True)
    assert distance == between and code.code[0] == (0xEB if length == 2 else 0xE9)


@pytest.mark.parametrize(("between", "length"), [(0, 2), (124, 2), (128, 6)])
def test_branches_back_grow_when_they_must(between: int, length: int) -> None:
    code = assemble([Label("top"), *filler(between), branch("top")])
    assert len(code.code) == between + length
    assert int.from_bytes(code.code[-1 if length == 2 else -4 :], "little", signed=True) == -len(code.code)


def test_one_jump_that_grows_makes_another_grow() -> None:
    """The first jump reaches its label only while the second one is short."""
    inner = [jump("far"), *filler(120)]  # 122 bytes, or 125 when its own jump is long
    items: Sequence[Item] = [jump("near"), *inner, Label("near"), *filler(200), Label("far")]
    code = assemble(items)
    assert code.code[0] == 0xEB and code.code[2] == 0xE9
    items = [jump("near"), jump("far"), *filler(124), Label("near"), *filler(200), Label("far")]
    code = assemble(items)
    assert code.code[0] == 0xE9 and code.code[5] == 0xE9
    assert code.labels["near"] == 5 + 5 + 124
    assert int.from_bytes(code.code[1:5], "little") == code.labels["near"] - 5


def test_calls_to_others_are_left_to_the_linker() -> None:
    code = assemble([NOP, arm64.ins("bl", Label("other")), arm64.ins("bl", Label("here")), Label("here")])
    assert code.relocations == ((4, "other", "bl"),)
    assert code.code[4:8] == bytes.fromhex("00000094") and code.code[8:12] == bytes.fromhex("01000094")


def test_labels_must_be_there_once() -> None:
    with pytest.raises(AsmgenError, match="label twice stands twice"):
        assemble([Label("twice"), NOP, Label("twice")])
    with pytest.raises(AsmgenError, match="label twice stands twice"):
        assemble([Label("twice"), Label("other"), Label("twice")])
    with pytest.raises(AsmgenError, match="b.eq goes to nowhere, which is no label"):
        assemble([arm64.ins("b_eq", Label("nowhere"))])


def test_labels_out_of_reach_are_named(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("arm64.b_eq(end)\n")
    far = arm64.ins("b_eq", Label("end"), source=Source(str(script), 1))
    block = Instruction(replace(NOP.row, name="block", encode=lambda operands: bytes(1 << 16)), ())
    assert len(assemble([far, *[block] * 15, *[NOP] * 4094, Label("end")]).code) == 15 * 2**16 + 4 * 4095
    with pytest.raises(AsmgenError, match=r"script.py:1: the label is 1048580 bytes away"):
        assemble([far, *[block] * 16, Label("end")])

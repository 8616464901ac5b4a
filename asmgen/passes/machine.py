"""The instructions that allocation and frames add of their own, for each target.

Moves, loads, stores and constants leave the flags as they are; what closes a loop does not, no flag lives across it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from asmgen.errors import AsmgenError
from asmgen.targets import amd64, arm64
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Operand, Register, Row, Slot


@dataclass(frozen=True)
class Machine:
    """One target as these passes see it."""

    name: str
    rows: dict[str, Row]
    registers: dict[str, Register]
    move_row: str
    load_row: str
    store_row: str
    store_value: int  #: which operand of the store is the register
    constant: Callable[[Register, int], Sequence[Instruction]]
    pairs: bool  #: whether two neighboring words are loaded or stored at once
    stack: Register
    unnamed: frozenset[str]  #: registers that may stand in code before allocation: they hold no values

    def make(self, name: str, *operands: Operand, note: str = "") -> Instruction:
        """An instruction that needs no check."""
        return Instruction(self.rows[name], operands, None, note)

    def move(self, into: Register, source: Register, note: str = "") -> Instruction:
        return self.make(self.move_row, into, source, note=note)

    def load(self, into: Register, place: Memory, note: str = "") -> Instruction:
        return self.make(self._reaching(self.load_row, place), into, place, note=note)

    def store(self, source: Register, place: Memory, note: str = "") -> Instruction:
        operands = (source, place) if self.store_value == 0 else (place, source)
        return self.make(self._reaching(self.store_row, place), *operands, note=note)

    def _reaching(self, row: str, place: Memory) -> str:
        """On arm64 the row for any small offset, where the usual one takes multiples of 8 only."""
        if self.name == "arm64" and (place.offset % 8 or place.offset < 0) and place.base != FRAME:
            return {"ldr": "ldur", "str": "stur"}[row]
        return row

    def load_byte(self, into: Register, place: Memory, note: str = "") -> Instruction:
        """The byte at `place`, the rest of the register zero."""
        return self.make("movzbl_rm" if self.name == "amd64" else "ldrb", into, place, note=note)

    def store_byte(self, source: Register, place: Memory, note: str = "") -> Instruction:
        """The low byte of a register."""
        operands = (place, source) if self.name == "amd64" else (source, place)
        return self.make("movb_mr" if self.name == "amd64" else "strb", *operands, note=note)

    def store_number(self, value: int, place: Memory, scratch: Register, note: str = "") -> tuple[Instruction, ...]:
        """A constant word to memory, through a register where it must be."""
        if self.name == "amd64" and -(2**31) <= value - (value >> 63 << 64) < 2**31:
            return (self.make("mov_mi", place, value - (value >> 63 << 64), note=note),)
        if self.name == "arm64" and value == 0:
            return (self.store(self.registers["xzr"], place, note),)
        return (*self.constant(scratch, value), self.store(scratch, place, note))

    def address(self, into: Register, place: Memory, note: str = "") -> Instruction:
        """The address of a place at a fixed distance, below 4096 bytes, from a register or from the slots."""
        if self.name == "amd64":
            return self.make("lea_rm", into, place, note=note)
        assert isinstance(place.base, Register)
        return self.make("add_imm", into, place.base, place.offset, note=note)

    def call(self, symbol: str, note: str = "") -> Instruction:
        """A call of another routine; on arm64 the return address goes to x30."""
        operands = (Label(symbol),) if self.name == "amd64" else (Label(symbol), self.registers["x30"])
        return self.make("call_l" if self.name == "amd64" else "bl", *operands, note=note)

    def load_pair(self, low: Register, high: Register, place: Memory, note: str = "") -> Instruction:
        """The word at `place` and the one after it; only where `pairs`."""
        return self.make("ldp", low, high, place, note=note)

    def store_pair(self, low: Register, high: Register, place: Memory, note: str = "") -> Instruction:
        return self.make("stp", low, high, place, note=note)

    def can_pair(self, offset: int) -> bool:
        """Whether a pair of words at this offset from a register can be loaded or stored at once."""
        return self.pairs and offset % 8 == 0 and -512 <= offset <= 504

    def count_down(self, counter: Register, head: Label) -> tuple[Instruction, ...]:
        """counter -= 1, and to `head` unless it is zero."""
        if self.name == "amd64":
            return self.make("dec_r", counter), self.make("jnz_l", head)
        return self.make("sub_imm", counter, counter, 1), self.make("cbnz", counter, head)

    def count_down_in_memory(self, counter: Memory, head: Label) -> tuple[Instruction, ...]:
        """The same with the counter in a slot; nothing where the target has no such instruction."""
        if self.name == "amd64":
            return self.make("dec_m", counter), self.make("jnz_l", head)
        return ()

    def unless(self, count: Register, there: Label) -> tuple[Instruction, ...]:
        """To `there` when the register is zero."""
        if self.name == "amd64":
            return self.make("test_rr", count, count), self.make("jz_l", there)
        return (self.make("cbz", count, there),)

    def jump(self, there: Label) -> Instruction:
        return self.make("jmp_l" if self.name == "amd64" else "b", there)

    def fixed(self, slot: Slot) -> Register | None:
        """The one register that may stand in a slot."""
        return self.registers.get(slot.fixed) if slot.fixed is not None and slot.kind.startswith("r") else None


@cache
def machine(target: str) -> Machine:
    """The target's instructions; AsmgenError for a target that does not exist."""
    if target == "amd64":
        return Machine(
            name="amd64",
            rows=dict(amd64.ROWS),
            registers=dict(amd64.REGISTERS),
            move_row="mov_rr",
            load_row="mov_rm",
            store_row="mov_mr",
            store_value=1,
            constant=lambda into, value: (amd64.constant(into, value),),
            pairs=False,
            stack=amd64.REGISTERS["rsp"],
            unnamed=frozenset({"rsp"}),
        )
    if target == "arm64":
        return Machine(
            name="arm64",
            rows=dict(arm64.ROWS),
            registers=dict(arm64.REGISTERS),
            move_row="mov",
            load_row="ldr",
            store_row="str",
            store_value=0,
            constant=arm64.load_constant,
            pairs=True,
            stack=arm64.REGISTERS["sp"],
            unnamed=frozenset({"sp", "xzr"}),
        )
    raise AsmgenError(f"there is no target {target}", hint="amd64 or arm64")

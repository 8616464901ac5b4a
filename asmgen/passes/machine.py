"""The instructions that allocation and frames add of their own, for each target.

Moves, loads, stores and constants leave the flags as they are; what closes a loop does not, no flag lives across it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from asmgen.errors import AsmgenError
from asmgen.targets import amd64, arm64
from asmgen.targets.row import Instruction, Label, Memory, Operand, Register, Row, Slot


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
        return self.make(self.load_row, into, place, note=note)

    def store(self, source: Register, place: Memory, note: str = "") -> Instruction:
        operands = (source, place) if self.store_value == 0 else (place, source)
        return self.make(self.store_row, *operands, note=note)

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

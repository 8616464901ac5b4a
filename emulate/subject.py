"""A routine that is to get a fault: what stands where in it, and the routine with something else there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from asmgen.errors import AsmgenError
from asmgen.routine import Code, Item
from asmgen.targets import amd64, arm64
from asmgen.targets.row import Instruction, Label, Memory, Operand, Register, Role, Slot

Change = tuple[int, str, tuple[Item, ...]]  #: the first item that is changed, what was done, and all items

_INS = {"amd64": amd64.ins, "arm64": arm64.ins}
_ROWS = {"amd64": amd64.ROWS, "arm64": arm64.ROWS}
_STACK = {"amd64": amd64.REGISTERS["rsp"], "arm64": arm64.SP}

#: What leaves a carry that may be anything though nothing reads it; that of sums and left shifts is 0 then, or belongs
#: to a word that is dropped.
_LOOSE_CARRY = {"shr", "sar", "shrd"}


class Subject:
    """A routine, and what is looked up in it."""

    def __init__(self, code: Code) -> None:
        self.items = code.items
        self.target = code.target
        self.rows = _ROWS[code.target]
        self.stack = _STACK[code.target]
        self.instructions = [(at, item) for at, item in enumerate(code.items) if isinstance(item, Instruction)]
        everything = [register for _, item in self.instructions for register in (*item.read, *item.written)]
        named = [register for register in dict.fromkeys(everything) if isinstance(register, Register)]
        self.registers = [register for register in named if register.name not in (self.stack.name, "xzr")]
        memories = [
            operand for _, item in self.instructions for operand in item.operands if isinstance(operand, Memory)
        ]
        self.bases = [base for base in dict.fromkeys(memory.base for memory in memories) if base != self.stack]
        self.saves = {name: at for name in reversed(code.saved) for at in self._stack_places(name, Role.IN)[:1]}
        self.restores = {name: at for name in code.saved for at in self._stack_places(name, Role.OUT)[-1:]}

    def _stack_places(self, name: str, role: Role) -> list[int]:
        """Where the register of that name is stored to the stack (role IN) or loaded from it (OUT)."""
        return [
            at
            for at, item in self.instructions
            if any(isinstance(operand, Memory) and operand.base == self.stack for operand in item.operands)
            and any(
                isinstance(operand, Register) and operand.name == name and slot.role is role
                for slot, operand in zip(item.row.slots, item.operands, strict=True)
            )
        ]

    def operands(self) -> Iterator[tuple[int, Instruction, int, Slot, Operand]]:
        """Place, instruction, number, slot and operand, of all that are not fixed."""
        for at, item in self.instructions:
            for number, (slot, operand) in enumerate(zip(item.row.slots, item.operands, strict=True)):
                if slot.fixed is None:
                    yield at, item, number, slot, operand

    def instruction(self, old: Instruction, name: str, operands: Sequence[Operand]) -> Instruction | None:
        """`old` as the row `name` with other operands; None when there is no such row or they do not fit it."""
        if name not in self.rows:
            return None
        try:
            made = _INS[self.target](name, *operands, source=old.source, note=old.note)
            made.row.encode([0 if isinstance(operand, Label) else operand for operand in made.operands])
        except AsmgenError:
            return None
        return made

    def replaced(self, at: int, made: Instruction | None) -> Iterator[Change]:
        """The routine with another instruction at this place."""
        if made is not None and made != self.items[at]:
            yield at, f"{text(self.items[at])} is now {text(made)}", self.edited({at: (made,)})

    def with_operand(self, at: int, number: int, operand: Operand) -> Iterator[Change]:
        """The routine with another operand there."""
        item = self.items[at]
        assert isinstance(item, Instruction)
        operands = (*item.operands[:number], operand, *item.operands[number + 1 :])
        yield from self.replaced(at, self.instruction(item, item.row.name, operands))

    def edited(self, edits: Mapping[int, tuple[Item, ...]]) -> tuple[Item, ...]:
        """The items with those at some places replaced."""
        return tuple(new for at, item in enumerate(self.items) for new in edits.get(at, (item,)))

    def read_later(self, at: int, flags: frozenset[str]) -> bool:
        """Whether a flag that the instruction at this place leaves is read."""
        for item in self.items[at + 1 :]:
            if isinstance(item, Label):
                return False
            if isinstance(item, Instruction):
                if item.row.reads & flags:
                    return True
                flags -= item.row.flags_touched
        return False

    def carry_is_loose(self, at: int, flags: frozenset[str]) -> bool:
        """Whether a flag as it is before this place may be set: it is the caller's, or a shift's, or another sum's."""
        for place, item in reversed([each for each in self.instructions if each[0] < at]):
            if item.row.flags_touched & flags:
                return item.row.mnemonic in _LOOSE_CARRY or self.read_later(place, flags)
        return True


def text(item: Item) -> str:
    """An item in one line."""
    if isinstance(item, Instruction):
        return item.row.text(item.operands).replace("\t", " ")
    return item.name if isinstance(item, Label) else item.text

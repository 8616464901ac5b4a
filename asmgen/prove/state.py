"""What a processor holds while a routine is followed: registers, flags and memory, byte-exact."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from asmgen.prove.decode import Decoded
from asmgen.prove.decode_amd64 import RIP
from asmgen.prove.space import Rejected, Undefined
from asmgen.targets.row import Memory as Address
from asmgen.targets.row import Operand, Register, Role, Slot

STACK = "stack"
CODE = "code"
ZERO = frozenset({"xzr"})
STACK_POINTERS = {"amd64": "rsp", "arm64": "sp"}

Value = Any  # Poly, or a label of the taint analysis, or Undefined


@dataclass
class Region:
    """A stretch of memory: what is known of its bytes, as values of `size` bytes at offsets.

    Bytes from `low` to `high` may be read and, with `writable`, written. `constants` are those of a region that holds
    nothing else.
    """

    name: str
    low: int
    high: int
    writable: bool
    cells: dict[int, tuple[int, Value]] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    constants: bytes | None = None

    def fork(self) -> Region:
        return replace(self, cells=dict(self.cells), written=set(self.written))

    def covers(self, offset: int, size: int) -> bool:
        return self.low <= offset and offset + size <= self.high

    def load(self, domain: Any, offset: int, size: int) -> Value:
        """The bytes as a little-endian number."""
        if self.constants is not None:
            return int.from_bytes(self.constants[offset : offset + size], "little")
        exact = self.cells.get(offset)
        if exact is not None and exact[0] == size:
            return exact[1]
        total: Any = 0
        place = offset
        while place < offset + size:
            start, (length, value) = self._cell(place)
            if isinstance(value, Undefined):
                value + 0
            taken = min(start + length, offset + size) - place
            if place > start:
                value = domain.split(value, 8 * (place - start))[1]
            if place + taken < start + length:
                value = domain.split(value, 8 * taken)[0]
            total = total + value * (1 << 8 * (place - offset))
            place += taken
        return total

    def _cell(self, place: int) -> tuple[int, tuple[int, Value]]:
        """The cell that holds a byte."""
        for start in range(place, place - 16, -1):
            cell = self.cells.get(start)
            if cell is not None and start + cell[0] > place:
                return start, cell
        raise Rejected(f"reads byte {place:+d} of {self.name}, which nothing wrote")

    def store(self, domain: Any, offset: int, size: int, value: Value) -> None:
        for start in range(offset - 15, offset + size):
            cell = self.cells.get(start)
            if cell is not None and start + cell[0] > offset and (start, cell[0]) != (offset, size):
                self._cut(domain, start, offset, offset + size)
        self.cells[offset] = (size, value)
        self.written.update(range(offset, offset + size))

    def _cut(self, domain: Any, start: int, begin: int, end: int) -> None:
        """Keep of a cell what lies outside of [begin, end)."""
        length, value = self.cells.pop(start)
        if start < begin:
            self.cells[start] = (begin - start, domain.split(value, 8 * (begin - start))[0])
        if start + length > end:
            self.cells[end] = (start + length - end, domain.split(value, 8 * (end - start))[1])

    def forget_below(self, offset: int) -> None:
        """Cells that begin below an offset are gone."""
        for start in [start for start in self.cells if start < offset]:
            del self.cells[start]


@dataclass
class State:
    """Registers by 64-bit name, flags by name (some still to be computed), and memory by region.

    `places` says of a value which byte of which region it points to. `red_zone` bytes below the stack pointer are kept
    by whoever interrupts.
    """

    target: str
    domain: Any
    places: Any
    registers: dict[str, Value]
    flags: dict[str, Value] = field(default_factory=dict)
    memory: dict[str, Region] = field(default_factory=dict)
    red_zone: int = 0
    accesses: list[tuple[int, str, int, int, bool]] = field(default_factory=list)

    def fork(self, domain: Any, places: Any) -> State:
        """The same state over copies of the domain and the places; flags must not wait to be computed."""
        return State(
            self.target,
            domain,
            places,
            dict(self.registers),
            dict(self.flags),
            {name: region.fork() for name, region in self.memory.items()},
            self.red_zone,
            list(self.accesses),
        )

    def step(self, decoded: Decoded) -> Value:
        """Do one instruction; the bit that says whether a branch is taken, None for others."""
        row, operands = decoded.row, decoded.instruction.operands
        inputs: list[Value] = []
        outputs: list[tuple[Slot, Operand, tuple[str, int] | None]] = []
        for slot, operand in zip(row.slots, operands, strict=True):
            if isinstance(operand, Address) and slot.kind != "addr":
                where = self._where(operand, decoded), slot
                if slot.role is not Role.OUT:
                    inputs.append(self._load(*where[0], slot, decoded))
                if slot.role is not Role.IN:
                    outputs.append((slot, operand, where[0]))
                continue
            if slot.role is not Role.OUT:
                inputs.append(self._read(slot, operand, decoded))
            if slot.role is not Role.IN:
                outputs.append((slot, operand, None))
        outcome = row.meaning(self.domain, inputs, {name: self.flag(name) for name in row.reads})
        values = list(outcome.values)
        taken = values.pop() if row.control == "branch" else None
        pairs = list(zip(outputs, values, strict=True))
        for (slot, operand, place), value in pairs:
            if place is None and isinstance(operand, Register):
                self._write(slot, operand.name, value)
        for (slot, _, place), value in pairs:
            if place is not None:
                self._store(*place, slot, value, decoded)
        for name in row.flags_touched:
            self.flags.pop(name, None)
        for name in row.writes:
            self.flags[name] = outcome.flags[name]
        return taken

    def flag(self, name: str) -> Value:
        """A flag's value, computed now if it was not needed before."""
        if name not in self.flags:
            raise Rejected(f"reads flag {name}, which is undefined here")
        value = self.flags[name]
        if callable(value):
            value = self.flags[name] = value()
        return value

    def _read(self, slot: Slot, operand: Operand, decoded: Decoded) -> Value:
        if isinstance(operand, Address):
            return self.domain.split(self.address(operand, decoded), 64)[0]
        if not isinstance(operand, Register):
            return operand
        value = self.domain.operand(self.register(operand.name))
        bits = int(slot.kind[1:].rstrip("zs"))
        return value if bits == 64 else self.domain.split(value, bits)[0]

    def register(self, name: str) -> Value:
        """What a register holds."""
        if name in ZERO:
            return 0
        return self.registers[name] if name in self.registers else Undefined(name)

    def _write(self, slot: Slot, name: str, value: Value) -> None:
        if name in ZERO:
            return
        if slot.kind.startswith(("r8", "r16")):
            bits = int(slot.kind[1:])
            old = self.register(name)
            if isinstance(old, Undefined):
                old = self.domain.anything(f"old {name}")
            low, high = self.domain.split(old, bits)
            value = old - low + value
        if name == STACK_POINTERS[self.target]:
            self._move_stack(value)
        self.registers[name] = self.domain.value(value)

    def address(self, operand: Address, decoded: Decoded) -> Value:
        """The number that an address is, before it wraps."""
        if operand.base == RIP:
            base = self.places.code(decoded.end)
        else:
            base = self.register(operand.base.name)
        total = base + operand.offset
        if operand.index is not None:
            total = total + self.register(operand.index.name) * operand.scale
        return total

    def _where(self, operand: Address, decoded: Decoded) -> tuple[str, int]:
        name, offset = self.places.locate(self.domain.split(self.address(operand, decoded), 64)[0])
        if name not in self.memory:
            raise Rejected(f"uses memory at {name}{offset:+d}, which is no buffer of an argument")
        return name, offset

    def _load(self, name: str, offset: int, slot: Slot, decoded: Decoded) -> Value:
        region, size = self.memory[name], int(slot.kind[1:]) // 8
        self.check(region, offset, size, decoded, write=False)
        return self.domain.value(region.load(self.domain, offset, size))

    def _store(self, name: str, offset: int, slot: Slot, value: Value, decoded: Decoded) -> None:
        region, size = self.memory[name], int(slot.kind[1:]) // 8
        self.check(region, offset, size, decoded, write=True)
        if size == 16:
            low, high = self.domain.split(value, 64)
            region.store(self.domain, offset, 8, self.domain.value(low))
            region.store(self.domain, offset + 8, 8, self.domain.value(high))
        else:
            region.store(self.domain, offset, size, self.domain.value(value))

    def check(self, region: Region, offset: int, size: int, decoded: Decoded, *, write: bool) -> None:
        self.accesses.append((decoded.offset, region.name, offset, size, write))
        if not region.covers(offset, size):
            verb = "writes" if write else "reads"
            raise Rejected(f"{verb} {size} bytes at {region.name}{offset:+d}, outside of it")
        if write and not region.writable:
            raise Rejected(f"writes to {region.name}{offset:+d}, which is only to be read")
        if region.name == STACK and offset < self.depth() - self.red_zone:
            raise Rejected(f"uses the stack at {offset:+d}, below the stack pointer at {self.depth():+d}")

    def depth(self) -> int:
        """The stack pointer's distance from where it was at entry."""
        name, offset = self.places.locate(self.register(STACK_POINTERS[self.target]))
        if name != STACK:
            raise Rejected("the stack pointer no longer points to the stack")
        return int(offset)

    def _move_stack(self, value: Value) -> None:
        name, offset = self.places.locate(value)
        if name != STACK:
            raise Rejected("the stack pointer is given a value that is no place on the stack")
        self.memory[STACK].forget_below(offset - self.red_zone)

"""What a machine instruction is: one row holds everything known of it, and everything else reads the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from asmgen.errors import Source


class Role(Enum):
    """What an instruction does with an operand."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


class Register(NamedTuple):
    """A physical register, always the 64-bit one; a slot's kind says which part of it an instruction uses."""

    name: str
    number: int


class Virtual(NamedTuple):
    """A register before allocation: one value, written once."""

    id: int
    name: str = ""

    def __str__(self) -> str:
        return f"%{self.name or 'v'}{self.id}"


@dataclass(frozen=True)
class Tied:
    """Before allocation, what stands in an INOUT place: the value that is read and the new one that takes its
    register."""

    source: Virtual
    target: Virtual

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


@dataclass(frozen=True)
class Memory:
    """base + index * scale + offset, in bytes. A spill slot before the frame is laid out has base `FRAME`."""

    base: Register | Virtual
    offset: int = 0
    index: Register | Virtual | None = None
    scale: int = 1


@dataclass(frozen=True)
class Label:
    """A place in the routine, or another routine's symbol (in a call)."""

    name: str


#: The base of spill slots until the frame pass knows where they lie; the offset is 8 * slot.
FRAME = Register("frame", -1)

Operand = Register | Virtual | Tied | Memory | Label | int


@dataclass(frozen=True)
class Slot:
    """One operand of a row.

    Kinds: `r64`, `r32`, `r8` registers (32-bit writes clear the upper half, 8-bit writes keep it; `r64z` and `r32z`
    also admit the zero register on arm64; `rsp` in `r64s` forms), `m64`, `m8` memory that is read or written
    according to the role, `addr` memory whose address is the value (lea, and the pairs of ldp/stp are `m128`), `imm`
    with its legal `values`, `label`. `fixed` names the one register that may stand here; an operand with `implicit`
    is not printed.
    """

    kind: str
    role: Role = Role.IN
    fixed: str | None = None
    implicit: bool = False
    legal: Callable[[int], bool] | None = None


class Domain(Protocol):
    """The numbers a meaning is computed on: Python integers here, polynomials in the prover.

    Values support +, - and * with each other and with int. Bits are values with bounds 0..1.
    """

    def split(self, value: Any, k: int) -> tuple[Any, Any]:
        """(low, high) with value = low + 2^k * high, 0 <= low < 2^k (floor)."""

    def bitwise(self, op: str, x: Any, y: Any, width: int) -> Any:
        """`and`, `or` or `xor` of two values in [0, 2^width)."""

    def is_zero(self, value: Any) -> Any:
        """The bit [value == 0]."""

    def select(self, bit: Any, x: Any, y: Any) -> Any:
        """x when bit is 1, else y."""


class Integers:
    """The domain of Python integers."""

    def split(self, value: int, k: int) -> tuple[int, int]:
        return value & ((1 << k) - 1), value >> k

    def bitwise(self, op: str, x: int, y: int, width: int) -> int:
        return x & y if op == "and" else x | y if op == "or" else x ^ y

    def is_zero(self, value: int) -> int:
        return int(value == 0)

    def select(self, bit: int, x: int, y: int) -> int:
        return x if bit else y


@dataclass(frozen=True)
class Outcome:
    """What a meaning gives: values for the OUT and INOUT operands in operand order, and the flags that it writes.

    A flag may be a function of no argument, evaluated only by whoever reads that flag.
    """

    values: tuple[Any, ...] = ()
    flags: Mapping[str, Any] = field(default_factory=dict)


#: meaning(domain, inputs, flags): inputs are the values of the IN and INOUT operands in operand order (loaded, when
#: they are memory that is read; the address, for `addr`; the number, for immediates); flags has the flags that the
#: row reads.
Meaning = Callable[[Any, Sequence[Any], Mapping[str, Any]], Outcome]


@dataclass(frozen=True)
class Row:
    """An instruction form."""

    name: str  #: unique in its target, such as `mulx_rrm`
    mnemonic: str
    slots: tuple[Slot, ...]
    meaning: Meaning
    #: physical operands; a label is an int, the distance from this instruction's start
    encode: Callable[[Sequence[Operand]], bytes]
    text: Callable[[Sequence[Operand]], str]  #: GNU syntax (AT&T on amd64)
    reads: frozenset[str] = frozenset()  #: flags read
    writes: frozenset[str] = frozenset()  #: flags given a defined value
    destroys: frozenset[str] = frozenset()  #: flags left undefined
    feature: str | None = None  #: CPUID bit needed beyond the base: `bmi2`, `adx`
    control: str | None = None  #: `jump`, `branch` (conditional), `call`, `ret`
    cost: str = "alu"  #: class of latency and ports, looked up in a core's table
    memory_form: tuple[tuple[int, str], ...] = ()  #: (operand index, row to use when that operand is memory)
    commutes: tuple[int, int] | None = None  #: two operand indices that may be swapped

    @cached_property
    def flags_touched(self) -> frozenset[str]:
        """Flags whose old value is gone afterwards."""
        return self.writes | self.destroys


@dataclass(frozen=True)
class Instruction:
    """A row with its operands, the script line it comes from, and a comment for the reader."""

    row: Row
    operands: tuple[Operand, ...]
    source: Source | None = None
    note: str = ""

    def __getstate__(self) -> dict[str, Any]:
        """What is kept on disk: not what follows from it."""
        return {name: value for name, value in self.__dict__.items() if name not in ("read", "written")}

    @cached_property
    def read(self) -> tuple[Register | Virtual, ...]:
        """Registers whose value is needed, in operand order: those of addresses, and the sources of tied operands."""
        found: list[Register | Virtual] = []
        for slot, operand in zip(self.row.slots, self.operands, strict=True):
            if isinstance(operand, Memory):
                found.append(operand.base)
                if operand.index is not None:
                    found.append(operand.index)
            elif isinstance(operand, Tied):
                found.append(operand.source)
            elif isinstance(operand, (Register, Virtual)) and slot.role is not Role.OUT:
                found.append(operand)
        return tuple(found)

    @cached_property
    def written(self) -> tuple[Register | Virtual, ...]:
        """Registers that get a value, in operand order: the targets of tied operands."""
        found: list[Register | Virtual] = []
        for slot, operand in zip(self.row.slots, self.operands, strict=True):
            if isinstance(operand, Tied):
                found.append(operand.target)
            elif isinstance(operand, (Register, Virtual)) and slot.role is not Role.IN:
                found.append(operand)
        return tuple(found)

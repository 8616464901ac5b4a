"""A routine on its way to bytes: straight lines of instructions and at most one level of loops.

`select` makes it of virtual registers, `schedule` orders it, `allocate` gives it physical registers, `frame` flattens
it with prologue and epilogue into the `Code` that is assembled and emitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from asmgen.contracts import Signature
from asmgen.targets.row import Instruction, Label, Memory, Register, Virtual


@dataclass(frozen=True)
class Straight:
    """Instructions in order; an instruction's flags come from the last writer before it."""

    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Loop:
    """`count` (a virtual register, at least 1 here) times the body.

    Before the first pass each `state[i]` takes the value of `initial[i]`; after a pass it takes that of `next[i]`.
    After the last pass the value of `next[i]` is read as `result[i]`. `count` is not needed after the loop.
    """

    count: Virtual
    state: tuple[Virtual, ...]
    initial: tuple[Virtual, ...]
    next: tuple[Virtual, ...]
    result: tuple[Virtual, ...]
    body: Straight


@dataclass(frozen=True)
class Branch:
    """`then` when the public word `count` is not zero, else `otherwise`; each side defines all of `result`, by the
    registers named in its `then_values` or `otherwise_values`."""

    count: Virtual
    then: tuple[Straight | Loop, ...]
    otherwise: tuple[Straight | Loop, ...]
    result: tuple[Virtual, ...]
    then_values: tuple[Virtual, ...]
    otherwise_values: tuple[Virtual, ...]


Part = Straight | Loop | Branch


@dataclass(frozen=True)
class Routine:
    """A kernel for one target.

    `arguments` are the virtual registers that hold the C arguments in order (pointers, counts, small numbers, bits).
    `homes` tells which virtual registers are words of an input buffer: they may be loaded again from there, or used
    as memory operands, until the first store to an output (outputs may be the same buffers as inputs). Such a
    register has no defining instruction in `parts`: the allocator loads it when needed. `constants` likewise: made
    where needed, kept when there is room. `returns` is the register with the returned bit.
    """

    signature: Signature
    target: str
    arguments: tuple[Virtual, ...]
    parts: tuple[Part, ...]
    homes: dict[Virtual, Memory] = field(default_factory=dict)
    constants: dict[Virtual, int] = field(default_factory=dict)
    returns: Virtual | None = None


@dataclass(frozen=True)
class Way:
    """How registers were given out: the number of the policy, and which of those that a routine must save were to be
    had, by name; None for all."""

    policy: int = 0
    saved: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Allocated:
    """The same with physical registers; spill slots are `Memory(FRAME, 8 * slot)`.

    `holds` says for each instruction (by position in `items`) what registers hold after it, for listings and `show`;
    `way` how it was found.
    """

    routine: Routine
    items: tuple[Instruction | Label, ...]
    slots: int
    holds: tuple[dict[Register, str], ...] = ()
    way: Way = Way()


@dataclass(frozen=True)
class Cfi:
    """A call frame directive at this place, such as `.cfi_adjust_cfa_offset 8`."""

    text: str


Item = Instruction | Label | Cfi


@dataclass(frozen=True)
class Code:
    """The finished routine: what is printed and assembled, in order, from the entry to the return."""

    signature: Signature
    target: str
    items: tuple[Item, ...]
    features: frozenset[str] = frozenset()
    holds: tuple[dict[Register, str], ...] = ()
    saved: tuple[str, ...] = ()  #: callee-saved registers used
    stack: int = 0  #: bytes of stack used
    body: int = 0  #: where in `items` the prologue ends

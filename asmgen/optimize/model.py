"""Cycles of arm64 code by a model of our own: what llvm-mca 19 says of the cores in `targets/cores`, in microseconds.

`prepare` turns instructions into numbers once; `Prepared.cycles` and `scores` count any order of them. Registers may
be physical or virtual: these models wait for values only. The work is done in C (`model.c`), made on first use; where
there is no C compiler `simulate.py` does the same, slowly.

What is modelled is what `asmgen.diff.mca` gives llvm-mca: straight lines, without branches, calls, returns and marks;
loads never wait for stores.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from asmgen.errors import AsmgenError
from asmgen.optimize import simulate
from asmgen.optimize.described import LINE
from asmgen.optimize.library import library
from asmgen.optimize.numbers import Lines, machine
from asmgen.routine import Code
from asmgen.targets import arm64
from asmgen.targets.conventions import convention
from asmgen.targets.cores import Core, core, names
from asmgen.targets.row import Instruction, Label, Register, Virtual

#: Calls that are counted unless told otherwise: enough that the first and last ones hardly matter.
CALLS = 50


def modelled() -> tuple[str, ...]:
    """The cores that there is a model of."""
    return tuple(name for name in names("arm64") if name != "generic" and core(name, "arm64").llvm is not None)


@dataclass(frozen=True)
class Prepared:
    """Instructions as numbers, for one core.

    `lines` has `described.LINE` numbers each; `machine` those of the core. At the end of a pass register `into` takes
    the value of `of` for each (into, of) of `carried`, all at once.
    """

    core: str
    machine: array[int]
    lines: array[int]
    registers: int
    carried: array[int] = field(default_factory=lambda: array("i"))

    def __len__(self) -> int:
        return len(self.lines) // LINE

    def cycles(self, calls: int = CALLS, order: Sequence[int] | None = None, *, python: bool = False) -> float:
        """Cycles of each of so many passes in a row; of one alone it is how long that takes from start to end.

        `order` has the instructions' positions in the order to model; all in their own order by default.
        """
        return self.scores([range(len(self)) if order is None else order], calls, python=python)[0]

    def total(self, order: Sequence[int], calls: int) -> int:
        """Cycles of so many passes together."""
        return round(self.cycles(calls, order) * calls)

    def timed(self, order: Sequence[int], calls: int) -> tuple[int, list[int]]:
        """The same, and the cycle in which the last instruction of each pass enters or, in order, starts. By Python."""
        return simulate.total(self.machine, self.lines, order, self.carried, self.registers, calls)

    def scores(self, orders: Iterable[Sequence[int]], calls: int = CALLS, *, python: bool = False) -> list[float]:
        """The same for several orders, which have to be equally long; fastest from arrays of 32-bit integers."""
        rows = [row if isinstance(row, array) and row.typecode == "i" else array("i", row) for row in orders]
        length, flat = len(rows[0]) if rows else 0, array("i")
        for row in rows:
            flat.extend(row)
        if any(len(row) != length for row in rows):
            raise AsmgenError("orders have to be equally long")
        core = None if python else _core()
        if core is None:
            return [self.timed(row, calls)[0] / calls for row in rows]
        found = array("q", bytes(8 * len(rows)))
        core.totals(
            _pointer(self.machine), _pointer(self.lines), len(self), _pointer(flat), len(rows), length,
            _pointer(self.carried), len(self.carried) // 2, self.registers, calls, _pointer(found),
        )  # fmt: skip
        if found and min(found) < 0:
            raise AsmgenError("an order names instructions that there are not, or all is too long to model")
        return [total / calls for total in found]


def prepare(
    instructions: Iterable[Instruction],
    core: Core,
    *,
    carried: Mapping[Register | Virtual, Register | Virtual] | None = None,
    llvm: bool = True,
) -> Prepared:
    """Instructions of arm64 for a core; those that llvm-mca is not given are left out.

    For a loop's body `carried` tells for each virtual register of its state which one holds its next value; physical
    registers keep what they hold anyway. Without `llvm` each instruction waits for its own operands; with it a habit of
    llvm-mca's is followed, see `described.described`. Raises AsmgenError for a core without a model and for calls.
    """
    lines = Lines(core, llvm=llvm)
    for instruction in taking_time(instructions):
        lines.add(instruction)
    pairs = [lines.register(register) for pair in (carried or {}).items() for register in pair]
    return Prepared(core.name, machine(core), lines.numbers, lines.registers, array("i", pairs))


def prepare_calls(code: Code, core: Core, repetitions: int = 4, *, llvm: bool = True) -> Prepared:
    """A finished routine for calls that do not depend on each other, see `whole_call`."""
    return prepare(whole_call(code, repetitions), core, llvm=llvm)


def whole_call(code: Code, repetitions: int = 4) -> list[Instruction]:
    """What a call executes, before it the arguments set anew; loops run so many times."""
    executed = list(straight(code, repetitions))
    again = [arm64.ins("movz", arm64.REGISTERS[name], 64, 0) for name in set_anew(code.target, touched(executed))]
    return [*again, *executed]


def touched(executed: Iterable[Instruction]) -> list[tuple[list[str], list[str]]]:
    """The registers that each instruction reads, and those that it writes."""
    return [([each.name for each in line.read], [each.name for each in line.written]) for line in executed]


def set_anew(target: str, executed: Sequence[tuple[Iterable[str], Iterable[str]]]) -> list[str]:
    """The registers that bring arguments and are changed: they are set before each call, or calls would depend on each
    other. `executed` is what each instruction reads and writes."""
    changed = {name for _, writes in executed for name in writes}
    return [name for name in arguments_of(target, executed) if name in changed]


def arguments_of(target: str, executed: Iterable[tuple[Iterable[str], Iterable[str]]]) -> list[str]:
    """The registers that bring arguments, that is, are read before they are written."""
    brought, changed = set[str](), set[str]()
    for reads, writes in executed:
        brought.update(name for name in reads if name not in changed)
        changed.update(writes)
    return [name for name in convention(None, target).arguments[:6] if name in brought]


def taking_time(instructions: Iterable[Instruction]) -> Iterator[Instruction]:
    """Those that are modelled: no branches, returns and marks. AsmgenError for calls."""
    for instruction in instructions:
        if instruction.row.control == "call":
            raise AsmgenError("calls are not modelled", hint="model what is called and add it up")
        if instruction.row.control is None and instruction.row.cost != "nop":
            yield instruction


def straight(code: Code, repetitions: int = 4) -> Iterator[Instruction]:
    """The instructions that a call executes whose count is `repetitions`: branches back are taken one time less than
    that, branches forward never, jumps always."""
    places = {item.name: at for at, item in enumerate(code.items) if isinstance(item, Label)}
    left = dict[int, int]()
    at = 0
    while at < len(code.items):
        item = code.items[at]
        at += 1
        if not isinstance(item, Instruction):
            continue
        yield item
        if item.row.control in ("jump", "branch"):
            target = item.operands[-1]
            assert isinstance(target, Label)
            goes = places[target.name]
            if item.row.control == "branch":
                left.setdefault(at, repetitions)
                left[at] -= 1
                if goes > at or left[at] <= 0:
                    continue
            at = goes
        elif item.row.control == "ret":
            return


def _pointer(numbers: array[int]) -> ctypes.c_void_p:
    return ctypes.c_void_p(numbers.buffer_info()[0])


def _core() -> ctypes.CDLL | None:
    """The C core; None where there is no C compiler."""
    return library()

"""What the models read, in Python: a core, and instructions as llvm-mca describes them to itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

#: At most so many registers read and written by an instruction, and port groups taken.
READS, WRITES, TAKES = 4, 4, 3
#: Numbers of an instruction: class, cycles to its first result, opcode if its description is shared (else 0), reads
#: (count; register, purpose), writes (count; register, latency).
LINE = 3 + 1 + 2 * READS + 1 + 2 * WRITES
#: Registers by number: the flags, and the one that is always zero.
FLAGS, ZERO = 0, 1

LOAD, STORE = 1, 2


@dataclass(frozen=True)
class Class:
    """Of a class of instructions: `takes` has ports as (number of a unit or group, cycles, units that must be free)."""

    micro_ops: int
    latency: int
    memory: int
    any_order: bool
    overlap: bool
    takes: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Line:
    """An instruction; see LINE."""

    number: int
    first: int
    opcode: int
    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]


class Machine:
    """A core: `units` has how many ports each unit has, `groups` the units of each as bits, `early[purpose][class]` how
    much earlier an operand for that purpose is there."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.width, self.buffer, units, groups, classes, purposes = numbers[:6]
        rest = list(numbers[6:])

        def take(count: int) -> list[int]:
            taken, rest[:] = rest[:count], rest[count:]
            return taken

        self.units, self.groups = take(units), take(groups)
        self.classes = []
        for _ in range(classes):
            micro_ops, latency, memory, any_order, overlap, count, *takes = take(7 + 3 * TAKES)
            triples = tuple((takes[3 * at], takes[3 * at + 1], takes[3 * at + 2]) for at in range(count))
            self.classes.append(Class(micro_ops, latency, memory, bool(any_order), bool(overlap), triples))
        self.early = [[0] * classes, *(take(classes) for _ in range(purposes))]


def lines_of(numbers: Sequence[int]) -> list[Line]:
    """The instructions of `Prepared.lines`."""

    def pairs(given: Sequence[int]) -> tuple[tuple[int, int], ...]:
        return tuple((given[1 + 2 * at], given[2 + 2 * at]) for at in range(given[0]))

    return [
        Line(one[0], one[1], one[2], pairs(one[3 : 4 + 2 * READS]), pairs(one[4 + 2 * READS :]))
        for one in (numbers[at : at + LINE] for at in range(0, len(numbers), LINE))
    ]


def described(lines: Sequence[Line]) -> list[Line]:
    """The instructions as llvm-mca sees them, the zero register left out.

    It describes an opcode once, by the first instruction that has it: operands that are zero there are not read by
    others either, and where the zero register is written there others have their result at once. LLVM's models tell the
    instructions of some opcodes apart (`Llvm.variants`); those are described one by one.
    """
    first: dict[int, Line] = {}
    made = []
    for line in lines:
        model = first.setdefault(line.opcode, line) if line.opcode else line
        reads = [mine for mine, its in zip(line.reads, model.reads, strict=True) if ZERO not in (mine[0], its[0])]
        writes = [
            (register, 0 if its == ZERO else latency)
            for (register, latency), (its, _) in zip(line.writes, model.writes, strict=True) if register != ZERO
        ]  # fmt: skip
        least = min([line.first, *(latency for _, latency in writes)])
        made.append(replace(line, first=least, reads=tuple(reads), writes=tuple(writes)))
    return made

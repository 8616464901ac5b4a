"""An allocated routine's straight lines, by the values that registers hold there: what another order must respect.

A *web* is what one register holds from where it is given a value to where that is read for the last time; changes in
place belong to it. A web that is alive where a line begins or ends, or that stands where an instruction takes one
register only, keeps its register; any other may have another one when the line's order changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmgen.passes.machine import Machine, machine
from asmgen.routine import Allocated
from asmgen.targets.conventions import convention
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Operand, Register, Role, Slot

Items = Sequence[Instruction | Label]


@dataclass(frozen=True)
class Web:
    """One register's value. `maker` is the position of the instruction that makes it, -1 for what a line begins with;
    `reads` and `changes` are positions; `lasts` means that it is alive after the line."""

    register: Register
    maker: int
    reads: tuple[int, ...]
    changes: tuple[int, ...]
    lasts: bool
    fixed: bool

    def interval(self, place: Sequence[int]) -> tuple[int, int]:
        """From when to when it takes its register: 2p where the instruction at p reads, 2p + 1 where it writes."""
        start = -1 if self.maker < 0 else 2 * place[self.maker] + 1
        if self.lasts:
            return start, 2 * len(place)
        return start, max([start, *(2 * place[at] for at in self.reads), *(2 * place[at] + 1 for at in self.changes)])


@dataclass(frozen=True)
class Line:
    """Instructions without a label or jump between them, the first one at `first` of the routine's items.

    `webs_of[i]` has the numbers of the webs of instruction i's registers, in the order of `registers_in`. Bit j of
    `before[i]` says that j comes before i. `reads[i]` has pairs of a flag and who must have written it last (-1: what
    came before the line), `touches[i]` the flags that are written or destroyed, `wanted` the same pairs for what comes
    after the line. Those in `others` take their other forms where they are written, see `alike`.
    """

    first: int
    instructions: tuple[Instruction, ...]
    webs: tuple[Web, ...]
    webs_of: tuple[tuple[int, ...], ...]
    before: tuple[int, ...]
    reads: tuple[tuple[tuple[str, int], ...], ...]
    touches: tuple[frozenset[str], ...]
    wanted: tuple[tuple[str, int], ...]
    others: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.instructions)


def lines(allocated: Allocated) -> tuple[Line, ...]:
    """The straight lines of a routine, in order; each has an instruction at least."""
    target = machine(allocated.routine.target)
    alive = _alive(allocated, target)
    return tuple(_Reader(allocated.items, first, end, alive, target).line() for first, end in _spans(allocated.items))


def registers_in(instruction: Instruction, target: Machine) -> Iterator[tuple[Register, bool, bool, bool]]:
    """Registers that can have another name, in operand order, with whether each is read, written, and the only one that
    may stand there: first those of reads and changes, then those that are only written."""
    places = list(zip(instruction.row.slots, instruction.operands, strict=True))
    for slot, operand in places:
        if isinstance(operand, Memory):
            for each in (operand.base, operand.index):
                if isinstance(each, Register) and named(each, target):
                    yield each, True, False, False
        elif isinstance(operand, Register) and slot.role is not Role.OUT and named(operand, target):
            yield operand, True, slot.role is Role.INOUT, slot.fixed is not None
    for slot, operand in places:
        if isinstance(operand, Register) and slot.role is Role.OUT and named(operand, target):
            yield operand, False, True, slot.fixed is not None


def named(register: Register, target: Machine) -> bool:
    """Whether it is a register to compute with: no stack pointer, zero register or place of slots."""
    return register != FRAME and register.name not in target.unnamed


def renamed(instruction: Instruction, registers: Sequence[Register], target: Machine) -> tuple[Operand, ...]:
    """The operands with other registers, given in the order of `registers_in`."""
    fresh = iter(registers)

    def other(each: Register) -> Register:
        return next(fresh) if named(each, target) else each

    made: list[Operand] = []
    for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True):
        if isinstance(operand, Memory):
            base = other(operand.base) if isinstance(operand.base, Register) else operand.base
            index = other(operand.index) if isinstance(operand.index, Register) else operand.index
            operand = Memory(base, operand.offset, index, operand.scale)
        elif isinstance(operand, Register) and slot.role is not Role.OUT:
            operand = other(operand)
        made.append(operand)
    for at, slot in enumerate(instruction.row.slots):
        operand = made[at]
        if isinstance(operand, Register) and slot.role is Role.OUT:
            made[at] = other(operand)
    return tuple(made)


# What is alive between lines.


def _spans(items: Items) -> Iterator[tuple[int, int]]:
    """Where lines begin and end."""
    first = 0
    for at, item in enumerate([*items, None]):
        if isinstance(item, Instruction) and item.row.control is None:
            continue
        if at > first:
            yield first, at
        first = at + 1


def _alive(allocated: Allocated, target: Machine) -> list[frozenset[str | Register]]:
    """Registers and flags that are read later, before each item and at the end."""
    items = allocated.items
    places = {item.name: at for at, item in enumerate(items) if isinstance(item, Label)}
    result = target.registers[convention(None, target.name).result]
    last = frozenset[str | Register]() if allocated.routine.returns is None else frozenset[str | Register]({result})
    alive = [*[frozenset[str | Register]()] * len(items), last]
    changed = True
    while changed:
        changed = False
        for at in reversed(range(len(items))):
            found = _before(items[at], alive[at + 1], alive, places, target)
            if found != alive[at]:
                alive[at], changed = found, True
    return alive


def _before(
    item: Instruction | Label, after: frozenset[str | Register], alive: Sequence[frozenset[str | Register]],
    places: dict[str, int], target: Machine,
) -> frozenset[str | Register]:  # fmt: skip
    """What is alive before an item."""
    if isinstance(item, Label):
        return after
    if item.row.control == "jump":
        after = frozenset()
    if item.row.control is not None:
        for operand in item.operands:
            if isinstance(operand, Label):
                after |= alive[places[operand.name]]
    found = list(registers_in(item, target))
    after -= item.row.flags_touched | {register for register, read, _, _ in found if not read}
    return after | item.row.reads | {register for register, read, _, _ in found if read}


# One line.


class _Reader:
    """Goes over the instructions of a line once."""

    def __init__(
        self, items: Items, first: int, end: int, alive: Sequence[frozenset[str | Register]], target: Machine
    ) -> None:
        self.target = target
        self.first = first
        self.instructions = tuple(item for item in items[first:end] if isinstance(item, Instruction))
        self.before = [0] * len(self.instructions)
        self.webs: list[tuple[Register, int, list[int], list[int]]] = []
        self.fixed: set[int] = set()
        self.now: dict[Register, int] = {}
        self.alive_before = [each for each in alive[first] if isinstance(each, Register)]
        self.alive_after = alive[end]

    def line(self) -> Line:
        for register in sorted(self.alive_before, key=lambda each: each.number):
            self.now[register] = self.start(register, -1)
        webs_of = [self.take(at, instruction) for at, instruction in enumerate(self.instructions)]
        lasting = {self.now[each] for each in self.alive_after if isinstance(each, Register)}
        self.memory(webs_of)
        reads, wanted = self.flags()
        webs = tuple(
            Web(register, maker, tuple(reads_of), tuple(changes), number in lasting,
                maker < 0 or number in lasting or number in self.fixed)
            for number, (register, maker, reads_of, changes) in enumerate(self.webs)
        )  # fmt: skip
        touches = tuple(each.row.flags_touched for each in self.instructions)
        return Line(
            self.first, self.instructions, webs, tuple(webs_of), tuple(self.before), tuple(reads), touches, wanted
        )

    def start(self, register: Register, maker: int) -> int:
        self.webs.append((register, maker, [], []))
        return len(self.webs) - 1

    def take(self, at: int, instruction: Instruction) -> tuple[int, ...]:
        """The webs of an instruction's registers, which wait for those that made and changed them; who changes one
        waits for its readers, too."""
        found = []
        changed = []
        for register, read, written, fixed in registers_in(instruction, self.target):
            if read:
                web = self.now[register]
                _, maker, reads, changes = self.webs[web]
                self.wait(at, changes[-1] if changes else maker)
                if written:
                    changed.append(web)
                else:
                    reads.append(at)
            else:
                web = self.now[register] = self.start(register, at)
            found.append(web)
            if fixed:
                self.fixed.add(web)
        for web in changed:
            _, _, reads, changes = self.webs[web]
            for reader in reads:
                self.wait(at, reader)
            changes.append(at)
        return tuple(found)

    def wait(self, at: int, earlier: int) -> None:
        if 0 <= earlier < at:
            self.before[at] |= 1 << earlier

    def flags(self) -> tuple[list[tuple[tuple[str, int], ...]], tuple[tuple[str, int], ...]]:
        """Who must have written the flags that each instruction reads, and those that are read after the line."""
        last: dict[str, int] = {}
        reads = []
        for at, instruction in enumerate(self.instructions):
            reads.append(tuple((flag, last.get(flag, -1)) for flag in sorted(instruction.row.reads)))
            for _, writer in reads[-1]:
                self.wait(at, writer)
            last.update(dict.fromkeys(instruction.row.flags_touched, at))
        wanted = sorted(each for each in self.alive_after if isinstance(each, str))
        return reads, tuple((flag, last.get(flag, -1)) for flag in wanted)

    def memory(self, webs_of: Sequence[tuple[int, ...]]) -> None:
        """What is stored keeps its order with what is loaded or stored at a place that may be the same."""
        earlier: list[tuple[int, _Access]] = []
        for at, instruction in enumerate(self.instructions):
            steady = [None if self.webs[web][3] else web for web in webs_of[at]]
            own = list(_accesses(instruction, steady, self.target))
            for access in own:
                for place, other in earlier:
                    if (access.stores or other.stores) and access.may_meet(other):
                        self.wait(at, place)
            earlier += [(at, access) for access in own]


@dataclass(frozen=True)
class _Access:
    """Bytes of memory from `offset` on, from what the web `base` holds (None: somewhere), or of slots."""

    base: int | str | None
    offset: int
    size: int
    stores: bool

    def may_meet(self, other: _Access) -> bool:
        if (self.base == "slots") != (other.base == "slots"):
            return False
        if self.base is None or self.base != other.base:
            return True
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


def _accesses(instruction: Instruction, webs: Sequence[int | None], target: Machine) -> Iterator[_Access]:
    """The memory that an instruction loads or stores; None for the web of a pointer that changes."""
    numbers = iter(webs)
    pairs = [(each, next(numbers)) for each, _, _, _ in registers_in(instruction, target)]
    for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True):
        if not isinstance(operand, Memory) or slot.kind == "addr":
            continue
        base: int | str | None = None
        if operand.base == FRAME:
            base = "slots"
        elif operand.index is None:
            base = next((web for each, web in pairs if each == operand.base), None)
        yield _Access(base, operand.offset, _size(slot), slot.role is not Role.IN)


def _size(slot: Slot) -> int:
    return int("".join(letter for letter in slot.kind if letter.isdigit())) // 8

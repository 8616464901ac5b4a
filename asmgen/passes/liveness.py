"""Where each value is needed along the whole routine, and how each instruction takes its operands."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from asmgen.errors import AsmgenError
from asmgen.passes.machine import Machine
from asmgen.routine import Branch, Loop, Part, Routine, Straight
from asmgen.targets.row import Instruction, Memory, Register, Role, Row, Tied, Virtual

NEVER = 1 << 40


@dataclass(frozen=True)
class Shape:
    """One way to place an instruction's operands; positions are operand indices."""

    instruction: Instruction
    reads: tuple[tuple[int, Virtual], ...]  #: any register will do
    fixed_reads: tuple[tuple[int, Virtual, Register], ...]
    ties: tuple[tuple[int, Tied, Register | None], ...]
    addresses: tuple[tuple[int, Memory], ...]
    outs: tuple[tuple[int, Virtual], ...]
    fixed_outs: tuple[tuple[int, Virtual, Register], ...]
    stores: bool  #: writes memory that may be an input buffer
    needs: tuple[Virtual, ...]  #: every virtual register that is read, as often as it is
    pointers: tuple[Virtual, ...]  #: pointers to buffers that are used, or whose words are
    wanted: Mapping[Register, Virtual]  #: what fixed registers must hold
    copies: bool  #: moves one register to another, nothing else

    @property
    def row(self) -> Row:
        return self.instruction.row

    def soft(self, value: Virtual) -> bool:
        """Whether the value may stay in memory: it has one place, and that takes memory."""
        forms = [index for index, _ in self.row.memory_form]
        return self.needs.count(value) == 1 and any(each == value and index in forms for index, each in self.reads)


@dataclass(frozen=True)
class Line:
    """Instructions at positions from `first` on, each with the ways to place it."""

    first: int
    shapes: tuple[tuple[Shape, ...], ...]

    @property
    def end(self) -> int:
        """The position after the last instruction."""
        return self.first + len(self.shapes)


@dataclass(frozen=True)
class Ring:
    """A loop: initial values are needed at `head`, next values and the counter at `end`."""

    loop: Loop
    head: int
    body: Line
    end: int


@dataclass(frozen=True)
class Fork:
    """A branch: the count is needed at `test`, results at `then_end` or `otherwise_end`."""

    branch: Branch
    test: int
    then: tuple[Line | Ring, ...]
    then_end: int
    otherwise: tuple[Line | Ring, ...]
    otherwise_end: int


@dataclass
class Lives:
    """Uses of every virtual register, by rising position; `ends` has the last ones.

    `soft[v][i]` says that at position i the value may be in memory. `closings` are the positions of stores after
    which input buffers may have changed. `bases` lists the homes that are addressed through each pointer.
    """

    uses: dict[Virtual, list[int]] = field(default_factory=dict)
    ends: dict[Virtual, int] = field(default_factory=dict)
    soft: dict[Virtual, dict[int, bool]] = field(default_factory=dict)
    closings: list[int] = field(default_factory=list)
    bases: dict[Virtual, tuple[Virtual, ...]] = field(default_factory=dict)
    _last_hard: dict[Virtual, int] = field(default_factory=dict)

    def use(self, value: Virtual, position: int, *, soft: bool = False) -> None:
        """Note a use; positions come in rising order except for those at loop ends."""
        places = self.uses.setdefault(value, [])
        if position not in places[-1:]:
            insort(places, position)
            self.ends[value] = places[-1]
        at = self.soft.setdefault(value, {})
        at[position] = at.get(position, True) and soft

    def last(self, value: Virtual) -> int:
        """The last use; -1 when there is none."""
        return self.ends.get(value, -1)

    def last_hard(self, value: Virtual) -> int:
        """The last use in which the value must be in a register; -1 when there is none. Asked when all is noted."""
        if not self._last_hard:
            self._last_hard.update(
                (each, max((place for place, soft in at.items() if not soft), default=-1))
                for each, at in self.soft.items()
            )
        return self._last_hard.get(value, -1)


def shapes(instruction: Instruction, machine: Machine, pointers: Mapping[Virtual, Virtual]) -> tuple[Shape, ...]:
    """The instruction as written and, when its row commutes, with those operands swapped.

    `pointers` tells through which value words of buffers are read, and has these values themselves.
    """
    first = _shape(instruction, machine, pointers)
    swapped = _swapped(instruction)
    return (first,) if swapped is None else (first, _shape(swapped, machine, pointers))


def _swapped(instruction: Instruction) -> Instruction | None:
    if instruction.row.commutes is None:
        return None
    i, j = instruction.row.commutes
    x, y = instruction.operands[i], instruction.operands[j]
    alike = instruction.row.slots[i] == instruction.row.slots[j]
    if alike and not isinstance(x, Tied) and not any(index in (i, j) for index, _ in instruction.row.memory_form):
        return None  # the places are alike
    if isinstance(x, Tied) and isinstance(y, Virtual):
        x, y = Tied(y, x.target), x.source
    elif isinstance(x, Virtual) and isinstance(y, Virtual):
        x, y = y, x
    else:
        return None
    if x == instruction.operands[i]:
        return None
    operands = list(instruction.operands)
    operands[i], operands[j] = x, y
    return replace(instruction, operands=tuple(operands))


def _shape(instruction: Instruction, machine: Machine, pointers: Mapping[Virtual, Virtual]) -> Shape:
    reads, fixed_reads, ties, addresses, outs, fixed_outs = [], [], [], [], [], []
    stores = False
    for index, (slot, operand) in enumerate(zip(instruction.row.slots, instruction.operands, strict=True)):
        only = machine.fixed(slot)
        if isinstance(operand, Memory):
            addresses.append((index, operand))
            stores = stores or (slot.role is not Role.IN and slot.kind != "addr")
        elif isinstance(operand, Tied):
            if slot.role is not Role.INOUT:
                raise AsmgenError(
                    f"{instruction.row.name} does not change operand {index + 1}: {operand} cannot stand there",
                    source=instruction.source,
                )
            ties.append((index, operand, only))
        elif isinstance(operand, Virtual):
            if slot.role is Role.INOUT:
                raise AsmgenError(
                    f"{instruction.row.name} changes operand {index + 1}: {operand} would be written twice",
                    source=instruction.source,
                    hint="give the old value and the new one, as Tied(old, new)",
                )
            if slot.role is Role.IN:
                if only is None:
                    reads.append((index, operand))
                else:
                    fixed_reads.append((index, operand, only))
            elif only is None:
                outs.append((index, operand))
            else:
                fixed_outs.append((index, operand, only))
        elif isinstance(operand, Register) and operand.name not in machine.unnamed:
            raise AsmgenError(
                f"{instruction.row.name} names the register {operand.name} before registers are given out",
                source=instruction.source,
                hint="write a virtual register; those that an instruction fixes get the right one",
            )
    needs = [
        *(value for _, value in reads),
        *(value for _, value, _ in fixed_reads),
        *(tied.source for _, tied, _ in ties),
    ]
    needs += [each for _, memory in addresses for each in (memory.base, memory.index) if isinstance(each, Virtual)]
    return Shape(
        instruction,
        tuple(reads),
        tuple(fixed_reads),
        tuple(ties),
        tuple(addresses),
        tuple(outs),
        tuple(fixed_outs),
        stores,
        tuple(needs),
        tuple(dict.fromkeys(pointers[value] for value in needs if value in pointers)),
        {
            **{register: value for _, value, register in fixed_reads},
            **{register: tied.source for _, tied, register in ties if register is not None},
        },
        bool(instruction.row.name == machine.move_row and reads and outs),
    )


class _Numbering:
    def __init__(self, routine: Routine, machine: Machine) -> None:
        self.routine = routine
        self.machine = machine
        self.next = 0
        self.lives = Lives(bases=_bases(routine))
        self.pointers = {base: base for base in self.lives.bases}
        self.pointers.update((home, base) for base, homes in self.lives.bases.items() for home in homes)

    def take(self) -> int:
        self.next += 1
        return self.next - 1

    def part(self, part: Part) -> Line | Ring | Fork:
        if isinstance(part, Straight):
            return self.line(part)
        if isinstance(part, Loop):
            return self.ring(part)
        test = self.take()
        self.lives.use(part.count, test)
        then, then_end = self.side(part.then, part.then_values)
        otherwise, otherwise_end = self.side(part.otherwise, part.otherwise_values)
        return Fork(part, test, then, then_end, otherwise, otherwise_end)

    def side(self, parts: Sequence[Straight | Loop], values: Sequence[Virtual]) -> tuple[tuple[Line | Ring, ...], int]:
        made = tuple(self.line(part) if isinstance(part, Straight) else self.ring(part) for part in parts)
        end = self.take()
        for value in values:
            self.lives.use(value, end)
        return made, end

    def line(self, straight: Straight) -> Line:
        first, made = self.next, []
        for instruction in straight.instructions:
            position = self.take()
            ways = shapes(instruction, self.machine, self.pointers)
            for value in dict.fromkeys(ways[0].needs):
                self.lives.use(value, position, soft=any(way.soft(value) for way in ways))
            if ways[0].stores:
                self.lives.closings.append(position)
            made.append(ways)
        return Line(first, tuple(made))

    def ring(self, loop: Loop) -> Ring:
        head = self.take()
        for value in loop.initial:
            self.lives.use(value, head)
        closed = len(self.lives.closings)
        body = self.line(loop.body)
        if len(self.lives.closings) > closed:
            # The second pass comes after the first one's stores.
            self.lives.closings[closed:] = [head]
        end = self.take()
        inside = {value for ways in body.shapes for value in ways[0].instruction.written} | set(loop.state)
        for value in dict.fromkeys(value for ways in body.shapes for value in ways[0].needs):
            if value not in inside:
                self.lives.use(value, end, soft=True)
        for value in loop.next:
            self.lives.use(value, end)
        self.lives.use(loop.count, end, soft=True)
        return Ring(loop, head, body, end)


def number(routine: Routine, machine: Machine) -> tuple[tuple[Line | Ring | Fork, ...], Lives, int]:
    """The routine's parts with positions, the uses, and the position of the return."""
    numbering = _Numbering(routine, machine)
    parts = tuple(numbering.part(part) for part in routine.parts)
    end = numbering.take()
    if routine.returns is not None:
        numbering.lives.use(routine.returns, end)
    return parts, numbering.lives, end


def _bases(routine: Routine) -> dict[Virtual, tuple[Virtual, ...]]:
    """The homes that are addressed through each pointer."""
    bases: dict[Virtual, list[Virtual]] = {}
    for home, memory in routine.homes.items():
        if not isinstance(memory.base, Virtual) or memory.index is not None:
            raise AsmgenError(f"{home} lies at an address that is no argument and a distance")
        bases.setdefault(memory.base, []).append(home)
    return {base: tuple(homes) for base, homes in bases.items()}

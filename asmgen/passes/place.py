"""One instruction: bring its operands to registers that it takes, choose registers for what it gives."""

from __future__ import annotations

from asmgen.passes.liveness import NEVER, Line, Shape
from asmgen.passes.registers import Registers
from asmgen.targets.row import FRAME, Instruction, Memory, Operand, Register, Row, Tied, Virtual


def place_line(registers: Registers, line: Line) -> None:
    """All instructions of a straight line, in order."""
    for position, ways in enumerate(line.shapes, line.first):
        registers.now = position
        registers.source = ways[0].instruction.source
        if ways[0].stores and registers.open:
            registers.close()
        way = ways[0] if len(ways) == 1 else min(ways, key=lambda shape: price(registers, shape))
        if not (way.copies and _renamed(registers, way)):
            _Placing(registers, way).run()


def price(registers: Registers, shape: Shape) -> float:
    """About how many instructions must be added to place it so, now or soon."""
    now, where, prices, total = registers.now, registers.where, registers.context.prices, 0.0
    forms = [index for index, _ in shape.row.memory_form]
    for _, value, register in shape.fixed_reads:
        if register not in where.get(value, ()):
            total += prices.get(value, 1)
            total += _worth(registers, register, value)
    for index, value in shape.reads:
        if value in where:
            continue
        if index in forms and registers.in_memory(value):
            forms = []
            total += 0.125
        else:
            total += prices.get(value, 1)
    for _, tied, fixed in shape.ties:
        source = tied.source
        places = where.get(source)
        if places is None:
            total += prices.get(source, 1)
            continue
        if len(places) == 1 and registers.alive(source, now + 1):
            cheap = registers.recoverable(source) and registers.soft_from(source, now + 1)
            total += 0.25 if cheap else 1
        elif fixed is None:
            hints = registers.hints
            chain = hints.chain_of(tied.target)
            clash = min(hints.clash(place, chain, now) for place in places) != NEVER
            total += 0.5 * clash - 0.25 * (hints.wanted(chain, now) in places)
        if fixed is not None and fixed not in places:
            total += 1 + _worth(registers, fixed, source)
    return total


def _worth(registers: Registers, register: Register, newcomer: Virtual) -> float:
    """What it costs to make room in a register for a value."""
    value = registers.held.get(register)
    if value is None or value == newcomer or len(registers.where[value]) > 1:
        return 0
    if not registers.alive(value, registers.now):
        return 0
    return 0.75 if registers.recoverable(value) else 1


def _renamed(registers: Registers, shape: Shape) -> bool:
    """A copy of a value that is not needed afterwards is no instruction."""
    (_, source), (_, target) = shape.reads[0], shape.outs[0]
    if source not in registers.where or registers.alive(source, registers.now + 1):
        return False
    places = list(registers.where[source])
    registers.forget(source)
    if registers.alive(target, registers.now + 1):
        registers.put(places[0], target)
    return True


class _Placing:
    """The placing of one instruction at `registers.now`."""

    __slots__ = ("given", "operands", "pinned", "registers", "row", "shape")

    def __init__(self, registers: Registers, shape: Shape) -> None:
        self.registers = registers
        self.shape = shape
        self.row = shape.row
        self.operands: list[Operand] = list(shape.instruction.operands)
        self.pinned: dict[Register, None] = {}  #: registers that the instruction reads, or that are on their way to it
        self.given: dict[Register, Virtual] = {}  #: registers that it writes

    def run(self) -> None:
        shape, registers, operands = self.shape, self.registers, self.operands
        held, where, after = registers.held, registers.where, registers.now + 1
        self.pin_resident()
        for register, value in shape.wanted.items():
            self.bring(value, register)
        for index, _, register in shape.fixed_reads:
            operands[index] = register
        for index, memory in shape.addresses:
            operands[index] = self.address(memory)
        for index, value in shape.reads:
            places = where.get(value, ())
            operands[index] = places[0] if len(places) == 1 and places[0] in self.pinned else self.operand(index, value)
        for index, value, register in shape.fixed_outs:
            self.rescue(register)
            self.given[register] = value
            operands[index] = register
        for index, tied, fixed in shape.ties:
            operands[index] = self.tie(index, tied, fixed)
        registers.drop_dead(shape.needs, after)
        for index, value in shape.outs:
            operands[index] = self.result(value)
        registers.emit(Instruction(self.row, tuple(operands), shape.instruction.source, shape.instruction.note))
        registers.busy = frozenset()
        for register, value in self.given.items():
            if register in held:
                registers.clear(register)
            if registers.alive(value, after):
                registers.put(register, value)
        if shape.pointers:
            registers.drop_pointers(shape.pointers, after)

    def form(self, index: int) -> Row | None:
        """The row that takes memory in place of this operand, if there is one."""
        for place, name in self.row.memory_form:
            if place == index:
                return self.registers.context.machine.rows[name]
        return None

    # ---- what is read ----

    def pin_resident(self) -> None:
        """Keep the registers that hold operands already; not those that a fixed operand will take."""
        where, wanted = self.registers.where, self.shape.wanted
        for value in self.shape.needs:
            for register in where.get(value, ()):
                if not wanted or wanted.get(register, value) == value:
                    self.pinned[register] = None
                    break

    def avoid(self) -> set[Register]:
        return {*self.pinned, *self.shape.wanted, *self.given}

    def avoid_fixed(self) -> set[Register]:
        return self.avoid() | {register for _, _, register in self.shape.fixed_outs}

    def bring(self, value: Virtual, register: Register) -> None:
        """Make a fixed register hold the value."""
        registers = self.registers
        held = registers.held.get(register)
        if held != value:
            if held is not None:
                self.relocate(register)
            registers.fetch(value, register)
        self.pinned[register] = None

    def relocate(self, register: Register) -> None:
        """Empty a register that another value must have, keeping what it holds when that is needed."""
        registers = self.registers
        value = registers.held[register]
        if len(registers.where[value]) == 1 and registers.alive(value, registers.now):
            operand = value in self.shape.needs
            into = registers.find(value, self.avoid_fixed())
            if (registers.cheap(value, registers.now) and not operand) or not (into or operand):
                registers.evict(register, registers.now)
                return
            into = into or registers.take(value, self.avoid())
            registers.move(value, into)
            if operand:
                self.pinned[into] = None
        self.pinned.pop(register, None)
        registers.clear(register)

    def rescue(self, register: Register) -> None:
        """Before a fixed register is written, and after all operands have their places: what is needed later goes
        elsewhere.
        """
        registers = self.registers
        value = registers.held.get(register)
        after = registers.now + 1
        if value is not None and len(registers.where[value]) == 1 and registers.alive(value, after):
            if not registers.cheap(value, after):
                into = registers.find(value, self.avoid_fixed())
                if into is not None:
                    registers.move(value, into)
                elif not registers.recoverable(value):
                    registers.spill(value)
        registers.clear(register)

    def reach(self, value: Virtual) -> Register:
        """A register that holds the value now."""
        registers, pinned = self.registers, self.pinned
        places = registers.where.get(value)
        if places is None:
            register = registers.take(value, self.avoid())
            registers.fetch(value, register)
        else:
            register = next((each for each in places if each in pinned), places[0]) if len(places) > 1 else places[0]
        pinned[register] = None
        return register

    def address(self, memory: Memory) -> Memory:
        """The memory operand with its registers."""
        base = self.reach(memory.base) if isinstance(memory.base, Virtual) else memory.base
        index = self.reach(memory.index) if isinstance(memory.index, Virtual) else memory.index
        return Memory(base, memory.offset, index, memory.scale)

    def operand(self, index: int, value: Virtual) -> Register | Memory:
        """The value in a register, or in memory where the row has a form for that and it is not in a register
        already.
        """
        registers = self.registers
        form = None if value in registers.where else self.form(index)
        if form is None or not registers.in_memory(value):
            return self.reach(value)
        self.row = form
        if value in registers.slots:
            registers.busy |= {registers.slots[value]}
            return Memory(FRAME, 8 * registers.slots[value])
        return self.address(registers.context.homes[value])

    # ---- what is changed and written ----

    def tie(self, index: int, tied: Tied, fixed: Register | None) -> Register | Memory:
        """Choose the register, or the slot, in which the source becomes the target."""
        registers, source, target = self.registers, tied.source, tied.target
        after = registers.now + 1
        later = registers.alive(source, after)
        if fixed is not None:
            self.rescue(fixed)
            register = fixed
        elif source in registers.where:
            register = self.overwritten(source, target, later)
        else:
            form = self.form(index)
            if form is not None and source in registers.slots and not later and not registers.free(self.avoid()):
                slot = registers.slots.pop(source)
                registers.busy |= {slot}
                registers.slots[target] = slot
                self.row = form
                return Memory(FRAME, 8 * slot)
            register = registers.take(target, self.avoid())
            registers.fetch(source, register)
        registers.clear(register)
        self.given[register] = target
        return register

    def overwritten(self, source: Virtual, target: Virtual, later: bool) -> Register:
        """The register to change when the source is in registers: its own, or a copy's when the source is needed
        later.
        """
        registers = self.registers
        after = registers.now + 1
        places = [place for place in registers.where[source] if place not in self.given]
        if len(registers.where[source]) > 1 or not later:
            return registers.choose(target, places) or places[0]
        register = places[0]
        cheap = registers.recoverable(source)
        if cheap and registers.soft_from(source, after):
            return register
        copy = registers.find(target, self.avoid())
        if copy is not None:
            registers.move(source, copy)
            return copy
        if cheap:
            return register
        victim = registers.victim(self.avoid() - {register}, after)
        if victim == register:
            registers.spill(source)
            return register
        registers.evict(victim, registers.now)
        registers.move(source, victim)
        return victim

    def result(self, value: Virtual) -> Register:
        """A register for a new value: one that nothing needs after this instruction."""
        register = self.registers.take(value, self.given, since=self.registers.now + 1)
        self.given[register] = value
        return register

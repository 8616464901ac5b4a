"""A program's calls as instructions: pointers and numbers to the argument registers, the call, what comes back.

What is needed after the first call (pointers to the caller's buffers, numbers, bits that calls gave, counters of
loops) stays in preserved registers, the most used first, and in slots when those run out; arguments that arrived on the
stack are read where they lie.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from asmgen.errors import Source
from asmgen.passes.frame import frame
from asmgen.passes.machine import Machine, machine
from asmgen.passes.storage import Buffer, Copy, Place, Slot, Storage, last_uses
from asmgen.routine import Allocated, Code, Routine
from asmgen.steps import Call, Steps, Value
from asmgen.targets.conventions import Convention, convention
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Register, Virtual

#: Registers that nothing else uses between calls.
_SCRATCH = {"amd64": ("rax", "r10", "r11"), "arm64": ("x9", "x10", "x11")}

Keeper = Value | str | Call
"""What is kept across calls: a number, the buffer of that name, the counter of a repeated call."""

Home = Register | Memory


def calling(
    steps: Steps, stored: Storage, target: str, below: int, *, wipe: bool = False, conventions: str | None = None
) -> Code:
    """The routine of a program; the routines that it calls use up to `below` bytes of stack."""
    return _Calling(steps, stored, machine(target), convention(conventions, target)).code(below, wipe)


class Names:
    """What to call the values and places of a program in comments and in C: buffers as they are, slots t0, t1, …"""

    def __init__(self, steps: Steps, stored: Storage) -> None:
        taken = {parameter.name for parameter in steps.signature.parameters}
        bits = [call.bit for call in steps.calls if call.bit is not None]
        self.stored = stored
        self.letter = _unlike(taken, ("t", "slot", "slot_"), len(stored.slots))
        letter = _unlike(taken, ("bit", "flag", "flag_"), len(bits))
        self.bits = {bit: f"{letter}{index}" for index, bit in enumerate(bits)}

    def place(self, place: Place) -> str:
        return place.name if isinstance(place, Buffer) else f"{self.letter}{place.number}"

    def value(self, value: Value) -> str:
        """The name of the place of what lies in memory, that of a number, or its digits."""
        if value in self.stored.places:
            return self.place(self.stored.places[value])
        if value.constant is not None:
            return str(value.constant[0])
        return self.bits.get(value, value.name)

    def told(self, call: Call, args: Sequence[Value]) -> str:
        """A call with these operands in words: `t1 = square_n(t0, 5)`, with what the script calls the result."""
        results = ", ".join(map(self.value, call.results))
        text = f"{results} = {call.function.name}({', '.join(map(self.value, args))})"
        wishes = self.wishes(call)
        return f"{text}: {wishes}" if wishes else text

    def wishes(self, call: Call) -> str:
        """What the script calls the results, where that is something else."""
        return ", ".join(each.name for each in call.results if each.name not in ("", self.value(each)))


def _unlike(taken: Collection[str], wishes: Sequence[str], count: int) -> str:
    """The first wish that makes no name of an argument when numbers are put behind it."""
    return next(wish for wish in wishes if not any(f"{wish}{number}" in taken for number in range(count)))


class _Calling:
    def __init__(self, steps: Steps, stored: Storage, target: Machine, rules: Convention) -> None:
        self.steps = steps
        self.stored = stored
        self.target = target
        self.rules = rules
        self.names = Names(steps, stored)
        self.last = last_uses(steps)
        self.items: list[Instruction | Label] = []
        self.source: Source | None = None
        self.scratch = [target.registers[name] for name in _SCRATCH[target.name]]
        self.starts = [sum(stored.slots[:index]) for index in range(len(stored.slots))]
        self.outgoing = max((len(call.function.signature.parameters) for call in steps.calls), default=0)
        self.outgoing = max(0, self.outgoing - len(rules.arguments))
        self.slots = sum(stored.slots)
        self.homes = self.settle()

    # What is kept where.

    def keepers(self) -> Iterator[Keeper]:
        """What the calls and the end need, as often as they do."""
        for call in self.steps.calls:
            for value in (*call.args, *call.outputs()):
                yield from self.needs(value)
            if call.times > 2:
                yield call
        for copy in self.stored.copies:
            yield from (place.name for place in (copy.source, copy.target) if isinstance(place, Buffer))
        if self.steps.returns is not None and not self.stays():
            yield from self.needs(self.steps.returns)

    def needs(self, value: Value) -> Iterator[Keeper]:
        place = self.stored.places.get(value)
        if isinstance(place, Buffer):
            yield place.name
        elif place is None and value.constant is None:
            yield value

    def settle(self) -> dict[Keeper, Home]:
        """A preserved register or a slot for everything that is kept; the stack for what arrived there."""
        counts: dict[Keeper, int] = {}
        for keeper in self.keepers():
            counts[keeper] = counts.get(keeper, 0) + (2 * keeper.times if isinstance(keeper, Call) else 1)
        names = [parameter.name for parameter in self.steps.signature.parameters]
        arrived = names[len(self.rules.arguments) :]
        homes: dict[Keeper, Home] = {}
        registers = [self.target.registers[name] for name in self.rules.preserved if name != "x30"]
        staying = dict(zip(names, self.rules.arguments, strict=False)) if not self.steps.calls else {}
        for keeper in sorted(counts, key=lambda each: -counts[each]):
            name = keeper if isinstance(keeper, str) else keeper.name if isinstance(keeper, Value) else ""
            if name in arrived:
                homes[keeper] = Memory(FRAME, -8 * (arrived.index(name) + 1))
            elif name in staying:
                homes[keeper] = self.target.registers[staying[name]]
            elif registers:
                homes[keeper] = registers.pop(0)
            else:
                homes[keeper] = Memory(FRAME, 8 * self.slots)
                self.slots += 1
        return homes

    def stays(self) -> bool:
        """Whether the returned bit is what the last call leaves in the result register."""
        return bool(self.steps.calls) and not self.stored.copies and self.steps.returns is self.steps.calls[-1].bit

    def in_place(self, call: Call) -> bool:
        """Whether a call's result lies where its operand does."""
        return self.stored.places.get(call.results[0]) == self.stored.places.get(call.args[0])

    # Instructions.

    def add(self, *made: Instruction) -> None:
        self.items += [replace(each, source=self.source) for each in made]

    def code(self, below: int, wipe: bool) -> Code:
        self.enter()
        for index, call in enumerate(self.steps.calls):
            self.source = call.source
            self.constants(index)
            self.call(call, index)
        self.source = self.steps.calls[-1].source if self.steps.calls else None
        self.constants(len(self.steps.calls))
        for copy in self.stored.copies:
            self.copy(copy)
        self.leave()
        arguments = tuple(
            Virtual(-1 - index, parameter.name) for index, parameter in enumerate(self.steps.signature.parameters)
        )
        routine = Routine(self.steps.signature, self.target.name, arguments, ())
        allocated = Allocated(routine, tuple(self.items), self.slots)
        return frame(
            allocated, convention=self.rules.name, wipe=wipe, outgoing=self.outgoing, below=below if self.items else 0
        )

    def enter(self) -> None:
        """Arguments that are kept, from where they arrive."""
        by_name = {value.name: value for value in self.steps.inputs if not value.in_memory}
        for parameter, name in zip(self.steps.signature.parameters, self.rules.arguments, strict=False):
            home = self.homes.get(by_name.get(parameter.name, parameter.name))
            if home is not None and home != self.target.registers[name]:
                self.put(home, self.target.registers[name], f"{parameter.name} is kept")

    def put(self, home: Home, register: Register, note: str = "") -> None:
        """A register's value to where it is kept."""
        if isinstance(home, Register):
            self.add(self.target.move(home, register, note=note))
        else:
            self.add(self.target.store(register, home, note=note))

    def get(self, register: Register, home: Home, note: str = "") -> None:
        if isinstance(home, Register):
            self.add(self.target.move(register, home, note=note))
        else:
            self.add(self.target.load(register, home, note=note))

    def number(self, register: Register, value: int, note: str = "") -> None:
        first, *rest = self.target.constant(register, value)
        self.add(replace(first, note=note), *rest)

    def slot(self, number: int, word: int = 0) -> Memory:
        return Memory(FRAME, 8 * (self.starts[number] + word))

    def argument(self, value: Value, register: Register, name: str) -> None:
        """A value, or a pointer to it, in a register, for the argument of that name."""
        place, note = self.stored.places.get(value), self.names.value(value)
        if isinstance(place, Slot):
            self.add(self.target.address(register, self.slot(place.number), note=note))
        elif isinstance(place, Buffer):
            self.get(register, self.homes[place.name], note)
        elif value.constant is not None:
            self.number(register, value.constant[0], f"{name} = {value.constant[0]}")
        else:
            self.get(register, self.homes[value], note)

    def call(self, call: Call, index: int) -> None:
        if call.times <= 2:
            for time in range(call.times):
                self.once(call, call.args if time == 0 else call.results)
        else:
            left, args = call.times, call.args
            if not self.in_place(call):
                self.once(call, args)
                left, args = left - 1, call.results
            self.loop(call, args, left, index)
        bit = call.bit
        if bit is not None and bit in self.homes:
            self.put(self.homes[bit], self.target.registers[self.rules.result], self.names.value(bit))

    def once(self, call: Call, args: Sequence[Value]) -> None:
        """One call with these operands."""
        values = [*call.outputs(), *args]
        names = [parameter.name for parameter in call.function.signature.parameters]
        for index in range(len(self.rules.arguments), len(values)):
            word = Memory(self.target.stack, self.rules.shadow + 8 * (index - len(self.rules.arguments)))
            self.argument(values[index], self.scratch[0], names[index])
            self.add(self.target.store(self.scratch[0], word))
        for register, value, name in zip(self.rules.arguments, values, names, strict=False):
            self.argument(value, self.target.registers[register], name)
        self.add(self.target.call(call.function.signature.symbol, note=self.names.told(call, args)))

    def loop(self, call: Call, args: Sequence[Value], left: int, index: int) -> None:
        """The same call `left` times, its result its operand."""
        counter, head = self.homes[call], Label(f"repeat{index}")
        register = counter if isinstance(counter, Register) else self.scratch[0]
        self.number(register, left, f"{left} times")
        if not isinstance(counter, Register):
            self.put(counter, register)
        self.items.append(head)
        self.once(call, args)
        if isinstance(counter, Register):
            self.add(*self.target.count_down(counter, head))
        elif in_memory := self.target.count_down_in_memory(counter, head):
            self.add(*in_memory)
        else:
            self.get(register, counter)
            down, back = self.target.count_down(register, head)
            self.add(down)
            self.put(counter, register)
            self.add(back)

    def constants(self, index: int) -> None:
        """The constants that call `index` is the first to need."""
        for value in self.stored.constants.get(index, ()):
            base = self.words(self.stored.places[value], 2)
            assert value.constant is not None
            for at, word in enumerate(value.constant):
                note = f"{self.names.value(value)}[{at}] = {word:#x}"
                place = replace(base, offset=base.offset + 8 * at)
                self.add(*self.target.store_number(word, place, self.scratch[0], note))

    def pointer(self, name: str, scratch: int) -> Register:
        """A register that points to a buffer: a scratch one when the pointer is kept in memory."""
        home = self.homes[name]
        if isinstance(home, Register):
            return home
        self.get(self.scratch[scratch], home, name)
        return self.scratch[scratch]

    def copy(self, copy: Copy) -> None:
        """Word by word through a register, odd bytes one by one: the places are the same or apart."""
        source, target = (self.words(place, number) for number, place in enumerate((copy.source, copy.target), 1))
        length, note = copy.value.length, self.names.value(copy.value)
        machine, register = self.target, self.scratch[0]
        for at in (*range(0, length - 7, 8), *range(length & ~7, length)):
            whole = at <= length - 8
            load, store = (machine.load, machine.store) if whole else (machine.load_byte, machine.store_byte)
            places = [replace(base, offset=base.offset + at) for base in (source, target)]
            self.add(load(register, places[0], note), store(register, places[1]))

    def words(self, place: Place, scratch: int) -> Memory:
        return self.slot(place.number) if isinstance(place, Slot) else Memory(self.pointer(place.name, scratch), 0)

    def leave(self) -> None:
        """The returned bit."""
        bit, result = self.steps.returns, self.target.registers[self.rules.result]
        if bit is None or self.stays():
            return
        if bit.constant is not None:
            self.number(result, bit.constant[0])
        else:
            self.get(result, self.homes[bit], self.names.value(bit))

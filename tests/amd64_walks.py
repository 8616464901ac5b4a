"""Random walks through all amd64 rows: every register and every defined flag after every instruction, on an emulated
CPU and on this one, by the same machine code.

In a walk one register points into the record's window of memory and one is a small index; neither is written, and
neither is the stack pointer, push and pop apart. A branch goes past a move that shows it. Calls and returns are left to
`test_amd64_meaning.py`, and so are far addresses.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import amd64_machine as machine
from amd64_forms import choices, encode
from amd64_states import ALL_FLAGS, apply, random_state
from walks import Tally, Turns, told

from asmgen.errors import AsmgenError
from asmgen.targets.amd64 import FIXED, REGISTERS, ROWS, ins
from asmgen.targets.row import Instruction, Label, Memory, Operand, Register, Row, Slot

NAMES = [name for name, row in ROWS.items() if row.control not in ("call", "ret")]
STEPS, STATES = 12, 16  #: of a walk
SIZE = machine.RECORD + STEPS * machine.DUMP
RSP = REGISTERS["rsp"]
GENERAL = [each for each in REGISTERS.values() if each != RSP]
BY_NUMBER = sorted(REGISTERS, key=lambda name: REGISTERS[name].number)
PLACE, STACK = 24, 32  #: where in the window the pointer and at first the stack pointer stand
REACH = range(-24, 17)  #: offsets from the pointer
DEPTHS = range(-24, 17, 8)  #: of the stack pointer from where it was at first

Meaning = Callable[[Instruction, machine.State], tuple[machine.State, object]]


@dataclass(frozen=True)
class Step:
    """An instruction, the move behind it if it is a branch, and the flags that are defined afterwards."""

    instruction: Instruction
    tail: Instruction | None
    known: tuple[str, ...]

    @property
    def code(self) -> bytes:
        """The bytes of both."""
        return encode(self.instruction) + (encode(self.tail) if self.tail is not None else b"")


class Maker:
    """Makes walks, rows in turn."""

    def __init__(self, rng: random.Random, names: Sequence[str] = NAMES) -> None:
        self.rng, self.turns = rng, Turns(names, rng)

    def walk(self) -> tuple[Register, Register, list[Step]]:
        """The pointer, the index, and the steps."""
        usable = [each for each in GENERAL if each.name not in ("rax", "rdx")]
        self.pointer, self.index = self.rng.sample(usable, 2)
        self.pool = self.rng.sample([each for each in REGISTERS.values() if each not in self._reserved], 4)
        self.depth, self.known = 0, set(ALL_FLAGS)
        return self.pointer, self.index, [self.turns.first(self._step) for _ in range(STEPS)]

    @property
    def _reserved(self) -> tuple[Register, ...]:
        return (RSP, self.pointer, self.index)

    def _step(self, name: str) -> Step | None:
        row = ROWS[name]
        move = {"push": -8, "pop": 8}.get(row.mnemonic, 0)
        if not row.reads <= self.known or self.depth + move not in DEPTHS:
            return None
        made = self._instruction(row)
        while {*made.written} & {*self._reserved} - ({RSP} if move else set()):
            made = self._instruction(row)
        self.depth += move
        self.known = (self.known | row.writes) - row.destroys
        tail = ins("movl_ri", self.rng.choice(self.pool), self.rng.getrandbits(31)) if row.control else None
        if tail is not None:
            length = 2 + len(encode(tail))
            made = replace(made, operands=(Label(f".{length:+d}"),))
        return Step(made, tail, tuple(sorted(self.known)))

    def _instruction(self, row: Row) -> Instruction:
        while True:
            try:
                return ins(row.name, *(self._operand(slot) for slot in row.slots))
            except AsmgenError as error:  # the same register twice where two results go
                assert "two results" in str(error)

    def _operand(self, slot: Slot) -> Operand:
        rng = self.rng
        if slot.fixed is not None:
            return FIXED[slot.fixed]
        if slot.kind.startswith("r"):
            return self._register(RSP if slot.kind.endswith("s") and not rng.randrange(8) else None)
        if slot.kind == "addr":
            index = rng.choice([None, self._register()])
            return Memory(self._register(), rng.choice([0, 8, -8, 127, -1000, 2**31 - 1]), index, rng.choice([1, 2, 8]))
        if slot.kind.startswith("m"):
            return Memory(self.pointer, rng.choice(REACH), rng.choice([None, self.index]), rng.choice([1, 2, 4, 8]))
        return rng.choice(choices(slot, 0))

    def _register(self, other: Register | None = None) -> Register:
        return other or self.rng.choice(self.pool if self.rng.randrange(3) else GENERAL)


def begin(rng: random.Random, place: int, pointer: Register, index: Register) -> machine.State:
    """A state for a walk."""
    state = random_state(rng, place)
    state.registers[pointer.number] = place + PLACE
    state.registers[index.number] = rng.randrange(3)
    state.registers[RSP.number] = place + STACK
    return state


def after(step: Step, state: machine.State, meaning: Meaning) -> machine.State:
    """The state after a step, by the row's meaning and the move's."""
    made, outcome = meaning(step.instruction, state)
    if step.instruction.row.control == "branch" and outcome.values == (0,):  # type: ignore[attr-defined]
        assert step.tail is not None
        made, _ = meaning(step.tail, made)
    return made


def bzhi_fault(instruction: Instruction, state: machine.State) -> bool:
    """unicorn 2.1.4's bzhi sets CF from index 63 on, not 64, and from 64 on loses the top bit of the result."""
    index = instruction.operands[-1] if instruction.row.mnemonic == "bzhi" else None
    return isinstance(index, Register) and state.registers[index.number] % 256 >= 63


@dataclass
class Engine:
    """Something that runs code on records, the rows' features that it has, and what it is known to get wrong."""

    run: Callable[[bytes, bytes], bytes]
    features: frozenset[str] | None = None  #: None for all
    fault: Callable[[Instruction, machine.State], bool] = lambda instruction, state: False

    def has(self, row: Row) -> bool:
        """Whether it can run this row."""
        return self.features is None or row.feature is None or row.feature in self.features


EMULATED = Engine(machine.run_emulated, fault=bzhi_fault)


def compare(
    engines: Mapping[str, Engine], rng: random.Random, walks: int, *, meaning: Meaning = apply
) -> dict[str, Tally]:
    """So many walks on engines: what was compared on each."""
    able = [name for name in NAMES if all(engine.has(ROWS[name]) for engine in engines.values())]
    maker = Maker(rng, able)
    made, records, packed = [], 0, []
    for _ in range(walks):
        pointer, index, steps = maker.walk()
        first = [begin(rng, machine.place_of(records + i, SIZE), pointer, index) for i in range(STATES)]
        records += STATES
        made.append((steps, first))
        packed += [state.pack().ljust(SIZE, b"\0") for state in first]
    code = machine.walk_image([([step.code for step in steps], STATES) for steps, _ in made], STEPS)
    results = {name: engine.run(code, b"".join(packed)) for name, engine in engines.items()}
    tallies = {name: Tally() for name in engines}
    at = 0
    for steps, first in made:
        for state in first:
            found = {name: result[at : at + SIZE] for name, result in results.items()}
            _compare(steps, state, found, engines, tallies, meaning)
            at += SIZE
    return tallies


def _compare(
    steps: Sequence[Step],
    state: machine.State,
    found: Mapping[str, bytes],
    engines: Mapping[str, Engine],
    tallies: Mapping[str, Tally],
    meaning: Meaning,
) -> None:
    """One record of each engine; with what differs, its walk ends there."""
    going = set(engines)
    for number, step in enumerate(steps):
        going -= {name for name in going if engines[name].fault(step.instruction, state)}
        before, state = state, after(step, state, meaning)
        mask = sum(1 << machine.FLAG_BITS[flag] for flag in step.known)
        wanted = (*state.registers, flags(state) & mask)
        for name, tally in tallies.items():
            if name not in going:
                tally.left_out += 1
                continue
            *registers, word_ = struct.unpack_from("<17Q", found[name], machine.RECORD + number * machine.DUMP)
            tally.ran[step.instruction.row.name] += 1
            tally.compared[step.instruction.row.name] += len(registers) + len(step.known)
            if (*registers, word_ & mask) != wanted:
                going.discard(name)
                got = machine.State(registers, machine.unpack(found[name], 0).flags, state.window, state.place)
                got.flags = {flag: word_ >> bit & 1 for flag, bit in machine.FLAG_BITS.items()}
                tally.differences.append(difference(step, before, named(state, step.known), named(got, step.known)))
    for name in going:
        window = found[name][machine.WINDOW_AT : machine.WINDOW_AT + machine.WINDOW]
        if window != state.window:
            texts = "; ".join(step.instruction.row.text(step.instruction.operands) for step in steps)
            tallies[name].differences.append(f"memory is {window.hex()}, not {state.window.hex()}, after {texts}")


def flags(state: machine.State) -> int:
    """The flags of a state as a word."""
    return sum(state.flags[name] << bit for name, bit in machine.FLAG_BITS.items())


def named(state: machine.State, known: Sequence[str]) -> dict[str, int]:
    """Registers and some flags by name."""
    return dict(zip(BY_NUMBER, state.registers, strict=True)) | {flag: state.flags[flag] for flag in known}


def difference(step: Step, before: machine.State, wanted: Mapping[str, int], got: Mapping[str, int]) -> str:
    """A line for people: what was run, on what, and what differs."""
    text = step.instruction.row.text(step.instruction.operands).replace("\t", " ")
    start = " ".join(f"{name}={value:#x}" for name, value in named(before, ALL_FLAGS).items())
    return f"{text}: {told(wanted, got)}; before {start}"

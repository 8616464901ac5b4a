"""Random walks through all arm64 rows, instruction by instruction under unicorn: every register and flag after each.

In a walk one register points into the memory that is watched; neither it nor the stack pointer is written, but by what
moves the stack pointer while it goes to memory. A branch goes past a move that shows it. Calls and returns are left to
`test_arm64.py`, and so are far addresses.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import unicorn
from arm64_states import CODE, DATA_SIZE, DATA_START, EDGES, MIDDLE, NAMES, UNICORN, State, word
from walks import Tally, Turns, told

from asmgen.errors import AsmgenError
from asmgen.targets import arm64
from asmgen.targets.arm64_encoding import Steps, bitmasks
from asmgen.targets.row import Instruction, Integers, Label, Memory, Operand, Register, Row, Slot

ROWS = [name for name, row in arm64.ROWS.items() if row.control not in ("call", "ret")]
STEPS, STATES = 12, 16  #: of a walk
WINDOW = 512  #: bytes that are watched
POINTER, STACK = 300, 128  #: where in them the pointer and at first the stack pointer stand
REACH, DEPTHS = range(-64, 65), range(-64, 65, 16)  #: of offsets, and of the stack pointer from where it was at first
R = arm64.REGISTERS
GENERAL = [R[f"x{number}"] for number in range(31)]
NUMBERS = sorted({*EDGES, *range(-70, 70), *(1 << k for k in range(64)), *list(bitmasks())[::97], 0xFFF000, 0x123000})
WATCHED = [*NAMES, "nzcv"]


@cache
def legal(name: str, position: int) -> Sequence[int]:
    """Numbers that may stand there."""
    slot = arm64.ROWS[name].slots[position]
    assert slot.legal is not None
    if isinstance(slot.legal, Steps):
        least, most, unit = slot.legal.least, slot.legal.most, slot.legal.unit
        wide = slot.kind == "imm" and len(range(least, most + 1, unit)) > 600
        return [*range(least, most + 1, unit)][:: 37 if wide else 1]
    return [number for number in NUMBERS if slot.legal(number)]


class Maker:
    """Makes walks, rows in turn."""

    def __init__(self, rng: random.Random, names: Sequence[str] = ROWS) -> None:
        self.rng, self.turns = rng, Turns(names, rng)

    def walk(self) -> tuple[Register, list[tuple[Instruction, Instruction | None]]]:
        """The pointer, and the steps: an instruction, and the move that it may branch past."""
        self.pointer = self.rng.choice(GENERAL[:30])
        others = [register for register in GENERAL if register != self.pointer]
        self.pool, self.all, self.depth = self.rng.sample(others, 4), others, 0
        return self.pointer, [self.turns.first(self._step) for _ in range(STEPS)]

    def _step(self, name: str) -> tuple[Instruction, Instruction | None] | None:
        row = arm64.ROWS[name]
        for _ in range(50):
            made = self._instruction(row)
            if made is None or self.pointer in made.written:
                continue
            moves = arm64.SP in made.written
            if moves and not name.endswith(("_pre", "_post")):
                continue
            step = made.operands[-1] if moves else 0
            assert isinstance(step, int)
            if self.depth + step in DEPTHS:
                self.depth += step
                return made, arm64.ins("movz", self.rng.choice(self.pool), 0x5A5A, 0) if row.control else None
        return None

    def _instruction(self, row: Row) -> Instruction | None:
        operands: list[Operand] = [self._operand(row, position) for position in range(len(row.slots))]
        if row.name.endswith(("_pre", "_post")):
            step = self.rng.choice([number for number in legal(row.name, len(operands) - 1) if number in DEPTHS])
            operands[-2:] = [Memory(arm64.SP, step if row.name.endswith("_pre") else 0), step]
        try:
            return arm64.ins(row.name, *operands)
        except AsmgenError:  # what does not go together, such as 40 bits from bit 40
            return None

    def _operand(self, row: Row, position: int) -> Operand:
        slot, rng = row.slots[position], self.rng
        if slot.fixed is not None:
            return R[slot.fixed]
        if slot.kind.startswith("r"):
            return self._register(slot)
        if slot.kind == "label":
            return Label(".+8")
        if slot.kind == "imm":
            return rng.choice(legal(row.name, position))
        base = rng.choice([self.pointer, self.pointer, arm64.SP])
        return Memory(base, rng.choice([number for number in legal(row.name, position) if number in REACH]))

    def _register(self, slot: Slot) -> Register:
        special = {"z": "xzr", "s": "sp"}.get(slot.kind[-1])
        if special and not self.rng.randrange(8):
            return R[special]
        return self.rng.choice(self.pool if self.rng.randrange(3) else self.all)


def begin(rng: random.Random, pointer: Register) -> State:
    """A state for a walk: words near edges, in many places equal or opposite ones."""
    state = State(rng)
    if not rng.randrange(4):
        x = word(rng)
        state.registers = {name: rng.choice([x, x, -x % 2**64, ~x % 2**64, word(rng)]) for name in NAMES}
    state.flags = {flag: rng.getrandbits(1) for flag in "NZCV"}
    state.start, state.around = MIDDLE, b"".join(word(rng).to_bytes(8, "little") for _ in range(WINDOW // 8))
    state.registers[pointer.name] = MIDDLE + POINTER + rng.randrange(32)
    state.registers["sp"] = MIDDLE + STACK
    return state


def execute(state: State, step: tuple[Instruction, Instruction | None]) -> None:
    """The step, by the row's meaning and the move's."""
    instruction, tail = step
    if tail is None:
        state.execute(instruction)
        return
    row = instruction.row
    pairs = zip(instruction.operands, row.slots, strict=True)
    inputs = [state.read(operand, slot) for operand, slot in pairs]
    (taken,) = row.meaning(Integers(), inputs, {flag: state.flags[flag] for flag in row.reads}).values or (1,)
    if not taken:
        state.execute(tail)


def compare(rng: random.Random, walks: int) -> Tally:
    """So many walks: what was compared."""
    maker, tally = Maker(rng), Tally()
    emulator = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    emulator.mem_map(CODE, 0x100000)
    emulator.mem_map(DATA_START, DATA_SIZE)
    address = CODE
    for _ in range(walks):
        pointer, steps = maker.walk()
        places, code = [], b""
        for step in steps:
            start = address + len(code)
            for item in filter(None, step):
                code += item.row.encode([8 if isinstance(each, Label) else each for each in item.operands])
            places.append((start, address + len(code)))
            code += arm64.ins("nop").row.encode([])  # unicorn does not always stop where another step begins
        emulator.mem_write(address, code)
        for _ in range(STATES):
            _walk(emulator, begin(rng, pointer), steps, places, tally)
        address += len(code)
    return tally


def _walk(
    emulator: unicorn.Uc,
    state: State,
    steps: Sequence[tuple[Instruction, Instruction | None]],
    places: Sequence[tuple[int, int]],
    tally: Tally,
) -> None:
    """One state through a walk, which ends where something differs."""
    numbers = [UNICORN[name] for name in WATCHED]
    emulator.reg_write_batch(list(zip(numbers, state.values(WATCHED), strict=True)))
    emulator.mem_write(state.start, state.around)
    for step, (start, end) in zip(steps, places, strict=True):
        before = dict(zip(WATCHED, state.values(WATCHED), strict=True))
        execute(state, step)
        emulator.emu_start(start, end)
        found, row = list(emulator.reg_read_batch(numbers)), step[0].row
        tally.ran[row.name] += 1
        tally.compared[row.name] += len(NAMES) + len("NZCV")
        memory = bytes(emulator.mem_read(state.start, WINDOW))
        if found != state.values(WATCHED) or memory != state.around:
            wanted = dict(zip(WATCHED, state.values(WATCHED), strict=True))
            differs = told(wanted, dict(zip(WATCHED, found, strict=True))) or "memory differs"
            start_ = " ".join(f"{name}={value:#x}" for name, value in before.items())
            tally.differences.append(f"{row.text(step[0].operands)}: {differs}; before {start_}")
            return

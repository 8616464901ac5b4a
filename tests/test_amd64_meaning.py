"""amd64 meanings: results and defined flags of every row against unicorn and against this CPU; any domain will do."""

from __future__ import annotations

import platform
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import amd64_machine as machine
import pytest
from amd64_forms import LONG, R9, RCX, RSP, SEED, choices, each_row, encode
from amd64_states import ALL_FLAGS, apply, bits, random_flags, random_state, word

from asmgen.errors import AsmgenError
from asmgen.targets.amd64 import REGISTERS, ROWS, ins
from asmgen.targets.row import Instruction, Integers, Label, Memory, Operand, Outcome, Register, Role, Row, Slot

STATES = 2000 if LONG else 200  #: at least so many states a row


@dataclass
class Run:
    """Code that runs one instruction, the states before it, and those that should come after."""

    instruction: Instruction
    code: bytes
    before: list[machine.State]
    wanted: list[machine.State]
    first_record: int


def aim(instruction: Instruction, state: machine.State, rng: random.Random) -> None:
    """Set address registers so that memory operands, the return address too, lie in the state's window."""
    for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True):
        if isinstance(operand, Memory) and slot.kind != "addr":
            index = state.registers[operand.index.number] * operand.scale if isinstance(operand.index, Register) else 0
            at = state.place + rng.randrange(machine.WINDOW - 7)
            assert isinstance(operand.base, Register)
            state.registers[operand.base.number] = (at - operand.offset - index) % 2**64
    if instruction.row.control in ("call", "ret"):
        state.registers[RSP.number] = state.place + rng.randrange(8, machine.WINDOW - 15)


def sample(row: Row, rng: random.Random) -> Instruction:
    """The row with random operands: often of few registers, so that the same one stands twice."""
    pool = rng.sample(list(REGISTERS.values()), 3)

    def any_register(stack: bool) -> Register:
        return rng.choice([r for r in (pool if rng.randrange(2) else REGISTERS.values()) if stack or r != RSP] or [RCX])

    def operand(slot: Slot) -> Operand | None:
        if slot.kind.startswith("r") and slot.fixed is None:
            return any_register(slot.kind.endswith("s"))
        if (slot.kind.startswith("m") or slot.kind == "addr") and slot.fixed is None:
            base, offset = any_register(True), rng.choice([0, 8, -8, 127, -1000, 2**31 - 1])
            index = rng.choice([None, any_register(False)])
            if index is None or (index == base and slot.kind != "addr"):
                return Memory(base, offset)
            return Memory(base, offset, index, rng.choice((1, 2, 4, 8)))
        return None

    def draw() -> Instruction:
        options = [choices(slot, 0) for slot in row.slots]
        operands = [operand(slot) or rng.choice(values) for slot, values in zip(row.slots, options, strict=True)]
        return ins(row.name, *operands)

    for _ in range(100):
        try:
            return draw()
        except AsmgenError as error:
            assert "two results" in str(error)
    raise AssertionError(f"no operands fit {row.name}")


TAIL_REGISTER, TAIL_VALUE = R9, 0x5A5A
TAIL = encode(ins("movl_ri", TAIL_REGISTER, TAIL_VALUE))


def with_tail(instruction: Instruction) -> tuple[Instruction, bytes]:
    """The instruction with code behind it that shows whether control went past it."""
    if instruction.row.control in (None, "ret"):
        return instruction, encode(instruction) + (TAIL if instruction.row.control else b"")
    length = 5 if instruction.row.control == "call" else 2
    aimed = replace(instruction, operands=(Label(f".{length + len(TAIL):+d}"),))
    return aimed, encode(aimed) + TAIL


def expected(instruction: Instruction, state: machine.State, address: int) -> machine.State:
    """The state after the instruction and its tail; `address` is where the instruction stands."""
    after, outcome = apply(instruction, state)
    control = instruction.row.control
    if control == "branch" and outcome.values == (0,):
        after.registers[TAIL_REGISTER.number] = TAIL_VALUE
    if control in ("call", "ret"):
        after.registers[RSP.number] += -8 if control == "call" else 8
    if control == "call":
        at = after.registers[RSP.number] - after.place
        after.window[at : at + 8] = (address + len(encode(instruction))).to_bytes(8, "little")
    return after


def prepare(row: Row, first_run: int, first_record: int) -> list[Run]:
    """Runs of a row, `STATES` states or a few more in all."""
    rng = random.Random(f"{SEED} {row.name} meaning")
    wide = any(slot.kind == "imm" for slot in row.slots)
    variants = 1 if not row.slots else 40 if wide else 15
    each = -(-STATES // variants)
    runs = []
    for k in range(variants):
        instruction, code = with_tail(sample(row, rng))
        address = machine.code_address(first_run + k)
        before = [random_state(rng, machine.place_of(first_record + i)) for i in range(each)]
        for state in before:
            aim(instruction, state, rng)
            if row.control == "ret":
                at = state.registers[RSP.number] - state.place
                state.window[at : at + 8] = (address + len(code)).to_bytes(8, "little")
        wanted = [expected(instruction, state, address) for state in before]
        runs.append(Run(instruction, code, before, wanted, first_record))
        first_record += each
    return runs


@cache
def all_runs() -> Mapping[str, list[Run]]:
    runs: dict[str, list[Run]] = {}
    count = records = 0
    for row in ROWS.values():
        runs[row.name] = prepare(row, count, records)
        count += len(runs[row.name])
        records += sum(len(run.before) for run in runs[row.name])
    return runs


Results = Mapping[str, list[list[machine.State]]]


def results(engine: Callable[[bytes, bytes], bytes], rows: Sequence[Row]) -> Results:
    """What an engine makes of all states of these rows, by row and run; the others are not run."""
    runs = [run for row in ROWS.values() for run in all_runs()[row.name]]
    # A run that an engine must not see keeps its place, with code that does nothing.
    names = {row.name for row in rows}
    code = machine.image([(run.code if run.instruction.row.name in names else b"", len(run.before)) for run in runs])
    out = engine(code, b"".join(state.pack() for run in runs for state in run.before))
    found: dict[str, list[list[machine.State]]] = {}
    for run in runs:
        states = []
        for i, state in enumerate(run.before):
            at = (run.first_record + i) * machine.RECORD
            states.append(machine.unpack(out[at : at + machine.RECORD], state.place))
        found.setdefault(run.instruction.row.name, []).append(states)
    return {name: states for name, states in found.items() if name in names}


@pytest.fixture(scope="session")
def emulated() -> Results:
    return results(machine.run_emulated, list(ROWS.values()))


def cpu_features() -> set[str]:
    """What this CPU can do, by the names of Linux; the tests are skipped where that is not known."""
    info = Path("/proc/cpuinfo")
    if platform.system() != "Linux" or platform.machine() != "x86_64" or not info.exists():
        pytest.skip("machine code of amd64 runs natively on Linux on amd64 only")
    return set(next(line for line in info.read_text().splitlines() if line.startswith("flags")).split())


@pytest.fixture(scope="session")
def native() -> Results:
    features = cpu_features()
    return results(machine.run_native, [row for row in ROWS.values() if row.feature is None or row.feature in features])


def compare(row: Row, found: Results, skip: Callable[[Run, machine.State], bool] | None = None) -> int:
    """Assert that an engine's states are those wanted but for flags left undefined; how many were compared."""
    compared = 0
    for run, states in zip(all_runs()[row.name], found[row.name], strict=True):
        for before, wanted, got in zip(run.before, run.wanted, states, strict=True):
            if skip is not None and skip(run, before):
                continue
            compared += 1
            for name in row.destroys:
                got.flags[name] = wanted.flags[name]
            if wanted != got:
                text = row.text(run.instruction.operands)
                pytest.fail(f"{text} (seed {SEED})\nbefore {before}\nwanted {wanted}\ngot    {got}", pytrace=False)
    return compared


def bzhi_fault(run: Run, before: machine.State) -> bool:
    """unicorn 2.1.4's bzhi sets CF from index 63 on, not 64, and from 64 on loses the top bit of the result."""
    index = run.instruction.operands[2]
    assert isinstance(index, Register)
    return before.registers[index.number] % 256 >= 63


@each_row
def test_meaning_is_that_of_the_emulator(row: Row, emulated: Results) -> None:
    if row.mnemonic == "bzhi":
        assert compare(row, emulated, bzhi_fault) >= STATES // 4
    else:
        assert compare(row, emulated) >= STATES


@each_row
def test_meaning_is_that_of_this_cpu(row: Row, native: Results) -> None:
    if row.name not in native:
        pytest.skip(f"this CPU has no {row.feature}")
    assert compare(row, native) >= STATES


class Opaque:
    """A number that can only be computed with: a meaning that looks at it, to branch or to compare, fails."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __add__(self, other: Any) -> Opaque:
        return Opaque(self.value + plain(other))

    def __sub__(self, other: Any) -> Opaque:
        return Opaque(self.value - plain(other))

    def __rsub__(self, other: Any) -> Opaque:
        return Opaque(plain(other) - self.value)

    def __mul__(self, other: Any) -> Opaque:
        return Opaque(self.value * plain(other))

    __radd__, __rmul__ = __add__, __mul__

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("a meaning looked at a value")

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __index__ = __hash__ = _refuse


def plain(value: Any) -> int:
    assert isinstance(value, (int, Opaque))
    return value.value if isinstance(value, Opaque) else value


class OpaqueDomain:
    """A domain of opaque numbers."""

    def split(self, value: Any, k: int) -> tuple[Any, Any]:
        low, high = Integers().split(plain(value), k)
        return Opaque(low), Opaque(high)

    def bitwise(self, op: str, x: Any, y: Any, width: int) -> Any:
        assert 0 <= plain(x) < 1 << width and 0 <= plain(y) < 1 << width
        return Opaque(Integers().bitwise(op, plain(x), plain(y), width))

    def is_zero(self, value: Any) -> Any:
        return Opaque(int(plain(value) == 0))

    def select(self, bit: Any, x: Any, y: Any) -> Any:
        assert plain(bit) in (0, 1)
        return Opaque(plain(x) if plain(bit) else plain(y))


def inputs_of(row: Row, rng: random.Random) -> list[Any]:
    """Values for the operands that are read."""
    found: list[Any] = []
    for slot in row.slots:
        if slot.role is Role.OUT:
            continue
        if slot.kind == "imm":
            found.append(rng.choice(choices(slot, 0)))
        else:
            found.append(word(rng) % (1 << (64 if slot.kind in ("addr", "label") else bits(slot))))
    return found


def evaluated(outcome: Outcome) -> tuple[tuple[int, ...], dict[str, int]]:
    flags = {name: value() if callable(value) else value for name, value in outcome.flags.items()}
    return tuple(map(plain, outcome.values)), {name: plain(value) for name, value in flags.items()}


@each_row
def test_meanings_work_on_any_domain(row: Row) -> None:
    """Same outcome on integers as on numbers that refuse to be looked at; flags as the row declares them."""
    rng = random.Random(f"{SEED} {row.name} domain")
    for _ in range(50):
        inputs = inputs_of(row, rng)
        flags = {name: bit for name, bit in random_flags(rng).items() if name in row.reads}
        values, written = evaluated(row.meaning(Integers(), inputs, flags))
        kinds = [slot.kind for slot in row.slots if slot.role is not Role.OUT]
        opaque = [x if kind == "imm" else Opaque(x) for x, kind in zip(inputs, kinds, strict=True)]
        hidden = {name: Opaque(value) for name, value in flags.items()}
        assert evaluated(row.meaning(OpaqueDomain(), opaque, hidden)) == (values, written)
        assert set(written) == row.writes and set(written.values()) <= {0, 1}
        assert not row.writes & row.destroys


@each_row
def test_flags_declared_as_read_matter(row: Row) -> None:
    rng = random.Random(f"{SEED} {row.name} reads")
    assert row.writes | row.destroys | row.reads <= set(ALL_FLAGS)
    for flag in sorted(row.reads):
        for _ in range(200):
            inputs, flags = inputs_of(row, rng), random_flags(rng)
            other = flags | {flag: 1 - flags[flag]}
            if evaluated(row.meaning(Integers(), inputs, flags)) != evaluated(row.meaning(Integers(), inputs, other)):
                break
        else:
            pytest.fail(f"{flag} is read without effect")


@each_row
def test_commuting_operands_commute(row: Row) -> None:
    """Swapping them changes nothing; two register operands of one width that are read and do not say so do matter."""
    reads = [position for position, slot in enumerate(row.slots) if slot.role is not Role.OUT]
    pair = row.commutes or (tuple(reads[:2]) if len(reads) >= 2 and row.control is None else ())
    if len(pair) != 2 or any(not row.slots[p].kind.startswith("r") for p in pair) or row.slots[pair[1]].fixed == "rsp":
        return
    assert pair[0] < pair[1] and set(pair) <= set(reads)
    rng = random.Random(f"{SEED} {row.name} commutes")
    different = False
    for _ in range(100):
        inputs, flags = inputs_of(row, rng), random_flags(rng)
        swapped = list(inputs)
        i, j = (reads.index(p) for p in pair)
        swapped[i], swapped[j] = inputs[j], inputs[i]
        first, second = (evaluated(row.meaning(Integers(), values, flags)) for values in (inputs, swapped))
        different |= (first[0][::-1] if row.mnemonic == "xchg" else first[0], first[1]) != second
    assert different == (row.commutes is None)


@each_row
def test_memory_forms_are_the_same_instruction(row: Row) -> None:
    for position, name in row.memory_form:
        other = ROWS[name]
        assert other.mnemonic == row.mnemonic and other.reads == row.reads and other.writes == row.writes
        assert other.destroys == row.destroys and other.feature == row.feature
        pairs = enumerate(zip(row.slots, other.slots, strict=True))
        assert [k for k, (here, there) in pairs if here.kind != there.kind] == [position]
        assert other.slots[position].kind[0] == "m" and bits(other.slots[position]) == bits(row.slots[position])
        assert [slot.role for slot in row.slots] == [slot.role for slot in other.slots]
        rng = random.Random(f"{SEED} {row.name} memory")
        for _ in range(20):
            inputs, flags = inputs_of(row, rng), random_flags(rng)
            here, there = (each.meaning(Integers(), inputs, flags) for each in (row, other))
            assert evaluated(here) == evaluated(there)

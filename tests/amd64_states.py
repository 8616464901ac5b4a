"""amd64 states: what a row's meaning makes of one, and edge-biased ones to begin with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import amd64_machine as machine
from amd64_forms import SEED

from asmgen.targets.row import Instruction, Integers, Memory, Operand, Outcome, Register, Role, Slot

ALL_FLAGS = tuple(machine.FLAG_BITS)


def apply(instruction: Instruction, state: machine.State) -> tuple[machine.State, Outcome]:
    """The state after an instruction, by the row's meaning, control flow aside; the outcome with flags evaluated."""
    row, inputs = instruction.row, []
    addresses: dict[int, int] = {}
    for position, (slot, operand) in enumerate(zip(row.slots, instruction.operands, strict=True)):
        if isinstance(operand, Memory):
            index = state.registers[operand.index.number] * operand.scale if isinstance(operand.index, Register) else 0
            assert isinstance(operand.base, Register)
            addresses[position] = (state.registers[operand.base.number] + index + operand.offset) % 2**64
        if slot.role is not Role.OUT:
            inputs.append(value_of(slot, operand, state, addresses.get(position, 0)))
    outcome = row.meaning(Integers(), inputs, {name: state.flags[name] for name in row.reads})
    flags = {name: value() if callable(value) else value for name, value in outcome.flags.items()}
    after = replace(state, registers=list(state.registers), window=bytearray(state.window), flags=state.flags | flags)
    if row.control is None:
        results = [position for position, slot in enumerate(row.slots) if slot.role is not Role.IN]
        for position, value in zip(results, outcome.values, strict=True):
            put(row.slots[position], instruction.operands[position], value, after, addresses.get(position, 0))
    return after, Outcome(outcome.values, flags)


def bits(slot: Slot) -> int:
    return int(slot.kind.strip("rms"))


def value_of(slot: Slot, operand: Operand, state: machine.State, address: int) -> Any:
    if isinstance(operand, Register):
        return state.registers[operand.number] % (1 << bits(slot))
    if isinstance(operand, Memory) and slot.kind != "addr":
        at = address - state.place
        assert 0 <= at <= machine.WINDOW - bits(slot) // 8
        return int.from_bytes(state.window[at : at + bits(slot) // 8], "little")
    return address if isinstance(operand, Memory) else operand


def put(slot: Slot, operand: Operand, value: int, state: machine.State, address: int) -> None:
    width = bits(slot)
    assert type(value) is int and 0 <= value < 1 << width, f"result {value:#x} of {width} bits"
    if isinstance(operand, Register):
        kept = state.registers[operand.number] >> width << width if width < 32 else 0
        state.registers[operand.number] = kept | value
    else:
        at = address - state.place
        assert 0 <= at <= machine.WINDOW - width // 8
        state.window[at : at + width // 8] = value.to_bytes(width // 8, "little")


def edge_or_any(rng: random.Random) -> int:
    """A word near some edge, or any."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.getrandbits(64)
    if kind == 1:
        return rng.randrange(-2, 70) % 2**64
    if kind == 2:
        return rng.getrandbits(rng.randrange(1, 65))
    if kind == 3:
        return ((1 << rng.randrange(65)) + rng.randrange(-2, 3)) % 2**64
    return rng.getrandbits(64) | rng.choice((0xFF << 56, 0xFFFFFFFF, 1 << 63, 0xFFFFFFFF << 32))


@cache
def words() -> Sequence[int]:
    """Words to draw from."""
    rng = random.Random(f"{SEED} words")
    return [edge_or_any(rng) for _ in range(1 << 14)]


def word(rng: random.Random) -> int:
    """A word near some edge, or any."""
    return words()[rng.getrandbits(14)]


def random_state(rng: random.Random, place: int) -> machine.State:
    count = machine.REGISTERS + machine.WINDOW // 8
    if rng.randrange(4) == 0:  # equal and opposite words in many places
        x = word(rng)
        pool = [x, x, -x % 2**64, ~x % 2**64, (x + 1) % 2**64, word(rng)]
        drawn = rng.choices(pool, k=count)
    else:
        start = rng.randrange(len(words()) - count)
        drawn = list(words()[start : start + count])
    window = bytearray(b"".join(value.to_bytes(8, "little") for value in drawn[machine.REGISTERS :]))
    return machine.State(drawn[: machine.REGISTERS], random_flags(rng), window, place)


def random_flags(rng: random.Random) -> dict[str, int]:
    drawn = rng.getrandbits(len(ALL_FLAGS))
    return {name: drawn >> k & 1 for k, name in enumerate(ALL_FLAGS)}

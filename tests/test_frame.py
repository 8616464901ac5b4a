"""Frames: what is saved is what is used, and unwinders, callers and the stack find everything as they should."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
import random_routines
from random_routines import WORDS, signature

from asmgen import interpret
from asmgen.errors import AsmgenError
from asmgen.passes.allocate import allocate
from asmgen.passes.frame import frame
from asmgen.passes.machine import machine
from asmgen.routine import Allocated, Cfi, Code, Routine, Straight
from asmgen.targets import amd64, arm64
from asmgen.targets.conventions import convention
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Register, Tied, Virtual

TARGETS = ("amd64", "arm64")
ENTRY = 1 << 40  #: the stack pointer at entry
A, B, OUT = 0x1000, 0x2000, 0x3000


class Watched(interpret.Machine):
    """Checks around each step: accesses lie at or above the stack pointer, which on arm64 is a multiple of 16."""

    target = ""

    def step(self, instruction: Instruction) -> int:
        stack = machine(self.target).stack
        for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True):
            if isinstance(operand, Memory) and operand.base == stack and not slot.implicit:
                assert operand.offset >= 0 or instruction.row.name.endswith("_pre"), instruction
        taken = super().step(instruction)
        assert self.target == "amd64" or self.registers[stack] % 16 == 0, instruction
        return taken


def call(code: Code, seed: int) -> Watched:
    """Run a random routine's finished code from its entry, and check its call frame directives after each
    instruction.
    """
    rng = Random(seed)
    target, rules = machine(code.target), convention(None, code.target)
    run = Watched({base + 8 * index: rng.getrandbits(64) for base in (A, B) for index in range(WORDS)})
    run.target = code.target
    entry = {
        target.registers[name]: rng.getrandbits(64) for name in (*rules.preserved, "x30") if name in target.registers
    }
    run.registers |= {**entry, target.stack: ENTRY}
    for name, value in zip(rules.arguments, (OUT, A, B, 2, 77), strict=False):
        run.registers[target.registers[name]] = value
    labels = {item.name: index for index, item in enumerate(code.items) if isinstance(item, Label)}
    frame_address, offset, saved, at = ENTRY + rules.return_address, rules.return_address, dict[str, int](), 0
    while True:
        item = code.items[at]
        at += 1
        if isinstance(item, Instruction):
            taken = run.step(item)
            if taken:
                at = labels[next(each for each in item.operands if isinstance(each, Label)).name]
            if item.row.control == "ret":
                break
        elif isinstance(item, Cfi):
            if found := re.fullmatch(r"\.cfi_def_cfa_offset (\d+)", item.text):
                offset = int(found[1])
            elif found := re.fullmatch(r"\.cfi_offset %?(\w+), (-\d+)", item.text):
                saved[found[1]] = int(found[2])
            elif found := re.fullmatch(r"\.cfi_restore %?(\w+)", item.text):
                del saved[found[1]]
            else:
                assert item.text == ".cfi_negate_ra_state"
        if not isinstance(code.items[at], Cfi):  # directives stand after what they tell of
            assert run.registers[target.stack] + offset == frame_address, (at, offset)
            for name, place in saved.items():
                assert run.memory[frame_address + place] == entry[target.registers[name]], (at, name)
            for register, value in entry.items():
                assert register.name in saved or run.registers[register] == value, (at, register.name)
    assert not saved and run.registers[target.stack] == ENTRY
    assert {register: run.registers[register] for register in entry} == entry
    return run


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", ["straight", "loop"])
def test_directives_saves_and_stack_agree_at_every_instruction(target: str, shape: str) -> None:
    for seed in range(3):
        routine = random_routines.routine(300 + seed, target, length=40, shape=shape)
        for registers in (None, 20, 6):
            for wipe in (False, True):
                call(frame(allocate(routine, registers=registers), wipe=wipe), seed)


@pytest.mark.parametrize("target", TARGETS)
def test_only_registers_that_are_used_are_saved(target: str) -> None:
    rules = convention(None, target)
    for registers in (None, 25, 12, 8):
        code = frame(allocate(random_routines.routine(11, target, length=60), registers=registers))
        written = {
            each.name
            for item in code.items
            if isinstance(item, Instruction)
            for each in item.written
            if isinstance(each, Register)
        }
        assert set(code.saved) == written & set(rules.preserved)
        assert not written & {"x18", "x29"}


def leaf(target: str) -> Allocated:
    out, x = Virtual(1, "out"), Virtual(2, "x")
    store = amd64.ins("mov_mr", Memory(out), x) if target == "amd64" else arm64.ins("str", x, Memory(out))
    return allocate(Routine(signature(), target, (out, x), (Straight((store,)),)))


def test_a_leaf_has_an_entry_mark_and_a_return() -> None:
    assert [item.row.name for item in frame(leaf("amd64")).items if isinstance(item, Instruction)] == [
        "endbr64",
        "mov_mr",
        "ret",
    ]
    code = frame(leaf("arm64"))
    assert [item.row.name for item in code.items if isinstance(item, Instruction)] == ["bti_c", "str", "ret"]
    assert code.stack == 0 and code.saved == () and len(code.items) == 3


def test_arm64_saves_in_pairs_by_as_few_instructions_as_can_be() -> None:
    target = machine("arm64")
    allocated = leaf("arm64")
    for count, slots in ((1, 0), (2, 0), (3, 2), (10, 0), (0, 3), (2, 60), (2, 61), (4, 80)):
        preserved = [target.registers[name] for name in convention(None, "arm64").preserved[:count]]
        moves = [target.move(register, target.registers["x1"]) for register in preserved]
        code = frame(replace(allocated, items=(*moves, *allocated.items), slots=slots, holds=()))
        around = sum(isinstance(item, Instruction) for item in code.items) - len(moves) - 3
        apart = slots > 0 and (count == 0 or 8 * (count + slots) > 496)  # 504 is no multiple of 16
        assert around == 2 * ((count + 1) // 2 + apart), (count, slots)
        assert code.stack % 16 == 0 and code.stack >= 8 * (count + slots)
        call_plain(code)


def call_plain(code: Code) -> None:
    """Preserved registers and the stack pointer are compared by the interpreter."""
    assert interpret.run(code, (OUT, 5), {}).memory == {OUT: 5}


def test_a_return_address_on_the_stack_is_signed() -> None:
    target = machine("arm64")
    allocated = leaf("arm64")
    link = target.move(target.registers["x30"], target.registers["x1"])
    code = frame(replace(allocated, items=(link, *allocated.items), holds=()))
    rows = [item.row.name for item in code.items if isinstance(item, Instruction)]
    assert rows == ["paciasp", "str_pre", "mov", "str", "ldr_post", "autiasp", "ret"]


@pytest.mark.parametrize("target", TARGETS)
def test_wiping_leaves_zeros_where_slots_were(target: str) -> None:
    routine = random_routines.routine(5, target, length=50)
    allocated = allocate(routine, registers=5)
    assert allocated.slots > 4
    for wipe in (False, True):
        code = frame(allocated, wipe=wipe)
        memory = call(code, 1).memory
        preserved = {place for place in range(ENTRY - code.stack, ENTRY - code.stack + 8 * len(code.saved), 8)}
        left = [
            place
            for place, word in memory.items()
            if ENTRY - code.stack <= place < ENTRY and word and place not in preserved
        ]
        assert bool(left) != wipe


def test_slots_are_addressed_from_the_stack_pointer_only() -> None:
    for target in TARGETS:
        code = frame(allocate(random_routines.routine(8, target, length=60), registers=5))
        for item in code.items:
            if isinstance(item, Instruction):
                assert FRAME not in item.read
        assert len(code.holds) == len(code.items)


def test_the_features_are_those_of_the_rows() -> None:
    s = [Virtual(index) for index in range(9)]
    code = (
        amd64.ins("mulx_rrr", s[3], s[4], s[1], s[2]),
        amd64.ins("add_rr", Tied(s[3], s[5]), s[4]),
        amd64.ins("mov_mr", Memory(s[0]), s[5]),
    )
    made = frame(allocate(Routine(signature(), "amd64", tuple(s[:3]), (Straight(code),))))
    assert made.features == {"bmi2"}
    assert frame(leaf("amd64")).features == frozenset()


def test_a_missing_restore_is_noticed() -> None:
    """The checks here can fail: without one of its restores a routine does not pass them."""
    for target in TARGETS:
        code = frame(allocate(random_routines.routine(11, target, length=60)))
        assert code.saved
        restores = [
            index for index, item in enumerate(code.items) if isinstance(item, Instruction) and item.note == "restore"
        ]
        for index in restores:
            broken = replace(code, items=code.items[:index] + code.items[index + 1 :])
            with pytest.raises((AsmgenError, AssertionError)):
                interpret.run(
                    broken, (OUT, A, B, 2, 77), {base + 8 * word: 3 for base in (A, B) for word in range(WORDS)}
                )

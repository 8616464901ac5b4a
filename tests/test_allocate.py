"""Allocation: the same results with every number of registers, and few instructions where their number is known."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
import random_routines
from random_routines import WORDS, signature

from asmgen import interpret
from asmgen.errors import AsmgenError, Source
from asmgen.interpret import run
from asmgen.passes.allocate import allocate
from asmgen.passes.early import load_early
from asmgen.passes.frame import frame
from asmgen.passes.machine import machine
from asmgen.routine import Allocated, Branch, Loop, Part, Routine, Straight
from asmgen.targets import amd64, arm64
from asmgen.targets.conventions import convention
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Operand, Register, Tied, Virtual

TARGETS = ("amd64", "arm64")
FULL = {"amd64": 15, "arm64": 29}

#: With fewer registers than this some instruction of the random routines may have no room for its operands.
ALWAYS_ENOUGH = {"amd64": 2, "arm64": 3}

A, B, OUT = 0x1000, 0x2000, 0x3000
ALIASES = {"apart": (OUT, A, B), "out is a": (A, A, B), "out is b": (B, A, B), "all the same": (A, A, A)}


def memory_at(rng: Random, *bases: int) -> dict[int, int]:
    """Words at each base, edges among them."""
    return {base + 8 * i: rng.choice((0, 2**64 - 1, rng.getrandbits(64))) for base in bases for i in range(WORDS)}


def agree(routine: Routine, allocated: Allocated, rng: Random, count: int, *, wipe: bool = False) -> None:
    """The allocated and the finished routine do what the routine does, however its buffers overlap."""
    code = frame(allocated, wipe=wipe)
    for name, (out, a, b) in ALIASES.items():
        memory = memory_at(rng, a, b)
        arguments = (out, a, b, count, rng.getrandbits(64))
        wanted = run(routine, arguments, memory)
        for program in (allocated, code):
            got = run(program, arguments, memory, limit=100_000)
            assert (got.memory, got.returned) == (wanted.memory, wanted.returned), (name, type(program).__name__)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", ["straight", "loop", "branch"])
@pytest.mark.parametrize("seed", range(4))
def test_random_routines_give_the_same_with_any_number_of_registers(target: str, shape: str, seed: int) -> None:
    rng = Random(f"{target} {shape} {seed}")
    number, length = rng.randrange(1 << 30), (8, 16, 32, 60)[seed % 4]
    routine = random_routines.routine(number, target, shape=shape, length=length)
    count = rng.randrange(1 if shape == "loop" else 0, 4)
    smallest = ALWAYS_ENOUGH[target]
    numbers = {None, smallest, smallest + 1, rng.randrange(smallest + 2, 8), rng.randrange(8, FULL[target] + 1)}
    for registers in sorted(numbers, key=lambda each: each or 99):
        allocated = allocate(routine, registers=registers)
        if registers is not None:
            written = {each for item in instructions(allocated) for each in item.written if isinstance(each, Register)}
            returned = routine.returns is not None  # its register may be one more
            assert len(written) <= registers + returned, (number, registers)
        agree(routine, allocated, rng, count, wipe=seed % 2 == 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(3))
def test_the_listing_says_what_registers_hold(target: str, seed: int) -> None:
    """In a straight line every value is computed once, so that each entry of `holds` can be checked after its item."""
    rng = Random(seed)
    routine = random_routines.routine(1000 + seed, target, length=50)
    memory, arguments = memory_at(rng, A, B), (OUT, A, B, 0, rng.getrandbits(64))
    values = dict(zip((each.name for each in routine.arguments), arguments, strict=True))
    virtual = interpret.Machine(dict(memory))
    virtual.registers = {
        **dict(zip(routine.arguments, arguments, strict=True)),
        **routine.constants,
        **{
            home: memory[(A if place.base == routine.arguments[1] else B) + place.offset]
            for home, place in routine.homes.items()
        },
    }
    for part in routine.parts:
        assert isinstance(part, Straight)
        for instruction in part.instructions:
            virtual.step(instruction)
    values = {value.name: number for value, number in virtual.registers.items() if isinstance(value, Virtual)}
    for registers in (None, 8, 5):
        allocated = allocate(routine, registers=registers)
        physical = interpret.Machine({**memory})
        physical.registers[FRAME] = 1 << 60
        names = machine(target).registers
        for name, number in zip(convention(None, target).arguments, arguments, strict=False):
            physical.registers[names[name]] = number
        for item, held in zip(allocated.items, allocated.holds, strict=True):
            assert isinstance(item, Instruction)
            physical.step(item)
            for register, name in held.items():
                assert physical.registers[register] == values[name], (registers, register.name, name)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_added_leaves_flags_alone(target: str) -> None:
    """Instructions of the routine have source lines here; loops end with instructions of their own."""
    for seed in range(4):
        routine = random_routines.routine(2000 + seed, target, length=30, shape=("straight", "loop")[seed % 2])
        for registers in (None, 7, 4):
            for item, after in pairwise(allocate(routine, registers=registers).items):
                if isinstance(item, Instruction) and item.source is None and item.row.flags_touched:
                    assert item.row.name == "dec_r" or item.row.name == "dec_m", item.row.name
                    assert isinstance(after, Instruction) and after.row.control == "branch"


def pairwise(items: Sequence[Instruction | Label]) -> Iterator[tuple[Instruction | Label, Instruction | Label | None]]:
    yield from zip(items, [*items[1:], None], strict=True)


def test_the_result_does_not_depend_on_hash_order() -> None:
    here = Path(__file__).parent
    script = (
        "import random_routines\n"
        "from asmgen.passes.allocate import allocate\n"
        "from asmgen.targets.row import Instruction\n"
        "for target in ('amd64', 'arm64'):\n"
        "    routine = random_routines.routine(5, target, shape='branch', length=24)\n"
        "    for registers in (None, 6):\n"
        "        for item in allocate(routine, registers=registers).items:\n"
        "            print(item.row.text(item.operands) if isinstance(item, Instruction) else item.name)\n"
    )
    path = os.pathsep.join([str(here), str(here.parent)])
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert printed[0].count("\n") > 60


# Small routines, where the fewest instructions are known


class Small:
    """A routine for one target, written an instruction at a time; `value` makes a virtual register."""

    def __init__(self, target: str, arguments: str) -> None:
        self.target = target
        self.ins: Callable[..., Instruction] = amd64.ins if target == "amd64" else arm64.ins
        self.serial = 0
        self.arguments = tuple(self.value(name) for name in arguments.split())
        self.homes: dict[Virtual, Memory] = {}
        self.constants: dict[Virtual, int] = {}
        self.code: list[Instruction] = []
        self.returns: Virtual | None = None

    def value(self, name: str = "v") -> Virtual:
        self.serial += 1
        return Virtual(self.serial, name)

    def words(self, pointer: Virtual, count: int) -> list[Virtual]:
        """Words of an input buffer."""
        made = [self.value(f"{pointer.name}{index}") for index in range(count)]
        self.homes |= {word: Memory(pointer, 8 * index) for index, word in enumerate(made)}
        return made

    def constant(self, number: int) -> Virtual:
        made = self.value(f"c{number}")
        self.constants[made] = number
        return made

    def __call__(self, name: str, *operands: Operand) -> None:
        self.code.append(self.ins(name, *operands, source=Source("small.py", len(self.code) + 1)))

    def new(self, name: str, *operands: Operand) -> Virtual:
        """Write an instruction whose first operand is its new result."""
        made = self.value()
        self(name, made, *operands)
        return made

    def tie(self, name: str, old: Virtual, *operands: Operand) -> Virtual:
        """Write an instruction that changes its first operand."""
        made = self.value()
        self(name, Tied(old, made), *operands)
        return made

    def store(self, value: Virtual, index: int = 0) -> None:
        place = Memory(self.arguments[0], 8 * index)
        self(*(("mov_mr", place, value) if self.target == "amd64" else ("str", value, place)))

    def take(self) -> Straight:
        """What was written since the last time."""
        made, self.code = Straight(tuple(self.code)), []
        return made

    def routine(self, *parts: Part) -> Routine:
        return Routine(
            signature(self.returns is not None),
            self.target,
            self.arguments,
            (*parts, Straight(tuple(self.code))),
            self.homes,
            self.constants,
            self.returns,
        )


def instructions(allocated: Allocated) -> list[Instruction]:
    return [item for item in allocated.items if isinstance(item, Instruction)]


def names(allocated: Allocated) -> list[str]:
    return [item.row.name for item in instructions(allocated)]


def inside(allocated: Allocated) -> list[str]:
    """Rows from the first label to the jump back to it."""
    start = next(index for index, item in enumerate(allocated.items) if isinstance(item, Label))
    label = allocated.items[start]
    end = next(
        index for index, item in enumerate(allocated.items) if isinstance(item, Instruction) and label in item.operands
    )
    return [item.row.name for item in allocated.items[start : end + 1] if isinstance(item, Instruction)]


def test_a_word_that_is_used_once_stays_in_memory() -> None:
    s = Small("amd64", "out a b")
    (a,), (b,) = s.words(s.arguments[1], 1), s.words(s.arguments[2], 1)
    s.store(s.tie("add_rr", a, b))
    assert names(allocate(s.routine())) == ["mov_rm", "add_rm", "mov_mr"]


def test_a_product_takes_its_fixed_factor_from_memory_and_the_other_one_too() -> None:
    s = Small("amd64", "out a")
    x, y = s.words(s.arguments[1], 2)
    high, low = s.value("high"), s.value("low")
    s("mulx_rrr", high, low, x, y)
    s.store(low, 0)
    s.store(high, 1)
    assert names(allocate(s.routine())) == ["mov_rm", "mulx_rrm", "mov_mr", "mov_mr"]


def test_fixed_registers_are_avoided_by_what_lives_across_them() -> None:
    """The third argument arrives in rdx, which the products need: one move is enough."""
    s = Small("amd64", "out a b")
    xs, ys = s.words(s.arguments[1], 2), s.words(s.arguments[2], 2)
    results = []
    for x in xs:
        for y in ys:
            high, low = s.value("high"), s.value("low")
            s("mulx_rrr", high, low, y, x)
            results += [high, low]
    for index, value in enumerate(results):
        s.store(value, index)
    assert names(allocate(s.routine())).count("mov_rr") == 1


def test_operands_swap_rather_than_being_copied() -> None:
    s = Small("amd64", "out x y")
    _, x, y = s.arguments
    total = s.tie("add_rr", x, y)
    s.store(total, 0)
    s.store(x, 1)
    assert names(allocate(s.routine())) == ["add_rr", "mov_mr", "mov_mr"]


def test_a_value_that_is_changed_and_needed_is_copied_once() -> None:
    s = Small("amd64", "out x y")
    _, x, y = s.arguments
    difference = s.tie("sub_rr", x, y)
    s.store(difference, 0)
    s.store(x, 1)
    s.store(y, 2)
    assert names(allocate(s.routine())) == ["mov_rr", "sub_rr", "mov_mr", "mov_mr", "mov_mr"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_copy_whose_source_ends_is_no_instruction(target: str) -> None:
    s = Small(target, "out x")
    row = "mov_rr" if target == "amd64" else "mov"
    s.store(s.new(row, s.new(row, s.arguments[1])))
    assert len(allocate(s.routine()).items) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_results_that_nobody_needs_get_a_register_of_their_own(target: str) -> None:
    s = Small(target, "out x y")
    _, x, y = s.arguments
    if target == "amd64":
        high, low = s.value("unused"), s.value("low")
        s("mul_r", high, low, x, y)
        s("mulx_rrr", s.value("unused"), s.value("unused"), x, y)
    else:
        s.new("umulh", x, y)
        low = s.new("mul", x, y)
    for index, value in enumerate((low, x, y)):
        s.store(value, index)
    routine = s.routine()
    for registers in (None, 5, 4):
        rng = Random(1)
        allocated = allocate(routine, registers=registers)
        wanted = run(routine, (OUT, 11, 2**64 - 3), {})
        assert run(allocated, (OUT, 11, 2**64 - 3), {}).memory == wanted.memory, rng


def test_five_words_are_loaded_by_two_pairs_and_one_load_and_stored_likewise() -> None:
    s = Small("arm64", "out a b")
    xs, ys = s.words(s.arguments[1], 5), s.words(s.arguments[2], 5)
    for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
        s.store(s.new("add", x, y), index)
    found = names(allocate(s.routine()))
    assert sorted(found) == sorted(["add"] * 5 + ["ldp"] * 4 + ["ldr"] * 2 + ["stp"] * 2 + ["str"])


@pytest.mark.parametrize("first", range(5))
def test_whichever_word_comes_first_the_pairs_are_as_many(first: int) -> None:
    s = Small("arm64", "out a")
    xs = s.words(s.arguments[1], 5)
    order = [*range(first, 5), *range(first)]
    sums = [s.new("add", xs[index], xs[index]) for index in order]
    for index, value in zip(order, sums, strict=True):
        s.store(value, index)
    # A word beside only loaded ones comes alone: the words at odd places pair with either neighbor.
    loads = [name for name in names(allocate(s.routine())) if name.startswith("ld")]
    assert len(loads) == 3, loads


def test_stores_are_not_paired_across_a_load_that_may_read_them() -> None:
    s = Small("arm64", "out a")
    _, a = s.arguments
    s.store(a, 0)
    loaded = s.new("ldr", Memory(a, 0))
    s.store(loaded, 1)
    routine = s.routine()
    allocated = allocate(routine)
    assert names(allocated) == ["str", "ldr", "str"]
    for out in (A, OUT):
        assert run(allocated, (out, A), {A: 7}).memory == run(routine, (out, A), {A: 7}).memory


@pytest.mark.parametrize("target", TARGETS)
def test_words_needed_after_a_store_are_saved_before_it(target: str) -> None:
    """Output and input may be one buffer."""
    s = Small(target, "out a")
    xs = s.words(s.arguments[1], 5)
    for index, x in enumerate(reversed(xs)):
        if target == "amd64":
            s.store(s.tie("add_rr", s.new("lea_rm", Memory(x, 1)), x), index)
        else:
            s.store(s.new("add_imm", x, 1), index)
    routine = s.routine()
    rng = Random(3)
    for registers in (None, 6, 4, 3):
        allocated = allocate(routine, registers=registers)
        for out in (A, OUT):
            memory = memory_at(rng, A)
            assert run(allocated, (out, A), memory).memory == run(routine, (out, A), memory).memory


@pytest.mark.parametrize("target", TARGETS)
def test_words_are_read_again_rather_than_spilled(target: str) -> None:
    """More words than registers, each needed twice, nothing stored between."""
    s = Small(target, "out a")
    xs = s.words(s.arguments[1], 8)
    total = xs[0]
    for x in [*xs[1:], *xs]:
        total = s.tie("add_rr", total, x) if target == "amd64" else s.new("add", total, x)
    s.store(total)
    allocated = allocate(s.routine(), registers=5)
    assert not any(item.note.startswith("spill a") for item in instructions(allocated))
    if target == "amd64":
        assert len(allocated.items) == 17  # one load, fifteen sums from memory, one store


@pytest.mark.parametrize("target", TARGETS)
def test_constants_are_made_again_rather_than_spilled(target: str) -> None:
    s = Small(target, "out x y")
    _, x, y = s.arguments
    mask = s.constant(2**51 - 1)
    if target == "amd64":
        first = s.new("shlx_rrr", x, mask)
        for _ in range(3):
            x, y = s.tie("sub_rr", x, y), s.tie("add_rr", y, x)
        second = s.new("shlx_rrr", y, mask)
    else:
        first = s.new("bic", x, mask)
        for _ in range(3):
            x, y = s.new("sub", x, y), s.new("add", y, x)
        second = s.new("bic", y, mask)
    for index, value in enumerate((first, x, y, second)):
        s.store(value, index)
    found = names(allocate(s.routine(), registers=4))
    makes = [
        name for name in found if name in ("movabs_ri", "mov_bitmask", "movz", "movk", "movn", "mov_ri", "movl_ri")
    ]
    assert 1 <= len(makes) <= 2


def test_loads_come_early_enough_for_their_latency() -> None:
    """Three instructions at least between a load and its use, where registers are free that long."""
    s = Small("arm64", "out a x")
    _, a, x = s.arguments
    (word,) = s.words(a, 1)
    for _ in range(6):
        x = s.new("add", x, x)
    s.store(s.new("mul", x, word))
    found = names(allocate(s.routine()))
    assert found.index("mul") - found.index("ldr") > 3 and found.count("ldr") == 1


def test_loads_do_not_pass_stores_that_may_change_them_nor_uses_of_their_registers() -> None:
    x, y, base, other = (arm64.REGISTERS[name] for name in ("x9", "x10", "x0", "x1"))
    target = machine("arm64")
    load, slot = target.load(x, Memory(base, 8)), target.load(x, Memory(FRAME, 8))
    stays = {
        "store elsewhere": (target.store(y, Memory(other, 64)), load),
        "store to the slot": (target.store(y, Memory(FRAME, 8)), slot),
        "pair over the slot": (target.store_pair(y, y, Memory(FRAME, 0)), slot),
        "register read": (arm64.ins("add", y, x, y), load),
        "register written": (arm64.ins("mov", x, y), load),
        "address written": (arm64.ins("mov", base, y), load),
        "label": (Label("here"), load),
        "branch": (arm64.ins("cbz", y, Label("here")), load),
    }
    for name, items in stays.items():
        assert load_early(items, [{}] * 2, target)[0] == list(items), name
    moves = {
        "store to another slot": (target.store(y, Memory(FRAME, 24)), slot),
        "store to a buffer": (target.store(y, Memory(other)), slot),
        "store to a slot": (target.store(y, Memory(FRAME, 8)), load),
        "flags": (arm64.ins("adds", y, y, y), load),
    }
    value, kept = Virtual(1, "value"), Virtual(2, "kept")
    for name, items in moves.items():
        made, holds = load_early(items, [{y: kept}, {y: kept, x: value}], target)
        assert made == [items[1], items[0]], name
        assert holds == [{x: value}, {y: kept, x: value}], name


def sums(s: Small, pointer: Virtual, count: int) -> list[Virtual]:
    """Values that live until the end."""
    xs = s.words(pointer, count)
    if s.target == "amd64":
        return [s.new("lea_rm", Memory(x, 0, y, 1)) for x, y in zip(xs, [*xs[1:], xs[0]], strict=True)]
    return [s.new("add", x, y) for x, y in zip(xs, [*xs[1:], xs[0]], strict=True)]


@pytest.mark.parametrize(("target", "count"), [("amd64", 6), ("arm64", 12)])
def test_nothing_is_spilled_or_saved_while_registers_suffice(target: str, count: int) -> None:
    s = Small(target, "out a")
    for index, value in enumerate(sums(s, s.arguments[1], count)):
        s.store(value, index)
    allocated = allocate(s.routine())
    assert allocated.slots == 0
    code = frame(allocated)
    assert code.saved == () and code.stack == 0
    assert not any("mov_rr" in name or name == "mov" for name in names(allocated))


def loop(
    s: Small, body: Callable[[list[Virtual]], list[Virtual]], initial: list[Virtual], count: Virtual
) -> tuple[Loop, list[Virtual]]:
    """A loop over the state, and its results."""
    state = [s.value(f"s{index}") for index in range(len(initial))]
    before, s.code = s.code, []
    after = body(state)
    inner, s.code = s.take(), before
    results = [s.value(f"r{index}") for index in range(len(initial))]
    return Loop(count, tuple(state), tuple(initial), tuple(after), tuple(results), inner), results


@pytest.mark.parametrize("target", TARGETS)
def test_a_small_loop_has_its_body_and_the_count_and_nothing_else(target: str) -> None:
    s = Small(target, "out a n")
    out, a, n = s.arguments
    words = s.words(a, 3)
    step = s.constant(12345)

    def body(state: list[Virtual]) -> list[Virtual]:
        x, y, z = state
        if target == "amd64":
            return [s.tie("add_rr", x, step), s.tie("xor_rr", y, step), s.tie("imul_rr", z, step)]
        return [s.new("add", x, step), s.new("eor", y, step), s.new("mul", z, step)]

    made, results = loop(s, body, words, n)
    for index, value in enumerate(results):
        s.store(value, index)
    routine = s.routine(made)
    allocated = allocate(routine)
    wanted = ["add_rr", "xor_rr", "imul_rr", "dec_r", "jnz_l"]
    assert inside(allocated) == (wanted if target == "amd64" else ["add", "eor", "mul", "sub_imm", "cbnz"])
    for count in (1, 2, 5):
        memory = {A: 1, A + 8: 2**63, A + 16: 3}
        assert run(allocated, (OUT, A, count), memory).memory == run(routine, (OUT, A, count), memory).memory


def test_a_state_that_turns_round_is_moved_and_not_lost() -> None:
    """(x, y, z) becomes (y, z, x): a cycle of registers, or of slots when there are too few."""
    for target in TARGETS:
        s = Small(target, "out a n")
        _, a, n = s.arguments
        made, results = loop(s, lambda state: [*state[1:], state[0]], s.words(a, 4), n)
        for index, value in enumerate(results):
            s.store(value, index)
        routine = s.routine(made)
        memory = {A + 8 * index: 100 + index for index in range(4)}
        for registers in (None, 6, 5, 4, 3):
            allocated = allocate(routine, registers=registers)
            for count in (1, 2, 3, 4):
                got, wanted = (run(each, (OUT, A, count), memory) for each in (allocated, routine))
                assert got.memory == wanted.memory, (target, registers, count)


def test_pointers_wait_in_slots_while_a_loop_needs_the_registers() -> None:
    """The output's pointer is stored before the loop, not in it."""
    s = Small("amd64", "out a n")
    out, a, n = s.arguments
    words = s.words(a, 7)

    def body(state: list[Virtual]) -> list[Virtual]:
        pairs = []
        for x, y in zip(state, [*state[1:], state[0]], strict=True):
            high, low = s.value("high"), s.value("low")
            s("mulx_rrr", high, low, x, y)
            pairs.append((high, low))
        return [s.tie("add_rr", high, low) for high, low in pairs]

    made, results = loop(s, body, words, n)
    for index, value in enumerate(results):
        s.store(value, index)
    routine = s.routine(made)
    allocated = allocate(routine)
    assert len([item for item in instructions(allocated) if item.row.name == "mov_mr" and "out" in item.note]) == 1
    assert "mov_mr" not in inside(allocated)
    memory = {A + 8 * index: 2**60 + index for index in range(7)}
    assert run(allocated, (OUT, A, 3), memory).memory == run(routine, (OUT, A, 3), memory).memory


@pytest.mark.parametrize("target", TARGETS)
def test_a_branch_with_nothing_on_its_other_side_is_one_jump(target: str) -> None:
    s = Small(target, "out x n")
    _, x, n = s.arguments

    def body(state: list[Virtual]) -> list[Virtual]:
        return [s.tie("add_rr", state[0], state[0]) if target == "amd64" else s.new("add", state[0], state[0])]

    made, results = loop(s, body, [x], n)
    result = s.value("result")
    s.store(result)
    branch = Branch(n, (made,), (Straight(()),), (result,), (results[0],), (x,))
    routine = s.routine(branch)
    allocated = allocate(routine)
    jumps = ["test_rr", "jz_l"] if target == "amd64" else ["cbz"]
    found = names(allocated)
    assert found[: len(jumps)] == jumps
    assert len([name for name in found if name in ("jmp_l", "b")]) == 0
    for count in (0, 1, 5):
        assert run(allocated, (OUT, 3, count), {}).memory == {OUT: 3 << count}


@pytest.mark.parametrize("target", TARGETS)
def test_the_returned_bit_is_computed_where_it_is_returned(target: str) -> None:
    s = Small(target, "x y")
    x, y = s.arguments
    if target == "amd64":
        s.returns = s.tie("xor_rr", s.new("lea_rm", Memory(x, 1)), y)
    else:
        s.returns = s.new("eor", x, y)
    allocated = allocate(s.routine())
    assert len(allocated.items) == (2 if target == "amd64" else 1)
    assert run(allocated, (4, 5), {}).returned == (4 + (target == "amd64")) ^ 5


def test_arguments_on_the_stack_are_read_from_there() -> None:
    for target, count in (("amd64", 9), ("arm64", 11)):
        s = Small(target, "out " + " ".join(f"x{index}" for index in range(count - 1)))
        total = s.arguments[1]
        for x in s.arguments[2:]:
            total = s.tie("add_rr", total, x) if target == "amd64" else s.new("add", total, x)
        s.store(total)
        routine = s.routine()
        arguments = (OUT, *(3**index for index in range(count - 1)))
        allocated = allocate(routine)
        if target == "amd64":
            assert len(allocated.items) == count - 1  # sums take them from memory
        for program in (allocated, frame(allocated)):
            assert run(program, arguments, {}).memory == {OUT: sum(arguments[1:])}


def test_other_conventions() -> None:
    for name in ("win64", "sysv"):
        routine = random_routines.routine(77, "amd64", length=60)
        rng = Random(7)
        allocated = allocate(routine, convention=name)
        memory, arguments = memory_at(rng, A, B), (OUT, A, B, 0, 9)
        got = run(frame(allocated, convention=name), arguments, memory, convention=name)
        assert got.memory == run(routine, arguments, memory).memory


def test_the_frame_pointer_is_kept_when_asked() -> None:
    routine = random_routines.routine(3, "amd64", length=60)
    used = {
        register.name
        for item in instructions(allocate(routine, keep_frame_pointer=True))
        for register in item.written
        if isinstance(register, Register)
    }
    assert "rbp" not in used and {"rbx", "r14", "r15"} & used


# A whole multiplication


def product_51(target: str) -> Routine:
    """a * b modulo 2^255 - 19 in five limbs of 51 bits, carried once, row by row: 90 instructions or 114."""
    s = Small(target, "out a b")
    xs, ys, nineteen = s.words(s.arguments[1], 5), s.words(s.arguments[2], 5), s.constant(19)
    columns: list[tuple[Virtual, Virtual] | None] = [None] * 5
    folded = [s.new("imul_rri", y, 19) if target == "amd64" else s.new("mul", y, nineteen) for y in ys[1:]]
    for i, x in enumerate(xs):
        for k in range(5):
            y = ys[k - i] if i <= k else folded[4 + k - i]
            if target == "amd64":
                high, low = s.value("high"), s.value("low")
                s("mulx_rrr", high, low, y, x)
            else:
                high, low = s.new("umulh", x, y), s.new("mul", x, y)
            before = columns[k]
            if before is None:
                columns[k] = high, low
            elif target == "amd64":
                low = s.tie("add_rr", before[1], low)
                columns[k] = s.tie("adc_rr", before[0], high), low
            else:
                low = s.new("adds", before[1], low)
                columns[k] = s.new("adc", before[0], high), low
    mask, lows, highs = s.constant(2**51 - 1), [], []
    for column in columns:
        assert column is not None
        high, low = column
        if target == "amd64":
            highs.append(s.tie("shld_rri", high, low, 13))
            lows.append(s.tie("and_rr", low, mask))
        else:
            highs.append(s.new("extr", high, low, 51))
            lows.append(s.new("and", low, 2**51 - 1))
    if target == "amd64":
        lows[0] = s.tie("add_rr", lows[0], s.new("imul_rri", highs[4], 19))
        lows[1:] = [s.tie("add_rr", low, high) for low, high in zip(lows[1:], highs, strict=False)]
    else:
        lows[0] = s.new("madd", highs[4], nineteen, lows[0])
        lows[1:] = [s.new("add", low, high) for low, high in zip(lows[1:], highs, strict=False)]
    for index, low in enumerate(lows):
        s.store(low, index)
    return s.routine()


@pytest.mark.parametrize(("target", "most"), [("amd64", 120), ("arm64", 127)])
def test_a_multiplication_takes_few_instructions_beyond_its_own(target: str, most: int) -> None:
    """Loads, saved registers, entry mark and return are counted."""
    routine, rng = product_51(target), Random(20260401)
    code = frame(allocate(routine))
    assert sum(isinstance(item, Instruction) for item in code.items) <= most
    limbs = [[rng.randrange(2**54) for _ in range(5)] for _ in range(2)]
    memory = {base + 8 * i: limb for base, row in zip((A, B), limbs, strict=True) for i, limb in enumerate(row)}
    result = run(code, (OUT, A, B), memory).memory
    numbers = [sum(limb << 51 * i for i, limb in enumerate(row)) for row in limbs]
    assert sum(result[OUT + 8 * i] << 51 * i for i in range(5)) % (2**255 - 19) == numbers[0] * numbers[1] % (
        2**255 - 19
    )


# Errors


def test_too_few_registers_say_who_holds_what_and_where() -> None:
    s = Small("arm64", "out x y z")
    _, x, y, z = s.arguments
    s.store(s.new("madd", x, y, z))
    assert names(allocate(s.routine(), registers=3))[-1] == "str"
    with pytest.raises(AsmgenError) as caught:
        allocate(s.routine(), registers=2)
    assert caught.value.source == Source("small.py", 1)
    message = str(caught.value)
    assert "than the 2 there are" in message
    assert [name for name in ("x", "y", "z") if f" {name}" in message], message


def test_fewer_registers_than_instructions_insist_on() -> None:
    s = Small("amd64", "out x y")
    _, x, y = s.arguments
    low = s.value()
    s("mul_r", s.value(), low, x, y)
    s.store(low)
    with pytest.raises(AsmgenError, match="1 registers are too few: the instructions use rax, rdx"):
        allocate(s.routine(), registers=1)
    assert allocate(s.routine(), registers=2).items


def test_physical_registers_and_untied_changes_are_refused_with_their_line() -> None:
    s = Small("amd64", "out x")
    s.code.append(amd64.ins("mov_rr", amd64.REGISTERS["rax"], s.arguments[1], source=Source("small.py", 8)))
    with pytest.raises(AsmgenError, match="names the register rax") as caught:
        allocate(s.routine())
    assert caught.value.source == Source("small.py", 8)
    s = Small("amd64", "out x")
    s("neg_r", s.arguments[1])
    with pytest.raises(AsmgenError, match="written twice"):
        allocate(s.routine())


def test_a_value_that_nothing_gives_is_an_error() -> None:
    s = Small("arm64", "out")
    s.store(s.value("nowhere"))
    with pytest.raises(AsmgenError, match="nowhere.* is read before it has a value"):
        allocate(s.routine())

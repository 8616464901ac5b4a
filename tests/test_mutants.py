"""emulate.mutants and emulate.mutation: faults of every kind, and a test that catches all of them.

The longer run, all mutants of the shipped kernels, is `python -m emulate.mutants --count 0`; what survives it must be
excused here too: `python -m pytest tests/test_mutants.py --all-mutants`.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from asmgen.passes import FEATURES
from asmgen.program import Program
from asmgen.prove import Proved, prove
from asmgen.prove.command import code_routine
from asmgen.routine import Code, Item
from asmgen.scripts import find
from asmgen.targets import amd64, arm64
from asmgen.targets.assemble import assemble
from asmgen.targets.conventions import convention
from asmgen.targets.row import Instruction, Label, Memory, Register
from emulate import mutation
from emulate.faults import FAULTS
from emulate.inputs import vectors
from emulate.machine import Machine
from emulate.mutants import Mutant, mutants
from emulate.mutation import Routine, Verdict, campaign, judged, main, variants

ROOT = Path(__file__).parent.parent
SEED = 1
COUNT = 12  #: mutants a routine
VECTORS = 10_000  #: as many as `asmgen test` takes by default
SCRIPT = "curve25519_5x51"
FUNCTIONS = find([SCRIPT])
PROGRAMS = [function.name for function in FUNCTIONS if isinstance(function, Program)]
BITS = [function.name for function in FUNCTIONS if not function.signature.outputs]
KERNELS = [function.name for function in FUNCTIONS if function.name not in (*PROGRAMS, *BITS)]


@cache
def routines(name: str) -> list[Routine]:
    """A kernel for every target and feature set."""
    return variants(find([f"{SCRIPT}.{name}"]))


# Excuses: what a mutant that survives must have for it. A reason that would excuse one that is caught is none.


def operands(item: Item) -> list[Register]:
    """The registers of an instruction, those of addresses among them, in order."""
    found: list[Register] = []
    for operand in item.operands if isinstance(item, Instruction) else ():
        places = (operand.base, operand.index) if isinstance(operand, Memory) else (operand,)
        found += [place for place in places if isinstance(place, Register)]
    return found


def same_value(routine: Routine, mutant: Mutant) -> bool:
    """The two registers hold the same value in every pass over a number of inputs: one is a copy of the other."""
    if len(mutant.items) != len(routine.code.items):
        return False
    both = zip(operands(routine.code.items[mutant.place]), operands(mutant.items[mutant.place]), strict=False)
    pairs = {(old.name, new.name) for old, new in both if old != new}
    code, assembled = routine.code, assemble(routine.code.items)
    if not pairs or "xzr" in {name for pair in pairs for name in pair}:
        return False
    machine = Machine(code.target, assembled.code, 0, code.signature, code.features, stack=code.stack)
    steps = [
        registers
        for inputs in vectors(code.signature, 200, SEED)
        for at, registers in machine.trace(inputs)
        if at == assembled.offsets[mutant.place]
    ]
    return bool(steps) and all(step[old] == step[new] for step in steps for old, new in pairs)


def dead_result(routine: Routine, mutant: Mutant) -> bool:
    """Only a result changed its place, nothing reads the new place before it is written again, nor the old one."""
    old, new = routine.code.items[mutant.place], mutant.items[mutant.place]
    if not isinstance(old, Instruction) or not isinstance(new, Instruction) or old.read != new.read:
        return False
    code = routine.code
    rules = convention(None, code.target)
    for place in {*old.written, *new.written} - ({*old.written} & {*new.written}):
        assert isinstance(place, Register)
        if place.name in rules.preserved or place.name == rules.result and code.signature.returns_bit:
            return False
        for item in code.items[mutant.place + 1 :]:
            if isinstance(item, Label) or isinstance(item, Instruction) and place in item.read and place.name != "xzr":
                return False
            if isinstance(item, Instruction) and place in item.written:
                break
    return True


def readers(routine: Routine, mutant: Mutant) -> set[str]:
    """The mnemonics of what reads the register that an instruction of this place gives, until it is written again."""
    old, found = routine.code.items[mutant.place], set[str]()
    assert isinstance(old, Instruction)
    for item in routine.code.items[mutant.place + 1 :]:
        if isinstance(item, Instruction):
            found |= {item.row.mnemonic} if {*old.written} & {*item.read} else set()
            if {*old.written} & {*item.written}:
                break
    return found


def numbers(mutant: Mutant) -> tuple[int, int]:
    """The immediate before and after."""
    before, after = re.findall(r"\$(-?\w+)", mutant.change)
    return int(before, 0), int(after, 0)


def counts_shifts(routine: Routine, mutant: Mutant) -> bool:
    before, after = numbers(mutant)
    return (before - after) % 64 == 0 and readers(routine, mutant) <= {"shlx", "shrx", "sarx"}


def too_far(routine: Routine, mutant: Mutant) -> bool:
    return min(numbers(mutant)) == 63 and readers(routine, mutant) == {"bzhi"}


def proved(routine: Routine, mutant: Mutant) -> bool:
    """The prover, which starts from the bytes, finds it right for all inputs."""
    code, *others = routine.codes
    return isinstance(prove(code_routine(routine.kernel, replace(code, items=mutant.items), others), budget=60), Proved)


def lowest_of_even(routine: Routine, mutant: Mutant) -> bool:
    """It makes the lowest limb of an even result."""
    items, out = routine.code.items, arm64.REGISTERS["x0"]
    made = items[mutant.place]
    assert isinstance(made, Instruction)
    for item in items[mutant.place + 1 :] if routine.kernel.name == "absolute" else ():
        if isinstance(item, Instruction) and {*made.written} & {*item.operands}:
            return (
                item.operands[0] in made.written
                and item.row.mnemonic in ("str", "stp")
                and Memory(out) in item.operands
            )
    return False


@dataclass(frozen=True)
class Excuse:
    """Mutants that do what the routine does, for all inputs: kind and change by patterns, why, and a check."""

    fault: str
    change: str
    reason: str
    check: Callable[[Routine, Mutant], bool] = lambda routine, mutant: True

    def holds(self, routine: Routine, mutant: Mutant) -> bool:
        return (
            re.fullmatch(self.fault, mutant.fault) is not None
            and re.fullmatch(self.change, mutant.change) is not None
            and self.check(routine, mutant)
        )


EXCUSES = (
    Excuse(
        "number changed",
        r"movl .* movl .*",
        "a shift takes its count modulo 64, and nothing else reads it",
        counts_shifts,
    ),
    Excuse(
        "number changed",
        r"movl \$63, .* movl .*",
        "no fault of the inputs: a CPU's bzhi leaves bit 63 for counts beyond 63, unicorn 2.1 has it zeroed",
        too_far,
    ),
    Excuse("register replaced", ".*", "the register that is read instead is a copy of the right one", same_value),
    Excuse("other buffer", ".*", "both registers point to the same buffer there", same_value),
    Excuse("register replaced", ".*", "the result is read by nobody, its flags alone are", dead_result),
    Excuse(
        "order swapped",
        r"adcs xzr, (x\d+), xzr comes after adcs xzr, (?!\1\b)x\d+, xzr",
        "a carry that passes through two words does so only if both are all ones, in either order",
    ),
    Excuse(
        "number changed",
        r"and (x\d+), \1, #0x7ffffffffffff is now and \1, \1, #0x7fffffffffffe",
        "the lowest limb of a result that is even",
        lowest_of_even,
    ),
    Excuse(".*", ".*", "it is proved to be right as well", proved),
)


def excused(routine: Routine, mutant: Mutant) -> str:
    """The reason, empty when there is none."""
    return next((excuse.reason for excuse in EXCUSES if excuse.holds(routine, mutant)), "")


# What survives.


@pytest.mark.parametrize("name", KERNELS)
def test_no_mutant_survives_but_those_that_change_nothing(name: str, request: pytest.FixtureRequest) -> None:
    every = request.config.getoption("--all-mutants")
    verdicts = list(campaign(routines(name), None if every else COUNT, SEED, VECTORS))
    assert len(verdicts) >= COUNT * len(routines(name))
    left = [each for each in verdicts if each.reason is None]
    real = [
        f"{each.routine.name}: {each.mutant.description}" for each in left if not excused(each.routine, each.mutant)
    ]
    assert not real, f"seed {SEED}: either the inputs miss these faults or they change nothing\n" + "\n".join(real)
    wrongly = [each for each in verdicts if each.reason is not None and poorly_excused(each)]
    assert not wrongly, f"seed {SEED}: caught ({wrongly[0].reason}), and yet excused: {wrongly[0].mutant.description}"


@pytest.mark.parametrize("name", BITS)
def test_most_mutants_are_caught_where_one_bit_is_all_that_comes_out(name: str) -> None:
    """A wrong value gives the right bit nearly always: a fault before a comparison with zero shows only where the wrong
    value is zero, or the right one. Inputs that are multiples of p, or off by a bit, find nine in ten all the same."""
    verdicts = list(campaign(routines(name), COUNT, SEED, VECTORS))
    left = [each.mutant.description for each in verdicts if each.reason is None]
    assert len(left) <= len(verdicts) // 5, f"seed {SEED}\n" + "\n".join(left)


@pytest.mark.parametrize("name", ["invert", "ladder_step"])
def test_mutants_of_programs_survive_only_where_a_callee_keeps_what_it_need_not(name: str) -> None:
    """Arguments may be right by chance: the routine called before left them there, or the one called does not look."""
    verdicts = list(campaign(routines(name), 5, SEED, 300))
    left = [each for each in verdicts if each.reason is None]
    assert len(left) <= len(verdicts) // 4
    for each in left:
        item, rules = each.routine.code.items[each.mutant.place], convention(None, each.routine.code.target)
        assert isinstance(item, Instruction)
        names = {register.name for register in item.written if isinstance(register, Register)}
        assert names & {*rules.arguments} or item.row.name == "movk", each.mutant.description


def poorly_excused(verdict: Verdict) -> bool:
    """Whether a mutant that was caught would have had a reason; those that take long to find are left out, and
    tests/test_prove_mutants.py holds the prover to the same."""
    cheap = [excuse for excuse in EXCUSES if excuse.check not in (same_value, proved)]
    return any(excuse.holds(verdict.routine, verdict.mutant) for excuse in cheap)


def test_there_are_enough() -> None:
    """Two hundred mutants and more in the first test, over all kernels and both targets."""
    assert COUNT * len(KERNELS) * sum(map(len, FEATURES.values())) >= 200
    assert {each.code.target for each in routines(KERNELS[0])} == set(FEATURES) == {"amd64", "arm64"}


# What the generator makes.


@pytest.fixture(scope="module")
def everything() -> list[tuple[Code, list[Mutant]]]:
    codes = [each.code for name in ("mul_small", "square_n", "canon", "swap") for each in routines(name)]
    return [(code, list(islice(mutants(code, random.Random(SEED)), 200))) for code in codes]


def test_every_kind_of_fault_is_made_for_both_targets(everything: list[tuple[Code, list[Mutant]]]) -> None:
    for target in ("amd64", "arm64"):
        kinds = Counter(mutant.fault for code, made in everything if code.target == target for mutant in made)
        assert set(kinds) == set(FAULTS)


def test_mutants_assemble_to_other_bytes_and_none_comes_twice(everything: list[tuple[Code, list[Mutant]]]) -> None:
    for code, made in everything:
        right = assemble(code.items).code
        assert len({(mutant.place, mutant.change) for mutant in made}) == len(made)
        for mutant in made:
            assert assemble(mutant.items).code != right, mutant.description
            assert mutant.items[: mutant.place] == code.items[: mutant.place]


def test_the_same_seed_gives_the_same_mutants_in_turns() -> None:
    code = routines("square_n")[0].code
    first = list(mutants(code, random.Random(7)))
    assert first == list(mutants(code, random.Random(7))) != list(mutants(code, random.Random(8)))
    kinds = [mutant.fault for mutant in first[: len(FAULTS)]]
    assert kinds == list(FAULTS)


def test_the_generator_brings_no_emulator() -> None:
    text = "import sys, emulate.mutants; print([name for name in sys.modules if name.startswith('unicorn')])"
    shown = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout == "[]\n"


def hand_made(target: str) -> Code:
    """out = a + b in two words, with a register saved: every instruction is known."""
    signature = routines("add")[0].code.signature
    if target == "amd64":
        r, ins = amd64.REGISTERS, amd64.ins
        items: tuple[Item, ...] = (
            ins("push_r", r["rbx"]), ins("mov_rm", r["rax"], Memory(r["rsi"], 0)),
            ins("mov_rm", r["rbx"], Memory(r["rsi"], 8)), ins("add_rm", r["rax"], Memory(r["rdx"], 0)),
            ins("adc_rm", r["rbx"], Memory(r["rdx"], 8)), ins("mov_mr", Memory(r["rdi"], 0), r["rax"]),
            ins("mov_mr", Memory(r["rdi"], 8), r["rbx"]), ins("pop_r", r["rbx"]), ins("ret"),
        )  # fmt: skip
        return Code(signature, target, items, saved=("rbx",), stack=8)
    r, arm = arm64.REGISTERS, arm64.ins
    items = (
        arm64.push(r["x19"], size=16), arm("ldp", r["x8"], r["x19"], Memory(r["x1"], 0)),
        arm("ldp", r["x9"], r["x10"], Memory(r["x2"], 0)), arm("adds", r["x8"], r["x8"], r["x9"]),
        arm("adc", r["x19"], r["x19"], r["x10"]), arm("stp", r["x8"], r["x19"], Memory(r["x0"], 0)),
        arm64.pop(r["x19"], size=16), arm("ret"),
    )  # fmt: skip
    return Code(signature, target, items, saved=("x19",), stack=16)


WANTED = {
    "amd64": """\
        register replaced: addq (%rdx), %rdi | offset changed: adcq 16(%rdx), %rbx
        store misplaced: movq %rax, -8(%rdi) | other buffer: addq (%rsi), %rax | other buffer: addq (%rdi), %rax
        order swapped: addq (%rdx), %rax comes after adcq 8(%rdx), %rbx
        instruction dropped: movq %rax, (%rdi) is gone | carry dropped: addq 8(%rdx), %rbx
        carry misread: adcq (%rdx), %rax | restore missing: popq %rbx is gone
        save missing: pushq %rbx is gone | save missing: pushq %rbx is gone, and popq %rbx""",
    "arm64": """\
        operands swapped: ldp x19, x8, [x1] | operands swapped: stp x19, x8, [x0]
        offset changed: ldp x9, x10, [x2, #8] | store misplaced: stp x8, x19, [x0, #8]
        other buffer: ldp x9, x10, [x1] | order swapped: adds x8, x8, x9 comes after adc x19, x19, x10
        instruction dropped: adc x19, x19, x10 is gone | carry dropped: add x19, x19, x10
        carry dropped: add x8, x8, x9 | carry misread: adcs x8, x8, x9
        restore missing: ldr x19, [sp], #16 is gone | save missing: str x19, [sp, #-16]! is gone""",
}


@pytest.mark.parametrize("target", WANTED)
def test_faults_that_a_person_would_think_of(target: str) -> None:
    made: set[str] = set()
    for seed in range(8):  # some faults take one of several registers
        for mutant in mutants(hand_made(target), random.Random(seed)):
            made.add(f"{mutant.fault}: {mutant.change.partition(' is now ')[2] or mutant.change}")
    wanted = {part.strip() for line in WANTED[target].splitlines() for part in line.split(" | ")}
    assert wanted <= made, wanted - made


def test_what_changes_nothing_by_the_rows_alone_is_left_out() -> None:
    changes = [mutant.change for mutant in mutants(hand_made("arm64"), random.Random(1))]
    assert not any("adds x8, x9, x8" in change for change in changes)  # commutes
    bare = replace(hand_made("amd64"), items=(amd64.ins("endbr64"), amd64.ins("nop"), amd64.ins("ret")), saved=())
    assert list(mutants(bare, random.Random(1))) == []


# Running them.


def test_a_mutant_that_runs_away_is_stopped() -> None:
    """Without its countdown the loop never ends."""
    for routine in routines("square_n"):
        code = routine.code
        (count,) = [
            at
            for at, item in enumerate(code.items)
            if isinstance(item, Instruction)
            and (item.row.name in ("dec_r", "dec_m") or (item.row.name == "sub_imm" and item.operands[2] == 1))
        ]
        items = code.items[:count] + code.items[count + 1 :]
        if code.target == "amd64":  # the branch reads what the countdown leaves: let it be "not zero" for ever
            items = (*code.items[:count], amd64.ins("test_rr", *[amd64.REGISTERS["rsp"]] * 2), *code.items[count + 1 :])
        began = time.monotonic()
        done, reason = judged(routine, Mutant("by hand", count, "no countdown", items), VECTORS, SEED)
        assert reason is not None and "does not return" in reason
        assert time.monotonic() - began < 20


def test_right_routines_pass() -> None:
    for name in ("sub", "square_n"):
        for routine in routines(name):
            same = Mutant("none", 0, "nothing is changed", routine.code.items)
            assert judged(routine, same, 300, SEED) == (300, None)


def test_the_command_prints_tables_and_what_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"{SCRIPT}.neg", "--count", "3", "--vectors", "50"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split() == ["routine", "mutants", "caught", "survive", "vectors", "at", "most"]
    names = [f"{SCRIPT}.neg amd64", f"{SCRIPT}.neg amd64 base", f"{SCRIPT}.neg arm64", "all"]
    assert [line.rsplit(maxsplit=4)[0].strip() for line in lines[1:5]] == names
    assert [line.split()[-4:-1] for line in lines[1:4]] == [["3", "3", "0"]] * 3
    assert any(line.startswith("fault ") for line in lines)

    monkeypatch.setattr(mutation, "judged", lambda *given: (50, None))
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    survivors = [line for line in result.output.splitlines() if " survives: " in line]
    assert len(survivors) == 9 and survivors[0].startswith(f"{SCRIPT}.neg amd64 survives: ")
    assert CliRunner().invoke(main, ["nosuchscript"]).output.startswith("error: there is no script nosuchscript")

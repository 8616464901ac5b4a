"""A kernel through every pass: by its plan, by what is recorded to win, or by all ways that are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.nodes import Traced
from asmgen.passes import plans, seeds
from asmgen.passes.allocate import allocate
from asmgen.passes.arrange import arranged, arrangement
from asmgen.passes.estimate import cycles
from asmgen.passes.forms import FORMS
from asmgen.passes.frame import frame
from asmgen.passes.handwritten import handwritten
from asmgen.passes.lower import lower
from asmgen.passes.options import Options
from asmgen.passes.schedule import Freedom, Scheduler
from asmgen.passes.select import run_selection
from asmgen.passes.select_amd64 import Amd64
from asmgen.passes.select_arm64 import Arm64
from asmgen.routine import Allocated, Code, Loop, Part, Routine, Straight
from asmgen.steps import Steps
from asmgen.targets.cores import core
from asmgen.targets.row import Instruction
from asmgen.words import Program

SELECTORS = {"amd64": Amd64, "arm64": Arm64}

#: What is tried: how far the scheduler may move things, and the registers that it counts on.
FREEDOMS = {
    "amd64": (Freedom(0, 11), Freedom(6, 11)),
    "arm64": (Freedom(0, 15), Freedom(6, 15), Freedom(6, 20), Freedom(10, 20), Freedom(16, 24)),
}

#: How many cycles of `estimate.cycles` weigh as much as one instruction: where cores find parallel work on their own,
#: the order matters little.
CYCLES_AN_INSTRUCTION = {"amd64": 20, "arm64": 5}


@dataclass(frozen=True)
class Stages:
    """A kernel after each pass; where instructions were written by hand, `values` and `words` are the description
    only.

    Of a program `values` are its calls, and it has no more before its `frame`. `arrange` is what `allocate` is where no
    plan says otherwise.
    """

    values: Traced | Steps
    words: Program | None
    select: Routine | None
    schedule: Routine | None
    allocate: Allocated | None
    arrange: Allocated | None
    frame: Code


def select(program: Program, options: Options) -> Routine:
    """The word program in a target's instructions."""
    return run_selection(SELECTORS[options.target], program, options.target, options.instruction_sets)


def by_plan(kernel: Kernel, options: Options) -> Stages | None:
    """The kernel as its plan has it; None without one, and with a warning when it does not fit."""
    file = _plan(kernel, options)
    if file is None:
        return None
    plan = plans.read(file)
    try:
        made = seeded(kernel, options, plan.seed)
        assert made.allocate is not None
        before = arrangement(made.allocate, plan.seed.others)
        arrange = arranged(before, plans.orders_of(plan, before))
    except AsmgenError as error:
        plans.warn(file, error.what)
        return None
    return replace(made, arrange=arrange, frame=frame(arrange))


def _plan(kernel: Kernel, options: Options) -> Path | None:
    if not options.planned or options.registers is not None:
        return None
    return plans.place(kernel, options.target, options.features, options.core)


def by_record(kernel: Kernel, options: Options) -> Stages | None:
    """The kernel by what is recorded to win; None where nothing is."""
    if not options.recorded or options.registers is not None or options.table.name != plans.GENERIC:
        return None
    seed = seeds.known(kernel, options.target, options.features)
    return None if seed is None else seeded(kernel, options, seed)


def winner(kernel: Kernel, options: Options) -> plans.Seed:
    """What wins of all that is tried, such that `seeded` makes the same of it."""
    made = by_every_pass(kernel, options)
    for seed in _seeds(kernel, options, made):
        if seeded(kernel, options, seed).frame == made.frame:
            return seed
    raise AssertionError(f"no seed of {kernel.name} gives its routine")


def _seeds(kernel: Kernel, options: Options, made: Stages) -> Iterator[plans.Seed]:
    """Seeds that may give a routine, those that take less time first.

    An allocation that took another one for a start is not always found again by itself.
    """
    assert made.allocate is not None
    for choices, traced in kernel.alternatives():
        if traced is made.values:
            for way in (made.allocate.way, None):
                for freedom in FREEDOMS[options.target]:
                    yield plans.Seed(tuple(sorted(choices.items())), plans.GENERIC, freedom, way)


def seeded(kernel: Kernel, options: Options, seed: plans.Seed) -> Stages:
    """The kernel by one algorithm and one schedule."""
    traced, words, selected = _selected(kernel, kernel.trace(dict(seed.choices)), options, seed.forms)
    table = core(seed.core, options.target)
    ordered = Scheduler(selected, table).by(seed.freedom)
    allocated = allocate(ordered, way=seed.way)
    return Stages(traced, words, selected, ordered, allocated, allocated, frame(allocated))


def by_every_pass(kernel: Kernel, options: Options) -> Stages:
    """The best of the algorithms that the script leaves open and of several schedules, by instructions and cycles.

    Algorithms are tried from the shortest on; one that is longer before registers are given out than a finished routine
    is left out.
    """
    selections = [_selected(kernel, traced, options) for _, traced in kernel.alternatives()]
    chosen = options.table
    weight = CYCLES_AN_INSTRUCTION[options.target]
    made: list[Stages] = []
    for traced, words, selected in sorted(selections, key=lambda each: size(each[2].parts)):
        if not made or size(selected.parts) <= min(count(stages.frame) for stages in made):
            made += _scheduled(traced, words, selected, options)
    return min(made, key=lambda stages: weight * count(stages.frame) + cycles(stages.frame, chosen))


def _selected(
    kernel: Kernel, traced: Traced, options: Options, forms: Sequence[str] = ()
) -> tuple[Traced, Program, Routine]:
    """One algorithm in words and in instructions, for which its operations may take other forms."""
    words = _lowered(traced)
    if options.target in kernel.explicit:
        return traced, words, handwritten(kernel.signature, options.target, kernel.explicit[options.target])
    formed = words
    for name in forms:
        if name not in FORMS:
            raise AsmgenError(f"operations have no form {name}", hint=", ".join(FORMS))
        formed = FORMS[name](formed)
    return traced, words, select(formed, options)


@lru_cache(maxsize=16)  # a kernel's algorithms, which are the same for every target
def _lowered(traced: Traced) -> Program:
    return lower(traced)


def _scheduled(traced: Traced, words: Program, selected: Routine, options: Options) -> list[Stages]:
    """One algorithm in several schedules."""
    chosen = options.table
    candidates: list[Stages] = []
    scheduler = Scheduler(selected, chosen)
    for freedom in FREEDOMS[options.target]:
        room = min(options.registers or freedom.registers, freedom.registers)
        ordered = scheduler.by(Freedom(freedom.window, room))
        if any(ordered == earlier.schedule for earlier in candidates):
            continue
        allocated = allocate(ordered, registers=options.registers)
        candidates.append(Stages(traced, words, selected, ordered, allocated, allocated, frame(allocated)))
    return candidates


def size(parts: Sequence[Part]) -> int:
    """Instructions in parts of a routine."""
    return sum(
        len(part.instructions)
        if isinstance(part, Straight)
        else size((part.body,) if isinstance(part, Loop) else (*part.then, *part.otherwise))
        for part in parts
    )


def count(code: Code) -> int:
    """Instructions in a routine."""
    return sum(isinstance(item, Instruction) for item in code.items)

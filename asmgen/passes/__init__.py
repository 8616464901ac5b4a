"""The way from a script to a routine's instructions, at one glance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from asmgen.errors import UsageError
from asmgen.nodes import Traced
from asmgen.passes.allocate import allocate
from asmgen.passes.estimate import cycles
from asmgen.passes.frame import frame
from asmgen.passes.handwritten import handwritten
from asmgen.passes.lower import lower
from asmgen.passes.schedule import Freedom, schedule
from asmgen.passes.select import run_selection
from asmgen.passes.select_amd64 import Amd64
from asmgen.passes.select_arm64 import Arm64
from asmgen.routine import Allocated, Code, Routine
from asmgen.targets.cores import core
from asmgen.targets.row import Instruction
from asmgen.words import Program

if TYPE_CHECKING:
    from asmgen.kernel import Kernel

SELECTORS = {"amd64": Amd64, "arm64": Arm64}
TARGETS = tuple(SELECTORS)

#: What routines may use beyond the base instruction set, by the name that `--features` takes.
FEATURES: dict[str, dict[str, frozenset[str]]] = {
    "amd64": {"default": frozenset({"bmi2", "adx"}), "base": frozenset()},
    "arm64": {"default": frozenset()},
}

#: Registers that the scheduler counts on, and how far it may move things: the order of the script, a little, and
#: freely.
ROOM = {"amd64": 14, "arm64": 27}
WINDOWS = (0, 6, 16)


@dataclass(frozen=True)
class Options:
    """What to make: the target, the feature set by name, and for tests a number of registers."""

    target: str
    features: str = "default"
    registers: int | None = None
    core: str = "generic"

    @property
    def instruction_sets(self) -> frozenset[str]:
        """The feature set's members."""
        known = FEATURES[self.target]
        if self.features not in known:
            raise UsageError(f"{self.target} has no feature set {self.features}", hint=" or ".join(known))
        return known[self.features]


@dataclass(frozen=True)
class Stages:
    """A kernel after each pass; Where instructions were written by hand, `values` and `words` are the description
    only."""

    values: Traced
    words: Program
    select: Routine
    schedule: Routine
    allocate: Allocated
    frame: Code


def lower_kernel(kernel: Kernel, choices: dict[str, int] | None = None) -> Program:
    """The kernel as words, for no machine."""
    return lower(kernel.trace(choices))


def select(program: Program, options: Options) -> Routine:
    """The word program in a target's instructions."""
    return run_selection(SELECTORS[options.target], program, options.target, options.instruction_sets)


def compile_stages(kernel: Kernel, options: Options) -> Stages:
    """A kernel by every pass. Of several schedules the one with the fewest instructions is taken, then the shortest."""
    traced = kernel.trace()
    words = lower(traced)
    if options.target in kernel.explicit:
        selected = handwritten(kernel.signature, options.target, kernel.explicit[options.target])
    else:
        selected = select(words, options)
    chosen = core(options.core, options.target)
    room = min(options.registers or ROOM[options.target], ROOM[options.target])
    candidates: list[Stages] = []
    for window in WINDOWS:
        ordered = schedule(selected, chosen, Freedom(window, room))
        if any(ordered == earlier.schedule for earlier in candidates):
            continue
        allocated = allocate(ordered, registers=options.registers)
        candidates.append(Stages(traced, words, selected, ordered, allocated, frame(allocated)))
    return min(candidates, key=lambda made: (count(made.frame), cycles(made.frame, chosen)))


def count(code: Code) -> int:
    """Instructions in a routine."""
    return sum(isinstance(item, Instruction) for item in code.items)


def compile_kernel(kernel: Kernel, options: Options) -> Code:
    """The finished routine."""
    return compile_stages(kernel, options).frame


#: The passes in order, by the names that `show --after` takes.
PIPELINE: dict[str, Callable[[Stages], Any]] = {
    "values": lambda made: made.values,
    "words": lambda made: made.words,
    "select": lambda made: made.select,
    "schedule": lambda made: made.schedule,
    "allocate": lambda made: made.allocate,
    "frame": lambda made: made.frame,
}

__all__ = ["PIPELINE", "Options", "Stages", "compile_kernel", "compile_stages", "lower_kernel", "replace"]

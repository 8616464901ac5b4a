"""The way from a script to a routine's instructions, at one glance."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from asmgen.cache import cached, keep
from asmgen.kernel import Kernel
from asmgen.passes import plans, seeds
from asmgen.passes.allocate import allocate
from asmgen.passes.calling import calling
from asmgen.passes.lower import lower
from asmgen.passes.options import FEATURES, Options
from asmgen.passes.storage import storage
from asmgen.passes.ways import FREEDOMS, Stages, by_every_pass, by_plan, by_record, count, seeded, select, winner
from asmgen.program import Program as ScriptProgram
from asmgen.program import closure
from asmgen.routine import Code
from asmgen.targets.conventions import convention
from asmgen.words import Program

if TYPE_CHECKING:
    from asmgen.function import Function


def lower_kernel(kernel: Kernel, choices: dict[str, int] | None = None) -> Program:
    """The kernel as words, for no machine."""
    return lower(kernel.trace(choices))


def compile_stages(function: Function, options: Options) -> Stages:
    """A kernel by every pass; a program by its own, for which the kernels that it calls are compiled too."""
    if isinstance(function, ScriptProgram):
        return compile_program(function, options, lambda callee: compile_kernel(callee, options).stack)
    assert isinstance(function, Kernel)
    return by_plan(function, options) or by_record(function, options) or by_every_pass(function, options)


def compile_program(program: ScriptProgram, options: Options, stack_of: Callable[[Function], int]) -> Stages:
    """A program's routine; `stack_of` tells the bytes of stack that a routine which it calls uses."""
    steps = program.steps
    rules = convention(None, options.target)
    below = max((stack_of(callee) + rules.return_address for callee in program.callees), default=0)
    code = calling(steps, storage(steps), options.target, below, wipe=program.wipe)
    return Stages(steps, None, None, None, None, None, code)


@cache
def compile_kernel(function: Function, options: Options) -> Code:
    """The finished routine of a kernel or a program; kept between runs, see `asmgen.cache`."""
    if isinstance(function, ScriptProgram):
        return compile_stages(function, options).frame
    return cached(_key(function, options), lambda: compile_stages(function, options).frame, script=function.version)


def keep_code(function: Function, options: Options, code: Code) -> None:
    """What `compile_kernel` is to find, for whoever has made all stages."""
    keep(_key(function, options), code, script=function.version)


def _key(function: Function, options: Options) -> tuple[object, ...]:
    return "routine", function.name, options, plans_of(function, options)


def plans_of(function: Function, options: Options) -> tuple[str, ...]:
    """The versions of the plans that a routine and those that it calls are made by."""
    if not options.planned:
        return ()
    return tuple(plans.version(each, options.target, options.features, options.core) for each in closure([function]))


def chosen_words(kernel: Kernel, options: Options) -> Program:
    """The kernel as words, by the algorithm that its finished routine takes."""
    if not kernel.choices:
        return lower_kernel(kernel)
    key = "words", kernel.name, options, plans_of(kernel, options)
    return cached(key, lambda: _words(kernel, options), script=kernel.version)


def _words(kernel: Kernel, options: Options) -> Program:
    stages = compile_stages(kernel, options)
    assert stages.words is not None
    keep_code(kernel, options, stages.frame)
    return stages.words


#: The passes in order, by the names that `show --after` takes.
PIPELINE: dict[str, Callable[[Stages], Any]] = {
    "values": lambda made: made.values,
    "words": lambda made: made.words,
    "select": lambda made: made.select,
    "schedule": lambda made: made.schedule,
    "allocate": lambda made: made.allocate,
    "arrange": lambda made: made.arrange,
    "frame": lambda made: made.frame,
}

__all__ = [
    "FEATURES", "FREEDOMS", "PIPELINE", "Options", "Stages", "allocate", "chosen_words", "compile_kernel",
    "compile_program", "compile_stages", "count", "keep_code", "lower_kernel", "plans", "plans_of", "seeded",
    "seeds", "select", "winner",
]  # fmt: skip

"""Cycles of routines on this machine's own CPU: one piece of code of all of them, and the process that times it.

Every routine is called in several contexts (`harness.CONTEXTS`): at other places, from other loops, with its buffers
and the stack elsewhere. In each context all routines take turns.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from asmgen import tools
from asmgen.bench import child
from asmgen.bench.harness import ARGUMENTS, CONTEXTS, Context, chain, wide, window
from asmgen.compiled import shared
from asmgen.diff.body import Body
from asmgen.diff.thunk import Argument
from asmgen.errors import AsmgenError
from emulate.aliasing import size
from emulate.driver import CODE
from emulate.inputs import Input

#: The mode in which calls do not depend on each other.
THROUGHPUT = "throughput"

#: Of `measured`: contexts, and rounds in each.
_FEW, _ROUNDS = 3, 60
_PAGE = 4096
_CORE = Path(__file__).with_name("core.c")


@dataclass(frozen=True)
class Routine:
    """Something to time. `arguments` are numbers, or the bytes that buffers hold at first; `modes` name the argument
    that takes the result of the call before, None for independent calls, and the first of all gets the result. A call
    counts for `units`."""

    name: str
    code: bytes
    entry: int
    arguments: tuple[int | bytes, ...]
    modes: Mapping[str, int | None]
    output: int = 0
    units: int = 1
    fixups: tuple[tuple[int, int], ...] = ()
    features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Samples:
    """Cycles a unit, None where a window was disturbed: `cycles[routine, mode]` has a list of rounds for each context.

    `failed` says of routines why they could not be timed; `core` is the number of the CPU's core, `compiled` whether
    the C core ran, `rate` how many additions a cycle there were at best, `hertz` how many cycles a second.
    """

    cycles: Mapping[tuple[str, str], list[list[float | None]]]
    failed: Mapping[str, str] = field(default_factory=dict)
    core: int = -1
    compiled: bool = False
    rate: float = 0.0
    hertz: float = 0.0


def can_run(target: str, features: Collection[str]) -> str:
    """Empty when this machine runs such code, else why not."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64") or target != "amd64":
        return f"not measured: this machine is {platform.machine()} {platform.system()}, the code is for {target}"
    lacking = sorted(set(features) - _flags())
    return f"not measured: this CPU has no {', '.join(lacking)}" if lacking else ""


@cache
def _about() -> dict[str, str]:
    """What the system says of its first CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return {}
    return {name.strip(): said.strip() for name, _, said in (line.partition(":") for line in lines)}


def _flags() -> set[str]:
    return set(_about().get("flags", "").split())


def cpu() -> str:
    """What the CPU calls itself, with family and model."""
    about = _about()
    if "model name" not in about:
        return "this CPU"
    numbers = [f"{name} {about[key]}" for name, key in (("family", "cpu family"), ("model", "model")) if key in about]
    return f"{about['model name']} ({', '.join(numbers)})" if numbers else about["model name"]


def compiled_core() -> bytes | None:
    """The C core as a shared object, made on first use; None without a C compiler, or where it does not do it."""
    return shared(_CORE)


def timed(
    routines: Sequence[Routine], rounds: int, *, contexts: Sequence[Context] = CONTEXTS, python: bool = False,
    seconds: int = 300, patience: int = 5, best: float = 0.0,
) -> Samples:  # fmt: skip
    """Time routines that this machine can run, all in one process; `python` leaves the C core out. All of it may take
    so many `seconds`, the first calls of a routine `patience` of them. `best` is the `rate` of another run here:
    windows beside which additions are slower than that, or than at best in this one, are left out.

    Raises AsmgenError when nothing comes of it.
    """
    job = {**_job(routines, rounds, contexts), "patience": patience, "best": best}
    core = None if python else compiled_core()
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        here = Path(scratch)
        if core is not None:
            (here / "core.so").write_bytes(core)
        job["core"] = str(here / "core.so") if core is not None else ""
        (here / "job").write_text(json.dumps(job))
        command = (sys.executable, "-I", child.__file__, str(here / "result"))
        finished = tools.run(command, here, seconds=seconds, stdin=here / "job")
        if finished.status or not (here / "result").is_file():
            raise AsmgenError(
                f"the timer ended with {finished.status}: {finished.first_error}",
                hint="where the system forbids memory to be made executable, nothing can be timed",
            )
        found = json.loads((here / "result").read_text())
    cycles: dict[tuple[str, str], list[list[float | None]]] = {}
    units = {routine.name: routine.units for routine in routines}
    for layout, samples in zip(job["layouts"], found["samples"], strict=True):
        for each, rounds_of in zip(layout, samples, strict=True):
            if each["routine"] not in found["failed"]:
                scaled = [None if one is None else one / units[each["routine"]] for one in rounds_of]
                cycles.setdefault((each["routine"], each["mode"]), []).append(scaled)
    return Samples(cycles, found["failed"], found["core"], found["c"], found["rate"], found["hertz"])


def _job(routines: Sequence[Routine], rounds: int, contexts: Sequence[Context]) -> dict[str, Any]:
    """What the child is told: code with everything in its place, data, and windows by context."""
    code, data = bytearray(chain()), bytearray()
    beside = len(code)
    code += wide()
    fixups: list[tuple[int, int]] = []
    layouts = []
    for context in contexts:
        layout = []
        for routine in routines:
            code += bytes(-len(code) % _PAGE + context.code)
            start = len(code)
            code += routine.code
            for at, width in routine.fixups:
                value = int.from_bytes(code[start + at : start + at + width], "little") - CODE + start
                code[start + at : start + at + width] = value.to_bytes(width, "little")
                fixups.append((start + at, width))
            for mode in routine.modes:
                code += bytes(-len(code) % 64)
                layout.append({
                    "routine": routine.name, "mode": mode, "entry": len(code), "calls": context.calls,
                    "rows": rows_of(routine, mode, context, data),
                })  # fmt: skip
                code += window(len(code), start + routine.entry, len(routine.arguments), context)
        layouts.append(layout)
    return {
        "code": code.hex(), "fixups": fixups, "chain": 0, "wide": beside, "data": [(0, data.hex())], "rounds": rounds,
        "layouts": layouts,
    }  # fmt: skip


def rows_of(routine: Routine, mode: str, context: Context, data: bytearray) -> list[list[tuple[str, int]]]:
    """The arguments of each call of a loop: numbers, or places in `data`, where buffers are added."""

    def buffer(held: bytes) -> tuple[str, int]:
        data.extend(bytes(-len(data) % 64 + context.data))
        data.extend(held.ljust(-(-len(held) // 8) * 8 + 64, b"\0"))
        return "b", len(data) - (-(-len(held) // 8) * 8 + 64)

    first = [buffer(each) if isinstance(each, bytes) else ("n", each) for each in routine.arguments]
    result = routine.arguments[routine.output]
    taken = routine.modes[mode]
    other = buffer(result) if context.apart and isinstance(result, bytes) else None
    if taken is not None and other is None:
        first[routine.output] = first[taken]
    rows = []
    for call in range(context.calls):
        row = list(first)
        if other is not None and call % 2:
            row[routine.output] = other if taken is None else first[taken]
            if taken is not None:
                row[taken] = first[routine.output]
        rows.append(row + [("n", 0)] * (ARGUMENTS - len(row)))
    return rows


def measured(routines: Sequence[tuple[Body, Sequence[Input]]]) -> list[float | None]:
    """Core cycles a call of each on these inputs, the calls independent; None for what this machine cannot run, and for
    all when that ends badly."""
    able = [index for index, (body, _) in enumerate(routines) if not can_run(body.target, body.features)]
    made = [routine(str(index), *routines[index], modes={THROUGHPUT: None}) for index in able]
    found: list[float | None] = [None] * len(routines)
    taken = [each for each in made if each is not None]
    try:
        samples = timed(taken, _ROUNDS, contexts=CONTEXTS[:_FEW], seconds=30) if taken else Samples({})
    except AsmgenError:
        return found
    for (name, _), contexts in samples.cycles.items():
        good = sorted(each for rounds in contexts for each in rounds if each is not None)
        found[int(name)] = round(good[len(good) // 4], 1) if good else None
    return found


def routine(
    name: str, body: Body, inputs: Sequence[Input], *, modes: Mapping[str, int | None], units: int = 1,
    order: Sequence[Argument] | None = None,
) -> Routine | None:  # fmt: skip
    """A body called on these inputs; None for one that takes more than registers hold.

    `modes` name arguments of the kernel. With `order` the body is called without its thunk, as it takes them.
    """
    arguments: list[int | bytes] = [bytes(size(each)) for each in body.signature.outputs]
    for value in inputs:
        arguments.append(array("Q", value).tobytes() if isinstance(value, tuple) else value)
    entry, output = body.entry, 0
    if order is not None:
        arguments = [each[0] if isinstance(each, tuple) else arguments[each] for each in order]
        modes = {mode: None if at is None else order.index(at) for mode, at in modes.items()}
        entry, output = body.entry if body.start is None else body.start, order.index(0)
    if len(arguments) > ARGUMENTS:
        return None
    return Routine(name, body.code, entry, tuple(arguments), modes, output, units, body.fixups, body.features)

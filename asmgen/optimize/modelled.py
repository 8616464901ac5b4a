"""Candidates of arm64 judged by a model of its cores: executed straight lines, loops unrolled."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmgen.optimize.judges import CompiledModels
from asmgen.optimize.model import Prepared, arguments_of, prepare, straight, taking_time, touched
from asmgen.optimize.numbers import model_of
from asmgen.optimize.orders import Candidate
from asmgen.optimize.walk import possible
from asmgen.passes.arrange import Arrangement
from asmgen.passes.frame import frame
from asmgen.passes.machine import machine
from asmgen.passes.plans import GENERIC
from asmgen.passes.webs import Line, renamed
from asmgen.targets import arm64
from asmgen.targets.cores import core
from asmgen.targets.row import Instruction, Register, Virtual

#: What the generic plan is for.
CORES = ("neoverse-n1", "neoverse-v1", "neoverse-v2", "cortex-a55")
#: Passes of a loop in a call, and calls that do not wait for each other.
PASSES, CALLS = 12, 16
#: Part of its cycles that a candidate takes at least, on any core: what would have to gain more there to be accepted,
#: for what it loses elsewhere, is not looked at to the end. Calls that are still to come take at least a part of what
#: they took, but for some cycles at the end.
LEAST, PACE, END = 0.97, 0.99, 8


def cores(name: str) -> tuple[str, ...]:
    """The cores that are modelled for a core or all of them."""
    return CORES if name == GENERIC else (name,)


@dataclass(frozen=True)
class Executed:
    """Instructions, each once; `blocks` tells which run in a call.

    The first ones set the `arguments` anew, as callers do: those run that a call changes, `changed` anyway, and
    `writes` tells which webs do it where they have such a register.
    """

    instructions: tuple[Instruction, ...]
    starts: tuple[int, ...]  #: where each line's instructions begin
    blocks: tuple[tuple[bool, int], ...]  #: (is it a line, position or number of the line)
    arguments: tuple[Register, ...]
    changed: frozenset[Register]
    writes: tuple[tuple[bool, ...], ...]  #: for each web of each line
    loops: bool

    def order(self, candidates: Sequence[Candidate]) -> array[int]:
        """The positions that run, each line as a candidate has it."""
        changed = set(self.changed)
        for each, writes in zip(candidates, self.writes, strict=True):
            changed.update(register for register, written in zip(each.registers, writes, strict=True) if written)
        found = array("i", [at for at, register in enumerate(self.arguments) if register in changed])
        for is_line, at in self.blocks:
            if is_line:
                start = self.starts[at]
                found.extend([start + each for each in candidates[at].order])
            else:
                found.append(at)
        return found


def executed(before: Arrangement) -> Executed:
    """What a call of a routine runs. Values that any register may hold stand in registers of their own, so that another
    order needs nothing but other positions."""
    code = frame(before.allocated)
    target = machine(code.target)
    brought = arguments_of(code.target, touched(straight(code, PASSES)))
    arguments = tuple(arm64.REGISTERS[name] for name in brought)
    position: dict[int, tuple[bool, int]] = {}
    own = [arm64.ins("movz", each, 64, 0) for each in arguments]
    starts: list[int] = []
    items = list(code.items)
    for number, line in enumerate(before.lines):
        starts.append(len(own))
        first = code.body + line.first
        names = _registers(line, number)
        for at in range(len(line)):
            item = items[first + at]
            assert isinstance(item, Instruction)
            registers = [names[web] for web in line.webs_of[at]]
            items[first + at] = replace(item, operands=renamed(item, registers, target))  # type: ignore[arg-type]
            own.append(items[first + at])  # type: ignore[arg-type]
            position[id(items[first + at])] = (True, number) if at == 0 else (True, -1)
    blocks: list[tuple[bool, int]] = []
    for item in taking_time(straight(replace(code, items=tuple(items)), PASSES)):
        if id(item) not in position:
            position[id(item)] = (False, len(own))
            own.append(item)
        is_line, at = position[id(item)]
        if at >= 0:
            blocks.append((is_line, at))
    run = {at for is_line, at in blocks if is_line}
    changed = {each for is_line, at in blocks if not is_line for each in own[at].written}
    writes = tuple(
        tuple(number in run and (web.maker >= 0 or bool(web.changes)) for web in line.webs)
        for number, line in enumerate(before.lines)
    )
    loops = len(blocks) > len(set(blocks))
    return Executed(
        tuple(own),
        tuple(starts),
        tuple(blocks),
        arguments,
        frozenset(each for each in arguments if each in changed),
        writes,
        loops,
    )


def _registers(line: Line, number: int) -> list[Register | Virtual]:
    """A register for each web: its own where that is fixed, else one that no other web has."""
    return [web.register if web.fixed else Virtual(10_000 * number + at) for at, web in enumerate(line.webs)]


@dataclass
class Part:
    """So many calls on a core, each cycle of which counts for `weight`. `now` and `last` are cycles of what is to be
    beaten and of the last one that was looked at, `times` when each call of the former has entered."""

    model: Prepared
    calls: int
    weight: float
    now: int = 0
    last: int = 0
    times: Sequence[int] = ()
    last_times: Sequence[int] = ()


class Modelled:
    """Judges candidates of one routine by cycles on some cores, each by those of the default schedule."""

    def __init__(self, before: Arrangement, default: Arrangement, names: Sequence[str], objective: str) -> None:
        self.before = before
        self.run = executed(before)
        # A loop's passes wait for each other, so that several calls tell no more than one.
        late = objective != "throughput" or self.run.loops
        through = objective != "latency" and not self.run.loops
        self.calls = [calls for calls, wanted in ((1, late), (CALLS, through)) if wanted]
        start = executed(default)
        order = start.order(_unmoved(default))
        count = len(self.calls) * len(names)
        parts = [
            Part(model, calls, 1 / (count * base.total(order, calls)))
            for calls in self.calls
            for model, base in zip(_models(self.run, names), _models(start, names), strict=True)
        ]
        # What takes the least to count comes first.
        self.parts = sorted(parts, key=lambda part: (_out_of_order(part.model.core), part.calls))
        self.now = self.last = 0.0

    def cost(self, found: Sequence[Candidate]) -> float:
        """By that of the default schedule, the mean over cores and what is wanted of each."""
        order = self.run.order(found)
        return sum(part.weight * part.model.total(order, part.calls) for part in self.parts)

    def begin(self, best: Sequence[Candidate]) -> None:
        self.ratio(best, math.inf)
        self.take()

    def ratio(self, other: Sequence[Candidate], limit: float) -> float:
        order, need, known = self.run.order(other), limit * self.now, 0.0
        for at, part in enumerate(self.parts):
            rest = known
            for later in self.parts[at + 1 :]:
                rest += later.weight * later.now * LEAST
            most = math.inf if limit == math.inf else math.floor((need - rest) / part.weight)
            if most < 0:
                return limit
            part.last, part.last_times = part.model.timed(order, part.calls)
            if part.last > most or _late(part, most):
                return limit
            known += part.weight * part.last
        self.last = known
        return known / self.now if self.now else 1.0

    def surely(self, best: Sequence[Candidate], other: Sequence[Candidate]) -> float:
        return self.cost(other) / self.cost(best)

    def take(self) -> None:
        for part in self.parts:
            part.now, part.times = part.last, part.last_times
        self.now = self.last

    def compiled(self) -> CompiledModels | None:
        """The same in C."""
        return CompiledModels(self.before, self.run, self.parts, (LEAST, PACE, END)) if possible(self.before) else None


def _late(part: Part, most: float) -> bool:
    """Whether calls of the last candidate have entered so late that there is no hope."""
    times = zip(part.last_times, part.times, strict=False)
    return part.calls > 1 and any(time + (part.now - before) * PACE - END > most for time, before in times)


def _out_of_order(name: str) -> bool:
    return model_of(core(name, "arm64")).buffer > 0


def _models(run: Executed, names: Sequence[str]) -> list[Prepared]:
    return [prepare(run.instructions, core(name, "arm64")) for name in names]


def _unmoved(before: Arrangement) -> list[Candidate]:
    return [Candidate(tuple(range(len(line))), tuple(web.register for web in line.webs)) for line in before.lines]


__all__ = ["CORES", "Modelled", "cores", "executed"]

"""Candidates of arm64 judged by a model of its cores: executed straight lines, loops unrolled."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmgen.optimize.model import Prepared, prepare, set_anew, straight, taking_time
from asmgen.optimize.orders import Candidate
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
#: How much worse one call may be than what is to be beaten, beyond what is accepted, before many are looked at.
_FAR = 1.03


def cores(name: str) -> tuple[str, ...]:
    """The cores that are modelled for a core or all of them."""
    return CORES if name == GENERIC else (name,)


@dataclass(frozen=True)
class Executed:
    """Instructions, each once; `blocks` tells which run in a call."""

    instructions: tuple[Instruction, ...]
    starts: tuple[int, ...]  #: where each line's instructions begin
    blocks: tuple[tuple[bool, int], ...]  #: (is it a line, position or number of the line)
    loops: bool

    def order(self, candidates: Sequence[Candidate]) -> array[int]:
        """The positions that run, each line as a candidate has it."""
        found = array("i")
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
    position: dict[int, tuple[bool, int]] = {}
    own: list[Instruction] = []
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
    changed = {register.name for item in items if isinstance(item, Instruction) for register in item.written}
    for name in set_anew(code.target, changed):
        items.insert(0, arm64.ins("movz", arm64.REGISTERS[name], 64, 0))
    blocks: list[tuple[bool, int]] = []
    for item in taking_time(straight(replace(code, items=tuple(items)), PASSES)):
        if id(item) not in position:
            position[id(item)] = (False, len(own))
            own.append(item)
        is_line, at = position[id(item)]
        if at >= 0:
            blocks.append((is_line, at))
    loops = len(blocks) > len(set(blocks))
    return Executed(tuple(own), tuple(starts), tuple(blocks), loops)


def _registers(line: Line, number: int) -> list[Register | Virtual]:
    """A register for each web: its own where that is fixed, else one that no other web has."""
    return [web.register if web.fixed else Virtual(10_000 * number + at) for at, web in enumerate(line.webs)]


class Modelled:
    """Judges candidates of one routine by cycles on some cores, each by those of the default schedule."""

    def __init__(self, before: Arrangement, default: Arrangement, names: Sequence[str], objective: str) -> None:
        self.run = executed(before)
        # A loop's passes wait for each other, so that several calls tell no more than one.
        late = objective != "throughput" or self.run.loops
        through = objective != "latency" and not self.run.loops
        self.calls = [calls for calls, wanted in ((1, late), (CALLS, through)) if wanted]
        self.models = _models(self.run, names)
        start = executed(default)
        order = start.order(_unmoved(default))
        self.base = [[each.scores([order], calls)[0] for each in _models(start, names)] for calls in self.calls]
        self.now = self.last = [1.0] * len(self.calls)

    def _part(self, at: int, order: array[int]) -> float:
        """The mean over cores, with so many calls as stand at a place."""
        calls, base = self.calls[at], self.base[at]
        made = [model.scores([order], calls)[0] for model in self.models]
        return sum(mine / first for mine, first in zip(made, base, strict=True)) / len(made)

    def _parts(self, found: Sequence[Candidate]) -> list[float]:
        order = self.run.order(found)
        return [self._part(at, order) for at in range(len(self.calls))]

    def cost(self, found: Sequence[Candidate]) -> float:
        """By that of the default schedule, the mean over cores and what is wanted of each."""
        return _mean(self._parts(found))

    def begin(self, best: Sequence[Candidate]) -> None:
        self.now = self._parts(best)

    def ratio(self, other: Sequence[Candidate], limit: float) -> float:
        order = self.run.order(other)
        first = self._part(0, order)
        if first / self.now[0] > limit * _FAR:
            return first / self.now[0]
        self.last = [first, *(self._part(at, order) for at in range(1, len(self.calls)))]
        return _mean(self.last) / _mean(self.now)

    def surely(self, best: Sequence[Candidate], other: Sequence[Candidate]) -> float:
        return self.cost(other) / self.cost(best)

    def take(self) -> None:
        self.now = self.last


def _mean(parts: Sequence[float]) -> float:
    return sum(parts) / len(parts)


def _models(run: Executed, names: Sequence[str]) -> list[Prepared]:
    return [prepare(run.instructions, core(name, "arm64")) for name in names]


def _unmoved(before: Arrangement) -> list[Candidate]:
    return [Candidate(tuple(range(len(line))), tuple(web.register for web in line.webs)) for line in before.lines]


__all__ = ["CORES", "Modelled", "cores", "executed"]

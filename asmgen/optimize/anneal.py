"""Simulated annealing over the orders of one routine's lines, against whatever judges two pieces of code."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from asmgen.optimize.orders import Candidate, Stream, neighbors
from asmgen.optimize.walk import BETTER, FAR, SPENT, Compiled, Walk
from asmgen.passes.arrange import Arrangement, Order, fault, recolored

#: How much better than the best a candidate must be, measured with care, to take its place.
_SURE = 0.001
#: Cost above the best from which the search goes back to it.
_FAR = 0.02
#: Relative cost that is accepted now and then, at the start and at the end of a slice.
_HOT, _COLD = 0.003, 0.0003
#: Seconds that moves are made for between two looks at the clock, and that are searched before the best is tested.
_TURN, _UNTESTED = 0.02, 1.0


class Judge(Protocol):
    """Compares candidates, one for each line of a routine, with those that are to be beaten."""

    def begin(self, best: Sequence[Candidate]) -> None:
        """What is to be beaten from here on."""

    def ratio(self, other: Sequence[Candidate], limit: float) -> float:
        """The cost of the other by that of what is to be beaten; from `limit` on it may be rough."""

    def surely(self, best: Sequence[Candidate], other: Sequence[Candidate]) -> float:
        """The cost of the other by that of the best, by a closer look."""

    def take(self) -> None:
        """The last one that was looked at is what is to be beaten from here on."""

    def cost(self, found: Sequence[Candidate]) -> float:
        """By that of the default schedule."""

    def compiled(self) -> Compiled | None:
        """The same in C; None where there is none."""


#: Whether what these orders make is right.
Right = Callable[[Sequence[Order]], bool]


def candidate(before: Arrangement, number: int, order: Order) -> Candidate | None:
    """An order with its registers; None when it is not legal."""
    line = before.lines[number]
    if fault(line, order):
        return None
    registers = recolored(line, order, before.pool)
    return None if registers is None else Candidate(tuple(order), tuple(registers))


class Steps(Protocol):
    """Move after move from what is now: by `walk.Walk` in C, or by `Slow`."""

    @property
    def proposed(self) -> int:
        """Moves that were made."""

    @property
    def judged(self) -> int:
        """Candidates among them that are legal."""

    def put(self, now: Sequence[Candidate], above: float) -> None:
        """Where to go on from, and its cost by that of the best."""

    def now(self) -> list[Candidate]:
        """Where it stands."""

    def go(self, moves: int, heat: float) -> int:
        """So many moves, or fewer; why it stopped."""


class Slow:
    """Steps in Python, the same as those in C from the same stream."""

    def __init__(self, before: Arrangement, judge: Judge, stream: Stream) -> None:
        self.judge, self.stream = judge, stream
        self.movers = [neighbors(line, before.pool, stream) for line in before.lines]
        self.numbers = [number for number, line in enumerate(before.lines) if len(line) > 1 for _ in range(len(line))]
        self.found: list[Candidate] = []
        self.above = 1.0
        self.proposed = self.judged = 0

    def put(self, now: Sequence[Candidate], above: float) -> None:
        self.found, self.above = list(now), above
        self.judge.begin(self.found)

    def now(self) -> list[Candidate]:
        return list(self.found)

    def go(self, moves: int, heat: float) -> int:
        for _ in range(moves):
            number = self.numbers[self.stream.below(len(self.numbers))]
            made = self.movers[number].neighbor(self.found[number].order)
            self.proposed += 1
            if made is None:
                continue
            limit = 1 - heat * math.log(1 - self.stream.fraction())
            other = [*self.found[:number], made, *self.found[number + 1 :]]
            self.judged += 1
            ratio = self.judge.ratio(other, limit)
            if ratio >= limit:
                continue
            self.judge.take()
            self.found, self.above = other, self.above * ratio
            if self.above < 1 - 2 * _SURE:
                return BETTER
            if self.above > 1 + _FAR:
                return FAR
        return SPENT


class Annealer:
    """A walk through the orders of a routine."""

    def __init__(self, before: Arrangement, orders: Sequence[Order], judge: Judge, seed: int) -> None:
        self.judge = judge
        made = [candidate(before, number, order) for number, order in enumerate(orders)]
        self.tested = [each for each in made if each is not None]
        assert len(self.tested) == len(before.lines), "a walk begins with orders that are legal"
        self.best = list(self.tested)
        self.movable = any(len(line) > 1 for line in before.lines)
        compiled = judge.compiled()
        stream = Stream(seed)
        self.steps: Steps = Slow(before, judge, stream) if compiled is None else Walk(compiled, stream, 2 * _SURE, _FAR)

    def run(self, seconds: float, right: Right) -> list[Candidate]:
        """Walk for so long; the best that was met and that `right` calls right."""
        began = tested = time.monotonic()
        self.steps.put(self.best, 1.0)
        moves = 50
        while self.movable and (part := ((now := time.monotonic()) - began) / seconds) < 1:
            why = self.steps.go(moves, _HOT * (_COLD / _HOT) ** part)
            if why == BETTER:
                self._confirm()
            elif why == FAR:
                self._back()
            elif (took := time.monotonic() - now) < _TURN / 2:
                moves *= 2
            elif took > 2 * _TURN:
                moves = max(moves // 2, 1)
            if time.monotonic() - tested > _UNTESTED:
                self._test(right)
                tested = time.monotonic()
        if self.steps.now() != self.best:
            self._confirm()
        self._test(right)
        return self.best

    def _confirm(self) -> None:
        """Whether what is now is better than the best, by a closer look."""
        now = self.steps.now()
        ratio = self.judge.surely(self.best, now)
        if ratio < 1 - _SURE:  # of many that are looked at some only seem so
            ratio = max(ratio, self.judge.surely(self.best, now))
        if ratio < 1 - _SURE:
            self.best, ratio = now, 1.0
        if ratio < 1 + _FAR / 2:
            self.steps.put(now, ratio)
        else:
            self._back()

    def _back(self) -> None:
        self.steps.put(self.best, 1.0)

    def _test(self, right: Right) -> None:
        """Nothing that is wrong is kept, though all that is legal should be right."""
        if self.best == self.tested:
            return
        if right([each.order for each in self.best]):
            self.tested = list(self.best)
        else:
            self.best = list(self.tested)
            self._back()

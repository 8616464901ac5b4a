"""Simulated annealing over the orders of one routine's lines, against whatever judges two pieces of code."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from asmgen.optimize.orders import Candidate, neighbors
from asmgen.passes.arrange import Arrangement, Order, fault, recolored

#: How much better than the best a candidate must be, measured with care, to take its place.
_SURE = 0.001
#: Cost above the best from which the search goes back to it.
_FAR = 0.02
#: Relative cost that is accepted now and then, at the start and at the end of a slice.
_HOT, _COLD = 0.003, 0.0003


class Judge(Protocol):
    """Compares candidates, one for each line of a routine, with those that are to be beaten."""

    def begin(self, best: Sequence[Candidate]) -> None:
        """What is to be beaten from here on."""

    def ratio(self, other: Sequence[Candidate], limit: float) -> float:
        """The cost of the other by that of what is to be beaten; above `limit` it may be rough."""

    def surely(self, best: Sequence[Candidate], other: Sequence[Candidate]) -> float:
        """The cost of the other by that of the best, by a closer look."""

    def take(self) -> None:
        """The last one that was looked at is what is to be beaten from here on."""

    def cost(self, found: Sequence[Candidate]) -> float:
        """By that of the default schedule."""


#: Whether what these orders make is right.
Right = Callable[[Sequence[Order]], bool]


def candidate(before: Arrangement, number: int, order: Order) -> Candidate | None:
    """An order with its registers; None when it is not legal."""
    line = before.lines[number]
    if fault(line, order):
        return None
    registers = recolored(line, order, before.pool)
    return None if registers is None else Candidate(tuple(order), tuple(registers))


class Annealer:
    """A walk through the orders of a routine."""

    def __init__(self, before: Arrangement, orders: Sequence[Order], judge: Judge, seed: int) -> None:
        self.before = before
        self.judge = judge
        made = [candidate(before, number, order) for number, order in enumerate(orders)]
        self.now = [each for each in made if each is not None]
        assert len(self.now) == len(before.lines), "a walk begins with orders that are legal"
        self.best = list(self.now)
        self.above = 1.0  #: cost now by that of the best
        self.rng = random.Random(seed)
        self.movers = [neighbors(line, before.pool, self.rng.getrandbits(32)) for line in before.lines]
        self.weights = [len(line) if len(line) > 1 else 0 for line in before.lines]
        self.proposed = self.judged = 0

    def run(self, seconds: float, right: Right) -> list[Candidate]:
        """Walk for so long; the best that was met, each of them checked by `right`."""
        began = time.monotonic()
        self.judge.begin(self.now)
        numbers = range(len(self.weights))
        while any(self.weights) and (part := (time.monotonic() - began) / seconds) < 1:
            heat = _HOT * (_COLD / _HOT) ** part
            for _ in range(50):
                number = self.rng.choices(numbers, self.weights)[0]
                made = self.movers[number].neighbor(self.now[number].order)
                self.proposed += 1
                if made is not None:
                    self._judge(number, made, heat, right)
        if self.now != self.best:
            self._confirm(right)
        return self.best

    def _judge(self, number: int, made: Candidate, heat: float, right: Right) -> None:
        limit = 1 - heat * math.log(1 - self.rng.random())
        found = [*self.now[:number], made, *self.now[number + 1 :]]
        self.judged += 1
        ratio = self.judge.ratio(found, limit)
        if ratio >= limit:
            return
        self.judge.take()
        self.now, self.above = found, self.above * ratio
        if self.above < 1 - 2 * _SURE:
            self._confirm(right)
        elif self.above > 1 + _FAR:
            self._back()

    def _confirm(self, right: Right) -> None:
        """Whether what is now is better than the best, by a closer look."""
        ratio = self.judge.surely(self.best, self.now)
        if ratio < 1 - _SURE:  # of many that are looked at some only seem so
            ratio = max(ratio, self.judge.surely(self.best, self.now))
        if ratio < 1 - _SURE and right([each.order for each in self.now]):
            self.best, ratio = list(self.now), 1.0
        if ratio < 1 + _FAR / 2:
            self.above = ratio
            self.judge.begin(self.now)
        else:
            self._back()

    def _back(self) -> None:
        self.now, self.above = list(self.best), 1.0
        self.judge.begin(self.now)

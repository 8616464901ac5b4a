"""The annealing walk in C: `walk.c` for one routine and who judges its candidates."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol

from asmgen.optimize.library import library
from asmgen.optimize.orders import Candidate, Numbers, Stream, fits, numbered
from asmgen.passes.arrange import Arrangement

Integers = ctypes.Array[ctypes.c_int32]

#: What a walk stops for, as in walk.c.
SPENT, BETTER, FAR, MISSING = range(4)


class Flat:
    """Candidates of a routine as one array of positions and one of numbers of registers."""

    def __init__(self, before: Arrangement) -> None:
        self.registers = numbered(before.lines, before.pool)
        self.number = {register: at for at, register in enumerate(self.registers)}
        self.lines = [Numbers(line, self.registers, len(before.pool)) for line in before.lines]
        self.first = [0, *accumulate(map(len, before.lines))]
        self.webs = [0, *accumulate(len(line.webs) for line in before.lines)]

    def room(self) -> tuple[Integers, Integers]:
        """For the orders and the colors of a candidate."""
        return (ctypes.c_int32 * (self.first[-1] + 1))(), (ctypes.c_int32 * (self.webs[-1] + 1))()

    def flat(self, candidates: Sequence[Candidate]) -> tuple[list[int], list[int]]:
        """Orders and colors, one line after another."""
        number = self.number
        return (
            [at for each in candidates for at in each.order],
            [number[register] for each in candidates for register in each.registers],
        )

    def candidates(self, order: Integers, colors: Integers) -> list[Candidate]:
        """The candidate that arrays hold."""
        registers = self.registers
        return [
            Candidate(
                tuple(order[self.first[at] : self.first[at + 1]]),
                tuple([registers[each] for each in colors[self.webs[at] : self.webs[at + 1]]]),
            )
            for at in range(len(self.lines))
        ]


class Compiled(Protocol):
    """A judge in C."""

    flat: Flat

    @property
    def address(self) -> int:
        """Of its `struct judge`."""

    def begin(self, order: Integers, colors: Integers) -> None:
        """What is to be beaten from here on."""

    def missing(self, order: Integers, colors: Integers) -> None:
        """Make what a candidate is waiting for."""


class _Walk(ctypes.Structure):
    """`struct walk` of walk.c."""

    _fields_ = [
        ("judge", ctypes.c_void_p), ("lines", ctypes.c_void_p),
        ("count", ctypes.c_int32), ("total", ctypes.c_int32),
        *((name, ctypes.c_void_p) for name in ("first", "webs", "order", "colors", "made", "given")),
        ("rng", ctypes.c_uint64),
        *((name, ctypes.c_double) for name in ("heat", "above", "sure", "far", "limit")),
        ("line", ctypes.c_int32), ("waiting", ctypes.c_int32),
        ("moves", ctypes.c_int64), ("proposed", ctypes.c_int64), ("judged", ctypes.c_int64),
    ]  # fmt: skip


class Walk:
    """Moves, legality, registers, judging and acceptance, many a call."""

    def __init__(self, judge: Compiled, stream: Stream, sure: float, far: float) -> None:
        found = library()
        assert found is not None, "whoever has a judge in C has the rest"
        self.call = found.walk
        self.judge, self.flat = judge, judge.flat
        lines = self.flat.lines
        self.order, self.colors = self.flat.room()
        self.made, self.given = self.flat.room()
        self.kept: list[Any] = [
            (ctypes.c_void_p * len(lines))(*(ctypes.addressof(line) for line in lines)),
            (ctypes.c_int32 * len(self.flat.first))(*self.flat.first),
            (ctypes.c_int32 * len(self.flat.webs))(*self.flat.webs),
        ]
        total = sum(line.count for line in lines if line.count > 1)
        arrays = (*self.kept[1:], self.order, self.colors, self.made, self.given)
        self.state = _Walk(
            judge.address, ctypes.addressof(self.kept[0]), len(lines), total, *map(ctypes.addressof, arrays),
            stream.state.value, 0.0, 1.0, sure, far,
        )  # fmt: skip

    def put(self, now: Sequence[Candidate], above: float) -> None:
        """Where to go on from, and its cost by that of the best."""
        order, colors = self.flat.flat(now)
        for to, numbers in ((self.order, order), (self.made, order), (self.colors, colors), (self.given, colors)):
            to[: len(numbers)] = numbers  # type: ignore[assignment]
        self.state.above = above
        self.judge.begin(self.order, self.colors)

    def now(self) -> list[Candidate]:
        """Where it stands."""
        return self.flat.candidates(self.order, self.colors)

    def go(self, moves: int, heat: float) -> int:
        """So many moves, or fewer; why it stopped."""
        self.state.heat, self.state.moves = heat, moves
        while (why := int(self.call(ctypes.byref(self.state)))) == MISSING:
            self.judge.missing(self.made, self.given)
        return why

    @property
    def proposed(self) -> int:
        """Moves that were made."""
        return int(self.state.proposed)

    @property
    def judged(self) -> int:
        """Candidates among them that are legal."""
        return int(self.state.judged)


def possible(before: Arrangement) -> bool:
    """Whether there is a C compiler, and room for the routine."""
    return library() is not None and all(map(fits, before.lines))

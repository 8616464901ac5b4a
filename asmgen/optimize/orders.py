"""Random neighbors of an order, all of them legal: by C, or by Python where no C compiler is."""

from __future__ import annotations

import ctypes
import random
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from asmgen.optimize.library import library
from asmgen.passes.arrange import Order, fault, recolored
from asmgen.passes.webs import Line
from asmgen.targets.row import Register

#: As in order.h.
MOST, _FLAGS = 4096, 8
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Candidate:
    """An order of a line, and the register of each web."""

    order: tuple[int, ...]
    registers: tuple[Register, ...]


class Neighbors(Protocol):
    """Random moves in one line."""

    def neighbor(self, order: Order) -> Candidate | None:
        """Another order by a random move; None when the move is not legal, or registers do not suffice."""


class Stream:
    """Random numbers, the same in C and in Python: xorshift64* by G. Marsaglia and S. Vigna."""

    def __init__(self, seed: int) -> None:
        self.state = ctypes.c_uint64(random.Random(seed).getrandbits(63) * 2 + 1)

    def _drawn(self) -> int:
        x = self.state.value
        x ^= x >> 12
        x ^= x << 25 & _MASK
        x ^= x >> 27
        self.state.value = x
        return x * 0x2545F4914F6CDD1D & _MASK

    def below(self, bound: int) -> int:
        """One from 0 on."""
        return (self._drawn() >> 32) * bound >> 32

    def fraction(self) -> float:
        """In [0, 1)."""
        return (self._drawn() >> 11) * 2.0**-53


def neighbors(line: Line, pool: Sequence[Register], stream: Stream) -> Neighbors:
    """Moves in a line, the same from the same stream."""
    found = library()
    return _Slow(line, pool, stream) if found is None or not fits(line) else _Fast(found, line, pool, stream)


def fits(line: Line) -> bool:
    """Whether order.c has room for a line."""
    return len(line) < MOST // 2 and len(line.webs) < MOST and len(_flags(line)) <= _FLAGS


def numbered(lines: Iterable[Line], pool: Sequence[Register]) -> list[Register]:
    """Registers as order.c numbers them: first those that may be given out."""
    return [*pool, *sorted({web.register for line in lines for web in line.webs} - set(pool))]


def chains(line: Line) -> list[tuple[int, ...]]:
    """For each instruction those that are tied to it by flags that one writes and another reads, itself too."""
    members = [{at} for at in range(len(line))]
    for at, reads in enumerate(line.reads):
        for _, writer in reads:
            if writer >= 0 and members[writer] is not members[at]:
                members[writer] |= members[at]
                for each in members[at]:
                    members[each] = members[writer]
    return [tuple(sorted(each)) for each in members]


def _flags(line: Line) -> list[str]:
    found = {flag for reads in (*line.reads, line.wanted) for flag, _ in reads}
    return sorted(found)


class _Fast:
    """By order.c."""

    def __init__(self, found: ctypes.CDLL, line: Line, pool: Sequence[Register], stream: Stream) -> None:
        self.count, self.webs = len(line), len(line.webs)
        self.registers = numbered([line], pool)
        self.line = Numbers(line, self.registers, len(pool))
        self.made, self.colors = (ctypes.c_int32 * self.count)(), (ctypes.c_int32 * max(self.webs, 1))()
        self.stream = stream
        self.call = found.neighbor
        self._order: Order | None = None
        self._given = (ctypes.c_int32 * self.count)()

    def neighbor(self, order: Order) -> Candidate | None:
        if order is not self._order:
            self._given[:] = list(order)
            self._order = order
        state = ctypes.byref(self.stream.state)
        if not self.call(ctypes.byref(self.line), self._given, state, self.made, self.colors):
            return None
        registers = self.registers
        return Candidate(tuple(self.made), tuple([registers[each] for each in self.colors[: self.webs]]))


class Numbers(ctypes.Structure):
    """`struct line` of order.h; registers by their places in a list whose first ones may be given out."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in ("count", "webs", "registers", "words")),
        *((name, ctypes.c_void_p) for name in (
            "before", "reads", "asks", "touches", "wanted", "old", "fixed", "lasts", "use_first", "uses", "made_first",
            "made", "chain_first", "chain",
        )),
    ]  # fmt: skip

    def __init__(self, line: Line, registers: Sequence[Register], pool: int) -> None:
        self.kept: list[array[int]] = []  #: what the pointers point to
        flags = {flag: bit for bit, flag in enumerate(_flags(line))}
        words = -(-len(line) // 64)
        number = {register: at for at, register in enumerate(registers)}

        def kept(code: str, values: Iterable[int]) -> int:
            made = array(code, values)
            made.append(0)  # never empty
            self.kept.append(made)
            return made.buffer_info()[0]

        def read(pairs: Sequence[tuple[str, int]]) -> list[int]:
            found = [-2] * _FLAGS
            for flag, writer in pairs:
                found[flags[flag]] = writer
            return found

        uses = [[*(2 * at for at in web.reads), *(2 * at + 1 for at in web.changes)] for web in line.webs]
        made: list[list[int]] = [[] for _ in range(len(line) + 1)]
        for at, web in enumerate(line.webs):
            made[web.maker].append(at)  # those without a maker last
        super().__init__(
            len(line), len(line.webs), pool, words,
            kept("Q", [mask >> 64 * word & (1 << 64) - 1 for mask in line.before for word in range(words)]),
            kept("i", [each for reads in line.reads for each in read(reads)]),
            kept("I", [sum(1 << flags[flag] for flag, _ in reads) for reads in line.reads]),
            kept("I", [sum(1 << flags[flag] for flag in touched if flag in flags) for touched in line.touches]),
            kept("i", read(line.wanted)),
            kept("i", [number[web.register] for web in line.webs]),
            kept("B", [web.fixed for web in line.webs]),
            kept("B", [web.lasts for web in line.webs]),
            kept("i", _offsets(uses)), kept("i", [each for one in uses for each in one]),
            kept("i", _offsets(made)), kept("i", [each for one in made for each in one]),
            kept("i", _offsets(chains(line))), kept("i", [each for one in chains(line) for each in one]),
        )  # fmt: skip


def _offsets(lists: Sequence[Sequence[int]]) -> list[int]:
    found = [0]
    for each in lists:
        found.append(found[-1] + len(each))
    return found


class _Slow:
    """The same moves by Python."""

    def __init__(self, line: Line, pool: Sequence[Register], stream: Stream) -> None:
        self.line, self.pool, self.stream = line, pool, stream
        self.chains = chains(line)

    def neighbor(self, order: Order) -> Candidate | None:
        count = len(order)
        if count < 2:
            return None
        made = list(order)
        kind = self.stream.below(8)
        for _ in range(2 if kind == 7 else 1):
            here = self.stream.below(count)
            far = self._distance(count)
            if self.stream.below(2):
                far = -far
            chain = self.chains[made[here]] if kind < 2 else (made[here],)
            for member in chain if far < 0 else reversed(chain):
                at = made.index(member)
                self._shift(made, at, min(max(at + far, 0), count - 1))
        if made == list(order) or fault(self.line, made):
            return None
        registers = recolored(self.line, made, self.pool)
        return None if registers is None else Candidate(tuple(made), tuple(registers))

    def _distance(self, count: int) -> int:
        """Mostly short, now and then across the line."""
        most = count if self.stream.below(8) == 0 else 16 if self.stream.below(3) == 0 else 4
        return 1 + self.stream.below(min(most, count - 1))

    def _shift(self, order: list[int], start: int, to: int) -> None:
        """The instruction at a place to another one, with those between that it waits for, or that wait for it."""
        before = self.line.before
        moved: list[int] = []
        stay: list[int] = []
        if to < start:
            needed = 1 << order[start]
            for at in reversed(order[to : start + 1]):
                (moved if needed >> at & 1 else stay).append(at)
                needed |= before[at] if needed >> at & 1 else 0
            order[to : start + 1] = moved[::-1] + stay[::-1]
        else:
            gone = 1 << order[start]
            for at in order[start : to + 1]:
                waits = at == order[start] or before[at] & gone
                (moved if waits else stay).append(at)
                gone |= 1 << at if waits else 0
            order[start : to + 1] = stay + moved

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

#: As in order.c.
MOST, _FLAGS, _REGISTERS = 4096, 8, 64


@dataclass(frozen=True)
class Candidate:
    """An order of a line, and the register of each web."""

    order: tuple[int, ...]
    registers: tuple[Register, ...]


class Neighbors(Protocol):
    """Random moves in one line."""

    def neighbor(self, order: Order) -> Candidate | None:
        """Another order by a random move; None when the move is not legal, or registers do not suffice."""


def neighbors(line: Line, pool: Sequence[Register], seed: int) -> Neighbors:
    """Moves in a line, the same for the same seed."""
    fits = len(line) < MOST // 2 and len(line.webs) < MOST and len(_flags(line)) <= _FLAGS
    found = library()
    return _Slow(line, pool, seed) if found is None or not fits else _Fast(found, line, pool, seed)


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

    def __init__(self, found: ctypes.CDLL, line: Line, pool: Sequence[Register], seed: int) -> None:
        self.count, self.webs = len(line), len(line.webs)
        self.registers = list(pool) + sorted({web.register for web in line.webs} - set(pool))
        self.kept: list[array[int]] = []
        self.line = _Line(self, line, len(pool))
        self.made, self.colors = (ctypes.c_int32 * self.count)(), (ctypes.c_int32 * max(self.webs, 1))()
        self.rng = ctypes.c_uint64(random.Random(seed).getrandbits(63) * 2 + 1)
        self.call = found.neighbor
        self._order: Order | None = None
        self._given = (ctypes.c_int32 * self.count)()

    def neighbor(self, order: Order) -> Candidate | None:
        if order is not self._order:
            self._given[:] = list(order)
            self._order = order
        if not self.call(ctypes.byref(self.line), self._given, ctypes.byref(self.rng), self.made, self.colors):
            return None
        registers = self.registers
        return Candidate(tuple(self.made), tuple([registers[each] for each in self.colors[: self.webs]]))


class _Line(ctypes.Structure):
    """`struct line` of order.c."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in ("count", "webs", "registers", "words")),
        *((name, ctypes.c_void_p) for name in (
            "before", "reads", "touches", "wanted", "old", "fixed", "lasts", "use_first", "uses", "made_first", "made",
            "chain_first", "chain",
        )),
    ]  # fmt: skip

    def __init__(self, owner: _Fast, line: Line, pool: int) -> None:
        flags = {flag: bit for bit, flag in enumerate(_flags(line))}
        words = -(-len(line) // 64)
        number = {register: at for at, register in enumerate(owner.registers)}

        def kept(code: str, values: Iterable[int]) -> int:
            made = array(code, values)
            made.append(0)  # never empty
            owner.kept.append(made)
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

    def __init__(self, line: Line, pool: Sequence[Register], seed: int) -> None:
        self.line, self.pool, self.rng = line, pool, random.Random(seed)
        self.chains = chains(line)

    def neighbor(self, order: Order) -> Candidate | None:
        count = len(order)
        if count < 2:
            return None
        made = list(order)
        kind = self.rng.randrange(8)
        for _ in range(2 if kind == 7 else 1):
            here = self.rng.randrange(count)
            far = self._distance(count) * self.rng.choice((1, -1))
            chain = self.chains[made[here]] if kind < 2 else (made[here],)
            for member in chain if far < 0 else reversed(chain):
                at = made.index(member)
                self._shift(made, at, min(max(at + far, 0), count - 1))
        if made == list(order) or fault(self.line, made):
            return None
        registers = recolored(self.line, made, self.pool)
        return None if registers is None else Candidate(tuple(made), tuple(registers))

    def _distance(self, count: int) -> int:
        most = self.rng.choice((count, 16, 16, *[4] * 5))
        return 1 + self.rng.randrange(min(most, count - 1) or 1)

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

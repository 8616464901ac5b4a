"""Candidates timed on this machine's CPU, each against the best one so far: two places for code, windows in turn.

Both places are called from the same loops with the same data in several contexts. What becomes the best is timed in
either place, so that a place is not mistaken for progress.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmgen.bench.child import Window
from asmgen.bench.entrants import inputs, modes, unit
from asmgen.bench.harness import CONTEXTS, Context, wide, window
from asmgen.bench.timer import THROUGHPUT, routine, rows_of
from asmgen.diff.body import Body
from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.optimize.code import Coder
from asmgen.optimize.judges import CompiledRace, Looks
from asmgen.optimize.library import library
from asmgen.optimize.orders import Candidate
from asmgen.optimize.walk import possible
from asmgen.passes.arrange import Arrangement

#: Contexts that the search uses; winners are measured again in the others.
SEARCHED, HELD_OUT = CONTEXTS[:6], CONTEXTS[6:]
#: Cycles of a window, as TSC stamps.
_LONG = 5_000
#: How candidates are looked at, rounds of a closer look at what seems better, and how often a quiet moment is awaited.
LOOKS = Looks(glance=3, rounds=3, close=0.005, alone=1.05)
_SURELY, _ATTEMPTS = 11, 300
_PAGE = 4096
_WEIGHTS = {"latency": (1.0, 0.0), "throughput": (0.0, 1.0), "both": (0.5, 0.5)}


@dataclass(frozen=True)
class _Pair:
    """A mode in a context: the two windows, and what the ratio counts for."""

    windows: tuple[Window, Window]
    weight: float


class Race:
    """The code that is to be beaten, and another one beside it."""

    def __init__(self, function: Function, code: bytes, objective: str, contexts: Sequence[Context]) -> None:
        found = library()
        if found is None:
            raise AsmgenError("no C compiler makes the timer", hint="put cc, gcc or clang on PATH")
        self.library = found
        self.pairs: list[_Pair] = []
        self._build(function, Body("", "amd64", code, 0, (), function.signature), objective, contexts)
        self.now = self.disturbed = 0
        self.first = code
        self.begin(code)
        for pair in self.pairs:
            self._size(pair)

    def _build(self, function: Function, body: Body, objective: str, contexts: Sequence[Context]) -> None:
        signature = function.signature
        wished = _wished(modes(signature), objective)
        made = routine("", body, inputs(signature), modes=wished, units=unit(signature)[0])
        if made is None:
            raise AsmgenError(f"{function.name} takes more arguments than the timer passes")
        self.room = len(body.code) * 5 // 4 + 256
        code, data = bytearray(wide()), bytearray()
        self.places: tuple[list[int], list[int]] = ([], [])
        windows = []
        for context in contexts:
            starts = []
            for place in self.places:
                code += bytes(-len(code) % _PAGE + context.code)
                starts.append(len(code))
                place.append(len(code))
                code += bytes(self.room)
            for mode, weight in _weighed(made.modes, objective):
                rows = rows_of(made, mode, context, data)
                both = []
                for start in starts:
                    code += bytes(-len(code) % 64)
                    both.append(len(code))
                    code += window(len(code), start, len(made.arguments), context)
                windows.append((both, rows, context.calls, weight))
        self._map(bytes(code))
        self.wide = Window(self.run, None, 4, 0, 1)
        self.most = self.library.alone(ctypes.byref(self.wide)) * LOOKS.alone
        self.data = mmap.mmap(-1, len(data) + 2 * _PAGE)
        self.data[: len(data)] = bytes(data)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.data))
        self.tables = []
        for both, rows, calls, weight in windows:
            words = [word if kind == "n" else base + word for row in rows for kind, word in row]
            table = (ctypes.c_uint64 * len(words))(*words)
            self.tables.append(table)
            first, second = (Window(self.run + at, ctypes.addressof(table), 1, 1, calls) for at in both)
            self.pairs.append(_Pair((first, second), weight / len(contexts)))

    def _map(self, code: bytes) -> None:
        """The code twice at once: where it is written, and where it is run."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
        size = -(-len(code) // _PAGE) * _PAGE
        file = os.memfd_create("asmgen")
        try:
            os.ftruncate(file, size)
            self.write = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0)
            self.run = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_SHARED, file, 0)
        finally:
            os.close(file)
        if ctypes.c_void_p(-1).value in (self.write, self.run):
            raise AsmgenError("code cannot be made executable here", hint="search on another machine")
        ctypes.memmove(self.write, code, len(code))

    def _put(self, place: int, code: bytes) -> None:
        if len(code) > self.room:
            raise AsmgenError(f"a candidate has {len(code)} bytes, more than {self.room}")
        for at in self.places[place]:
            ctypes.memmove(self.write + at, code, len(code))

    def begin(self, code: bytes) -> None:
        """The code that others are held against from here on."""
        for place in (0, 1):
            self._put(place, code)
        self.library.serialize()
        self.now = 0

    def _size(self, pair: _Pair) -> None:
        """As many loops as a window takes."""
        stamps = (ctypes.c_uint64 * 2)()
        for each in pair.windows:
            run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)(each.run)
            took = []
            for loops in (8, 8, 8, 8, 40, 40, 40, 40):
                run(each.table, loops, ctypes.addressof(stamps))
                took.append(int(stamps[1] - stamps[0]))
            once = max((min(took[4:]) - min(took[:4])) / 32, 1)
            each.loops = max(2, int(_LONG / once))
            each.warm = max(1, each.loops // 8)
        loops = min(each.loops for each in pair.windows)
        for each in pair.windows:
            each.loops = loops

    def _one(self, pair: _Pair, rounds: int) -> float:
        """The other's time by that of what is to be beaten, in one mode and context; it waits for a quiet moment."""
        mine, other = pair.windows[self.now], pair.windows[1 - self.now]
        for attempt in range(_ATTEMPTS):
            ratio = float(self.library.race(
                ctypes.byref(mine), ctypes.byref(other), ctypes.c_uint64(rounds), ctypes.byref(self.wide),
                ctypes.c_double(self.most),
            ))  # fmt: skip
            if not math.isnan(ratio):
                return ratio
            self.disturbed += 1
            time.sleep(0.0002 * min(attempt, 10))
        self.most = max(self.most, self.library.alone(ctypes.byref(self.wide)) * LOOKS.alone)
        return math.inf

    def _all(self, rounds: int) -> float:
        return sum(pair.weight * self._one(pair, rounds) for pair in self.pairs)

    def ratio(self, code: bytes, limit: float) -> float:
        """The time of a candidate by that of what is to be beaten, over all modes and contexts, or the first ones where
        it seems to take more than `limit`."""
        self._put(1 - self.now, code)
        self.library.serialize()
        total = weight = 0.0
        for seen, pair in enumerate(self.pairs, 1):
            total += pair.weight * self._one(pair, LOOKS.rounds)
            weight += pair.weight
            if seen >= LOOKS.glance and total / weight > limit + LOOKS.close * LOOKS.glance / seen:
                break
        return total / weight

    def surely(self, best: bytes, other: bytes) -> float:
        """The time of the other one by that of the best, each in either place, which is what is to be beaten then."""
        ratios = []
        for first, second in ((best, other), (other, best)):
            self.begin(first)
            self._put(1, second)
            self.library.serialize()
            ratios.append(self._all(_SURELY))
        return math.sqrt(ratios[0] / ratios[1])

    def take(self) -> None:
        """The last candidate is what is to be beaten."""
        self.now = 1 - self.now


def _wished(known: Mapping[str, int | None], objective: str) -> dict[str, int | None]:
    return {mode: at for mode, at in known.items() if _weight(known, mode, objective)}


def _weight(known: Mapping[str, int | None], mode: str, objective: str) -> float:
    """What a mode counts for; what a kernel has no mode for counts as the other."""
    late, through = _WEIGHTS[objective]
    waiting = sum(each != THROUGHPUT for each in known)
    if not waiting or THROUGHPUT not in known:
        return 1 / len(known)
    return through if mode == THROUGHPUT else late / waiting


def _weighed(known: Mapping[str, int | None], objective: str) -> list[tuple[str, float]]:
    weights = [(mode, _weight(known, mode, objective)) for mode in known]
    total = sum(weight for _, weight in weights)
    return [(mode, weight / total) for mode, weight in weights]


class Native:
    """Judges candidates of one routine by a race."""

    def __init__(self, race: Race, before: Arrangement) -> None:
        self.race, self.before = race, before
        self.coder = Coder(before)
        self.take = race.take
        #: The same in C; it keeps the code that it is made of from one walk to the next.
        self.fast = (
            CompiledRace(race, self.coder, before, LOOKS)
            if possible(before) and CompiledRace.fits(self.coder, before) else None
        )  # fmt: skip

    def begin(self, best: Sequence[Candidate]) -> None:
        self.race.begin(self.coder.code(best))

    def ratio(self, other: Sequence[Candidate], limit: float) -> float:
        return self.race.ratio(self.coder.code(other), limit)

    def surely(self, best: Sequence[Candidate], other: Sequence[Candidate]) -> float:
        return self.race.surely(self.coder.code(best), self.coder.code(other))

    def compiled(self) -> CompiledRace | None:
        return self.fast

    def cost(self, found: Sequence[Candidate]) -> float:
        """By that of the code that the race was made for."""
        return self.race.surely(self.race.first, self.coder.code(found))

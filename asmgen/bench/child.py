"""The process in which foreign code runs: `python child.py RESULT < JOB`, both JSON. It needs nothing but Python.

It pins itself to the least busy core, maps one piece of code that nothing can write to, tries each routine in a
process of its own, so that one that crashes or never ends is known by name, and then times windows of calls in turn.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: Additions in a block of the chain, and blocks in its short and long runs.
BLOCK, FEW, MANY = 512, 4, 20
#: Blocks of additions that do not wait for each other, and which part of their best rate a core of one's own reaches.
FIT, OWN = 16, 0.95
#: Blocks of a chain that a clock can time, and which other work does not often cut; how often it is tried.
LASTING, OFTEN = 1000, 400
#: How far the chains before and after a good window may disagree.
AGREE = 0.01
#: A window has about so many cycles, and at least so many loops.
LONG, FEWEST = 30_000, 2
#: Where code goes: below 2 GiB, since it may hold 32-bit addresses.
PLACES = (0x2000_0000, 0x3000_0000, 0x4000_0000, 0x5000_0000)
#: Rounds of a layout before the next one's turn.
STRETCH = 5
_FIXED = 0x100000  # MAP_FIXED_NOREPLACE


class Window(ctypes.Structure):
    """As in core.c."""

    _fields_ = [
        ("run", ctypes.c_void_p), ("table", ctypes.c_void_p), ("loops", ctypes.c_uint64), ("warm", ctypes.c_uint64),
        ("calls", ctypes.c_double),
    ]  # fmt: skip


class Chains(ctypes.Structure):
    """As in core.c."""

    _fields_ = [
        ("chain", ctypes.c_void_p), ("wide", ctypes.c_void_p), ("block", ctypes.c_double), ("few", ctypes.c_uint64),
        ("many", ctypes.c_uint64), ("fit", ctypes.c_uint64),
    ]  # fmt: skip


def unit(fast: float, slow: float, few: int = FEW, many: int = MANY, block: int = BLOCK) -> tuple[float, float]:
    """Time stamps a cycle, and those of an empty window, from the stamps of a short and a long chain."""
    stamps = (slow - fast) / ((many - few) * block)
    return stamps, fast - few * block * stamps


def judged(
    stamps: float, calls: float, before: tuple[float, float], after: tuple[float, float], agree: float = AGREE
) -> float | None:
    """Cycles a call of a window; None where the chains before and after disagree."""
    mean = (before[0] + after[0]) / 2
    if before[0] <= 0 or after[0] <= 0 or abs(before[0] - after[0]) > agree * mean:
        return None
    return (stamps - max(0.0, min(before[1], after[1]))) / mean / calls


def kept(cycles: float | None, rate: float, best: float) -> float | None:
    """None for a window beside which additions were slow: a twin of the core took part of it."""
    return cycles if rate >= OWN * best else None


def main() -> None:
    job = json.load(sys.stdin)
    core = pin()
    arena = Arena(bytes.fromhex(job["code"]), job["fixups"])
    data = Data(job["data"])
    timer = Timer(arena, data, job)
    failed = {name: said for name, said in ((name, timer.tried(name)) for name in timer.routines) if said}
    samples, rate = timer.samples(failed)
    made = {"core": core, "c": timer.core is not None, "failed": failed, "samples": samples, "rate": rate}
    made["hertz"] = timer.hertz()
    Path(sys.argv[1]).write_text(json.dumps(made))


def pin() -> int:
    """Stay on the core that was least busy for a moment; its number, or -1 where a process cannot be pinned."""
    cores = ranked()
    if not cores:
        return -1
    os.sched_setaffinity(0, {cores[0]})
    return cores[0]


def ranked() -> list[int]:
    """The cores that this process may run on, those first that were less busy for a moment; none where it cannot be
    pinned."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    allowed = os.sched_getaffinity(0)
    first = _idle()
    time.sleep(0.1)
    last = _idle()
    return sorted(allowed, key=lambda core: (first.get(core, 0) - last.get(core, 0), core))


def _idle() -> dict[int, int]:
    """Ticks that each core has been idle."""
    try:
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    except OSError:
        return {}
    return {int(words[0][3:]): int(words[4]) for words in lines if words and words[0][:3] == "cpu" and words[0][3:]}


class Arena:
    """Code at an address of its own, readable and executable."""

    def __init__(self, code: bytes, fixups: Sequence[Sequence[int]]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
        size = -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED
        for place in PLACES:
            if libc.mmap(place, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) == place:
                break
        else:
            raise OSError(ctypes.get_errno(), "no memory for code below 2 GiB")
        self.base = place
        moved = bytearray(code)
        for at, width in fixups:
            value = int.from_bytes(moved[at : at + width], "little") + place
            moved[at : at + width] = value.to_bytes(width, "little")
        ctypes.memmove(place, bytes(moved), len(moved))
        libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        if libc.mprotect(place, size, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "code cannot be made executable here")


class Data:
    """What routines read and write, from the start of a page on."""

    def __init__(self, pieces: Sequence[Sequence[Any]]) -> None:
        size = max((at + len(text) // 2 for at, text in pieces), default=0) + 2 * mmap.PAGESIZE
        self.held = mmap.mmap(-1, size)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.held))
        for at, text in pieces:
            self.held[at : at + len(text) // 2] = bytes.fromhex(text)


class Timer:
    """Windows by routine and layout, and what runs them: the C core, or Python."""

    def __init__(self, arena: Arena, data: Data, job: dict[str, Any]) -> None:
        self.arena, self.data, self.rounds = arena, data, job["rounds"]
        self.patience, self.best = job["patience"], job["best"]
        self.layouts = job["layouts"]
        self.chain, self.wide = arena.base + job["chain"], arena.base + job["wide"]
        self.routines = list(dict.fromkeys(window["routine"] for layout in self.layouts for window in layout))
        self.core = ctypes.CDLL(job["core"]) if job["core"] else None
        self._entries: dict[int, Any] = {}
        self._stamps = (ctypes.c_uint64 * 2)()
        self._at = ctypes.addressof(self._stamps)

    def _prepared(self, window: dict[str, Any]) -> tuple[Window, Any]:
        """The window for C, with one loop, and what must stay alive with it."""
        words = [word if kind == "n" else self.data.base + word for row in window["rows"] for kind, word in row]
        table = (ctypes.c_uint64 * len(words))(*words)
        one = Window(self.arena.base + window["entry"], ctypes.addressof(table), 1, 1, window["calls"])
        return one, table

    def took(self, run: int, table: int, loops: int) -> int:
        """Time stamps of a window."""
        if run not in self._entries:
            self._entries[run] = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)(run)
        self._entries[run](table, loops, self._at)
        return int(self._stamps[1]) - int(self._stamps[0])

    def unit(self) -> tuple[float, float]:
        """As in core.c."""
        return unit(self._quickest(self.chain, FEW), self._quickest(self.chain, MANY))

    def rate(self, now: tuple[float, float]) -> float:
        """As in core.c."""
        return FIT * BLOCK * now[0] / (self._quickest(self.wide, FIT) - max(0.0, now[1]))

    def hertz(self) -> float:
        """Cycles a second: of some chains nearly the most, since others are disturbed."""

        def tried() -> float:
            began = time.perf_counter_ns()
            self.took(self.chain, 0, LASTING)
            return LASTING * BLOCK * 1e9 / (time.perf_counter_ns() - began)

        return sorted(tried() for _ in range(OFTEN))[-OFTEN // 20]

    def _quickest(self, run: int, loops: int) -> int:
        return min(self.took(run, 0, loops) for _ in range(2))

    def tried(self, routine: str) -> str:
        """How calling it in a process of its own went wrong; empty when it did not."""
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(self.patience)
            for window in (each for layout in self.layouts for each in layout if each["routine"] == routine):
                one, _table = self._prepared(window)
                self.took(one.run, one.table, 1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return ""
        if status == -signal.SIGALRM:
            return f"did not come back within {self.patience} s"
        reasons = {signal.SIGILL: "this CPU does not know one of its instructions", signal.SIGSEGV: "it reads or writes"
                   " what it was not given", signal.SIGBUS: "it reads or writes what it was not given"}  # fmt: skip
        return f"crashed: {reasons.get(signal.Signals(-status), signal.Signals(-status).name)}" if status < 0 else (
            f"ended the process with {status}")  # fmt: skip

    def samples(self, failed: dict[str, str]) -> tuple[list[list[list[float | None]]], float]:
        """For each layout and window of it, cycles a call in each round; None where a window was disturbed or is of a
        routine that fails. And the best rate of additions.

        Layouts take turns, too, a few rounds each: what goes on elsewhere for a while is then not in one of them alone.
        """
        live = [[each for each in layout if each["routine"] not in failed] for layout in self.layouts]
        ready = [[self._measured(each) for each in layout] for layout in live]
        found: list[list[list[tuple[float | None, float]]]] = [[[] for _ in layout] for layout in live]
        for start in range(0, self.rounds, STRETCH):
            rounds = min(STRETCH, self.rounds - start)
            for windows, here in zip(ready, found, strict=True):
                order = turns(len(windows), rounds)
                for index, sample in zip(order, self._run([one for one, _ in windows], order), strict=True):
                    here[index].append(sample)
        rates = sorted(rate for here in found for samples in here for _, rate in samples)
        usual = rates[len(rates) * 19 // 20] if rates else 0.0  # not the very best, which is a slip of the clock
        best = max(usual, self.best)
        missing: list[float | None] = [None] * self.rounds
        columns = [iter([[kept(*each, best) for each in samples] for samples in here]) for here in found]
        return [[missing if each["routine"] in failed else next(column) for each in layout]
                for layout, column in zip(self.layouts, columns, strict=True)], usual  # fmt: skip

    def _measured(self, window: dict[str, Any]) -> tuple[Window, Any]:
        """The window with as many loops as it takes."""
        one, table = self._prepared(window)
        once = min(self.took(one.run, one.table, 1) for _ in range(3)) / max(self.unit()[0], 0.01)
        one.loops = max(FEWEST, int(LONG / max(once, 1)))
        one.warm = max(1, one.loops // 8)
        return one, table

    def _run(self, windows: Sequence[Window], order: Sequence[int]) -> list[tuple[float | None, float]]:
        """Cycles a call and the rate of additions beside it, for each turn."""
        if self.core is not None:
            cycles, rates = ((ctypes.c_double * len(order))() for _ in range(2))
            chains = Chains(self.chain, self.wide, BLOCK, FEW, MANY, FIT)
            self.core.measure(
                (Window * len(windows))(*windows), (ctypes.c_uint32 * len(order))(*order), ctypes.c_uint64(len(order)),
                ctypes.byref(chains), ctypes.c_double(AGREE), cycles, rates,
            )  # fmt: skip
            return [(None if one != one else round(one, 3), rate) for one, rate in zip(cycles, rates, strict=True)]
        found = []
        before = self.unit()
        beside = self.rate(before)
        for index in order:
            one = windows[index]
            self.took(one.run, one.table, one.warm)
            stamps = self.took(one.run, one.table, one.loops)
            after = self.unit()
            rate = self.rate(after)
            found.append((judged(stamps, one.loops * one.calls, before, after), min(beside, rate)))
            before, beside = after, rate
        return found


def turns(count: int, rounds: int) -> list[int]:
    """Whose turn it is: everybody once a round, each round beginning with another and every other one backwards."""
    order = []
    for turn in range(rounds):
        here = [(turn + index) % count for index in range(count)]
        order += here[::-1] if turn % 2 else here
    return order


if __name__ == "__main__":
    main()
